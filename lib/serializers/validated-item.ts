/** One object while it is validated: its input, what has come of it so far, and what is wrong with it. */

import { type SerializerField, settledValue } from '../fields/field.js'
import { formValues, hasForbidden } from '../fields/json-text.js'
import { ConfigurationError, type ErrorMessages, ValidationError } from '../kernel/errors.js'
import { hasNumerals, numeralAt } from '../kernel/json-numerals.js'
import { MESSAGES } from '../kernel/messages.js'
import { ignoreRejection, isPromise } from '../kernel/realms.js'
import { isOpaque, isPlain, isRecord, tagOf } from '../kernel/records.js'
import { areOfOneTable } from '../models/one-table.js'
import type { AnySerializer, BoundField, ForcedValues } from './contract.js'
import { isLeftOut } from './represent.js'
import { keyOfShown } from './shown-by.js'
import { isAsShown, isKept, keepUnchanged, UNCHANGED, type Updated } from './unchanged.js'

/** One object to validate, and the stored object it changes, if there is one. */
export interface Candidate {
  readonly input: unknown
  readonly current: object | undefined
  /** Its values are strings of a form. @default as the serializer's */
  readonly textual?: boolean
}

export interface Outcome {
  readonly value: Record<string, unknown> | undefined
  readonly errors: ErrorMessages | undefined
}

/** Marks validated data of a nested object with the stored object it changes. Spreading the data keeps it. */
export const TARGET = Symbol('the object that nested data changes')

/** Marks validated data of a nested object with what the surrounding one decides, by property. Spreading the data keeps it. */
export const DECIDED = Symbol('the values that the surrounding object decides')

/** Marks validated data of a new nested object with the relation whose mapping adds to it. Spreading the data keeps it. */
export const ADDED_BY = Symbol('the relation that a new object is inserted for')

/** Marks validated data with the external ids and slugs that its keys were given as, by field name. Spreading the data keeps it. */
export const GIVEN = Symbol('the external ids and slugs that keys were given as')

/** Marks validated data of a new object with the fields that its caller may set of some rows only. Spreading the data keeps it. */
export const LIMITED = Symbol('the fields that rules may refuse of the row')

/** An object and what has come of it. */
export interface Item extends Updated {
  readonly input: Record<string, unknown>
  readonly partial: boolean
  readonly textual: boolean
  /** Some of its numbers are not those that were sent: JavaScript lacks their digits. */
  readonly isInexact: boolean
  /** Of a new object, the fields that its caller may set of some rows only. */
  limited: readonly string[] | undefined
  errors: ErrorMessages | undefined
}

export interface ValidationScope {
  /** Properties that the surrounding object sets; input for them is not used. */
  readonly forced?: Forced
  /** Foreign keys that the database checks itself are not looked up, unless something else is wrong. */
  readonly trustKeys?: boolean
  /** These objects stand inside another: `partial` holds only for those that exist already. */
  readonly nested?: boolean
}

/** What is not an object is refused at once. */
export function toItem(serializer: AnySerializer, candidate: Candidate, scope: ValidationScope): Item {
  const { input, current, textual = serializer.textual } = candidate
  // a client may send a file in the place of a nested object
  const isFile = scope.nested === true && isRecord(input) && hasNoMembers(input) && !isPromise(input)
  const isObject = isRecord(input) && !isFile
  if (isObject) refuseOpaque(serializer, 'inputData', input)
  return {
    input: isObject ? input : {},
    current,
    textual,
    isInexact: hasNumerals(input),
    partial: serializer.partial && !(scope.nested && current === undefined),
    value: {},
    unchanged: undefined,
    shown: undefined,
    limited: undefined,
    errors: isObject ? undefined : { non_field_errors: ['Expected an object.'] },
  }
}

/** @throws {ConfigurationError} it is a map, a form or a promise: nothing of it would be written */
export function refuseOpaque(serializer: object, what: string, value: object): void {
  if (!hasNoMembers(value)) return
  ignoreRejection(value)
  throw new ConfigurationError(
    `${serializer.constructor.name}: ${what} is a ${tagOf(value)}, which has no members; give a plain object`,
  )
}

function hasNoMembers(value: object): boolean {
  return !isPlain(value) && isOpaque(value)
}

/** What has come of them in the end. */
export function toOutcomes(items: readonly Item[]): readonly Outcome[] {
  const outcomes: Outcome[] = []
  for (const { value, errors, unchanged, limited } of items) {
    if (unchanged) (value as { [UNCHANGED]?: Updated['unchanged'] })[UNCHANGED] = unchanged
    if (limited) (value as { [LIMITED]?: Item['limited'] })[LIMITED] = limited
    outcomes.push({ value: errors ? undefined : value, errors })
  }
  return outcomes
}

