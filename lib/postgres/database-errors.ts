/** SQLSTATEs and other errors of PostgreSQL, pg, knex and Objection as answers for the client: what slips past validation. */

import {
  ApiError,
  BadRequest,
  type ErrorMessages,
  NotFound,
  PermissionDenied,
  ServiceUnavailable,
  ValidationError,
} from '../kernel/errors.js'
import { isError } from '../kernel/realms.js'
import { changesTableName } from '../kernel/settings.js'
import { warnOnce } from '../kernel/warn-once.js'
import {
  type Answer,
  check,
  excluded,
  INVALID,
  NOT_UNIQUE,
  notNull,
  raised,
  reference,
  referenced,
  unique,
} from './constraint-errors.js'
import { type ConstraintSubject, requestSubject } from './failed-statement.js'
import { warnOfMissingGrant } from './missing-grant.js'
import { isOfGiven, type NativeError, nativeError, nativeMessage } from './native-error.js'
import { isColumnGone, isColumnNew, isTableGone } from './prepared-names.js'

/**
 * The answer for an error that came from the database or on the way to it; an `ApiError` is its own answer.
 * Null for everything unknown: the caller answers 500. The error becomes the `cause`, its text is never repeated.
 * `subject` names fields; without it messages stand under `non_field_errors`.
 * @example catch (error) { answerError(ctx, toApiError(error, subject) ?? error) }
 */
export function toApiError(error: unknown, subject: ConstraintSubject = requestSubject('GET')): ApiError | null {
  if (error instanceof ApiError) return error
  if (!isError(error)) return null
  return answerObjection(error, subject) ?? answerNative(nativeError(error), subject)
}

/** The SQLSTATE of what a role may not do. */
export const INSUFFICIENT_PRIVILEGE = '42501'
/** Five characters, a digit among them: `EPIPE` is a system's error. */
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/

/** The SQLSTATE of an error that PostgreSQL has raised, however it was wrapped on the way. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = isError(error) ? nativeError(error).code : undefined
  return typeof code === 'string' && SQLSTATE.test(code) ? code : undefined
}

/**
 * SQLSTATEs of a bad value that no field has refused: a type, a length or a range that only the database knows.
 * `answerError` warns of them once, since a stricter field would answer better.
 */
const VALUE_STATES = ['22P02', '22003', '22007', '22008', '22001', '22021', '22P05', '2201W', '2201X']

/**
 * Where PostgreSQL reads the text of some types and refuses it by a code of its own. The same codes raised elsewhere are
 * about what SQL computes, not about what a client has sent.
 */
const TYPE_INPUT: ReadonlyMap<unknown, ReadonlySet<unknown>> = new Map([
  ['22000', new Set(['rangetypes.c'])],
  ['22009', new Set(['datetime.c'])],
  ['22015', new Set(['datetime.c'])],
  ['22023', new Set(['datetime.c', 'encode.c', 'ltxtquery_io.c'])],
  ['22026', new Set(['varbit.c'])],
  ['2200M', new Set(['xml.c'])],
  ['2200N', new Set(['xml.c'])],
  ['2202E', new Set(['arrayfuncs.c'])],
  ['42622', new Set(['ltree_io.c'])],
  ['54000', new Set(['arrayfuncs.c', 'tsquery.c', 'tsvector.c'])],
])

/** Source files of PostgreSQL that parse the input of full-text search. */
const SEARCH_QUERY_FILES: ReadonlySet<unknown> = new Set(['tsquery.c', 'tsvector_parser.c'])

/** Source files of PostgreSQL in which `regclass` and its like look up names. */
const NAME_INPUT_FILES: ReadonlySet<unknown> = new Set(['regproc.c', 'parse_type.c'])

/** The parser says where in the SQL it has stopped; `postgres.c` refuses several statements at once. */
function isAboutSql({ file, position, internalPosition }: NativeError): boolean {
  return position !== undefined || internalPosition !== undefined || file === 'postgres.c'
}

const invalid: Answer = (cause) => new ValidationError(INVALID, { cause })
/** Triggers take no arguments, so that the context of an error names them by these, in any language. */
const TRIGGER_CALL = '()'
/** Another code of a value: `invalid` where the text of a type was read, or a table computes something of its rows, else null. */
const invalidInput: Answer = (cause, subject) => {
  const isComputed = subject.isOfRows && !String(cause['where']).includes(TRIGGER_CALL)
  return isComputed || TYPE_INPUT.get(cause.code)?.has(cause.file) ? invalid(cause, subject) : null
}
const invalidWrite: Answer = (cause, subject) =>
  subject.operation === 'write' ? invalid(cause, subject) : invalidInput(cause, subject)
