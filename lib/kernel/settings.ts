/**
 * The settings of the service, from code or from the environment (wire format, sections 1 and 8).
 * Secrets have no fallback.
 */
import { FORM_SHAPES, type FormShape } from './error-shapes.js'
import { ConfigurationError, type ErrorMessages } from './errors.js'
import { type Messages, readMessages } from './message-settings.js'
import { didYouMean } from './near-miss.js'
import { quote } from './quote.js'

/** What `configure()` takes. Each secret has at least 16 characters and is taken as it is, not trimmed. */
export interface Settings {
  /** Signs what clients hand back to us; the same on all nodes. @default the environment variable SERVICE_SECRET_KEY */
  readonly secretKey?: string | undefined
  /** Used in its place for cursors. @default the environment variable SERVICE_CURSOR_SECRET, else the secret key */
  readonly cursorSecret?: string | undefined
  /**
   * Keep the SQL of lists as named prepared statements on each connection. False behind a pooler that hands out
   * connections by transaction (PgBouncer), unless it follows prepared statements itself.
   * @default the environment variable PREPARED_STATEMENTS, else true
   */
  readonly preparedStatements?: boolean | undefined
  /**
   * Read rows by pg's documented `client.query()` only. Ours reads them from the bytes of pg's connection, in less time: true
   * is for a version of pg, or something around it, that changes what is between.
   * @default the environment variable PLAIN_QUERIES, else false
   */
  readonly plainQueries?: boolean | undefined
  /**
   * The version of the application, 1 to 128 characters from `!` to `~`; empty means computed.
   * @default the environment variable APP_VERSION, else computed
   */
  readonly appVersion?: string | undefined
  /** Send `X-App-Version` with every response. @default the environment variable APP_VERSION_HEADER, else true */
  readonly appVersionHeader?: boolean | undefined
  /**
   * What a page does when it finds that the server has another version.
   * @default the environment variable APP_VERSION_MISMATCH, else 'reload'
   */
  readonly appVersionMismatch?: MismatchAction | undefined
  /** Answer `GET /version`. @default the environment variable VERSION_ENDPOINT, else true */
  readonly versionEndpoint?: boolean | undefined
  /** Add `?v=<hash>` in development. @default the environment variable STATIC_DEV_VERSION_QUERY, else true */
  readonly staticDevVersionQuery?: boolean | undefined
  /**
   * What `POST /cache/bust` asks for, at least 16 characters from `!` to `~`, with spaces between.
   * @default the environment variable CACHE_BUST_TOKEN, else derived from the secret key
   */
  readonly cacheBustToken?: string | undefined
  /** The folder of collected static files. @default the environment variable STATIC_ROOT, else 'staticfiles' */
  readonly staticRoot?: string | undefined
  /**
   * What the URLs of static files begin with: a path, or an address where another host serves them.
   * @default the environment variable STATIC_URL, else the prefix of `staticAssets()`
   */
  readonly staticUrl?: string | undefined
  /**
   * The path that a proxy strips from the beginning of URLs before it hands requests on: links, `Location`, `api.url()`, the
   * servers of the document and the URLs of static files begin with it. @see docs/how-to/behind-a-proxy.md
   * @example '/shop' // GET /shop/api/books arrives as GET /api/books
   * @default the environment variable FORWARDED_PREFIX, else none
   */
  readonly forwardedPrefix?: string | undefined
  /**
   * The table that answers are kept in for their `Idempotency-Key`, with its schema if there is one.
   * @default the environment variable IDEMPOTENCY_TABLE, else 'koa_viewsets_idempotency'
   */
  readonly idempotencyTable?: string | undefined
  /** Seconds that they are kept. @default the environment variable IDEMPOTENCY_TTL, else 86_400, a day */
  readonly idempotencyTtl?: number | undefined
  /** The most bytes of a body that is kept. @default the environment variable IDEMPOTENCY_MAX_ANSWER, else 1_048_576 */
  readonly idempotencyMaxAnswer?: number | undefined
  /**
   * About the most bytes of the bodies of more than 4,096 bytes that are kept for one caller.
   * @default the environment variable IDEMPOTENCY_MAX_CALLER, else 33_554_432
   */
  readonly idempotencyMaxCaller?: number | undefined
  /**
   * The table that changes are recorded in, with its schema if there is one.
   * @default the environment variable CHANGES_TABLE, else 'koa_viewsets_changes'
   */
  readonly changesTable?: string | undefined
  /** Days that they are kept, at least. @default the environment variable CHANGES_RETENTION, else 90 */
  readonly changesRetention?: number | undefined
  /**
   * Also answer `code`, which stands for the `detail`, and the code of each message in `codes`, in the shape of `errors` (docs/reference/error-codes.md).
   * @default the environment variable ERROR_CODES, else false
   */
  readonly errorCodes?: boolean | undefined
  /**
   * Messages and `detail`s in place of the package's, by code.
   * @example { min_length: ({ min }) => `Mindestens ${min} Zeichen.`, required: 'Bitte angeben.' }
   */
  readonly messages?: Messages | undefined
  /**
   * Answer errors as `application/problem+json` (RFC 9457) to clients whose `Accept` would have that rather than `application/json`.
   * @default the environment variable PROBLEM_DETAILS, else false
   */
  readonly problemDetails?: boolean | undefined
  /** The `type` of problems by status: a URL of a page about them. @default 'about:blank' of all */
  readonly problemTypes?: Readonly<Record<number, string>> | undefined
  /**
   * The shape of errors, but for those that are problems: what stands for the package's own body, and its JSON Schema for the
   * OpenAPI document; or `'react-admin'` or `'refine'`, whose forms show them by field. @see docs/reference/envelopes.md
   * @example { body: ({ detail, errors }) => ({ errors: errors ?? { body: [detail] } }), schema: { type: 'object' } }
   */
  readonly errorShape?: ErrorShape | FormShape | undefined
}

