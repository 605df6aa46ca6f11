/** Role and settings that hold for one transaction, as `set_config(…, true)` sets them (PostgreSQL's manual, 9.28.1). */

import { ConfigurationError } from '../kernel/errors.js'
import { getOrInsert } from '../kernel/maps.js'
import { RecentMap } from '../kernel/once-per.js'
import { quote } from '../kernel/quote.js'
import { ignoreRejection } from '../kernel/realms.js'
import { isOpaque, tagOf } from '../kernel/records.js'

/** First statement of a transaction: it sets all settings, each name and value a parameter. */
export interface LocalSettings {
  readonly text: string
  readonly values: readonly string[]
  /** Statements run as a role of their own. */
  readonly hasRole: boolean
  /** True where the transaction cannot write. */
  readonly readOnly: boolean
  /** The `search_path`; undefined for that of the connection. */
  readonly searchPath?: string | undefined
}

/** A value of a setting; an object is written as JSON, null and undefined are the empty string. */
export type SettingValue = string | number | boolean | bigint | object | null | undefined

export interface LocalSettingsOptions {
  /** The role that statements run as; undefined for the role that the connection has logged in with. */
  readonly role?: string | undefined
  readonly settings?: Readonly<Record<string, SettingValue>> | undefined
  readonly readOnly?: boolean
}

/** PostgreSQL cuts longer names. */
const LONGEST_NAME = 63
/** All values together, in characters. */
const LONGEST_VALUES = 65_536
/** Settings of PostgreSQL's own that may be set; all others have a dot in their names. */
const KNOWN = [
  'search_path',
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
  'application_name',
]
const OWN_NAME = /^[a-z_][\w$]*(?:\.[a-z_][\w$]*)+$/i
const NUL = '\u0000'

/** Error of a setting whose value PostgreSQL cannot take: it is too long, or holds a NUL. */
export class UnusableSetting extends Error {}

/**
 * The statement that sets role and settings until the end of a transaction.
 * @throws {ConfigurationError} a name is none that may be set
 * @throws {UnusableSetting} the role cannot be a role, or a value cannot be sent
 */
export function localSettings({ role, settings = {}, readOnly = false }: LocalSettingsOptions): LocalSettings {
  const values: string[] = []
  let shape = readOnly ? 'read' : 'write'
  let size = 0
  let searchPath: string | undefined
  if (role !== undefined) {
    shape += ' role'
    values.push(checkRole(role))
  }
  for (const [name, value] of Object.entries(settings)) {
    // an empty one would find no table
    if (name === 'search_path' && (value === undefined || value === null)) continue
    const text = textOf(name, value)
    if (name === 'search_path') searchPath = text
    shape += `\n${name}`
    size += text.length
    values.push(name, text)
  }
  if (size > LONGEST_VALUES) {
    throw new UnusableSetting(`the settings of a transaction have more than ${LONGEST_VALUES} characters`)
  }
  // so that no name can be taken for two
  shape += `\n${values.length}`
  const text = getOrInsert(texts, shape, () => {
    for (const name of Object.keys(settings)) checkName(name)
    return write(role !== undefined, values.length, readOnly)
  })
  return { text, values, hasRole: role !== undefined, readOnly, searchPath }
}

/** The statement by what is set: names are the application's, and few. */
const texts = new RecentMap<string>(200)

/** @param count of all values: the role's, and two for each setting */
function write(hasRole: boolean, count: number, readOnly: boolean): string {
  const calls = hasRole ? [`set_config('role', $1, true)`] : []
  for (let place = calls.length + 1; place < count; place += 2) calls.push(`set_config($${place}, $${place + 1}, true)`)
  if (readOnly) calls.push(`set_config('transaction_read_only', 'on', true)`)
  return `select ${calls.join(', ') || '1'}`
}

/** `none` is the role of the login itself (PostgreSQL's manual, SET ROLE), which nobody may ask for. */
function checkRole(role: unknown): string {
  if (typeof role !== 'string') throw new ConfigurationError(`databaseRole is ${quote(role)}; give the name of a role`)
  const isRole = role !== '' && role.toLowerCase() !== 'none' && !role.includes(NUL)
  if (!isRole || Buffer.byteLength(role) > LONGEST_NAME) throw new UnusableSetting('no such role')
  return role
}

function checkName(name: string): void {
  if (KNOWN.includes(name) || OWN_NAME.test(name)) return
  throw new ConfigurationError(
    `databaseSettings: ${quote(name)} is no setting that can be given for a request; ` +
      `use a name with a dot, such as "app.tenant", or one of ${KNOWN.join(', ')}`,
  )
}

function textOf(name: string, value: SettingValue): string {
  if (value === null || value === undefined) return ''
  const text = isScalar(value) ? String(value) : jsonOf(name, value)
  if (text.includes(NUL)) throw new UnusableSetting(`the setting ${name} holds a NUL`)
  return text
}

function isScalar(value: unknown): value is string | number | boolean | bigint {
  return ['string', 'number', 'boolean', 'bigint'].includes(typeof value)
}

/** @throws {ConfigurationError} JSON has nothing of it, so that it would be the same for all callers */
function jsonOf(name: string, value: unknown): string {
  const text = isOpaque(Object(value)) ? undefined : (JSON.stringify(value) as string | undefined)
  if (text !== undefined) return text
  ignoreRejection(value)
  throw new ConfigurationError(
    `databaseSettings: ${quote(name)} has nothing that JSON could write (${tagOf(Object(value))}); give what it stands for, awaited`,
  )
}

/** PostgreSQL has refused to set the role or a setting: it does not exist, or the login may not use it. */
export class SettingsRefused extends Error {
  /** The SQLSTATE. */
  readonly code: string | undefined

  constructor(cause: unknown) {
    super('The database does not let the login set this role or setting', { cause })
    this.code = (cause as { code?: string }).code
  }
}

/** True of an error by which PostgreSQL refuses a role or a setting. A statement that is prepared already is none. */
export function refusesSettings(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && /^(?:22|42)/.test(code) && code !== '42P05'
}
