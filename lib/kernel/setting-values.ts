/** Values of settings, read as code gives them or as texts of the environment. Undefined counts as not set. */
import { FORM_SHAPES, type FormShape } from './error-shapes.js'
import { ConfigurationError } from './errors.js'
import type { ErrorShape } from './settings.js'

/** What a page does when its version is not the server's. */
export type MismatchAction = 'reload' | 'warn' | 'ignore'

/** Characters of the shortest secret. */
export const MINIMUM_LENGTH = 16

const VERSION = /^[!-~]{1,128}$/
const TOKEN = /^[!-~](?:[ -~]*[!-~])?$/
const TABLE = /^[a-z_]\w{0,62}(?:\.[a-z_]\w{0,62})?$/i
const MISMATCH_ACTIONS: readonly MismatchAction[] = ['reload', 'warn', 'ignore']
const BOOLEANS = new Map([
  ...['true', '1', 'yes', 'on'].map((text) => [text, true] as const),
  ...['false', '0', 'no', 'off'].map((text) => [text, false] as const),
])

export function readSecret(value: unknown, where: string): string | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'string') throw new ConfigurationError(`${where}: give a text`)
  if (value.length >= MINIMUM_LENGTH) return value
  throw new ConfigurationError(
    `${where} has ${value.length} characters: make it at least ${MINIMUM_LENGTH} random characters, the same on all nodes`,
  )
}

/** A secret that clients send in a header. What else they send arrives changed: as latin1, without spaces at its ends. */
export function readToken(value: unknown, where: string): string | undefined {
  const token = readSecret(value, where)
  if (token === undefined || TOKEN.test(token)) return token
  throw new ConfigurationError(
    `${where} has characters that a header does not bring as they are: use those from ! to ~, and spaces between`,
  )
}

export function readVersion(value: unknown, where: string): string | undefined {
  if (value === undefined || value === '') return undefined
  if (typeof value === 'string' && VERSION.test(value)) return value
  throw new ConfigurationError(`${where} is ${show(value)}: give 1 to 128 characters from ! to ~, without spaces`)
}

export function readFlag(value: unknown, where: string): boolean | undefined {
  if (value === undefined || value === '' || typeof value === 'boolean') return value === '' ? undefined : value
  const found = typeof value === 'string' ? BOOLEANS.get(value.toLowerCase()) : undefined
  if (found === undefined) throw new ConfigurationError(`${where} is ${show(value)}: give true or false`)
  return found
}

/** A mismatch action from a value; undefined counts as not given. @throws ConfigurationError */
export function readMismatchAction(value: unknown, where: string): MismatchAction | undefined {
  if (value === undefined || value === '') return undefined
  const found = MISMATCH_ACTIONS.find((action) => action === value)
  if (found) return found
  throw new ConfigurationError(`${where} is ${show(value)}: give ${MISMATCH_ACTIONS.join(', ')}`)
}

export function readText(value: unknown, where: string): string | undefined {
  if (value === undefined || value === '') return undefined
  if (typeof value === 'string' && !value.includes('\0')) return value
  throw new ConfigurationError(`${where} is ${show(value)}: give a path`)
}

export function readTable(value: unknown, where: string): string | undefined {
  if (value === undefined || value === '') return undefined
  if (typeof value === 'string' && TABLE.test(value)) return value
  throw new ConfigurationError(`${where} is ${show(value)}: give the name of a table, or schema.table`)
}

export function readCount(value: unknown, where: string): number | undefined {
  if (value === undefined || value === '') return undefined
  const found = typeof value === 'string' && /^[0-9]{1,15}$/.test(value) ? Number(value) : value
  if (typeof found === 'number' && Number.isSafeInteger(found) && found >= 1) return found
  throw new ConfigurationError(`${where} is ${show(value)}: give a whole number of at least 1`)
}

export function readStaticUrl(value: unknown, where: string): string | undefined {
  if (value === undefined || value === '') return undefined
  if (typeof value === 'string' && /^(?:https?:\/\/[\w.:[\]-]+(?:\/|$)|\/(?!\/))[\w.~%!$&*+,;=:@/-]*$/i.test(value))
    return value
  throw new ConfigurationError(
    `${where} is ${show(value)}: give a path such as /static, or an address such as https://cdn.example.com/static`,
  )
}

/** A path without a slash at its end, so that what stands behind it may begin with one. */
export function readPrefix(value: unknown, where: string): string | undefined {
  if (value === undefined || value === '') return undefined
  if (typeof value === 'string' && /^(?:\/[\w.~%!$&*+,;=:@-]+)+$/.test(value)) return value
  throw new ConfigurationError(`${where} is ${show(value)}: give a path such as /shop, without a slash at the end`)
}

export function readTypes(value: unknown, where: string): Readonly<Record<number, string>> | undefined {
  if (value === undefined) return undefined
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [['', value]]
  const isType = ([status = '', type]: readonly unknown[]) =>
    /^[45][0-9]{2}$/.test(String(status)) && typeof type === 'string' && /^[!-~]+$/.test(type)
  if (!Array.isArray(value) && entries.every(isType)) return value as Readonly<Record<number, string>>
  throw new ConfigurationError(
    `${where} is ${show(value)}: give URLs by status, such as { 409: 'https://example.com/conflict' }`,
  )
}

/** A function that makes bodies, and their schema; of a front end, its preset. */
export function readErrorShape(value: unknown, where: string): ErrorShape | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'string' && Object.hasOwn(FORM_SHAPES, value)) return FORM_SHAPES[value as FormShape]
  const { body, schema = {} } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
  if (typeof body === 'function' && typeof schema === 'object' && schema !== null) return value as never
  throw new ConfigurationError(
    `${where}: give { body: (error) => ({ … }), schema: { … } }, or one of ${Object.keys(FORM_SHAPES).join(', ')}`,
  )
}

/** A wrong value for a message: as JSON, so that it is one line, and not at length. */
function show(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 64)
}
