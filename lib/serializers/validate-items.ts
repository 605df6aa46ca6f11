/** Validates a list of objects field by field, so that each related field costs one query for the whole list (promise I22). */
import { type ErrorMessages, ValidationError } from '../errors.js'
import { ExternalIdField } from '../fields/external-id-field.js'
import type { SerializerContext, SerializerField } from '../fields/field.js'
import { HiddenField } from '../fields/hidden-field.js'
import { PrimaryKeyRelatedField, RelatedField, type RelatedFieldOptions } from '../fields/related-field.js'
import { describeModel, type ModelDescription } from '../models/describe-model.js'
import { hasPlainQueries, hasPlainRows } from '../models/plain-model.js'
import { quote } from '../quote.js'
import type { AnySerializer, BoundField } from './contract.js'
import { NestedSerializer } from './nested-serializer.js'

/** One object to validate, and the stored object it changes, if there is one. */
export interface Candidate {
  readonly input: unknown
  readonly current: object | undefined
}

export interface Outcome {
  readonly value: Record<string, unknown> | undefined
  readonly errors: ErrorMessages | undefined
}

/** Marks validated data of a nested object with the stored object it changes. Spreading the data keeps it. */
export const TARGET = Symbol('the object that nested data changes')

/** Marks validated data with the external ids that its keys were given as, by field name. Spreading the data keeps it. */
export const GIVEN = Symbol('the external ids that keys were given as')

interface Item {
  readonly input: Record<string, unknown>
  readonly current: object | undefined
  readonly partial: boolean
  value: Record<string, unknown>
  errors: ErrorMessages | undefined
}

export interface ValidationScope {
  /** Properties that the surrounding object sets; input for them is not used. */
  readonly forced?: ReadonlySet<string>
  /** Foreign keys that the database checks itself are not looked up, unless something else is wrong. */
  readonly trustKeys?: boolean
  /** These objects stand inside another: `partial` holds only for those that exist already. */
  readonly nested?: boolean
}

/** Validates each candidate by the serializer's plan and hooks. @throws what hooks throw besides `ValidationError` */
export async function validateItems(
  serializer: AnySerializer,
  candidates: readonly Candidate[],
  scope: ValidationScope = {},
): Promise<Outcome[]> {
  const items = candidates.map((candidate) => toItem(serializer, candidate, scope))
  const sound = items.filter((item) => item.errors === undefined)
  const fields = validateFields(serializer, sound, scope)
  if (fields) await fields
  if (scope.trustKeys === true && sound.some(({ errors }) => errors !== undefined)) {
    await checkTrusted(serializer, sound, scope)
  }
  for (const item of sound) {
    force(serializer, item)
    const hooks = runHooks(serializer, item)
    if (hooks) await hooks
    // a hook may have returned data without them
    force(serializer, item)
  }
  return items.map(({ value, errors }) => (errors ? { value: undefined, errors } : { value, errors }))
}

/** All fields from `start` on, one after the other. Waits only where one does. */
function validateFields(
  serializer: AnySerializer,
  items: readonly Item[],
  scope: ValidationScope,
  start = 0,
): Promise<void> | undefined {
  const { writable } = serializer.plan
  for (let index = start; index < writable.length; index++) {
    const waiting = validateField(serializer, writable[index] as BoundField, items, scope)
    if (waiting) return waiting.then(() => validateFields(serializer, items, scope, index + 1))
  }
  return undefined
}

function validateField(
  serializer: AnySerializer,
  bound: BoundField,
  items: readonly Item[],
  scope: ValidationScope,
): Promise<void> | undefined {
  if (isForced(serializer, bound, scope)) return undefined
  const { field } = bound
  if (field instanceof NestedSerializer) return validateNested(serializer, bound, field, items)
  if (field instanceof RelatedField && !(scope.trustKeys === true && isTrusted(serializer, bound))) {
    return validateRelated(serializer, bound, field, items)
  }
  return validateValues(serializer, bound, items)
}

/** True for a field that the input cannot set. */
function isForced(serializer: AnySerializer, { column }: BoundField, scope: ValidationScope): boolean {
  return column !== undefined && (scope.forced ?? serializer.forced)?.has(column.property) === true
}

const trustedFields = new WeakMap<BoundField, { related: ModelDescription; trusted: boolean }>()

