/** Which lookups a column has. */
import { containmentOf } from './containment-lookups.js'
import { datePartsOf } from './date-part-lookups.js'
import { LOOKUPS, type Lookup, type Operand } from './lookups.js'

/** All lookups of a column but `isnull`, by the name that follows a field. */
export function lookupsOf(operand: Operand): readonly (readonly [suffix: string, lookup: Lookup])[] {
  const own = [...LOOKUPS].filter(([, lookup]) => operand.takes(lookup))
  if (operand.ids || operand.isKey) return own
  // a range contains values, not pieces of its text
  return [...new Map([...own, ...datePartsOf(operand), ...containmentOf(operand)])]
}