/** True for nested data, an object or a list, that changes nothing of the stored objects that it names. */
export function changesNothing(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every(changesNothing)
  if (typeof value !== 'object' || value === null || !(TARGET in value)) return false
  return Object.keys(value).every((name) => {
    const member = (value as Record<string, unknown>)[name]
    return isKept(value, name) || changesNothing(member)
  })
}

/** Properties that the input cannot set; undefined where it may set all. */
export function forcedBy(serializer: AnySerializer, scope: ValidationScope): Forced | undefined {
  return scope.forced ?? serializer.forced
}

/** True for a field that the input cannot set. */
export function isForced(forced: Forced | undefined, { column, relation }: BoundField): boolean {
  if (forced === undefined) return false
  if (column !== undefined) return forced.has(column.property)
  if (relation?.kind !== 'belongs-to-one') return false
  const decided = relation.ownerProperties.filter((property) => forced.has(property))
  // another relation may share a column with the one that is forced
  const isOwn = areOfOneTable(forced.parent, relation.model) && decided.length === forced.size
  return decided.length > 0 && (isOwn || decided.length === relation.ownerProperties.length)
}

/** Properties that the input cannot set, and the model of the object that decides them. */
export type Forced = Pick<ReadonlySet<string>, 'has' | 'size'> & Pick<ForcedValues, 'parent'>

/** The same, each by its name. */
export type ForcedKeys = ReadonlySet<string> & Pick<ForcedValues, 'parent'>

/**
 * The input of a field, when it is there to be checked. A missing value takes its default or is reported; null is kept
 * or reported; undefined means that nothing is left to do.
 */
export function take(serializer: AnySerializer, bound: BoundField, item: Item): unknown {
  const { name, field } = bound
  const input = bound.input !== 'nothing' && Object.hasOwn(item.input, name) ? item.input[name] : undefined
  if (input === null) return takeNull(serializer, bound, item)
  if (input !== undefined || item.partial) return input
  if (bound.rivals.some((rival) => isGiven(item, rival))) return undefined
  if (staysAsStored(serializer, bound, item)) return undefined
  if ('default' in field.options) item.value[name] = field.defaultFor(serializer.context)
  else if (bound.required) refuse(item, name, ['This field is required.'])
  return undefined
}

/** True where rules keep a field of a stored object from the caller: to leave it out is not to set it. */
function staysAsStored({ context }: AnySerializer, bound: BoundField, { current }: Item): boolean {
  const { access, field } = bound
  if (current === undefined || access === undefined) return false
  return isLeftOut(bound, current, context) || ('default' in field.options && access.write !== 'all')
}

/** True for a field that the input has a value for, null included. */
export function isGiven({ input }: Item, name: string): boolean {
  return Object.hasOwn(input, name) && input[name] !== undefined
}

/** Keeps null or reports it. */
export function takeNull(serializer: AnySerializer, bound: BoundField, item: Item): undefined {
  const { name, allowNull } = bound
  if (isAsShown(serializer, bound, item, null)) keepUnchanged(item, name, null)
  else if (allowNull) item.value[name] = null
  else refuse(item, name, ['This field may not be null.'])
}

/**
 * What a client has sent for a field: forms send strings, of which one may stand for null, and JSON numbers of which
 * JavaScript's lack digits. @throws ValidationError
 */
export function convert({ name, field, shownKey }: BoundField, item: Item): unknown {
  const given = converted(name, field, item)
  return shownKey === undefined ? given : keyOfShown(field, shownKey, given)
}

function converted(name: string, field: SerializerField, item: Item): unknown {
  const input = item.input[name]
  if (item.textual) {
    const values = formValues(input)
    return values.at(-1) === '' && field.allowNull && !field.takesEmptyText
      ? null
      : settledValue(field, 'fromTexts', field.fromTexts(values))
  }
  const text = numeralAt(item.input, name)
  return text === undefined ? input : field.fromNumeral(text)
}

/** Notes a field's error. Anything but a `ValidationError` is not the client's fault and rises. */
export function fail(item: Item, name: string, error: unknown): void {
  if (!(error instanceof ValidationError)) throw error
  refuse(item, name, hasForbidden(item.input[name]) ? [...MESSAGES.forbidden_key] : error.messages)
}

/** Notes what is wrong with a field, without an error and its stack. */
export function refuse(item: Item, name: string, messages: string[] | ErrorMessages): void {
  item.errors ??= {}
  item.errors[name] = messages
}

/** Notes the errors of an object inside this one: of the only one, or of one in a list. */
export function failAt(item: Item, name: string, position: number | undefined, errors: ErrorMessages): void {
  item.errors ??= {}
  if (position === undefined) {
    item.errors[name] = errors
    return
  }
  item.errors[name] ??= {}
  const list = item.errors[name] as ErrorMessages
  list[position] = errors
}