/** Kept for as long as the catalogue is the same. */
function isTrusted(serializer: AnySerializer, bound: BoundField): boolean {
  if (!bound.relation) return false
  const related = describeModel(bound.relation.model)
  let known = trustedFields.get(bound)
  if (known?.related !== related) {
    known = { related, trusted: isCheckedByDatabase(serializer, bound) }
    trustedFields.set(bound, known)
  }
  return known.trusted
}

/** A key of the whole related table, all of whose rows the caller may see: a foreign key of the database checks it. */
function isCheckedByDatabase({ plan }: AnySerializer, { field, relation, column, ids }: BoundField): boolean {
  const made: unknown = field.constructor
  const key = column && plan.model?.foreignKeys.get(column.property)
  if (made !== PrimaryKeyRelatedField || !relation || !key || ids) return false
  const { queryset, many } = field.options as RelatedFieldOptions
  if (many === true || queryset !== relation.model) return false
  if (!hasPlainQueries(relation.model) || !hasPlainRows(relation.model)) return false
  const related = describeModel(relation.model)
  const target = related.columns.get(relation.relatedProperties[0] as string)
  return related.table === key.table && !related.secured && target?.column === key.column
}

/** The client learns of all that is wrong at once: where other fields are refused, the keys are looked up after all. */
async function checkTrusted(serializer: AnySerializer, items: readonly Item[], scope: ValidationScope) {
  for (const bound of serializer.plan.writable) {
    if (isForced(serializer, bound, scope) || !isTrusted(serializer, bound)) continue
    const asking = items.filter((item) => !item.errors || !Object.hasOwn(item.errors, bound.name))
    await validateRelated(serializer, bound, bound.field as RelatedField, asking)
  }
}

/** Values that the input cannot set; a stored object has them. */
function force({ forced, plan }: AnySerializer, item: Item): void {
  if (!forced || item.current !== undefined) return
  for (const [property, value] of forced) {
    if (value === undefined) throw new Error(`The value of "${property}", which the input cannot set, is not known yet`)
    const field = plan.fields.find(({ column }) => column?.property === property)
    item.value[field?.name ?? property] = value
  }
}

function toItem(serializer: AnySerializer, { input, current }: Candidate, scope: ValidationScope): Item {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input)
  return {
    input: isObject ? (input as Record<string, unknown>) : {},
    current,
    partial: serializer.partial && !(scope.nested && current === undefined),
    value: {},
    errors: isObject ? undefined : { non_field_errors: ['Expected an object.'] },
  }
}

/** One field of all items from `start` on. Waits only where the field does. */
function validateValues(
  serializer: AnySerializer,
  bound: BoundField,
  items: readonly Item[],
  start = 0,
): Promise<void> | undefined {
  for (let index = start; index < items.length; index++) {
    const waiting = validateValue(serializer, bound, items[index] as Item)
    if (waiting) return waiting.then(() => validateValues(serializer, bound, items, index + 1))
  }
  return undefined
}

function validateValue(serializer: AnySerializer, bound: BoundField, item: Item): Promise<void> | undefined {
  const { name, field } = bound
  const input = take(serializer, bound, item)
  if (input === undefined) return undefined
  try {
    const value = field.toInternalValue(convert(serializer, field, input), serializer.context)
    if (value instanceof Promise) return keepLater(item, name, value)
    item.value[name] = value
  } catch (error) {
    fail(item, name, error)
  }
  return undefined
}

async function keepLater(item: Item, name: string, value: Promise<unknown>): Promise<void> {
  try {
    item.value[name] = await value
  } catch (error) {
    fail(item, name, error)
  }
}

async function validateRelated(
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
      const keys: unknown = field.toInternalValue(convert(serializer, field, input), serializer.context)
      asked.push({ item, keys: field.many ? (keys as unknown[]) : [keys] })
    } catch (error) {
      fail(item, bound.name, error)
    }
  }
  const stored = bound.relation?.relatedProperties[0]
  const keys = new Set(asked.flatMap((entry) => entry.keys))
  const found = keys.size > 0 ? await field.find([...keys], serializer.context, stored) : new Map<string, unknown>()
  for (const { item, keys } of asked) {
    const missing = keys.filter((key) => !found.has(field.keyText(key)))
    if (missing.length > 0) {
      fail(item, bound.name, new ValidationError(missing.map((key) => field.notFoundMessage(key))))
    } else {
      const stored = keys.map((key) => found.get(field.keyText(key)))
      // several external ids may be of one object
      item.value[bound.name] = field.many ? [...new Set(stored)] : stored[0]
      if (isExternal) keepGiven(item, bound.name, keys)
    }
  }
}

