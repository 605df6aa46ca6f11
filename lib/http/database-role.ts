/** `databaseRole` and `databaseSettings` of a request: what its statements run with, which says whose rows it works on. */

import type { Knex } from 'knex'
import { AuthenticationFailed, ConfigurationError, PermissionDenied } from '../kernel/errors.js'
import { quote } from '../kernel/quote.js'
import { isError } from '../kernel/realms.js'
import { isOpaque, isRecord } from '../kernel/records.js'
import { warnOnce } from '../kernel/warn-once.js'
import { INSUFFICIENT_PRIVILEGE } from '../postgres/database-errors.js'
import {
  type LocalSettings,
  localSettings,
  SettingsRefused,
  type SettingValue,
  UnusableSetting,
} from '../postgres/local-settings.js'
import { warnOfMissingGrant } from '../postgres/missing-grant.js'
import { nativeError } from '../postgres/native-error.js'
import { scopedKnex } from '../postgres/scoped-knex.js'
import { type Context, isAnonymous, isSafeMethod } from './context.js'

/**
 * The role that the statements of a request run as, or what chooses it by the request. The login of the connection is a
 * member of it. Null leaves all as the login; a function that returns none refuses the request.
 */
export type DatabaseRole =
  | string
  | ((ctx: Context) => string | null | undefined | Promise<string | null | undefined>)
  | null

/**
 * Settings that the statements of a request run with, by name, or what makes them of the request. SQL reads them by
 * `current_setting('app.tenant', true)`. An object is written as JSON; null and undefined are the empty string.
 */
export type DatabaseSettings =
  | Readonly<Record<string, SettingValue>>
  | ((ctx: Context) => Readonly<Record<string, SettingValue>> | Promise<Readonly<Record<string, SettingValue>>>)
  | null

/** What a router, a view or a route declares of them. */
export interface DatabaseOptions {
  /** The role that statements run as. */
  readonly databaseRole?: DatabaseRole
  /** Settings of PostgreSQL that statements run with. */
  readonly databaseSettings?: DatabaseSettings
}

/** @internal What a request's statements run with. */
export interface DatabaseScope {
  /** What declares it, for messages. */
  readonly owner: string
  readonly role: DatabaseRole
  /** Later ones win. */
  readonly settings: readonly NonNullable<DatabaseSettings>[]
  /** Where it comes from, as a sentence: no role, and nothing of the settings. */
  readonly described: string
}

/**
 * What is declared for a view, by itself and by its router: its own role wins, and so does each setting of its own.
 * Undefined where nothing is.
 */
export function databaseScope(
  owner: string,
  { databaseRole = null, databaseSettings = null }: DatabaseOptions,
  outer: DatabaseOptions = {},
): DatabaseScope | undefined {
  const role = databaseRole ?? outer.databaseRole ?? null
  const settings = [outer.databaseSettings, databaseSettings].filter((one) => one !== undefined && one !== null)
  if (role === null && settings.length === 0) return undefined
  checkScope(owner, role, settings)
  const parts = [
    ...(role === null ? [] : [source(databaseRole === null ? 'the router' : owner, 'databaseRole', role)]),
    ...settings.map((one) => source(one === databaseSettings ? owner : 'the router', 'databaseSettings', one)),
  ]
  return { owner, role, settings, described: parts.join(', ') }
}

function source(by: string, option: string, declared: unknown): string {
  return `${option} of ${by}${typeof declared === 'function' ? ', asked on each request' : ''}`
}

