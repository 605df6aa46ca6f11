/** Objects inside the input of others, validated together for a whole list. */

import { isDeepStrictEqual } from 'node:util'
import { ExternalIdField } from '../fields/external-id-field.js'
import { parseLookup, parseValue } from '../fields/object-key.js'
import { type ErrorMessages, MOST_MESSAGES } from '../kernel/errors.js'
import { groupBy } from '../kernel/maps.js'
import { namedTwice, noObject } from '../kernel/messages.js'
import { isRecord, ownMember } from '../kernel/records.js'
import { describeModel } from '../models/describe-model.js'
import type { Column } from '../models/model-description.js'
import { deletionOf } from '../models/soft-deletes.js'
import { isEqual, workingCopyOf } from '../patches/json-values.js'
import { valuesOf } from '../queryset/key-rows.js'
import { areSame, type CanonicalKey, namesOfKeys } from '../queryset/same-keys.js'
import type { AnySerializer, BoundField, SerializerPlan } from './contract.js'
import type { NestedSerializer, NestedSerializerOptions } from './nested-serializer.js'
import { relatedAt } from './relation-graph.js'
import { withoutHidden } from './represent.js'
import { namesOfRows } from './row-keys.js'
import { keyOfShown } from './shown-by.js'
import { keepUnchanged } from './unchanged.js'
import {
  type Candidate,
  convert,
  type Forced,
  type ForcedKeys,
  fail,
  failAt,
  type Item,
  type Outcome,
  refuse,
  TARGET,
  take,
  takeNull,
  type ValidationScope,
} from './validated-item.js'
import { serializerKnex } from './write-rows.js'

/** Validates objects of one serializer. */
type Validate = (
  serializer: AnySerializer,
  candidates: readonly Candidate[],
  scope: ValidationScope,
) => readonly Outcome[] | Promise<readonly Outcome[]>

/** Validates one nested field of all items, by the field's own serializer. */
export async function validateNested(
  serializer: AnySerializer,
  bound: BoundField,
  field: NestedSerializer,
  items: readonly Item[],
  validate: Validate,
): Promise<void> {
  const child = serializer.child(bound, field.serializerClass)
  const forced = forcedWithin(serializer.plan, bound)
  const keys = nestedKeys(child.plan, forced)
  const entries: Entry[] = []
  for (const item of items) {
    const given = take(serializer, bound, item)
    if (given === undefined) continue
    const input = item.textual ? readForm(serializer, bound, item) : given
    if (input === undefined) continue
    const texts: readonly unknown[] = item.textual ? [given].flat() : []
    const current = item.current && relatedAt(item.current, bound)
    const wrong = field.many ? listProblem(input, field, current) : undefined
    if (wrong !== undefined) {
      refuse(item, bound.name, [wrong])
      continue
    }
    if (!field.many) {
      const candidate = { input, current: isRecord(current) ? current : undefined, textual: texts.includes(input) }
      entries.push({ item, position: undefined, again: false, candidate })
      continue
    }
    item.value[bound.name] = []
    // a list takes nothing away
    if (item.current !== undefined && (input as unknown[]).length === 0) keepUnchanged(item, bound.name, [])
    const related = Array.isArray(current) && keys.areWhole ? (current as object[]) : []
    for (const [position, element] of (input as unknown[]).entries()) {
      const candidate = { input: element, current: undefined, textual: texts.includes(element) }
      entries.push({ item, position, related, again: false, candidate })
    }
  }
  await findTargets(child, entries, keys)
  const foreign = await foreignKeys(child, entries, keys)
  await noteChanges(child, entries)
  const candidates = entries.map(({ candidate }) => candidate)
  const outcomes = await validate(child, candidates, { nested: true, forced })
  let wrong = 0
  for (const [index, { item, position, again, candidate }] of entries.entries()) {
    const { value, errors: found } = outcomes[index] as Outcome
    const deleted = isDeleted(child, candidate) ? deletedError(child, candidate, keys) : undefined
    // sent back as it was read, it stays as it is
    if (deleted === null) continue
    const errors = deleted ?? (again ? namedAgain(keys, candidate) : (foreign.get(candidate) ?? found))
    if (errors) {
      // lists in lists multiply: each object gets an error about one of the rest, as else it would pass
      const isFirst = item.errors?.[bound.name] === undefined
      if (wrong++ < MOST_MESSAGES || isFirst) failAt(item, bound.name, position, errors)
    } else if (value) {
      if (candidate.current) (value as { [TARGET]?: object })[TARGET] = candidate.current
      if (position === undefined) item.value[bound.name] = value
      else (item.value[bound.name] as unknown[]).push(value)
    }
  }
}