/** Too deep a value that was given; a function or trigger that calls itself without end says where it was. */
const tooDeep: Answer = (cause, subject) =>
  cause['where'] === undefined || cause.routine === RAISE ? invalidWrite(cause, subject) : null
/** A value for a column that the table below a view makes, or that of another server, of which the catalogue does not say so. */
const generatedBelow: Answer = (cause, subject) =>
  cause.file === 'connection.c' || subject.isOfRows === false ? invalidWrite(cause, subject) : null
const invalidPattern: Answer = (cause) => new BadRequest('Invalid search pattern.', { cause })
const invalidQuery: Answer = (cause, { operation }) => {
  if (!SEARCH_QUERY_FILES.has(cause.file)) return null
  return operation === 'write'
    ? new ValidationError(INVALID, { cause })
    : new BadRequest('Invalid search query.', { cause })
}
/** 42601 in the text of a value, as of an `ltree` or a `jsonpath`, or in the SQL itself. */
const invalidSyntax: Answer = (cause, subject) =>
  invalidQuery(cause, subject) ?? (isAboutSql(cause) ? null : invalid(cause, subject))
/** A value that should name something in the catalogue, such as a `regclass`, or SQL that does. */
const invalidName: Answer = (cause, subject) =>
  NAME_INPUT_FILES.has(cause.file) && !isAboutSql(cause) ? invalid(cause, subject) : null
/** What was there when `prepare()` read the catalogue; a value that should name a table is the client's. */
const goneTable: Answer = (cause, subject) =>
  isTableGone(cause) ? unavailable(cause, subject) : invalidName(cause, subject)
const goneColumn: Answer = (cause, subject) => (isColumnGone(cause) ? unavailable(cause, subject) : null)
const missingValue: Answer = (cause, subject) => {
  if (isColumnNew(cause)) return unavailable(cause, subject)
  const answer = notNull(cause, subject)
  const { table, column } = cause
  // who asks can do nothing about a column that no field writes
  if (typeof column === 'string' && Object.hasOwn(answer?.errors ?? {}, 'non_field_errors')) {
    warnOnce(
      'KOA_VIEWSETS_MISSING_VALUE',
      `PostgreSQL has refused a row without a value of "${String(table)}"."${column}" (SQLSTATE 23502), a column that no ` +
        'field of the serializer is known to write: give it by performCreate(), by a default of the column, or add it to ' +
        'fields; a field that writes it through a view needs extraKwargs of { required: true, allowNull: false }.',
    )
  }
  return answer
}
const denied: Answer = (cause) => {
  warnOfMissingGrant(cause)
  return new PermissionDenied(undefined, { cause })
}
const unavailable: Answer = (cause) => new ServiceUnavailable(1, { cause })
/** A pooler that has lost its server, or that has no connection to give; PostgreSQL names the file of its own errors. */
const pooler: Answer = (cause, subject) => (cause.file === undefined ? unavailable(cause, subject) : null)
/** A materialized view that was never refreshed, as the executor says; the same code elsewhere is about what SQL asks for. */
const unfilled: Answer = (cause, subject) =>
  cause.file === 'execMain.c' || cause.file === 'execUtils.c' ? unavailable(cause, subject) : null
const standby: Answer = (cause, { operation }) => (operation === 'read' ? null : new ServiceUnavailable(1, { cause }))