/** An error as the package would answer it. */
export interface AnsweredError {
  readonly detail: string
  readonly status: number
  readonly code?: string
  readonly errors?: ErrorMessages
  readonly codes?: ErrorMessages
  /** What an error of the application's has besides. */
  readonly [member: string]: unknown
}

/** How an application shapes errors. */
export interface ErrorShape {
  /** Makes the body. One that throws, or returns no object, is reported, and the package's own body is sent. */
  readonly body: (error: AnsweredError, request: unknown) => object
  /** JSON Schema of the bodies, for the OpenAPI document. @default any object */
  readonly schema?: Readonly<Record<string, unknown>>
}

/** A setting: the environment variable it is read from, and what it may be. */
interface Kind<T> {
  readonly variable?: string
  /** The value, from code or as the environment's text; undefined counts as not set. @throws ConfigurationError */
  readonly read: (value: unknown, where: string) => T | undefined
}

const readVersion = textReader(/^[!-~]{1,128}$/, '1 to 128 characters from ! to ~, without spaces')
const readText = textReader(/^[^\0]*$/, 'a path')
const readTable = textReader(/^[a-z_]\w{0,62}(?:\.[a-z_]\w{0,62})?$/i, 'the name of a table, or schema.table')
const readStaticUrl = textReader(
  /^(?:https?:\/\/[\w.:[\]-]+(?:\/|$)|\/(?!\/))[\w.~%!$&*+,;=:@/-]*$/i,
  'a path such as /static, or an address such as https://cdn.example.com/static',
)
/** A path without a slash at its end, so that what stands behind it may begin with one. */
const readPrefix = textReader(/^(?:\/[\w.~%!$&*+,;=:@-]+)+$/, 'a path such as /shop, without a slash at the end')

const secret = (variable: string): Kind<string> => ({ variable, read: readSecret })
const flag = (variable: string): Kind<boolean> => ({ variable, read: readFlag })
const text = (variable: string): Kind<string> => ({ variable, read: readText })
const count = (variable: string): Kind<number> => ({ variable, read: readCount })