function keepGiven({ value }: Item, name: string, keys: readonly unknown[]): void {
  const marked = value as { [GIVEN]?: Record<string, unknown> }
  marked[GIVEN] = { ...marked[GIVEN], [name]: keys[0] }
}

async function validateNested(
  serializer: AnySerializer,
  bound: BoundField,
  field: NestedSerializer,
  items: readonly Item[],
): Promise<void> {
  const child = serializer.child(bound, field.serializerClass)
  const entries: { item: Item; position: number | undefined; candidate: Candidate }[] = []
  for (const item of items) {
    const input = take(serializer, bound, item)
    if (input === undefined) continue
    const wrong = field.many ? listProblem(input, field.maxItems) : undefined
    if (wrong !== undefined) {
      fail(item, bound.name, new ValidationError(wrong))
      continue
    }
    const current = currentOf(item, bound)
    if (!field.many) {
      entries.push({ item, position: undefined, candidate: { input, current: single(current) } })
      continue
    }
    item.value[bound.name] = []
    for (const [position, element] of (input as unknown[]).entries()) {
      entries.push({ item, position, candidate: { input: element, current: matching(child, element, current) } })
    }
  }
  const outcomes = await validateItems(
    child,
    entries.map((entry) => entry.candidate),
    {
      nested: true,
      forced: forcedBy(bound),
    },
  )
  for (const [index, { item, position, candidate }] of entries.entries()) {
    const { value, errors: found } = outcomes[index] as Outcome
    const errors = found ?? foreignKeyError(child, item, candidate)
    if (errors) failAt(item, bound.name, position, errors)
    else if (value) {
      if (candidate.current) (value as { [TARGET]?: object })[TARGET] = candidate.current
      if (position === undefined) item.value[bound.name] = value
      else (item.value[bound.name] as unknown[]).push(value)
    }
  }
}

function listProblem(input: unknown, maxItems: number): string | undefined {
  if (!Array.isArray(input)) return 'Expected a list of items.'
  return input.length > maxItems ? `Ensure this field has no more than ${maxItems} items.` : undefined
}

/** Keys of the related model that the surrounding object decides. */
function forcedBy({ relation }: BoundField): ReadonlySet<string> {
  const forced = relation && (relation.kind === 'has-one' || relation.kind === 'has-many')
  return new Set(forced ? relation.relatedProperties : [])
}

function currentOf(item: Item, bound: BoundField): unknown {
  return item.current ? (item.current as Record<string, unknown>)[bound.relation?.name ?? bound.name] : undefined
}

function single(current: unknown): object | undefined {
  return typeof current === 'object' && current !== null && !Array.isArray(current) ? current : undefined
}

/** The related object that an element of a nested list names by its primary key. */
function matching(child: AnySerializer, element: unknown, current: unknown): object | undefined {
  const key = primaryKeyField(child)
  if (!key?.column || typeof element !== 'object' || element === null || !Array.isArray(current)) return undefined
  if (!Object.hasOwn(element, key.name)) return undefined
  const wanted = keyText(child, key, (element as Record<string, unknown>)[key.name])
  if (wanted === undefined) return undefined
  const property = key.column.property
  return (current as Record<string, unknown>[]).find((object) => String(object[property]) === wanted)
}

/** What a stored key that a client names comes to as text; undefined for what is none. */
function keyText({ context }: AnySerializer, { ids }: BoundField, given: unknown): string | undefined {
  const key = ids ? ids.decode(given, context) : given
  return typeof key === 'string' || typeof key === 'number' ? String(key) : undefined
}