/** By SQLSTATE, its class of two characters, or the code of a system error; the longer key wins. */
const ANSWERS: ReadonlyMap<unknown, Answer> = new Map<unknown, Answer>([
  ...VALUE_STATES.map((state) => [state, invalid] as const),
  ['22', invalidInput],
  ['2200H', unavailable],
  ['2201B', invalidPattern],
  ['P0001', raised],
  ['42601', invalidSyntax],
  ['428C9', generatedBelow],
  ['42P01', goneTable],
  ['42703', goneColumn],
  ['42622', invalidInput],
  ['42704', invalidName],
  ['42883', invalidName],
  ['42725', invalidName],
  ['42602', invalidName],
  ['3F000', invalidName],
  ['XX000', invalidQuery],
  ['23', check],
  ['23505', unique],
  ['23502', missingValue],
  ['23P01', excluded],
  ['44000', check],
  ['23503', reference],
  ['23001', referenced],
  ['54000', invalidWrite],
  ['54001', tooDeep],
  ['40001', unavailable],
  ['40P01', unavailable],
  ['55000', unfilled],
  ['55P03', unavailable],
  ['57014', unavailable],
  ['08', unavailable],
  ['08P01', pooler],
  ['28', unavailable],
  ['3D000', unavailable],
  ['57P01', unavailable],
  ['57P02', unavailable],
  ['57P03', unavailable],
  ['57P05', unavailable],
  ['25P03', unavailable],
  ['25P04', unavailable],
  ['53', unavailable],
  ['25006', standby],
  [INSUFFICIENT_PRIVILEGE, denied],
  ['ECONNREFUSED', unavailable],
  ['ECONNRESET', unavailable],
  ['EHOSTUNREACH', unavailable],
  ['ENETUNREACH', unavailable],
  ['EPIPE', unavailable],
  ['ETIMEDOUT', unavailable],
  ['ENOTFOUND', unavailable],
  ['EAI_AGAIN', unavailable],
])

/** Lost connections that carry no code. knex puts the SQL text and ` - ` before the message. */
const LOST_CONNECTION =
  /(?:^| - )(?:Connection terminated(?: unexpectedly)?|Client [a-z ]+ not queryable|Query read timeout)$/

/** The same of connections that there never were, and of exhausted pools. */
const NO_CONNECTION =
  /(?:^| - )(?:Connection terminated due to connection timeout|timeout expired|Unable to acquire a connection|timeout exceeded when trying to connect|Cannot use a pool after calling end on the pool)$/

/** What pg says after its `query_timeout`. */
const UNANSWERED = /(?:^| - )Query read timeout$/

/** True of the error of a statement for which pg no longer waits: the connection is still busy with it. */
export function isStillRunning(error: unknown): boolean {
  if (!isError(error)) return false
  const { code, message } = nativeError(error)
  return code === undefined && UNANSWERED.test(message)
}

/** Codes of lost connections and exhausted pools, of PostgreSQL, a pooler or a socket; 08001 is of one to another server that there never was. */
const LOST_STATE = /^(?:08(?!001)|57P0[125]|ECONNRESET$|EPIPE$|ETIMEDOUT$)/

/** True where the connection was lost, and with it what became of the statement that was on its way. */
export function isInDoubt(error: unknown): boolean {
  if (error instanceof ApiError) return isInDoubt(error.cause)
  if (!isError(error)) return false
  const { code, message, syscall } = nativeError(error)
  if (typeof code !== 'string') return LOST_CONNECTION.test(message)
  return syscall !== 'connect' && LOST_STATE.test(code)
}

/**
 * `RAISE` in PL/pgSQL, with a code of the application's choice: what it says is about data. Codes that tell what to do, such
 * as to try again, keep their meaning.
 */
const RAISE = 'exec_stmt_raise'

/** A limit or an offset below zero. */
const OF_PAGES: ReadonlySet<string> = new Set(['2201W', '2201X'])

/** True of a row that the table of changes refuses, or has no right for: what a client sends is no reason that nothing is recorded. */
function isOfChanges(error: NativeError): boolean {
  const name = changesTableName().split('.').at(-1) as string
  return error.table === name || (error.code === INSUFFICIENT_PRIVILEGE && nativeMessage(error).includes(name))
}

/** Where objects are read, only values given with the statement are the client's: any other was made of what is stored. */
function answerNative(error: NativeError, subject: ConstraintSubject): ApiError | null {
  // A server that is away on a unix socket is `connect ENOENT`.
  if (error.name === 'KnexTimeoutError' || error.syscall === 'connect') return unavailable(error, subject)
  if (typeof error.code !== 'string') {
    const isLost = LOST_CONNECTION.test(error.message) || NO_CONNECTION.test(error.message)
    return isLost ? unavailable(error, subject) : null
  }
  if (isOfChanges(error)) return null
  const answer = ANSWERS.get(error.code) ?? (error.code.length === 5 ? ANSWERS.get(error.code.slice(0, 2)) : undefined)
  const isOfData = error.code.startsWith('23')
  const own = error.routine === RAISE ? raised : undefined
  const answered =
    (isOfData ? own?.(error, subject) : null) ?? answer?.(error, subject) ?? own?.(error, subject) ?? null
  const isGiven = isOfGiven(error)
  if (answered instanceof ValidationError) {
    // a constraint of a table is violated by what a request has written, whatever its method
    const isOfRequest = isGiven || error.table !== undefined || OF_PAGES.has(error.code)
    return subject.operation !== 'read' || isOfRequest ? answered : null
  }
  return answered ?? (isGiven ? invalid(error, subject) : null)
}

