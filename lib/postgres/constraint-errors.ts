/** Violations of constraints, and what triggers raise, as messages under the client's fields. */

import { ApiError, Conflict, type ErrorMessages, ValidationError } from '../kernel/errors.js'
import { noObject } from '../kernel/messages.js'
import { type ConstraintSubject, PARTITION_OF } from './failed-statement.js'
import { isOfGiven, mentionsOf, type NativeError, nativeMessage } from './native-error.js'

/** The answer for an error of PostgreSQL; null where it is not the client's. */
export type Answer = (error: NativeError, subject: ConstraintSubject) => ApiError | null

export const INVALID = 'Invalid value.'
export const NOT_UNIQUE = 'This field must be unique.'

type OfField = (field: string, subject: ConstraintSubject) => string
type OfNoField = (fields: readonly string[]) => string

/**
 * One message under the only field among the columns of the constraint, else another under no field.
 * @param isNamed whether a field of such a column is meant
 */
function constrained(
  message: OfField,
  general: OfNoField,
  isNamed: (field: string, subject: ConstraintSubject) => boolean = () => true,
): Answer {
  const errorsOf = messagesOf(message, general)
  return (cause, subject) => {
    const fields = fieldsOf(cause, subject).filter((field) => isNamed(field, subject))
    return new ValidationError(errorsOf(fields, subject), { cause })
  }
}

function messagesOf(message: OfField, general: OfNoField) {
  return (fields: readonly string[], subject: ConstraintSubject): ErrorMessages => {
    const [field] = fields
    return field !== undefined && fields.length === 1
      ? { [field]: [message(field, subject)] }
      : { non_field_errors: [general(fields)] }
  }
}

const notUnique = constrained(
  () => NOT_UNIQUE,
  (fields) => (fields.length > 1 ? `The fields ${fields.join(', ')} must make a unique set.` : NOT_UNIQUE),
)
/** A key that the database has made is no client's to mend: its sequence is behind the table. */
export const unique: Answer = (cause, subject) => {
  const { table, constraint } = cause
  const names = typeof table === 'string' && typeof constraint === 'string'
  if (names && subject.isMade?.(table, constraint)) return new ApiError(500, 'Internal server error', { cause })
  return notUnique(cause, subject)
}
/** Of a column that fields only show a value is missing which no client could give. */
export const notNull = constrained(
  () => 'This field may not be null.',
  () => 'This field may not be null.',
  (field, { writes }) => writes?.(field) !== false,
)
export const check = constrained(
  () => INVALID,
  (fields) => (fields.length > 1 ? `The values of ${fields.join(', ')} do not fit together.` : INVALID),
)
export const excluded = constrained(
  () => INVALID,
  (fields) => (fields.length > 1 ? `The values of ${fields.join(', ')} conflict with another object.` : INVALID),
)
const MISSING_TARGET: [OfField, OfNoField] = [
  (field, subject) => missingObject(subject.valueOf(field)),
  (fields) => (fields.length > 1 ? `The values of ${fields.join(', ')} name no object that exists.` : INVALID),
]
const missingTarget = constrained(...MISSING_TARGET)
const missingTargetErrors = messagesOf(...MISSING_TARGET)
/** Error of a foreign key of these columns that leads nowhere, found by the database or before. */
export function missingReference(table: string, columns: readonly string[], subject: ConstraintSubject): ErrorMessages {
  return missingTargetErrors(fieldsAmong(table, columns, subject), subject)
}
/** `RAISE EXCEPTION` of a trigger, under the field of its `COLUMN` and `TABLE` where it names them. */
export const raised: Answer = (cause, subject) => {
  if (subject.exposesTriggers !== true || subject.operation === 'read') return null
  const message = nativeMessage(cause)
  return constrained(
    () => message,
    () => message,
  )(cause, subject)
}
export const referenced: Answer = (cause) => new Conflict('Object is referenced by other objects.', { cause })
/** A delete, or a change of a key that others refer to. */
export const reference: Answer = (cause, subject) =>
  (subject.operation === 'delete' || isStillReferenced(cause, subject) ? referenced : missingTarget)(cause, subject)

/**
 * Only the detail distinguishes it from a key that leads nowhere: the table and the constraint are the same. In whichever
 * language it names the table that refers, and the key that is referred to.
 */
function isStillReferenced({ detail, table, constraint }: NativeError, subject: ConstraintSubject): boolean {
  if (typeof detail !== 'string' || typeof table !== 'string') return false
  // between the brackets are values of the key, which may hold anything
  const open = detail.indexOf('(')
  const close = detail.lastIndexOf(')')
  const isNamed = mentionsOf(detail, table).some((at) => open === -1 || at <= open || at + table.length > close)
  if (!isNamed) return false
  // of a table that refers to itself; who may not read it is not told the key, and a hand-written route knows no columns
  if (/^Key (?:\(.*\) )?is not present in table "[^"]*"\.$/s.test(detail)) return false
  if (!detail.includes('(')) return true
  const columns = typeof constraint === 'string' ? subject.columnsOf(table, constraint) : undefined
  return columns === undefined || !detail.includes(`(${columns.join(', ')})=`)
}

/** The client's fields among the columns that the violated constraint covers. One of a domain names no table. */
function fieldsOf(error: NativeError, subject: ConstraintSubject): readonly string[] {
  const { table, column, constraint, schema, dataType, routine } = error
  if (typeof table !== 'string') {
    // a function of the database says where it was
    const isOfDomain = typeof dataType === 'string' && (error['where'] === undefined || isOfGiven(error))
    const field = isOfDomain ? subject.fieldOfDomain?.(`${String(schema)}.${dataType}`) : undefined
    return field === undefined ? [] : [field]
  }
  const name = routine === 'ExecFindPartition' ? PARTITION_OF + table : constraint
  const columns =
    typeof column === 'string'
      ? [column]
      : ((typeof name === 'string' ? subject.columnsOf(table, name) : undefined) ?? [])
  return fieldsAmong(table, columns, subject)
}

function fieldsAmong(table: string, columns: readonly string[], subject: ConstraintSubject): readonly string[] {
  return columns.map((name) => subject.fieldOf(table, name)).filter((field) => field !== undefined)
}

/** Without a value the client did not choose the target: a default or the path did. */
function missingObject(value: unknown): string {
  return value === undefined || value === null ? INVALID : noObject(value)
}
