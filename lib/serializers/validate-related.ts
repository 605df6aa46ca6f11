/** Keys of related objects: looked up together for a whole list, or left to the database (promise I22). */

import type { SerializerContext } from '../fields/field.js'
import { PrimaryKeyRelatedField } from '../fields/key-related-fields.js'
import { referenceTo } from '../fields/object-key.js'
import { AMBIGUOUS, type RelatedField, type RelatedFieldOptions } from '../fields/related-field.js'
import { MOST_MESSAGES } from '../kernel/errors.js'
import { quote } from '../kernel/quote.js'
import { isPromise } from '../kernel/realms.js'
import { describeModel } from '../models/describe-model.js'
import type { Column, ModelDescription } from '../models/model-description.js'
import { traitsOf } from '../models/model-traits.js'
import { isModelClass, modelOf } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import { loadRelations } from '../queryset/load-relations.js'
import { type CanonicalKey, isSpelledOnce, namesOfValues } from '../queryset/same-keys.js'
import { type Leading, visibleRowsIn } from '../queryset/visible-rows.js'
import type { AnySerializer, BoundField } from './contract.js'
import { needsObject } from './relation-graph.js'
import { isLeftOut } from './represent.js'
import { isAsShown, keepUnchanged, leaveOut, type ShownLink, shownLinks } from './unchanged.js'
import {
  convert,
  fail,
  forcedBy,
  GIVEN,
  type Item,
  isForced,
  isGiven,
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
  if (many === true || queryset !== relation.model || needsObject(field as RelatedField, relation)) return false
  if (!traitsOf(relation.model).plainQueries || !traitsOf(relation.model).plainRows) return false
  const related = describeModel(relation.model)
  const target = related.columns.get(relation.relatedProperties[0] as string)
  if (related.table !== key.table || related.secured || target?.column !== key.column) return false
  // of several spellings of a key the object's own is stored
  return isSpelledOnce(target) && isAsWide(column, target)
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
    const asking = items.filter((item) => isGiven(item, bound.name) && !Object.hasOwn(item.errors ?? {}, bound.name))
    if (asking.length > 0) await validateRelated(serializer, bound, bound.field as RelatedField, asking)
  }
}

/** Validates one related field of all items: keys are looked up by one query, but for those that the object shows already. */
export async function validateRelated(
  serializer: AnySerializer,
  bound: BoundField,
  field: RelatedField,
  items: readonly Item[],
): Promise<void> {
  const { context } = serializer
  const asked: Asked[] = []
  // a queryset function tells its model from the request on
  const model = field.relatedModel(context)
  const ids = model && field.idsOf(model)
  await loadLinks(serializer, bound, items)
  for (const item of items) {
    try {
      if (keepsShown(serializer, bound, item)) continue
      const input = take(serializer, bound, item)
      if (input === undefined) continue
      const given = convert(bound, item)
      if (given === null) {
        takeNull(serializer, bound, item)
        continue
      }
      const links = showsLinks(bound, item, context) ? shownLinks(bound, item) : undefined
      const [named, nameless] = withoutNulls(given, links ?? [])
      const checked: unknown = field.toInternalValue(named, context)
      const keys = [isPromise(checked) ? await checked : checked].flat()
      asked.push({ item, links, keys, held: new Map(), nameless })
    } catch (error) {
      fail(item, bound.name, error)
    }
  }
  const knex = context.knex ?? (model?.knex() as Queryable)
  await findHeld(field, asked, { knex, decoded: (key) => (ids ? ids.decode(key, context) : key) })
  const unknown = new Set(asked.flatMap(({ keys, held }) => keys.filter((key) => (held.get(key) ?? []).length === 0)))
  const stored = bound.relation?.relatedProperties[0]
  const values =
    unknown.size > 0
      ? await field.find([...unknown], context, { property: stored, leading: leadingOf(serializer, bound) })
      : []
  const found = new Map([...unknown].map((key, index) => [key, heldBy(bound, values[index])]))
  const kept = asked.flatMap((one) => settle(bound, field, one, found) ?? [])
  await noteUnchanged(bound, kept, knex)
  const isBySlug = bound.relation !== undefined && !field.many && needsObject(field, bound.relation)
  if (ids || isBySlug) for (const { item, keys } of asked) keepGiven(item, bound.name, keys)
}

/** False where the caller is not shown which objects it leads to: trying would tell. */
function showsLinks(bound: BoundField, { current }: Item, context: SerializerContext): boolean {
  return current !== undefined && bound.readable && !(bound.access && isLeftOut(bound, current, context))
}

/** Finds for each key what is stored of the shown objects that it names. */
async function findHeld(
  field: RelatedField,
  asked: readonly Asked[],
  { knex, decoded }: { readonly knex: Queryable; readonly decoded: (key: unknown) => unknown },
): Promise<void> {
  const showing = asked.filter(({ links }) => links?.some(({ shown }) => shown !== null))
  if (showing.length === 0) return
  const values = showing.flatMap(({ keys, links = [] }) => [...keys.map(decoded), ...links.map(({ shown }) => shown)])
  const names = await namesOfValues(
    field.keyColumn,
    values.map((value) => value ?? null),
    knex,
  )
  let next = 0
  for (const { keys, links = [], held } of showing) {
    const named = keys.map((key) => [key, names[next++]] as const)
    const byName = new Map<CanonicalKey | undefined, unknown[]>()
    for (const { shown, stored } of links) {
      const name = names[next++]
      if (shown !== null) byName.set(name, [...(byName.get(name) ?? []), stored])
    }
    for (const [key, name] of named) if (decoded(key) !== undefined) held.set(key, byName.get(name) ?? [])
  }
}