const kinds = {
  secretKey: secret('SERVICE_SECRET_KEY'),
  cursorSecret: secret('SERVICE_CURSOR_SECRET'),
  preparedStatements: flag('PREPARED_STATEMENTS'),
  plainQueries: flag('PLAIN_QUERIES'),
  appVersion: { variable: 'APP_VERSION', read: readVersion },
  appVersionHeader: flag('APP_VERSION_HEADER'),
  appVersionMismatch: { variable: 'APP_VERSION_MISMATCH', read: readMismatchAction },
  versionEndpoint: flag('VERSION_ENDPOINT'),
  staticDevVersionQuery: flag('STATIC_DEV_VERSION_QUERY'),
  cacheBustToken: { variable: 'CACHE_BUST_TOKEN', read: readToken },
  staticRoot: text('STATIC_ROOT'),
  staticUrl: { variable: 'STATIC_URL', read: readStaticUrl },
  forwardedPrefix: { variable: 'FORWARDED_PREFIX', read: readPrefix },
  idempotencyTable: { variable: 'IDEMPOTENCY_TABLE', read: readTable },
  idempotencyTtl: count('IDEMPOTENCY_TTL'),
  idempotencyMaxAnswer: count('IDEMPOTENCY_MAX_ANSWER'),
  idempotencyMaxCaller: count('IDEMPOTENCY_MAX_CALLER'),
  changesTable: { variable: 'CHANGES_TABLE', read: readTable },
  changesRetention: count('CHANGES_RETENTION'),
  errorCodes: flag('ERROR_CODES'),
  messages: { read: readMessages },
  problemDetails: flag('PROBLEM_DETAILS'),
  problemTypes: { read: readTypes },
  errorShape: { read: readErrorShape },
} as const satisfies Partial<Record<keyof Settings, Kind<unknown>>>

type Name = keyof typeof kinds

let configured: Settings = {}
/** Asked for by every list or write: looking them up in the environment is not free. */
let prepares: boolean | undefined
let plain: boolean | undefined
let prefix: string | undefined
let changes: string | undefined

/**
 * Sets the settings in code, in place of all that an earlier call has set. What is left out comes from the environment.
 * Changing a secret makes outstanding cursors invalid.
 * @example configure({ secretKey: await vault.read('api/secret-key') })
 * @throws ConfigurationError for a secret under 16 characters, a value that a setting cannot have, or a name that is none
 */
export function configure(settings: Settings): void {
  for (const name of Object.keys(settings)) checkName(name)
  for (const [name, { read }] of Object.entries(kinds)) read(settings[name as Name], `configure({ ${name} })`)
  configured = { ...settings }
  prepares = undefined
  plain = undefined
  prefix = undefined
  changes = undefined
}

/** @throws ConfigurationError there is no such setting */
function checkName(name: string): void {
  if (Object.hasOwn(kinds, name)) return
  const names = Object.keys(kinds) as Name[]
  const meant = names.find((one) => (kinds[one] as Kind<unknown>).variable === name)
  const fix = meant ? `: write ${meant}` : didYouMean(name, names) || `: give some of ${names.join(', ')}`
  throw new ConfigurationError(`configure({ ${name} }) is no setting${fix}`)
}

/** What `configure()` was last given. Another object after each call, so that what was computed from it can be kept. */
export function currentSettings(): Settings {
  return configured
}

/**
 * The secret key, looked up anew at each call.
 * @throws ConfigurationError when it is missing or too short
 */
export function getSecretKey(): string {
  const key = findSecretKey()
  if (key !== undefined) return key
  throw new ConfigurationError(
    `${kinds.secretKey.variable} is not set: give the environment variable or configure({ secretKey }) at least ` +
      `${MINIMUM_LENGTH} random characters, the same on all nodes`,
  )
}

/** The secret key; undefined where none is set. @throws ConfigurationError when it is too short */
export function findSecretKey(): string | undefined {
  return setting('secretKey')
}

/**
 * The secret of both kinds of cursor: the cursor secret where there is one, else the secret key.
 * @throws ConfigurationError when it is missing or too short
 */
export function getCursorSecret(): string {
  return setting('cursorSecret') ?? getSecretKey()
}

/**
 * Whether statements are prepared by name; the environment is read once after each `configure()`.
 * @throws ConfigurationError the environment has a value that it cannot have
 */
export function preparesStatements(): boolean {
  prepares ??= setting('preparedStatements') ?? true
  return prepares
}

/** Whether rows are read by `client.query()` only; read as `preparesStatements()` is. @throws ConfigurationError */
export function queriesPlainly(): boolean {
  plain ??= setting('plainQueries') ?? false
  return plain
}

/** What a proxy has stripped from paths, empty for nothing; read as `preparesStatements()` is. @throws ConfigurationError */
export function forwardedPrefix(): string {
  prefix ??= setting('forwardedPrefix') ?? ''
  return prefix
}

/** The name of the table of changes; read as `preparesStatements()` is. @throws ConfigurationError */
export function changesTableName(): string {
  changes ??= setting('changesTable') ?? 'koa_viewsets_changes'
  return changes
}

/**
 * The value of a setting, from code or from the environment, looked up anew at each call; undefined where it is not set.
 * @throws ConfigurationError the environment has a value that it cannot have
 */