/** Error to throw where the rows of a write could not be read: values that were not given with the statement are stored ones. */
export function readingError(error: unknown): unknown {
  const isStored = toApiError(error) === null && toApiError(error, requestSubject('POST')) instanceof ValidationError
  return isStored ? new Error('the rows were found and could not be read', { cause: error }) : error
}

/** True for an answer to a value that PostgreSQL has refused and a field should have. */
export function isValidationGap({ status, cause }: ApiError): boolean {
  return status === 400 && isError(cause) && VALUE_STATES.includes(String(nativeError(cause).code))
}

/** Objection's own errors. `modelClass` distinguishes its NotFoundError from that of http-errors, which has the same name. */
function answerObjection(
  error: Error & { type?: unknown; data?: unknown; modelClass?: unknown },
  subject: ConstraintSubject,
): ApiError | null {
  if (!('modelClass' in error)) return null
  if (error.name === 'NotFoundError') return new NotFound(undefined, { cause: error })
  if (error.name !== 'ValidationError' || error.type !== 'ModelValidation') return null
  const told = typeof error.data === 'object' && error.data !== null ? Object.entries(error.data) : []
  const failures = told.filter(([, failure]) => !isOfBranch(failure))
  if (failures.length === 0) return new ValidationError(INVALID, { cause: error })
  const errors: ErrorMessages = {}
  for (const [path, failure] of failures) {
    const field = fieldOfPath(path, subject)
    if (field === undefined && path !== '') warnOfUnwritten(error.modelClass, path, failure)
    // what is required inside of a JSON value is no field
    errors[field ?? 'non_field_errors'] = [path.includes('.') ? INVALID : modelMessage(failure)]
  }
  return new ValidationError(errors, { cause: error })
}

/** Who asks can do nothing about a property that no field writes. */
function warnOfUnwritten(model: unknown, path: string, failure: unknown): void {
  const { name } = model as { readonly name?: unknown }
  const [property] = path.split('.', 1)
  const keyword = keywordOf(failure)
  warnOnce(
    'KOA_VIEWSETS_MISSING_VALUE',
    `${String(name)} has refused its "${String(property)}"${keyword === undefined ? '' : ` (${keyword})`}, a property that no field of the serializer ` +
      'is known to write: give it by performCreate(), add it to fields, or take it out of what the jsonSchema asks for.',
  )
}

/** A failure deep inside a JSON value has a path: `meta.tags.0`; what is asked of the whole object, as by `anyOf`, has none. */
function fieldOfPath(path: string, subject: ConstraintSubject): string | undefined {
  if (path === '') return undefined
  const [property] = path.split('.', 1)
  return subject.fieldOfProperty ? subject.fieldOfProperty(property as string) : path
}

/** `failure` is a list of `{ keyword, message }`; the validator's own text names things a client does not know. */
function modelMessage(failure: unknown): string {
  return MESSAGES.get(keywordOf(failure)) ?? INVALID
}

/** True for a failure that says only that `then` or `else` has failed, of which Ajv tells besides. */
function isOfBranch(failure: unknown): boolean {
  return [failure].flat().every((one) => keywordOf(one) === 'if')
}

function keywordOf(failure: unknown): string | undefined {
  const first = (Array.isArray(failure) ? failure[0] : failure) as { readonly keyword?: unknown } | null | undefined
  return typeof first?.keyword === 'string' ? first.keyword : undefined
}

/** By the keyword of the failure. JSON Schema has no `unique`: objection-unique says so of a value that another row has. */
const MESSAGES: ReadonlyMap<unknown, string> = new Map([
  ['required', 'This field is required.'],
  ['unique', NOT_UNIQUE],
])