/** What stands in a form for nested objects: those of names with brackets as they are, those of JSON strings read. */
function readForm(serializer: AnySerializer, bound: BoundField, item: Item): unknown {
  try {
    const value = convert(bound, item)
    return value === null ? takeNull(serializer, bound, item) : value
  } catch (error) {
    fail(item, bound.name, error)
    return undefined
  }
}

function listProblem(input: unknown, { maxItems, options }: NestedSerializer, current: unknown): string | undefined {
  if (!Array.isArray(input)) return 'Expected a list of items.'
  const { allowEmpty }: NestedSerializerOptions = options
  const isShown = Array.isArray(current) && current.length === 0
  if (input.length === 0 && allowEmpty === false && !isShown) return 'Ensure this field has at least 1 item.'
  return input.length > maxItems ? `Ensure this field has no more than ${maxItems} items.` : undefined
}

/** Keys of the related model that the surrounding object decides. */
export function forcedWithin(plan: SerializerPlan, { relation }: Pick<BoundField, 'relation'>): ForcedKeys {
  const forced = relation && (relation.kind === 'has-one' || relation.kind === 'has-many')
  const properties = new Set(forced ? relation.relatedProperties : [])
  return plan.model ? Object.assign(properties, { parent: plan.model.model }) : properties
}

/** An object of the input. */
interface Entry {
  readonly item: Item
  /** Where it stands in its list; undefined for the only one. */
  readonly position: number | undefined
  /** The objects among which its list may name one. */
  readonly related?: readonly object[]
  /** Another element of the list names the same object. */
  again: boolean
  candidate: Candidate
}

/** Finds the related objects that elements of lists name by their primary keys. */
async function findTargets(child: AnySerializer, entries: readonly Entry[], { fields }: NestedKeys): Promise<void> {
  const naming = entries.flatMap((entry) => {
    const key = entry.related?.length ? givenKey(child, fields, entry.candidate.input) : undefined
    return key ? [{ entry, key }] : []
  })
  if (naming.length === 0) return
  const lists = [...new Set(naming.map(({ entry }) => entry.related as readonly object[]))]
  const columns = fields.map(({ column }) => column)
  const held = lists.flatMap((list) => list.map((object) => fields.map((field) => heldValue(object, field))))
  const names = await namesOfKeys(columns, [...held, ...naming.map(({ key }) => key)], serializerKnex(child))
  let next = 0
  const known = new Map(
    lists.map((list) => {
      // a join table may link two objects several times: what is shown twice may be named twice
      return [list, groupBy(list, () => names[next++] as CanonicalKey)]
    }),
  )
  const named = new Map<Item, Set<object>>()
  for (const [index, { entry }] of naming.entries()) {
    const alike = known.get(entry.related as readonly object[])?.get(names[held.length + index] as CanonicalKey) ?? []
    const others = named.get(entry.item) ?? new Set()
    const current = alike.find((one) => !others.has(one)) ?? alike[0]
    if (!current) continue
    entry.again = others.has(current)
    named.set(entry.item, others.add(current))
    entry.candidate = { ...entry.candidate, current }
  }
}

