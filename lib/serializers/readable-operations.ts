/** Operations of a JSON patch, held to what a client may read. */
import { refusal } from '../patches/json-patch.js'
import type { Pointer } from '../patches/json-pointer.js'
import type { Operation } from '../patches/read-operations.js'
import type { SerializerPlan } from './contract.js'
import { NestedSerializer } from './nested-serializer.js'
import { serializerPlan } from './plan.js'

/**
 * The operations, which read no field that is write-only. One that sets such a field whole sets it, whether there was a value or
 * not: nobody is told.
 * @throws ValidationError `test`, `copy`, `move`, `remove` or a part of a value names such a field
 */
export function readableOperations(operations: readonly Operation[], plan: SerializerPlan): readonly Operation[] {
  return operations.map((operation, position) => {
    const { op, path, from } = operation
    if (hiddenStep(plan, from) !== undefined) throw unreadable(position, 'from')
    const step = hiddenStep(plan, path)
    if (step === undefined) return operation
    if (step < path.length - 1 || !(op === 'add' || op === 'replace')) throw unreadable(position, 'path')
    return { ...operation, op: 'add' }
  })
}

function unreadable(position: number, member: 'path' | 'from') {
  return refusal(position, { member, message: 'This field cannot be read.', status: 400 })
}

/** Which step of a pointer is a field that a client writes and does not read; undefined where none is. */
function hiddenStep(root: SerializerPlan, pointer: Pointer): number | undefined {
  let plan = root
  for (let step = 0; step < pointer.length; step++) {
    const bound = plan.byName.get(pointer[step] as string)
    if (!bound) return undefined
    const { field, writable, readable, input } = bound
    if (writable && !readable && input !== 'nothing') return step
    if (!(field instanceof NestedSerializer)) return undefined
    plan = serializerPlan(field.serializerClass)
    // behind the field of a list stands a position
    if (field.many) step++
  }
  return undefined
}
