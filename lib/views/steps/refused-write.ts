/** What the database refuses outside the serializer's own statements (in a hook, at COMMIT), in the client's words. */

import type { ApiError } from '../../kernel/errors.js'
import { isError } from '../../kernel/realms.js'
import { isRecord } from '../../kernel/records.js'
import { toApiError } from '../../postgres/database-errors.js'
import { type ConstraintSubject, requestSubject } from '../../postgres/failed-statement.js'
import { nativeError } from '../../postgres/native-error.js'
import { constraintSubject } from '../../serializers/constraint-subject.js'
import { serializerPlan } from '../../serializers/plan.js'
import { prefixed } from '../../serializers/prefix-errors.js'
import type { GenericView } from '../generic-view.js'
import { inputClassOf } from '../input-class.js'

/** The answer for an error; null where it is not the client's. */
export function refusedWrite(view: GenericView, error: unknown): ApiError | null {
  const general = requestSubject(view.ctx.method, view)
  let data: unknown
  let subjectOf: (item: unknown) => ConstraintSubject
  try {
    data = view.body.data
    const plan = serializerPlan(view.seenClass(inputClassOf(view)))
    subjectOf = (item) => constraintSubject(plan, general.operation, item, { raw: true, view })
    subjectOf(data)
  } catch {
    // a view without a serializer names no fields
    return toApiError(error, general)
  }
  if (!Array.isArray(data)) return toApiError(error, subjectOf(data))
  const position = data.findLastIndex((item) => isRecord(item) && isRefused(error, subjectOf(item), item))
  // what is wrong with a list has no field: its errors are keyed by position
  if (position < 0) return toApiError(error, { ...general, isMade: subjectOf(undefined).isMade })
  return prefixed([position], toApiError(error, subjectOf(data[position]))) as ApiError | null
}

/** True for an item that has sent the values of the key which PostgreSQL refuses: `Key (a, b)=(1, x)`, in any language. */
function isRefused(error: unknown, subject: ConstraintSubject, item: Readonly<Record<string, unknown>>): boolean {
  if (!isError(error)) return false
  const { table, constraint, detail } = nativeError(error)
  if (typeof table !== 'string' || typeof constraint !== 'string' || typeof detail !== 'string') return false
  const columns = subject.columnsOf(table, constraint) ?? []
  const values = columns.map((column) => item[subject.fieldOf(table, column) ?? ''])
  // PostgreSQL writes lists and objects otherwise, and a client's `toString` is no method
  const isText = (value: unknown) => value !== undefined && !Array.isArray(value) && !isRecord(value)
  if (values.length === 0 || !values.every(isText)) return false
  return detail.includes(`(${columns.join(', ')})=(${values.join(', ')})`)
}
