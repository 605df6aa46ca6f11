/** Reads errors of pg: their fields, and PostgreSQL's own message behind what knex puts before it. */
import { isError } from '../kernel/realms.js'

/** The parts of an error of pg, or of a socket, that we look at. */
export interface NativeError extends Error {
  /** SQLSTATE, or a system error such as `ECONNREFUSED`. */
  readonly code?: unknown
  readonly table?: unknown
  readonly column?: unknown
  readonly constraint?: unknown
  readonly detail?: unknown
  /** Position of the error in the SQL, in characters; errors of values have none. */
  readonly position?: unknown
  /** Position of the error in SQL that a function of the database has run. */
  readonly internalPosition?: unknown
  /** The source file of PostgreSQL that raised it: the same in every language, unlike the message. */
  readonly file?: unknown
  /** The function of PostgreSQL that raised it. */
  readonly routine?: unknown
  /** The system call that failed. */
  readonly syscall?: unknown
  /** The bytes of PostgreSQL's message, with all its fields. */
  readonly length?: unknown
  readonly [field: string]: unknown
}

/**
 * The last line of an error's context where PostgreSQL has refused the text of a value that it was given, `parameter $1`, in
 * any language. What such an error is called differs from one type and one version to the next. By
 * `log_parameter_max_length_on_error` the value follows, and those of a statement that fails later, behind a colon.
 */
const GIVEN_VALUE = /(?:^|\n)[^$:：\n]*(?<!', )\$\d+(?: = '(?:[^']|'')*')?$/

/** True for an error of a value that was given with the statement. */
export function isOfGiven(error: NativeError): boolean {
  return GIVEN_VALUE.test(String(error['where']))
}

/** The driver's error that Objection wrapped, or the error itself. */
export function nativeError(error: Error & { nativeError?: unknown }): NativeError {
  return (isError(error.nativeError) ? error.nativeError : error) as NativeError
}

/** Where PostgreSQL raises errors of other servers, those of postgres_fdw and dblink, and those of code of the database. */
const PASSING_FILES: ReadonlySet<unknown> = new Set(['connection.c', 'dblink.c', 'pl_exec.c'])

/** True for an error of something behind PostgreSQL, whose own connection goes on, whatever the SQLSTATE. */
export function isPassedOn({ file }: Pick<NativeError, 'file'>): boolean {
  return PASSING_FILES.has(file)
}

/** The length itself, and the zero behind the last field (PostgreSQL's documentation, section 55.7, "ErrorResponse"). */
const FRAME_BYTES = 5
/** Bytes of a field besides its text: its letter, and a zero. */
const FIELD_BYTES = 2
/** pg does not keep the severity that is the same in all languages. */
const SEVERITY = 'ERROR'
const OTHER_FIELDS = [
  'severity',
  'code',
  'detail',
  'hint',
  'position',
  'internalPosition',
  'internalQuery',
  'where',
  'schema',
  'table',
  'column',
  'dataType',
  'constraint',
  'file',
  'line',
  'routine',
]

/** Separator that knex puts between the SQL and the message. */
const SQL_END = ' - '

/**
 * PostgreSQL's own message. knex puts the SQL before it, with what clients have sent, and the message may itself hold
 * ` - `: so its length is what the other fields leave of the length of the whole.
 */
export function nativeMessage(error: NativeError): string {
  const { message, length } = error
  const others = OTHER_FIELDS.map((name) => error[name]).filter((text) => typeof text === 'string')
  const used = [SEVERITY, ...others].reduce((sum, text) => sum + FIELD_BYTES + Buffer.byteLength(text), FRAME_BYTES)
  const bytes = Buffer.from(message)
  const start = bytes.length - (Number(length) - used - FIELD_BYTES)
  if (start === 0) return message
  if (start > 0 && bytes.subarray(0, start).toString().endsWith(SQL_END)) return bytes.subarray(start).toString()
  // of another driver: part of the message rather than any of the SQL
  const end = message.lastIndexOf(SQL_END)
  return end === -1 ? message : message.slice(end + SQL_END.length)
}

const BEFORE = /(?:["„“»«.]|«\s)$/u
const AFTER = /^(?:["“”«»\s]|\P{ASCII}|$)/u

/** Offsets at which a text of PostgreSQL, in any language, has the name in quotation marks or behind a dot. */
export function mentionsOf(text: string, name: string): number[] {
  const found: number[] = []
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    if (BEFORE.test(text.slice(0, at)) && AFTER.test(text.slice(at + name.length))) found.push(at)
  }
  return found
}
