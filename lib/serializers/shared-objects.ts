/** Stored objects that one body reaches in several ways, such as the author and the editor of a book: their changes must agree. */

import { isDeepStrictEqual } from 'node:util'
import { groupBy } from '../kernel/maps.js'
import { notBoth } from '../kernel/messages.js'
import { oncePerCatalogue } from '../models/describe-model.js'
import type { ModelClass } from '../models/objection.js'
import type { AnySerializer, BoundField, SerializerPlan } from './contract.js'
import { NestedSerializer } from './nested-serializer.js'
import { serializerPlan } from './plan.js'
import { namesOfRows } from './row-keys.js'
import { isKept } from './unchanged.js'
import { type Item, refuse, TARGET } from './validated-item.js'
import { serializerKnex } from './write-rows.js'

/** What a body changes of a stored object. */
interface Change {
  readonly item: Item
  /** The field of the outermost object that it stands in; undefined for that object itself. */
  readonly field: string | undefined
  readonly model: ModelClass
  readonly object: object
  /** Values by column, and keys of links by relation, but for those that are as they were shown. */
  readonly values: ReadonlyMap<string, unknown>
}

/** The tables that objects of a serializer and those nested in it are of. */
const tablesOf = oncePerCatalogue((plan: SerializerPlan): readonly string[] => [
  ...(plan.model ? [plan.model.model.tableName] : []),
  ...nestedOf(plan).flatMap(({ inner }) => tablesOf(inner)),
])

/** True where two objects of one body may be one row: two fields lead to one table. */
const mayMeet = oncePerCatalogue(
  (plan: SerializerPlan): boolean => new Set(tablesOf(plan)).size < tablesOf(plan).length,
)

function nestedOf(plan: SerializerPlan): readonly { bound: BoundField; inner: SerializerPlan }[] {
  return plan.writable.flatMap((bound) => {
    const { field, input } = bound
    return input === 'objects' && field instanceof NestedSerializer
      ? [{ bound, inner: serializerPlan(field.serializerClass) }]
      : []
  })
}

/** Refuses fields that change one object in different ways: one of the changes would be lost. Undefined where none may. */
export function checkShared(serializer: AnySerializer, items: readonly Item[]): Promise<void> | undefined {
  if (!mayMeet(serializer.plan)) return undefined
  const changes = items.flatMap((item) => changesOf(serializer.plan, item))
  return changes.length < 2 ? undefined : refuseContradictions(serializer, changes)
}

function changesOf(plan: SerializerPlan, item: Item): readonly Change[] {
  const found: Change[] = []
  const collect = (own: SerializerPlan, value: Record<string, unknown>, field: string | undefined): void => {
    const object = field === undefined ? item.current : (value as { [TARGET]?: object })[TARGET]
    if (own.model && object) {
      const values = new Map<string, unknown>()
      for (const { name, column, relation, input } of own.writable) {
        const isUnchanged = field === undefined ? item.unchanged?.has(name) === true : isKept(value, name)
        const written = column?.column ?? (input === 'keys' ? relation?.name : undefined)
        if (written === undefined || !Object.hasOwn(value, name) || isUnchanged) continue
        const set = value[name]
        // of links the order says nothing
        values.set(written, input === 'keys' && Array.isArray(set) ? new Set(set) : set)
      }
      if (values.size > 0) found.push({ item, field, model: own.model.model, object, values })
    }
    for (const { bound, inner } of nestedOf(own)) {
      for (const one of [value[bound.name]].flat()) {
        if (typeof one === 'object' && one !== null) collect(inner, one as Record<string, unknown>, field ?? bound.name)
      }
    }
  }
  collect(plan, item.value, undefined)
  return found
}

async function refuseContradictions(serializer: AnySerializer, changes: readonly Change[]): Promise<void> {
  for (const alike of groupBy(changes, ({ model }) => model.tableName).values()) {
    const [{ model }] = alike as [Change]
    const names =
      alike.length > 1
        ? await namesOfRows(
            model,
            alike.map(({ object }) => object),
            serializerKnex(serializer),
          )
        : []
    for (const [index, change] of alike.entries()) {
      const other = alike.find((one, at) => at < index && names[at] === names[index] && contradict(one, change))
      if (other) refuseBoth(other, change)
    }
  }
}

function contradict(one: Change, other: Change): boolean {
  return [...other.values].some(
    ([written, value]) => one.values.has(written) && !isDeepStrictEqual(one.values.get(written), value),
  )
}

function refuseBoth(one: Change, other: Change): void {
  const isOfTwo = one.item === other.item && one.field !== undefined && other.field !== undefined
  const message = isOfTwo && one.field !== other.field ? notBoth(one.field, other.field) : 'Name each only once.'
  for (const { item, field } of [one, other]) if (field !== undefined) refuse(item, field, [message])
}
