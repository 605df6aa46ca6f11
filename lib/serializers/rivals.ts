/** Fields that write one column or one relation: an input may give several only where they do not contradict each other. */
import { isDeepStrictEqual } from 'node:util'
import { keyText, notAKey } from '../fields/object-key.js'
import { HiddenField } from '../fields/own-value-fields.js'
import { notBoth } from '../kernel/messages.js'
import { describeModel } from '../models/describe-model.js'
import { exactAt } from '../models/exact-types.js'
import type { Column, RelationDescription } from '../models/model-description.js'
import type { Queryable } from '../postgres/pg-types.js'
import { type CanonicalKey, namesOfValues } from '../queryset/same-keys.js'
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
import { serializerKnex } from './write-rows.js'

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
  return given.flatMap((one, index) => {
    const target = targetOf(one)
    const others = target === undefined ? [] : given.slice(index + 1).filter((other) => targetOf(other) === target)
    // objects last: their keys are compared with those of the others
    return others.map((other) => (one.input === 'objects' ? { one: other, other: one } : { one, other }))
  })
}

/** What a field writes. A foreign key of several columns may share one of them with another, and is none. */
function targetOf({ input, column, relation }: BoundField): string | undefined {
  if (column) return `column ${column.property}`
  return relation && input !== 'value' ? `relation ${relation.name}` : undefined
}

/** Refuses fields of a pair that are given together, unless one of them is as it was shown or they say the same. */
export function checkRivals(
  serializer: AnySerializer,
  items: readonly Item[],
  scope: ValidationScope,
): Promise<void> | undefined {
  const forced = forcedBy(serializer, scope)
  const open: Claim[] = []
  for (const pair of serializer.plan.rivals) {
    const { one, other } = pair
    if (isForced(forced, one) || isForced(forced, other)) continue
    for (const item of items) {
      const [hasOne, hasOther] = [isGiven(item, one.name), isGiven(item, other.name)]
      // a default stands for what is not given in any way
      if (hasOne && !hasOther) delete item.value[other.name]
      if (hasOther && !hasOne) delete item.value[one.name]
      if (!(hasOne && hasOther)) continue
      if (isUnchanged(item, one) || isUnchanged(item, other)) continue
      const claimed = claimsOf(pair, item)
      if (claimed === false) refuseBoth(pair, item)
      else if (claimed !== true) open.push({ pair, item, ...claimed })
    }
  }
  return open.length > 0 ? refuseOthers(open, serializerKnex(serializer)) : undefined
}

function isUnchanged({ input, value, unchanged, errors }: Item, { name }: BoundField): boolean {
  if (errors?.[name] !== undefined) return false
  if (unchanged?.has(name)) return true
  // an empty object is not what was shown
  return changesNothing(value[name]) && Object.keys(input[name] as object).length > 0
}

/** The values that two fields give one column, as keys. */
interface Claimed {
  readonly column: Column
  readonly one: readonly unknown[]
  readonly other: readonly unknown[]
  /** The keys of one may be more. */
  readonly isPart?: boolean
}

interface Claim extends Claimed {
  readonly pair: Rivals
  readonly item: Item
}

/** True where both say the same, false where they do not, and keys where PostgreSQL is to say it. */
function claimsOf(pair: Rivals, item: Item): Claimed | boolean {
  const { one, other } = pair
  const { value, input, errors } = item
  if (one.input === 'objects') {
    if (!isDeepStrictEqual(input[one.name], input[other.name])) return false
    // they are written once, by the field that takes all of it
    const [least, most] = holdsAll(value[one.name], value[other.name]) ? [one, other] : [other, one]
    if (!holdsAll(value[least.name], value[most.name])) return false
    delete value[least.name]
    return true
  }
  if (other.input === 'objects') return claimsOfObjects(pair, item)
  // each tells what is wrong with it
  if (errors?.[one.name] !== undefined || errors?.[other.name] !== undefined) return true
  const [given, otherGiven] = [value[one.name], value[other.name]]
  const isNull = given === null || otherGiven === null
  const column = keyColumn(one)
  if (isNull || !column || notAKey(column) !== undefined) return isDeepStrictEqual(given, otherGiven)
  if (one.input === 'keys' || other.input === 'keys') return { column, one: listOf(given), other: listOf(otherGiven) }
  // values that are equal may be stored in different spellings
  return isDeepStrictEqual(given, otherGiven) || keyText(column, given) === keyText(column, otherGiven)
}

/** True where validated data has all members that another has, of an object or of each in a list. */
function holdsAll(given: unknown, other: unknown): boolean {
  if (typeof given !== 'object' || given === null || typeof other !== 'object' || other === null) return true
  const isList = Array.isArray(given)
  return Object.entries(given).every(
    ([name, value]) =>
      Object.hasOwn(other, name) && (!isList || holdsAll(value, (other as typeof given)[name as never])),
  )
}

/** The column of what a field holds: its own, or that of a list of related objects. */
function keyColumn({ column, relation }: BoundField): Column | undefined {
  return relation?.kind === 'many-to-many' ? relatedColumn(relation) : column
}

function relatedColumn({ model, relatedProperties }: RelationDescription): Column | undefined {
  return describeModel(model).columns.get(relatedProperties[0] as string)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value]
}

/** The keys, and those of the objects that stand beside them, none of which is new. */
function claimsOfObjects({ one: keys, other: objects }: Rivals, item: Item): Claimed | boolean {
  const { value, input, current, errors } = item
  if (errors?.[keys.name] !== undefined) return false
  const relation = objects.relation as RelationDescription
  const key = value[keys.name]
  const nested = input[objects.name] === null ? null : value[objects.name]
  if (relation.kind === 'many-to-many') {
    if (errors?.[objects.name] !== undefined) return true
    const targets = Array.isArray(nested) && Array.isArray(key) ? nested.map(targetOfNested) : undefined
    const column = relatedColumn(relation)
    if (!targets?.every((target) => target !== undefined)) return false
    const other = targets.map((target) => column && exactAt(target, column.property))
    return column ? { column, one: key as unknown[], other, isPart: true } : targets.length === 0
  }
  if (key === null || nested === null) return key === nested
  const stored = current as Readonly<Record<string, unknown>> | undefined
  if (!stored?.[relation.name] || !keys.column) return false
  return { column: keys.column, one: [key], other: [exactAt(stored, keys.column.property)] }
}

function targetOfNested(nested: unknown): object | undefined {
  return (nested as { readonly [TARGET]?: object })[TARGET]
}

async function refuseOthers(claims: readonly Claim[], knex: Queryable): Promise<void> {
  for (const column of new Set(claims.map((claim) => claim.column))) {
    const ours = claims.filter((claim) => claim.column === column)
    const lists = ours.flatMap(({ one, other }) => [one, other])
    const names = await namesOfValues(column, lists.flat(), knex)
    let next = 0
    const named = lists.map((list) => new Set(list.map(() => names[next++] as CanonicalKey)))
    for (const [index, { pair, item, isPart }] of ours.entries()) {
      const [one, other] = named.slice(2 * index) as [Set<CanonicalKey>, Set<CanonicalKey>]
      const isSame = [...other].every((name) => one.has(name)) && (isPart === true || one.size === other.size)
      if (!isSame) refuseBoth(pair, item)
    }
  }
}

function refuseBoth({ one, other }: Rivals, item: Item): void {
  const message = notBoth(one.name, other.name)
  refuse(item, one.name, [message])
  refuse(item, other.name, [message])
}