/** Another object's key in nested data of an update: only the object now related may be changed (promise A7). */
function foreignKeyError(child: AnySerializer, item: Item, { input, current }: Candidate): ErrorMessages | undefined {
  const key = primaryKeyField(child)
  if (item.current === undefined || !key?.column) return undefined
  if (!Object.hasOwn(input as object, key.name)) return undefined
  const given = (input as Record<string, unknown>)[key.name]
  if (given === null || given === undefined) return undefined
  const wanted = keyText(child, key, given)
  if (current && wanted !== undefined) {
    if (String((current as Record<string, unknown>)[key.column.property]) === wanted) return undefined
  }
  const isKey = typeof given === 'string' || typeof given === 'number'
  return { [key.name]: [`Invalid pk ${quote(isKey ? String(given) : given)} - object does not exist.`] }
}

function primaryKeyField(serializer: AnySerializer): BoundField | undefined {
  const isOwn = ({ field, column }: BoundField) => column?.primary === true || field instanceof ExternalIdField
  return serializer.plan.readable.find((bound) => bound.source.length === 1 && isOwn(bound))
}

/**
 * The input of a field, when it is there to be checked. A missing value takes its default or is reported; null is kept
 * or reported; undefined tells that nothing is left to do.
 */
function take(serializer: AnySerializer, bound: BoundField, item: Item): unknown {
  const { name, field } = bound
  const hidden = field instanceof HiddenField
  const input = !hidden && Object.hasOwn(item.input, name) ? item.input[name] : undefined
  if (input === null) {
    if (bound.allowNull) item.value[name] = null
    else fail(item, name, new ValidationError('This field may not be null.'))
    return undefined
  }
  if (input !== undefined || item.partial) return input
  if ('default' in field.options) item.value[name] = defaultOf(field, serializer.context)
  else if (bound.required) fail(item, name, new ValidationError('This field is required.'))
  return undefined
}

function defaultOf(field: SerializerField, context: SerializerContext): unknown {
  const given = field.options.default
  if (typeof given === 'function') return (given as () => unknown)()
  const resolve = (given as { resolve?: unknown } | null | undefined)?.resolve
  return typeof resolve === 'function' ? resolve.call(given, context) : given
}

function convert(serializer: AnySerializer, field: SerializerField, input: unknown): unknown {
  if (!serializer.textual) return input
  return field.fromTexts(Array.isArray(input) ? input : [input])
}

/** The checks behind those of the fields' own. Waits only where one does. */
function runHooks(serializer: AnySerializer, item: Item): Promise<void> | undefined {
  const hasHooks = serializer.plan.writable.some(({ field, hook }) => hook !== undefined || field.options.validators)
  if (hasHooks) return runFieldHooks(serializer, item).then(() => runObjectHook(serializer, item))
  return runObjectHook(serializer, item)
}

async function runFieldHooks(serializer: AnySerializer, item: Item): Promise<void> {
  const hooks = serializer as unknown as Record<string, (value: unknown) => unknown>
  for (const { name, field, hook } of serializer.plan.writable) {
    if (!Object.hasOwn(item.value, name) || item.errors?.[name]) continue
    try {
      if (item.value[name] !== null) {
        for (const check of field.options.validators ?? []) await check(item.value[name] as never, serializer.context)
      }
      if (hook === undefined) continue
      const kept = hooks[hook]?.(item.value[name])
      const value = kept instanceof Promise ? await kept : kept
      if (value !== undefined) item.value[name] = value
    } catch (error) {
      fail(item, name, error)
    }
  }
}

function runObjectHook(serializer: AnySerializer, item: Item): Promise<void> | undefined {
  if (item.errors) return undefined
  const keep = (value: unknown) => {
    if (value !== undefined) item.value = value as Record<string, unknown>
  }
  const refuse = (error: unknown) => {
    if (!(error instanceof ValidationError)) throw error
    item.errors = error.errors
  }
  try {
    const kept = serializer.validate(item.value)
    if (kept instanceof Promise) return kept.then(keep).catch(refuse)
    keep(kept)
  } catch (error) {
    refuse(error)
  }
  return undefined
}

/** Notes a field's error. Anything but a `ValidationError` is not the client's fault and rises. */
function fail(item: Item, name: string, error: unknown): void {
  if (!(error instanceof ValidationError)) throw error
  item.errors ??= {}
  item.errors[name] = error.messages
}

function failAt(item: Item, name: string, position: number | undefined, errors: ErrorMessages): void {
  item.errors ??= {}
  if (position === undefined) item.errors[name] = errors
  else item.errors[name] = { ...(item.errors[name] as ErrorMessages | undefined), [position]: errors }
}
