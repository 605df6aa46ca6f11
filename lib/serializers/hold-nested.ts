/** Holds the rows of nested objects before operations are applied to them. */
import type { AnySerializer, BoundField } from './contract.js'
import { freshRows } from './fresh-row.js'
import { NestedSerializer } from './nested-serializer.js'

/**
 * Holds what the nested fields that a client writes lead to, at any depth. What was read of the rows may be older.
 * @param isWritten tells whether the operations write into a field of the outermost object
 * @returns true where there are such rows
 * @throws Conflict one of the rows is gone
 */
export async function holdNested(
  serializer: AnySerializer,
  objects: readonly object[],
  isWritten: (bound: BoundField) => boolean = () => true,
): Promise<boolean> {
  let holds = false
  for (const bound of serializer.plan.writable) {
    const { field, name, relation } = bound
    if (!(field instanceof NestedSerializer && isWritten(bound))) continue
    const values = objects.flatMap((object) => (object as Record<string, unknown>)[relation?.name ?? name] ?? [])
    const related = values.filter((value): value is object => typeof value === 'object' && value !== null)
    if (related.length === 0) continue
    const child = serializer.child(bound, field.serializerClass)
    holds = true
    await freshRows(related, child)
    await holdNested(child, related)
  }
  return holds
}
