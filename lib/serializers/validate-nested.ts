/** Objects inside the input of others, validated together for a whole list. */

import { ExternalIdField } from '../fields/external-id-field.js'
import { keyText, parseLookup, parseValue } from '../fields/object-key.js'
import { type ErrorMessages, MOST_MESSAGES } from '../kernel/errors.js'
import { writeJson } from '../kernel/json-numerals.js'
import { quote } from '../kernel/quote.js'
import { oncePerCatalogue } from '../models/describe-model.js'
import type { Column } from '../models/model-description.js'
import { deletionOf } from '../models/soft-deletes.js'
import type { AnySerializer, BoundField, SerializerPlan } from './contract.js'
import type { NestedSerializer, NestedSerializerOptions } from './nested-serializer.js'
import { rowKey } from './row-keys.js'
import { keepUnchanged } from './unchanged.js'
import {
  type Candidate,
  convert,
  type Forced,
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
  const known = nestedPlans(serializer.plan)
  const { forced, keys } = known.get(bound) ?? decide(known, bound, { own: serializer.plan, inner: child.plan })
  const entries: { item: Item; position: number | undefined; again?: boolean; candidate: Candidate }[] = []
  for (const item of items) {
    const given = take(serializer, bound, item)
    if (given === undefined) continue
    const input = item.textual ? readForm(serializer, bound, item) : given
    if (input === undefined) continue
    const texts: readonly unknown[] = item.textual ? [given].flat() : []
    const current = currentOf(item, bound)
    const wrong = field.many ? listProblem(input, field, current) : undefined
    if (wrong !== undefined) {
      refuse(item, bound.name, [wrong])
      continue
    }
    if (!field.many) {
      entries.push({
        item,
        position: undefined,
        candidate: { input, current: single(current), textual: texts.includes(input) },
      })
      continue
    }
    item.value[bound.name] = []
    // a list takes nothing away
    if (item.current !== undefined && (input as unknown[]).length === 0) keepUnchanged(item, bound.name, [])
    const related = byKey(current, keys)
    const named = new Set<object>()
    for (const [position, element] of (input as unknown[]).entries()) {
      const target = matching(child, element, related, keys)
      const again = target !== undefined && named.has(target)
      if (target) named.add(target)
      const textual = texts.includes(element)
      entries.push({ item, position, again, candidate: { input: element, current: target, textual } })
    }
  }
  const changes = new Map<string, string | undefined>()
  for (const entry of entries) entry.again ||= changesAnew(child, entry.candidate, changes)
  const candidates = entries.map(({ candidate }) => candidate)
  const outcomes = await validate(child, candidates, { nested: true, forced })
  let wrong = 0
  for (const [index, { item, position, again, candidate }] of entries.entries()) {
    const { value, errors: found } = outcomes[index] as Outcome
    const deleted = isDeleted(child, candidate) ? deletedError(child, candidate, keys) : undefined
    // sent back as it was read, it stays as it is
    if (deleted === null) continue
    const errors =
      deleted ?? (again ? namedAgain(keys, candidate) : (found ?? foreignKeyError(child, item, candidate, keys)))
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

interface NestedPlan {
  readonly forced: Forced
  readonly keys: NestedKeys
}

const nestedPlans = oncePerCatalogue((_plan: SerializerPlan) => new Map<BoundField, NestedPlan>())

function decide(
  known: Map<BoundField, NestedPlan>,
  bound: BoundField,
  { own, inner }: { own: SerializerPlan; inner: SerializerPlan },
): NestedPlan {
  const forced = forcedBy(own, bound)
  const decided = { forced, keys: keysOf(inner, forced) }
  known.set(bound, decided)
  return decided
}

/** Keys of the related model that the surrounding object decides. */
function forcedBy(plan: SerializerPlan, { relation }: BoundField): Forced {
  const forced = relation && (relation.kind === 'has-one' || relation.kind === 'has-many')
  const properties = new Set(forced ? relation.relatedProperties : [])
  return plan.model ? Object.assign(properties, { parent: plan.model.model }) : properties
}

function currentOf(item: Item, bound: BoundField): unknown {
  return item.current ? (item.current as Record<string, unknown>)[bound.relation?.name ?? bound.name] : undefined
}

function single(current: unknown): object | undefined {
  return typeof current === 'object' && current !== null && !Array.isArray(current) ? current : undefined
}

/** The objects now related, by their keys: each element is looked up, however many they are. */
function byKey(current: unknown, { fields, areWhole }: NestedKeys): ReadonlyMap<string, object> {
  const known = new Map<string, object>()
  if (!Array.isArray(current) || !areWhole) return known
  for (const object of current as object[]) {
    const key = JSON.stringify(fields.map((field) => storedKey(field, object)))
    // of two that are alike the first counts
    if (!known.has(key)) known.set(key, object)
  }
  return known
}

/** The related object that an element of a nested list names by its primary key. */
function matching(
  child: AnySerializer,
  element: unknown,
  known: ReadonlyMap<string, object>,
  { fields }: NestedKeys,
): object | undefined {
  if (typeof element !== 'object' || element === null || known.size === 0) return undefined
  const texts: string[] = []
  for (const field of fields) {
    const text = Object.hasOwn(element, field.name) ? givenKey(child, field, element) : undefined
    if (text === undefined) return undefined
    texts.push(text)
  }
  return known.get(JSON.stringify(texts))
}

/** True when the object's key, in one column of it, is the one that a client names. */
function holdsKey(child: AnySerializer, field: KeyField, object: object, input: object): boolean {
  return givenKey(child, field, input) === storedKey(field, object)
}

function storedKey({ column }: KeyField, object: object): string {
  return keyText(column, (object as Record<string, unknown>)[column.property])
}

/** Undefined for what is no key. */
function givenKey({ context }: AnySerializer, { name, column, ids }: KeyField, input: object): string | undefined {
  const given = (input as Record<string, unknown>)[name]
  const key = ids ? ids.decode(given, context) : readKey(column, given)
  return key === undefined ? undefined : keyText(column, key)
}

/** A key as the column holds it; numbers may come as strings, as in forms. */
function readKey(column: Column, given: unknown): unknown {
  if (typeof given === 'string') return parseLookup(column, given)
  return typeof given === 'number' ? parseValue(column, given) : undefined
}

/** True for a stored object that another item of a list changes in another way: one of two changes would be lost. */
function changesAnew(
  { plan }: AnySerializer,
  { input, current }: Candidate,
  changes: Map<string, string | undefined>,
): boolean {
  if (!current || !plan.model) return false
  const key = rowKey(plan.model.model, current)
  const text = writeJson(input)
  if (changes.has(key)) return changes.get(key) !== text
  changes.set(key, text)
  return false
}

/** True for an object that is marked as deleted: a foreign key may still lead to it. */
function isDeleted({ plan }: AnySerializer, { current }: Candidate): boolean {
  const mark = plan.model && deletionOf(plan.model.model)
  return mark !== undefined && current !== undefined && (current as Record<string, unknown>)[mark] != null
}

/** A deleted object takes no changes; null where there are none. */
function deletedError(child: AnySerializer, { input, current }: Candidate, keys: NestedKeys): ErrorMessages | null {
  const shown = child.toRepresentation(current) as Record<string, unknown>
  const given = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {}
  const isSame = ({ name }: BoundField) =>
    !Object.hasOwn(given, name) || writeJson(given[name]) === writeJson(shown[name])
  if (child.plan.writable.every(isSame)) return null
  const [key] = keys.fields
  if (!key) return { non_field_errors: ['Invalid value.'] }
  return { [key.name]: [`Invalid pk ${quote(String(shown[key.name]))} - object does not exist.`] }
}

/** An object can be changed once: of two changes one would be lost. */
function namedAgain({ fields: [key] }: NestedKeys, { input, current }: Candidate): ErrorMessages {
  if (!key) return { non_field_errors: ['Invalid value.'] }
  const given = (input as Record<string, unknown>)[key.name] ?? (key.ids ? '' : storedKey(key, current as object))
  return {
    [key.name]: [
      `Invalid pk ${quote(typeof given === 'string' ? given : (JSON.stringify(given) ?? ''))} - listed more than once.`,
    ],
  }
}

/** Another object's key in nested data of an update: only the object now related may be changed (promise A7). */
function foreignKeyError(
  child: AnySerializer,
  item: Item,
  { input, current }: Candidate,
  keys: NestedKeys,
): ErrorMessages | undefined {
  // a key that begins with the surrounding object's can be that of no other's
  if (item.current === undefined || (!current && keys.areOwned)) return undefined
  for (const key of keys.fields) {
    const given = Object.hasOwn(input as object, key.name) ? (input as Record<string, unknown>)[key.name] : undefined
    if (given === null || given === undefined) continue
    if (current && holdsKey(child, key, current, input as object)) continue
    const isKey = typeof given === 'string' || typeof given === 'number'
    return { [key.name]: [`Invalid pk ${quote(isKey ? String(given) : given)} - object does not exist.`] }
  }
  return undefined
}

type KeyField = BoundField & { readonly column: Column }

/** How nested data names an object among those related. */
interface NestedKeys {
  /** The fields of its primary key, but for what the surrounding object decides. */
  readonly fields: readonly KeyField[]
  /** The properties identify each of the related objects. */
  readonly areWhole: boolean
  /** The rest of the key is the surrounding object's. */
  readonly areOwned: boolean
}

function keysOf(plan: SerializerPlan, forced: Forced): NestedKeys {
  const isOwn = ({ field, column }: BoundField) => column?.primary === true || field instanceof ExternalIdField
  const own = plan.readable.filter(
    (bound): bound is KeyField => bound.source.length === 1 && bound.column !== undefined && isOwn(bound),
  )
  const external = own.filter(({ field }) => field instanceof ExternalIdField)
  if (external.length > 0) return { fields: external.slice(0, 1), areWhole: true, areOwned: false }
  const primaryKey = plan.model?.primaryKey ?? []
  const free = primaryKey.filter((property) => !forced.has(property))
  const naming = free.length > 0 ? free : primaryKey
  const fields = own.filter(({ column }) => naming.includes(column.property))
  const areWhole =
    naming.length > 0 && naming.every((property) => fields.some(({ column }) => column.property === property))
  return { fields, areWhole, areOwned: free.length > 0 && free.length < primaryKey.length }
}