/** @throws {ConfigurationError} one is of a wrong kind, or what is the same for all requests cannot be set */
function checkScope(owner: string, role: DatabaseRole, settings: readonly unknown[]): void {
  const isRole = role === null || typeof role === 'string' || typeof role === 'function'
  if (!isRole) throw new ConfigurationError(`${owner}: databaseRole is ${quote(role)}; give a name, or a function`)
  try {
    localSettings({ role: typeof role === 'string' ? role : undefined })
    for (const one of settings) {
      if (typeof one !== 'object' && typeof one !== 'function') {
        throw new ConfigurationError(
          `databaseSettings is ${quote(one)}; give an object, or a function that returns one`,
        )
      }
      if (typeof one === 'object') localSettings({ settings: one as Readonly<Record<string, SettingValue>> })
    }
  } catch (error) {
    throw new ConfigurationError(`${owner}: ${(error as Error).message}`)
  }
}

/**
 * A knex for the request, whose statements run with what is declared. It is asked once, after authentication.
 * @throws AuthenticationFailed, PermissionDenied there is no role for this caller, or a value that no setting can have
 * @throws {ConfigurationError} a setting has a name that none may have, or the knex is a transaction already
 */
export async function knexInScope(ctx: Context, knex: Knex, scope: DatabaseScope): Promise<Knex> {
  if (knex.isTransaction) {
    throw new ConfigurationError(
      `${scope.owner}: databaseRole and databaseSettings begin transactions of their own; let getKnex() return a pool`,
    )
  }
  return scopedKnex(knex, await settingsOfRequest(ctx, scope))
}

/** The role and settings of a request's statements. @throws AuthenticationFailed, PermissionDenied the caller has none */
async function settingsOfRequest(ctx: Context, { owner, role, settings }: DatabaseScope): Promise<LocalSettings> {
  const given = typeof role === 'function' ? await role(ctx) : (role ?? undefined)
  if (role !== null && (given === undefined || given === null)) throw refusal(ctx)
  const all: Record<string, SettingValue> = {}
  for (const one of settings) {
    Object.assign(all, typeof one === 'function' ? settingsMade(owner, await one(ctx)) : one)
  }
  try {
    return localSettings({ role: given as string, settings: all, readOnly: isSafeMethod(ctx.req.method ?? '') })
  } catch (error) {
    throw error instanceof UnusableSetting ? refusal(ctx, error) : error
  }
}

/** @throws {ConfigurationError} a function has made something else, without which statements would run */
function settingsMade(owner: string, made: unknown): object {
  if (made === undefined || made === null) return {}
  if (isRecord(made) && !isOpaque(made)) return made
  throw new ConfigurationError(
    `${owner}: databaseSettings returned ${quote(made)}; return an object with a member for each setting`,
  )
}

/** A caller without a name may give one; who has one may not do this. */
function refusal(ctx: Context, cause?: unknown): AuthenticationFailed | PermissionDenied {
  return isAnonymous(ctx.state['user']) ? new AuthenticationFailed() : new PermissionDenied(undefined, { cause })
}

/** PostgreSQL's routine that refuses a row by a policy of its table. */
const POLICY_CHECK = 'ExecWithCheckOptions'

/**
 * What an error says where a caller's role decides: what the role may not do is 401 for who has no name, else 403, as is a
 * role that there is not. Null for all other errors.
 */
export function roleRefusal(ctx: Context, error: unknown): AuthenticationFailed | PermissionDenied | null {
  if (!isError(error)) return null
  const own = nativeError(error)
  if (own instanceof SettingsRefused) {
    warnOfRole(own)
    return refusal(ctx, error)
  }
  if (own.code !== INSUFFICIENT_PRIVILEGE) return null
  warnOfMissingGrant(own)
  return own.routine === POLICY_CHECK ? new PermissionDenied(undefined, { cause: error }) : refusal(ctx, error)
}

/** Most often it is a mistake of the operator's, who would not learn it from a 403. */
function warnOfRole({ code }: SettingsRefused): void {
  warnOnce(
    'KOA_VIEWSETS_DATABASE_ROLE',
    `The database has refused the role or a setting of a request (SQLSTATE ${code}): ` +
      'CREATE the role of databaseRole, and GRANT it to the login of the connection; such requests are answered 401 or 403.',
  )
}
