/** Keys of related objects: looked up together for a whole list, or left to the database (promise I22). */

import { PrimaryKeyRelatedField } from '../fields/primary-key-related-field.js'
import { AMBIGUOUS, type RelatedField, type RelatedFieldOptions } from '../fields/related-field.js'
import { MOST_MESSAGES } from '../kernel/errors.js'
import { quote } from '../kernel/quote.js'
import { exactValue } from '../models/database-text.js'
import { describeModel } from '../models/describe-model.js'
import type { Column, ModelDescription } from '../models/model-description.js'
import { traitsOf } from '../models/model-traits.js'
import type { AnySerializer, BoundField } from './contract.js'
import {
  convert,
  fail,
  forcedBy,
  GIVEN,
  type Item,
  isForced,
  refuse,
  take,
  takeNull,
  type ValidationScope,
} from './validated-item.js'

/** A key of the whole related table, all of whose rows the caller may see: a foreign key of the database checks it. */
export function isCheckedByDatabase(
  model: ModelDescription | undefined,
  { field, relation, column, ids }: BoundField,
): boolean {
  const made: unknown = field.constructor
  if (made !== PrimaryKeyRelatedField || !relation || !column || ids) return false
  if (relation.deletedBy !== undefined) return false
  const key = model?.foreignKeys.get(column.property)
  if (!key?.enforced) return false
  const { queryset, many } = field.options as RelatedFieldOptions
  if (many === true || queryset !== relation.model) return false
  if (!traitsOf(relation.model).plainQueries || !traitsOf(relation.model).plainRows) return false
  const related = describeModel(relation.model)
  const target = related.columns.get(relation.relatedProperties[0] as string)
  if (related.table !== key.table || related.secured || target?.column !== key.column) return false
  return isAsWide(column, target)
}

/** True when every key of the target fits: one that does not would be refused as a value, before it is missed as a key. */
function isAsWide(column: Column, target: Column): boolean {
  const { sqlType, maxLength, precision, scale } = target
  return (
    column.sqlType === sqlType &&
    column.maxLength === maxLength &&
    column.precision === precision &&
    column.scale === scale
  )
}

/** The client learns of all that is wrong at once: where other fields are refused, the keys are looked up after all. */
export async function checkTrusted(serializer: AnySerializer, items: readonly Item[], scope: ValidationScope) {
  const forced = forcedBy(serializer, scope)
  for (const bound of serializer.plan.writable) {
    if (isForced(forced, bound) || !serializer.plan.trusted.has(bound)) continue
    const asking = items.filter((item) => !item.errors || !Object.hasOwn(item.errors, bound.name))
    await validateRelated(serializer, bound, bound.field as RelatedField, asking)
  }
}

/** Validates one related field of all items: their keys are looked up by one query. */
export async function validateRelated(
  serializer: AnySerializer,
  bound: BoundField,
  field: RelatedField,
  items: readonly Item[],
): Promise<void> {
  const asked: { item: Item; keys: readonly unknown[] }[] = []
  // a queryset function tells its model from the request on
  const model = field.relatedModel(serializer.context)
  const isExternal = model !== undefined && field.idsOf(model) !== undefined
  for (const item of items) {
    const input = take(serializer, bound, item)
    if (input === undefined) continue
    try {
      const given = convert(serializer, bound, item)
      if (given === null) {
        takeNull(bound, item)
        continue
      }
      const checked: unknown = field.toInternalValue(given, serializer.context)
      const keys = checked instanceof Promise ? await checked : checked
      asked.push({ item, keys: field.many ? (keys as unknown[]) : [keys] })
    } catch (error) {
      fail(item, bound.name, error)
    }
  }
  const stored = bound.relation?.relatedProperties[0]
  const keys = new Set(asked.flatMap((entry) => entry.keys))
  const found = keys.size > 0 ? await field.find([...keys], serializer.context, stored) : new Map<string, unknown>()
  for (const { item, keys } of asked) {
    const known = withHeld(bound, field, { item, keys, found, context: serializer.context })
    const missing = keys.filter((key) => !known.has(field.keyText(key)))
    const ambiguous = keys.filter((key) => known.get(field.keyText(key)) === AMBIGUOUS)
    if (ambiguous.length > 0) {
      const told = ambiguous.slice(0, MOST_MESSAGES)
      refuse(
        item,
        bound.name,
        told.map((key) => `${quote(String(key))} is the name of more than one object.`),
      )
    } else if (missing.length > 0) {
      const told = missing.slice(0, MOST_MESSAGES)
      refuse(
        item,
        bound.name,
        told.map((key) => field.notFoundMessage(key)),
      )
    } else {
      const stored = keys.map((key) => known.get(field.keyText(key)))
      // several external ids may be of one object
      item.value[bound.name] = field.many ? [...new Set(stored)] : stored[0]
      if (isExternal) keepGiven(item, bound.name, keys)
    }
  }
}

/** What was found, and of an object that refers to a deleted one its own key: what was read is sent back. */
function withHeld(
  { relation, column }: BoundField,
  field: RelatedField,
  { item, keys: [key], found, context }: Looked,
): ReadonlyMap<string, unknown> {
  const isKey = field instanceof PrimaryKeyRelatedField && !field.many
  if (!isKey || relation?.deletedBy === undefined || !column || !item.current) return found
  const held = exactValue((item.current as Record<string, unknown>)[column.property])
  const given = field.idsOf(relation.model)?.decode(key, context) ?? key
  const isHeld = held != null && !found.has(field.keyText(key)) && field.keyText(given) === field.keyText(held)
  return isHeld ? new Map([[field.keyText(key), held]]) : found
}

/** A key that was looked up. */
interface Looked {
  readonly item: Item
  readonly keys: readonly unknown[]
  readonly found: ReadonlyMap<string, unknown>
  readonly context: AnySerializer['context']
}

function keepGiven({ value }: Item, name: string, keys: readonly unknown[]): void {
  const marked = value as { [GIVEN]?: Record<string, unknown> }
  marked[GIVEN] = { ...marked[GIVEN], [name]: keys[0] }
}