/** What a client gives as the key of an object; undefined where it gives none, or what is no key. */
function givenKey(child: AnySerializer, fields: readonly KeyField[], input: unknown): readonly unknown[] | undefined {
  if (typeof input !== 'object' || input === null) return undefined
  const key: unknown[] = []
  for (const field of fields) {
    const value = Object.hasOwn(input, field.name) ? givenValue(child, field, input) : undefined
    if (value === undefined) return undefined
    key.push(value)
  }
  return key
}

/** Undefined for what is no key. */
function givenValue({ context }: AnySerializer, bound: KeyField, input: object): unknown {
  const { field, name, column, ids, shownKey } = bound
  const sent = (input as Record<string, unknown>)[name]
  const given = shownKey === undefined ? sent : keyOfShown(field, shownKey, sent)
  if (ids) return ids.decode(given, context)
  // numbers may come as strings, as in forms
  if (typeof given === 'string') return parseLookup(column, given)
  return typeof given === 'object' ? undefined : parseValue(column, given)
}

/** Notes stored objects that another item of a list changes in another way: one of two changes would be lost. */
async function noteChanges(child: AnySerializer, entries: readonly Entry[]): Promise<void> {
  const { model } = child.plan
  const changing = entries.filter(({ candidate }) => candidate.current !== undefined)
  if (!model || changing.length < 2) return
  const names = await namesOfRows(
    model.model,
    changing.map(({ candidate }) => candidate.current as object),
    serializerKnex(child),
  )
  const changes = new Map<CanonicalKey, unknown>()
  for (const [index, entry] of changing.entries()) {
    const name = names[index] as CanonicalKey
    const { input } = entry.candidate
    if (!changes.has(name)) changes.set(name, input)
    else if (!isDeepStrictEqual(changes.get(name), input)) entry.again = true
  }
}

/** True for an object that is marked as deleted: a foreign key may still lead to it. */
function isDeleted({ plan }: AnySerializer, { current }: Candidate): boolean {
  const mark = plan.model && deletionOf(plan.model.model)
  return mark !== undefined && current !== undefined && (current as Record<string, unknown>)[mark] != null
}

/** A deleted object takes no changes; null where there are none. */
function deletedError(child: AnySerializer, { input, current }: Candidate, keys: NestedKeys): ErrorMessages | null {
  const object = current as object
  const shown = withoutHidden(child, child.toRepresentation(object), object) as Record<string, unknown>
  const given = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {}
  const isSame = ({ name }: BoundField) =>
    !Object.hasOwn(given, name) || isEqual(workingCopyOf(shown[name]), workingCopyOf(given[name]))
  if (child.plan.writable.every(isSame)) return null
  const [key] = keys.fields
  if (!key || !Object.hasOwn(shown, key.name)) return { non_field_errors: ['Invalid value.'] }
  return { [key.name]: [noObject(String(shown[key.name]))] }
}

/** An object can be changed once: of two changes one would be lost. */
function namedAgain({ fields: [key] }: NestedKeys, { input, current }: Candidate): ErrorMessages {
  if (!key) return { non_field_errors: ['Invalid value.'] }
  const held = () => String(heldValue(current as object, key))
  const given = (input as Record<string, unknown>)[key.name] ?? (key.ids ? '' : held())
  return { [key.name]: [namedTwice(given)] }
}

