/** The options of a router. */
import { type DatabaseOptions, type DatabaseRole, type DatabaseSettings, databaseScope } from '../http/database-role.js'
import type { Kind } from '../kernel/kinds.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { type RuleSet, type Rules, ruleSetOf } from '../rules/rule-set.js'
import type { Replicas } from '../views/replicas.js'

/** Options of `APIRouter`. */
export interface APIRouterOptions {
  /**
   * The path of the API root, such as `/api/v1`. In `/api/{version}` the parameter takes what looks like a version, `v1` or
   * `2.1`, and all other paths are left to the app; `{version:slug}` takes any name. @default ''
   */
  readonly prefix?: string
  /**
   * The database role of all view sets that name none of their own, or a function of the request that chooses it.
   * @default null
   */
  readonly databaseRole?: DatabaseRole
  /** Settings that the statements of all view sets run with, or a function of the request that makes them. @default null */
  readonly databaseSettings?: DatabaseSettings
  /**
   * How long `close()` waits for what is done after commits (`afterCommit()`), in milliseconds; it is that of the whole
   * process. @default 10_000
   */
  readonly closeTimeout?: number
  /** Where requests read: `new ReplicaSet({ primary, replicas })` of `koa-viewsets/replicas`. @default the views' own database */
  readonly replicas?: Replicas
  /**
   * Which rows callers see and write, over all paths: `[rule(Book, { … })]`, or `{ models: […], default: 'deny' }`.
   * @see docs/reference/rules.md @default []
   */
  readonly rules?: Rules
  /**
   * What `prepare()` warns of as `KOA_VIEWSETS_WHOLE_TABLE` is an error of it: related objects that are shown, chosen or
   * written from a whole table, of which another view set shows a part by its queryset. @default false
   */
  readonly strict?: boolean
}

const OPTIONS = {
  prefix: 'text',
  databaseRole: 'any',
  databaseSettings: 'any',
  closeTimeout: 'size',
  replicas: 'any',
  rules: 'any',
  strict: 'boolean',
} as const satisfies Record<keyof APIRouterOptions, Kind>

/** What the options say of the path and of the database. @throws {ConfigurationError} one is unknown, or of another kind */
export function settleRouterOptions(options: APIRouterOptions): {
  readonly prefix: string
  readonly database: DatabaseOptions
  readonly closeTimeout: number | undefined
  readonly replicas: Replicas | undefined
  readonly rules: RuleSet | undefined
  readonly strict: boolean
} {
  checkKinds('APIRouter', options, { kinds: OPTIONS })
  const { prefix = '', databaseRole = null, databaseSettings = null, closeTimeout } = options
  const database = { databaseRole, databaseSettings }
  databaseScope('APIRouter', database)
  const rules = options.rules && ruleSetOf(options.rules)
  return { prefix, database, closeTimeout, replicas: options.replicas, rules, strict: options.strict ?? false }
}
