/** Role and settings that hold for one transaction, as `set_config(…, true)` sets them (PostgreSQL's manual, 9.28.1). */

import { ConfigurationError } from '../kernel/errors.js'
import { quote } from '../kernel/quote.js'

/** What a transaction begins with: one statement that sets all, each name and value a parameter of it. */
export interface LocalSettings {
  readonly text: string
  readonly values: readonly string[]
  /** True where the transaction cannot write. */
  readonly readOnly: boolean
  /** Where tables are looked for; undefined where the connection says so. */
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

/** What one caller has given, and PostgreSQL cannot take: a value that is too long, or holds a NUL. */
export class UnusableSetting extends Error {}

/**
 * The statement that sets role and settings until the end of a transaction.
 * @throws {ConfigurationError} a name is none that may be set
 * @throws {UnusableSetting} the role cannot be a role, or a value cannot be sent
 */
export function localSettings({ role, settings = {}, readOnly = false }: LocalSettingsOptions): LocalSettings {
  const calls: string[] = []
  const values: string[] = []
  if (role !== undefined) {
    calls.push(`set_config('role', $${values.push(checkRole(role))}, true)`)
  }
  for (const [name, value] of Object.entries(settings)) {
    checkName(name)
    // none: an empty one would find no table
    if (name === 'search_path' && (value === undefined || value === null)) continue
    calls.push(`set_config($${values.push(name)}, $${values.push(textOf(name, value))}, true)`)
  }
  if (readOnly) calls.push(`set_config('transaction_read_only', 'on', true)`)
  if (values.reduce((sum, { length }) => sum + length, 0) > LONGEST_VALUES) {
    throw new UnusableSetting(`the settings of a transaction have more than ${LONGEST_VALUES} characters`)
  }
  const path = settings['search_path']
  const searchPath = path === undefined || path === null ? undefined : textOf('search_path', path)
  return { text: `select ${calls.join(', ') || '1'}`, values, readOnly, searchPath }
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
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  if (text.includes(NUL)) throw new UnusableSetting(`the setting ${name} holds a NUL`)
  return text
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