/** Other objects' keys in nested data of an update: only the object now related may be changed (promise A7). */
async function foreignKeys(
  child: AnySerializer,
  entries: readonly Entry[],
  keys: NestedKeys,
): Promise<ReadonlyMap<Candidate, ErrorMessages>> {
  const errors = new Map<Candidate, ErrorMessages>()
  for (const key of keys.fields) {
    const own: { candidate: Candidate; pair: readonly [unknown, unknown] }[] = []
    for (const { item, candidate } of entries) {
      const { input, current } = candidate
      // a key that begins with the surrounding object's can be that of no other's
      if (item.current === undefined || (!current && keys.areOwned) || errors.has(candidate)) continue
      const given = isRecord(input) ? ownMember(input, key.name) : undefined
      if (given === null || given === undefined) continue
      const value = current && givenValue(child, key, input as object)
      if (value === undefined) errors.set(candidate, { [key.name]: [noObject(given)] })
      else own.push({ candidate, pair: [value, heldValue(current as object, key)] })
    }
    if (own.length === 0) continue
    const same = await areSame(
      key.column,
      own.map(({ pair }) => pair),
      serializerKnex(child),
    )
    for (const [index, { candidate }] of own.entries()) {
      const given = (candidate.input as Record<string, unknown>)[key.name]
      if (!same[index]) errors.set(candidate, { [key.name]: [noObject(given)] })
    }
  }
  return errors
}

type OwnField = BoundField & { readonly column: Column }

/** A field that names objects, by a value of theirs or by a slug of what they refer to. */
interface KeyField extends Pick<BoundField, 'name' | 'field' | 'ids' | 'shownKey' | 'writable'> {
  /** What its values are compared as. */
  readonly column: Column
  /** The relation to what has the slug. */
  readonly slugOf: string | undefined
}

function keyField(bound: OwnField): KeyField {
  const { name, field, ids, shownKey, writable, relation, key } = bound
  const slug =
    relation && key?.property !== undefined ? describeModel(relation.model).columns.get(key.property) : undefined
  const column = slug ?? bound.column
  return { name, field, ids, shownKey, writable, column, slugOf: slug && relation?.name }
}

/** What an object has where the field names it; null where its slug is not known. */
function heldValue(object: object, { column, slugOf }: KeyField): unknown {
  const owner = slugOf === undefined ? object : (object as Readonly<Record<string, unknown>>)[slugOf]
  return isRecord(owner) ? (valuesOf(owner, [column.property])[0] ?? null) : null
}

/** How nested data names an object among those related. */
interface NestedKeys {
  /** The fields of its primary key, but for what the surrounding object decides. */
  readonly fields: readonly KeyField[]
  /** The properties identify each of the related objects. */
  readonly areWhole: boolean
  /** The rest of the key is the surrounding object's, so that a client may choose a new one. */
  readonly areOwned: boolean
}

/** The names of the fields by which nested data names an object; none where they do not tell objects apart. */
export function keyNamesOf(plan: SerializerPlan, forced: Forced): readonly string[] {
  const { fields, areWhole } = nestedKeys(plan, forced)
  return areWhole ? fields.map(({ name }) => name) : []
}

/** @param forced what the surrounding object decides */
export function nestedKeys(plan: SerializerPlan, forced: Forced): NestedKeys {
  const isOwn = ({ field, input, column }: BoundField) =>
    field instanceof ExternalIdField || (column?.primary === true && input !== 'objects')
  const own = plan.fields.filter(
    (bound): bound is OwnField =>
      bound.readable && bound.source.length === 1 && bound.column !== undefined && isOwn(bound),
  )
  const external = own.filter(({ field }) => field instanceof ExternalIdField)
  if (external.length > 0) return { fields: external.slice(0, 1).map(keyField), areWhole: true, areOwned: false }
  const primaryKey = plan.model?.primaryKey ?? []
  const free = primaryKey.filter((property) => !forced.has(property))
  const naming = free.length > 0 ? free : primaryKey
  // of two that show one column the first counts
  const byProperty = new Map(own.toReversed().map((bound) => [bound.column.property, bound]))
  const fields = naming.flatMap((property) => byProperty.get(property) ?? []).map(keyField)
  const areWhole = naming.length > 0 && fields.length === naming.length
  const areOwned = free.length > 0 && free.length < primaryKey.length && fields.every(({ writable }) => writable)
  return { fields, areWhole, areOwned }
}
