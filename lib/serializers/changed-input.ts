/** What the operations of a JSON patch have made of an object, as a plain PATCH: the members that are others, and no more. */

import type { SerializerField } from '../fields/field.js'
import { RelatedField } from '../fields/related-field.js'
import { ValidationError } from '../kernel/errors.js'
import { groupBy } from '../kernel/maps.js'
import { objectsIn, ownMember } from '../kernel/records.js'
import { refusal } from '../patches/json-patch.js'
import { isEqual, isJsonObject, type JsonObject, setMember, workingCopyOf } from '../patches/json-values.js'
import type { PatchOperation, Pointer } from '../patches/read-operations.js'
import type { AnySerializer, BoundField, SerializerPlan } from './contract.js'
import { freshRow, freshRows } from './fresh-row.js'
import { type Merging, relatedObject, storedValue } from './merged-input.js'
import { NestedSerializer } from './nested-serializer.js'
import { serializerPlan } from './plan.js'
import { prefixErrors } from './prefix-errors.js'
import { relatedAt } from './relation-graph.js'
import { withoutHidden } from './represent.js'
import { forcedWithin, nestedKeys } from './validate-nested.js'

/** What a client reads of an object, and what its operations have made of that; working copies. */
export interface PatchedObject {
  readonly before: unknown
  readonly after: unknown
}

/** The input that the change stands for. What is no object any more is left to the validation of a plain PATCH. */
export async function changedInput({ before, after }: PatchedObject, merging: Merging): Promise<unknown> {
  if (!(isJsonObject(before) && isJsonObject(after))) return after
  const input: JsonObject = {}
  for (const name of Object.keys(after)) {
    const change = { before: ownMember(before, name), after: after[name] }
    if (isEqual(change.before, change.after)) continue
    setMember(input, name, await changedMember(name, change, merging))
  }
  for (const name of Object.keys(before)) {
    if (Object.hasOwn(after, name)) continue
    setMember(input, name, await changedMember(name, { before: before[name], after: null }, merging))
  }
  return input
}

async function changedMember(name: string, change: PatchedObject, merging: Merging): Promise<unknown> {
  const { serializer, object, isHeld } = merging
  const bound = serializer.plan.byName.get(name)
  if (bound?.writable !== true) return change.after
  const { field } = bound
  const { before } = change
  const after = isNone(field, change) ? [] : change.after
  if (field instanceof NestedSerializer) {
    const child = serializer.child(bound, field.serializerClass)
    if (Array.isArray(before) && Array.isArray(after)) {
      const objects = ((object && relatedAt(object, bound)) ?? []) as readonly object[]
      const { fields, areWhole } = nestedKeys(child.plan, forcedWithin(serializer.plan, bound))
      const keys = areWhole ? fields.map((key) => key.name) : []
      return changedList({ before, after, name, keys, objects }, child)
    }
    return prefixErrors([name], () =>
      changedInput(change, { serializer: child, object: relatedObject(object, bound), isHeld: false }),
    )
  }
  if (field instanceof RelatedField || !(isJsonObject(before) && isJsonObject(after)) || !object) return after
  // what the client does not see of it stays
  return rebased(
    storedValue(bound, { ...merging, stored: isHeld ? object : await freshRow(object, serializer) }),
    change,
  )
}

/** True of null for a list of objects that may be null, which is a list of none. */
function isNone(field: SerializerField, { after }: PatchedObject): boolean {
  return after === null && field instanceof NestedSerializer && field.many && field.allowNull
}

/** The change of an object, made to another one that has more members. */
function rebased(stored: unknown, { before, after }: PatchedObject): unknown {
  if (!(isJsonObject(stored) && isJsonObject(before) && isJsonObject(after))) return after
  for (const name of Object.keys(after)) {
    const change = { before: ownMember(before, name), after: after[name] }
    if (isEqual(change.before, change.after)) continue
    setMember(stored, name, rebased(ownMember(stored, name), change))
  }
  for (const name of Object.keys(before)) if (!Object.hasOwn(after, name)) delete stored[name]
  return stored
}

interface ListChange {
  /** The field's name. */
  readonly name: string
  readonly before: readonly unknown[]
  readonly after: readonly unknown[]
  /** The fields by which nested data names an object; none where they are not shown. */
  readonly keys: readonly string[]
  readonly objects: readonly object[]
}

/**
 * Nested objects of a list, each with its key and what is another of it; new ones whole.
 * @throws ValidationError one is not among them any more, which a list cannot say: it only adds and changes
 */
async function changedList(
  { name, before, after, keys, objects }: ListChange,
  serializer: AnySerializer,
): Promise<unknown[]> {
  // objects without a key may be equal
  const known = groupBy(before.keys(), (position) => keyOf(before[position], keys))
  // code of the application may show them in another order, or some of them
  const stored = new Map(keys.length > 0 ? objects.map((one) => [keyOf(shownCopy(one, serializer), keys), one]) : [])
  const input: unknown[] = []
  for (const [position, element] of after.entries()) {
    const key = keyOf(element, keys)
    const places = known.get(key) ?? []
    const at = places.findIndex((place) => keys.length > 0 || isEqual(before[place], element))
    const [found] = at === -1 ? [] : places.splice(at, 1)
    if (found === undefined) input.push(element)
    else if (keys.length > 0) {
      const change = { before: before[found], after: element }
      const merging = { serializer, object: stored.get(key), isHeld: false }
      const named = Object.fromEntries(keys.map((name) => [name, (element as JsonObject)[name]]))
      input.push({
        ...named,
        ...((await prefixErrors([name, position], () => changedInput(change, merging))) as JsonObject),
      })
    }
  }
  if ([...known.values()].some((left) => left.length > 0))
    throw new ValidationError({ [name]: ['An object of this list cannot be removed.'] })
  return input
}

function shownCopy(object: object, serializer: AnySerializer): unknown {
  return workingCopyOf(withoutHidden(serializer, serializer.toRepresentation(object), object))
}

/** The key of an element as one string; without a key all of the element: what is equal has one, and few others have it. */
function keyOf(element: unknown, names: readonly string[]): string {
  const isNamed = names.length > 0 && isJsonObject(element) && names.every((name) => element[name] != null)
  return JSON.stringify(isNamed ? names.map((name) => element[name]) : { element }, ordered)
}

function ordered(_name: string, value: unknown): unknown {
  return isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value
}

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
    const { field } = bound
    if (!(field instanceof NestedSerializer && isWritten(bound))) continue
    const related = objects.flatMap((object) => objectsIn(relatedAt(object, bound)))
    if (related.length === 0) continue
    const child = serializer.child(bound, field.serializerClass)
    holds = true
    await freshRows(related, child)
    await holdNested(child, related)
  }
  return holds
}

/**
 * The operations, which read no field that is write-only. One that sets such a field whole sets it, whether there was a value or
 * not: nobody is told.
 * @throws ValidationError `test`, `copy`, `move`, `remove` or a part of a value names such a field
 */
export function readableOperations(
  operations: readonly PatchOperation[],
  plan: SerializerPlan,
): readonly PatchOperation[] {
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
