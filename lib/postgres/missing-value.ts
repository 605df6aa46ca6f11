/** Tells the operator of a column that needs a value which neither clients nor the application give: who asks can do nothing about it. */

import type { ApiError } from '../kernel/errors.js'
import type { NativeError } from './native-error.js'

/** Each names a column, so that there are few. */
const MOST_WARNINGS = 50

const told = new Set<string>()

/** Warns once of each column that must have a value, and that the answer names no field for. */
export function warnOfMissingValue({ table, column }: NativeError, { errors }: Partial<ApiError>): void {
  if (!Object.hasOwn(errors ?? {}, 'non_field_errors') || typeof column !== 'string') return
  const name = `"${String(table)}"."${column}"`
  if (told.has(name) || told.size >= MOST_WARNINGS) return
  told.add(name)
  process.emitWarning(
    `PostgreSQL has refused a row without a value of ${name} (SQLSTATE 23502), a column that no field of the serializer writes: ` +
      'give it by performCreate(), by a default of the column, or add it to fields.',
    { code: 'KOA_VIEWSETS_MISSING_VALUE' },
  )
}
