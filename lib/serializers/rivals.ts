/** Fields that write one column or one relation: an input may give several only where they do not contradict each other. */
import { isDeepStrictEqual } from 'node:util'
import { HiddenField } from '../fields/hidden-field.js'
import { keyText, notAKey } from '../fields/object-key.js'
import { describeModel } from '../models/describe-model.js'
import { exactAt } from '../models/exact-types.js'
import type { Column, RelationDescription } from '../models/model-description.js'
import type { AnySerializer, BoundField, Rivals } from './contract.js'
import {
  changesNothing,
  forcedBy,
  type Item,
  isForced,
  isGiven,
  refuse,
  TARGET,
  type ValidationScope,
} from './validated-item.js'

/** The fields, each with the names of those that write the same relation, keys beside objects. */
export function withRivals(fields: readonly BoundField[]): BoundField[] {
  const pairs = rivalsOf(fields.filter(({ writable }) => writable)).filter(({ other }) => other.input === 'objects')
  if (pairs.length === 0) return [...fields]
  return fields.map((bound) => {
    const rivals = pairs.flatMap(({ one, other }) => {
      if (one.name === bound.name) return [other]
      return other.name === bound.name ? [one] : []
    })
    const hasDefault = rivals.some(({ field }) => 'default' in field.options)
    return { ...bound, rivals: rivals.map(({ name }) => name), required: bound.required && !hasDefault }
  })
}

/** The pairs among fields that a client may write. */
export function rivalsOf(writable: readonly BoundField[]): Rivals[] {
  const given = writable.filter(({ field }) => !(field instanceof HiddenField))
  return given.flatMap((one, index) =>
    given.slice(index + 1).flatMap((other) => {
      if (!isSameTarget(one, other)) return []
      // objects last: their keys are compared with those of the others
      return one.input === 'objects' ? [{ one: other, other: one }] : [{ one, other }]
    }),
  )
}

/** A foreign key of several columns may share one of them, and is none. */
function isSameTarget(one: BoundField, other: BoundField): boolean {
  const [target, otherTarget] = [targetOf(one), targetOf(other)]
  return target !== undefined && target === otherTarget
}

function targetOf({ input, column, relation }: BoundField): string | undefined {
  if (column) return `column ${column.property}`
  return relation && input !== 'value' ? `relation ${relation.name}` : undefined
}

/** Refuses fields of a pair that are given together, unless one of them is as it was shown or they say the same. */
export function checkRivals(serializer: AnySerializer, items: readonly Item[], scope: ValidationScope): void {
  const forced = forcedBy(serializer, scope)
  for (const pair of serializer.plan.rivals) {
    const { one, other } = pair
    if (isForced(forced, one) || isForced(forced, other)) continue
    for (const item of items) {
      const [hasOne, hasOther] = [isGiven(item, one.name), isGiven(item, other.name)]
      // a default stands for what is not given in any way
      if (hasOne && !hasOther) delete item.value[other.name]
      if (hasOther && !hasOne) delete item.value[one.name]
      if (!(hasOne && hasOther)) continue
      if (isUnchanged(item, one) || isUnchanged(item, other) || agree(pair, item)) continue
      const message = `Give either ${one.name} or ${other.name}, not both.`
      refuse(item, one.name, [message])
      refuse(item, other.name, [message])
    }
  }
}

function isUnchanged({ input, value, unchanged, errors }: Item, { name }: BoundField): boolean {
  if (errors?.[name] !== undefined) return false
  if (unchanged?.has(name)) return true
  // an empty object is not what was shown
  return changesNothing(value[name]) && Object.keys(input[name] as object).length > 0
}

/** True where both say the same. */
function agree(pair: Rivals, item: Item): boolean {
  const { one, other } = pair
  const { value, input, errors } = item
  if (one.input === 'objects') {
    const isSame = isDeepStrictEqual(input[one.name], input[other.name])
    // they are written once
    if (isSame) delete value[one.name]
    return isSame
  }
  if (other.input === 'objects') return areOf(pair, item)
  // each tells what is wrong with it
  if (errors?.[one.name] !== undefined || errors?.[other.name] !== undefined) return true
  return isDeepStrictEqual(texts(one, value[one.name]), texts(other, value[other.name]))
}

/** What a field is to hold, in one spelling. */
function texts({ column, relation }: BoundField, value: unknown): unknown {
  if (Array.isArray(value) && relation?.kind === 'many-to-many') {
    const related = describeModel(relation.model).columns.get(relation.relatedProperties[0] as string)
    return new Set(value.map((key) => (related ? keyText(related, key) : key)))
  }
  return value === null || !column || notAKey(column) !== undefined ? value : keyText(column, value)
}

/** True where the keys are those of the objects that stand beside them, none of which is new. */
function areOf({ one: keys, other: objects }: Rivals, { value, input, current, errors }: Item): boolean {
  if (errors?.[keys.name] !== undefined) return false
  const relation = objects.relation as RelationDescription
  const key = value[keys.name]
  const nested = input[objects.name] === null ? null : value[objects.name]
  if (relation.kind === 'many-to-many') {
    if (errors?.[objects.name] !== undefined) return true
    return Array.isArray(nested) && Array.isArray(key) && isAmong(nested as readonly object[], key, relation)
  }
  if (key === null || nested === null) return key === nested
  const stored = current as Readonly<Record<string, unknown>> | undefined
  if (!stored?.[relation.name] || !keys.column) return false
  return keyText(keys.column, key) === keyText(keys.column, exactAt(stored, keys.column.property))
}

function isAmong(
  nested: readonly { readonly [TARGET]?: object }[],
  keys: readonly unknown[],
  { model, relatedProperties }: RelationDescription,
): boolean {
  const column = describeModel(model).columns.get(relatedProperties[0] as string)
  if (!column) return nested.length === 0
  const named = new Set(keys.map((key) => keyText(column, key)))
  return nested.every(({ [TARGET]: target }) => target !== undefined && named.has(keyOf(column, target)))
}

function keyOf(column: Column, object: object): string {
  return keyText(column, exactAt(object, column.property))
}
