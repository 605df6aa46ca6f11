/** Fields that write one relation in two ways: by the keys of its objects, and by the objects themselves. */
import { HiddenField } from '../fields/hidden-field.js'
import { keyText } from '../fields/object-key.js'
import { RelatedField } from '../fields/related-field.js'
import { exactValue } from '../models/database-text.js'
import { describeModel } from '../models/describe-model.js'
import type { Column } from '../models/model-description.js'
import type { AnySerializer, BoundField, Rivals } from './contract.js'
import { NestedSerializer } from './nested-serializer.js'
import { forcedBy, type Item, isForced, isGiven, refuse, TARGET, type ValidationScope } from './validated-item.js'

/** The fields, each with the names of those that write the same relation in the other way. */
export function withRivals(fields: readonly BoundField[]): BoundField[] {
  const pairs = rivalsOf(fields.filter(({ writable }) => writable))
  if (pairs.length === 0) return [...fields]
  return fields.map((bound) => {
    const rivals = pairs.flatMap(({ keys, objects }) => {
      if (keys.name === bound.name) return [objects]
      return objects.name === bound.name ? [keys] : []
    })
    const hasDefault = rivals.some(({ field }) => 'default' in field.options)
    return { ...bound, rivals: rivals.map(({ name }) => name), required: bound.required && !hasDefault }
  })
}

/** The pairs among fields that a client may write. A foreign key of several columns may be shared, and is none. */
export function rivalsOf(writable: readonly BoundField[]): Rivals[] {
  return writable.flatMap((objects) => {
    const { field, relation } = objects
    if (!(field instanceof NestedSerializer) || !relation) return []
    const keys = writable.filter((other) => takesKeys(other, objects))
    return keys.map((other) => ({ keys: other, objects, relation }))
  })
}

function takesKeys({ field, column, relation }: BoundField, objects: BoundField): boolean {
  if (field instanceof NestedSerializer || field instanceof HiddenField) return false
  if (objects.relation?.kind === 'many-to-many') {
    return field instanceof RelatedField && field.many && relation?.name === objects.relation.name
  }
  const own = objects.relation?.kind === 'belongs-to-one' ? objects.relation.ownerProperties : []
  return own.length === 1 && column?.property === own[0]
}

/** Refuses both fields of a pair where they are given together, unless they say the same, as what was read does (promise B17). */
export function checkRivals(serializer: AnySerializer, items: readonly Item[], scope: ValidationScope): void {
  const forced = forcedBy(serializer, scope)
  for (const pair of serializer.plan.rivals) {
    const { keys, objects } = pair
    if (isForced(forced, keys) || isForced(forced, objects)) continue
    for (const item of items) {
      if (!isGiven(item, keys.name) || !isGiven(item, objects.name)) continue
      if (agree(pair, item)) continue
      const message = `Give either ${keys.name} or ${objects.name}, not both.`
      refuse(item, keys.name, [message])
      refuse(item, objects.name, [message])
    }
  }
}

/** True where the keys are those of the objects that stand beside them, none of which is new. */
function agree({ keys, objects, relation }: Rivals, { value, input, current, errors }: Item): boolean {
  if (errors?.[keys.name] !== undefined) return false
  const key = value[keys.name]
  const nested = input[objects.name] === null ? null : value[objects.name]
  if (relation.kind === 'many-to-many') {
    if (errors?.[objects.name] !== undefined) return true
    return Array.isArray(nested) && Array.isArray(key) && isAmong(nested as readonly object[], key, relation)
  }
  if (key === null || nested === null) return key === nested
  const stored = current as Readonly<Record<string, unknown>> | undefined
  if (!stored?.[relation.name] || !keys.column) return false
  return keyText(keys.column, key) === keyText(keys.column, exactValue(stored[keys.column.property]))
}

function isAmong(
  nested: readonly { readonly [TARGET]?: object }[],
  keys: readonly unknown[],
  { model, relatedProperties }: Rivals['relation'],
): boolean {
  const column = describeModel(model).columns.get(relatedProperties[0] as string)
  if (!column) return nested.length === 0
  const named = new Set(keys.map((key) => keyText(column, key)))
  return nested.every(({ [TARGET]: target }) => target !== undefined && named.has(keyOf(column, target)))
}

function keyOf(column: Column, object: object): string {
  return keyText(column, exactValue((object as Readonly<Record<string, unknown>>)[column.property]))
}