export function setting(name: 'errorShape'): ErrorShape | undefined
export function setting<N extends Name>(name: N): Settings[N]
export function setting(name: Name): unknown {
  const { variable, read }: Kind<unknown> = kinds[name]
  const value = configured[name]
  if (value === undefined && variable !== undefined) return read(process.env[variable], variable)
  return read(value, `configure({ ${name} })`)
}

/** What a page does when its version is not the server's. */
export type MismatchAction = 'reload' | 'warn' | 'ignore'

/** Characters of the shortest secret. */
const MINIMUM_LENGTH = 16

const TOKEN = /^[!-~](?:[ -~]*[!-~])?$/
const MISMATCH_ACTIONS: readonly MismatchAction[] = ['reload', 'warn', 'ignore']
const BOOLEANS = new Map([
  ...['true', '1', 'yes', 'on'].map((text) => [text, true] as const),
  ...['false', '0', 'no', 'off'].map((text) => [text, false] as const),
])

function readSecret(value: unknown, where: string): string | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'string') throw new ConfigurationError(`${where}: give a text`)
  if (value.length >= MINIMUM_LENGTH) return value
  throw new ConfigurationError(
    `${where} has ${value.length} characters: make it at least ${MINIMUM_LENGTH} random characters, the same on all nodes`,
  )
}

/** A secret that clients send in a header. What else they send arrives changed: as latin1, without spaces at its ends. */
function readToken(value: unknown, where: string): string | undefined {
  const token = readSecret(value, where)
  if (token === undefined || TOKEN.test(token)) return token
  throw new ConfigurationError(
    `${where} has characters that a header does not bring as they are: use those from ! to ~, and spaces between`,
  )
}

/** A text of one form. @param wanted what to give in its place */
function textReader(form: RegExp, wanted: string): (value: unknown, where: string) => string | undefined {
  return (value, where) => {
    if (value === undefined || value === '') return undefined
    if (typeof value === 'string' && form.test(value)) return value
    throw new ConfigurationError(`${where} is ${quote(value)}: give ${wanted}`)
  }
}

function readFlag(value: unknown, where: string): boolean | undefined {
  if (value === undefined || value === '' || typeof value === 'boolean') return value === '' ? undefined : value
  const found = typeof value === 'string' ? BOOLEANS.get(value.toLowerCase()) : undefined
  if (found === undefined) throw new ConfigurationError(`${where} is ${quote(value)}: give true or false`)
  return found
}

/** A mismatch action from a value; undefined counts as not given. @throws ConfigurationError */
export function readMismatchAction(value: unknown, where: string): MismatchAction | undefined {
  if (value === undefined || value === '') return undefined
  const found = MISMATCH_ACTIONS.find((action) => action === value)
  if (found) return found
  throw new ConfigurationError(`${where} is ${quote(value)}: give ${MISMATCH_ACTIONS.join(', ')}`)
}

function readCount(value: unknown, where: string): number | undefined {
  if (value === undefined || value === '') return undefined
  const found = typeof value === 'string' && /^[0-9]{1,15}$/.test(value) ? Number(value) : value
  if (typeof found === 'number' && Number.isSafeInteger(found) && found >= 1) return found
  throw new ConfigurationError(`${where} is ${quote(value)}: give a whole number of at least 1`)
}

function readTypes(value: unknown, where: string): Readonly<Record<number, string>> | undefined {
  if (value === undefined) return undefined
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [['', value]]
  const isType = ([status = '', type]: readonly unknown[]) =>
    /^[45][0-9]{2}$/.test(String(status)) && typeof type === 'string' && /^[!-~]+$/.test(type)
  if (!Array.isArray(value) && entries.every(isType)) return value as Readonly<Record<number, string>>
  throw new ConfigurationError(
    `${where} is ${quote(value)}: give URLs by status, such as { 409: 'https://example.com/conflict' }`,
  )
}

/** A function that makes bodies, and their schema; of a front end, its preset. */
function readErrorShape(value: unknown, where: string): ErrorShape | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'string' && Object.hasOwn(FORM_SHAPES, value)) return FORM_SHAPES[value as FormShape]
  const { body, schema = {} } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
  if (typeof body === 'function' && typeof schema === 'object' && schema !== null) return value as never
  throw new ConfigurationError(
    `${where}: give { body: (error) => ({ … }), schema: { … } }, or one of ${Object.keys(FORM_SHAPES).join(', ')}`,
  )
}