/** Keys that a field is to hold, and what it shows of a stored object. */
interface Kept {
  readonly item: Item
  readonly value: unknown
  readonly keys: readonly unknown[]
  readonly links: readonly ShownLink[]
}

/** Notes where the keys are those of all objects that are shown. */
async function noteUnchanged(
  { name, column, relation }: BoundField,
  kept: readonly Kept[],
  knex: Queryable,
): Promise<void> {
  if (kept.length === 0) return
  const property = relation?.relatedProperties[0] ?? ''
  const key = column ?? (relation && describeModel(relation.model).columns.get(property))
  const values = kept.map(({ keys, links }) => [...links.map(({ stored }) => stored), ...keys])
  const names = await namesOfValues(key, values.flat(), knex)
  let next = 0
  for (const { item, value, keys, links } of kept) {
    const before = new Set(links.map(() => names[next++]))
    const after = new Set(keys.map(() => names[next++]))
    if (before.size === after.size && [...after].every((one) => before.has(one))) keepUnchanged(item, name, value)
  }
}

/** The relation that a field of a serializer stands for. */
export function leadingOf(
  { plan: { model } }: AnySerializer,
  { relation }: Pick<BoundField, 'relation'>,
): Leading | undefined {
  return model && relation && { owner: model.model, relation: relation.name, model: relation.model }
}

/** The key of a row that was found, as the field's own column holds it. */
function heldBy({ column, relation }: BoundField, value: unknown): unknown {
  const key = relation && describeModel(relation.model).columns.get(relation.relatedProperties[0] ?? '')
  return value === AMBIGUOUS ? value : referenceTo(key, column, value)
}

/** An input whose keys are of the right type. */
interface Asked {
  readonly item: Item
  readonly keys: readonly unknown[]
  /** What is stored of those objects that the field shows already, whoever may choose them now, by key. */
  readonly held: Map<unknown, readonly unknown[]>
  /** What is stored of shown objects without a key. */
  readonly nameless: readonly unknown[]
  /** What the field shows of a stored object. */
  readonly links: readonly ShownLink[] | undefined
}

/** Keeps the keys of an input, or notes those that name no object, or several; tells them where something is shown already. */
function settle(
  { name }: BoundField,
  field: RelatedField,
  { item, keys, held, nameless, links }: Asked,
  found: ReadonlyMap<unknown, unknown>,
): Kept | undefined {
  const stored = [...nameless]
  const missing: unknown[] = []
  const ambiguous: unknown[] = []
  for (const key of keys) {
    const shown = held.get(key) ?? []
    const value = found.get(key)
    if (shown.length > 0) stored.push(...shown)
    else if (value === undefined) missing.push(key)
    else if (value === AMBIGUOUS) ambiguous.push(key)
    else stored.push(value)
  }
  const tell = (some: readonly unknown[], message: (key: unknown) => string) =>
    refuse(item, name, some.slice(0, MOST_MESSAGES).map(message))
  if (ambiguous.length > 0) {
    tell(ambiguous, (key) => `${quote(String(key))} is the name of more than one object.`)
    return undefined
  }
  if (missing.length > 0) {
    tell(missing, (key) => field.notFoundMessage(key))
    return undefined
  }
  // several external ids may be of one object
  const value = field.many ? [...new Set(stored)] : stored[0]
  item.value[name] = value
  return links && { item, value, keys: field.many ? stored : [value], links }
}

/** Loads what the field shows of the objects, where nothing else has asked for it. */
export async function loadLinks(
  { context }: AnySerializer,
  { name, readable, relation, key, shownKey }: BoundField,
  items: readonly Item[],
): Promise<void> {
  const isKey = key?.property === undefined
  if (!readable || !relation || (isKey && shownKey === undefined)) return
  // a key by itself tells what is shown, unless that is null
  const isAsked = ({ input }: Item) => (isKey ? input[name] === null : Object.hasOwn(input, name))
  const objects = items.flatMap((item) => (item.current && isAsked(item) ? item.current : []))
  const missing = objects.filter((object) => (object as Record<string, unknown>)[relation.name] === undefined)
  const model: unknown = missing[0] && modelOf(missing[0])
  if (!isModelClass(model)) return
  const visible = visibleRowsIn(context)
  await loadRelations(model, missing, { relations: { [relation.name]: {} }, knex: context.knex, visible })
}

/** Keeps what is stored where the input is what was shown. */
function keepsShown(serializer: AnySerializer, bound: BoundField, item: Item): boolean {
  const { name, field } = bound
  if (item.current === undefined || !isGiven(item, name)) return false
  const given = item.input[name] === null ? null : convert(bound, item)
  if (!isAsShown(serializer, bound, item, given)) return false
  const stored = shownLinks(bound, item)?.map((link) => link.stored)
  if (!stored) leaveOut(item, name)
  else keepUnchanged(item, name, (field as RelatedField).many ? [...new Set(stored)] : (stored[0] ?? null))
  return true
}

/** A list of keys without the nulls that stand for shown objects without a key, and what is stored of these. */
function withoutNulls(given: unknown, links: readonly ShownLink[]): readonly [unknown, readonly unknown[]] {
  const nameless = links.filter(({ shown }) => shown === null).map(({ stored }) => stored)
  if (!Array.isArray(given) || nameless.length === 0 || !given.includes(null)) return [given, []]
  return [given.filter((key) => key !== null), nameless]
}

function keepGiven({ value }: Item, name: string, keys: readonly unknown[]): void {
  const marked = value as { [GIVEN]?: Record<string, unknown> }
  marked[GIVEN] = { ...marked[GIVEN], [name]: keys[0] }
}
