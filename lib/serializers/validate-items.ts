/** Validates a list of objects field by field, so that each related field costs one query for the whole list (promise I22). */

import type { RelatedField } from '../fields/related-field.js'
import { runValidators } from '../fields/run-validators.js'
import { ValidationError } from '../kernel/errors.js'
import { isPromise } from '../kernel/realms.js'
import { isRecord } from '../kernel/records.js'
import { isTurnOver, nextTurn } from '../kernel/turns.js'
import { exactAt } from '../models/exact-types.js'
import type { AnySerializer, BoundField } from './contract.js'
import { fieldGuardOf, guardFields } from './guard-fields.js'
import type { NestedSerializer } from './nested-serializer.js'
import { checkReferences } from './references.js'
import { representValue } from './represent.js'
import { checkRivals } from './rivals.js'
import { checkShared } from './shared-objects.js'
import { isAsShown, keepUnchanged, leaveOut } from './unchanged.js'
import { validateNested } from './validate-nested.js'
import { checkTrusted, validateRelated } from './validate-related.js'
import {
  type Candidate,
  changesNothing,
  convert,
  fail,
  forcedBy,
  type Item,
  isForced,
  isGiven,
  type Outcome,
  refuseOpaque,
  take,
  takeNull,
  toItem,
  toOutcomes,
  type ValidationScope,
} from './validated-item.js'

const NOTHING: ReadonlyMap<string, unknown> = new Map()

/**
 * Validates each candidate by the serializer's plan and hooks. A promise only where a field or a hook waits.
 * @throws what hooks throw besides `ValidationError`
 */
export function validateItems(
  serializer: AnySerializer,
  candidates: readonly Candidate[],
  scope: ValidationScope = {},
): readonly Outcome[] | Promise<readonly Outcome[]> {
  // pushed, not mapped: once V8 has compiled it, `map` makes arrays of another kind, and code compiled for the first is lost
  const items: Item[] = []
  const sound: Item[] = []
  for (const candidate of candidates) {
    const item = toItem(serializer, candidate, scope)
    items.push(item)
    if (item.errors === undefined) sound.push(item)
  }
  const guard = fieldGuardOf(serializer, forcedBy(serializer, scope))
  const waiting = guard
    ? guardFields(serializer, sound, guard).then(() => takeSteps(serializer, sound, scope))
    : takeSteps(serializer, sound, scope)
  return waiting ? waiting.then(() => toOutcomes(items)) : toOutcomes(items)
}

/** A promise only where something waits. */
type Step = (serializer: AnySerializer, items: readonly Item[], scope: ValidationScope) => Promise<void> | undefined

/** What objects are checked for, in this order. */
const STEPS: readonly Step[] = [
  (serializer, items, scope) => {
    const { writable } = serializer.plan
    const forced = forcedBy(serializer, scope)
    const fields = forced ? writable.filter((bound) => !isForced(forced, bound)) : writable
    return inTurn(fields, (bound) => validateField(serializer, bound, items, scope))
  },
  checkRivals,
  (serializer, items, scope) => (scope.nested ? undefined : checkShared(serializer, items)),
  checkReferences,
  (serializer, items, scope) => {
    const isRefused = scope.trustKeys === true && items.some(({ errors }) => errors !== undefined)
    return isRefused ? checkTrusted(serializer, items, scope) : undefined
  },
  (serializer, items) => inTurn(items, (item) => runForcedHooks(serializer, item)),
]

/** Does the work for each item from `start` on, one after the other. Waits only where one does. */
function inTurn<T>(
  items: readonly T[],
  work: (item: T) => Promise<void> | undefined,
  start = 0,
): Promise<void> | undefined {
  for (let index = start; index < items.length; index++) {
    const waiting = work(items[index] as T)
    if (waiting) return waiting.then(() => inTurn(items, work, index + 1))
  }
  return undefined
}

function takeSteps(
  serializer: AnySerializer,
  items: readonly Item[],
  scope: ValidationScope,
): Promise<void> | undefined {
  return inTurn(STEPS, (step) => step(serializer, items, scope))
}

/** The hooks of an item, which get the values that the input cannot set, and may return data without them. */
function runForcedHooks(serializer: AnySerializer, item: Item): Promise<void> | undefined {
  if (!serializer.forced || item.current !== undefined) return runHooks(serializer, item)
  force(serializer, item)
  const waiting = runHooks(serializer, item)
  if (waiting) return waiting.then(() => force(serializer, item))
  force(serializer, item)
  return undefined
}

function validateField(
  serializer: AnySerializer,
  bound: BoundField,
  items: readonly Item[],
  scope: ValidationScope,
): Promise<void> | undefined {
  const { name, field, input } = bound
  const isLookedUp = input === 'keys' && !(scope.trustKeys === true && serializer.plan.trusted.has(bound))
  // of what nobody sends there is a default, or an error, and no object to ask for
  if (!(isLookedUp || input === 'objects') || !items.some((item) => isGiven(item, name)))
    return validateValues(serializer, bound, items)
  if (isLookedUp) return validateRelated(serializer, bound, field as RelatedField, items)
  return validateNested(serializer, bound, field as NestedSerializer, items, validateItems)
}

/** Values that the input cannot set, of a new object: a stored one has them. */
function force({ forced = NOTHING, plan }: AnySerializer, item: Item): void {
  for (const [property, value] of forced) {
    if (value === undefined) throw new Error(`The value of "${property}", which the input cannot set, is not known yet`)
    const fields = plan.fields.filter(({ column, input }) => column?.property === property && input !== 'objects')
    const field = fields.find(({ writable }) => writable) ?? fields[0]
    item.value[field?.name ?? property] = value
  }
}

/** Validates one field of all items. Waits only where the field does. */
function validateValues(
  serializer: AnySerializer,
  bound: BoundField,
  items: readonly Item[],
): Promise<void> | undefined {
  const [item, second] = items
  if (item && !second) return validateValue(serializer, bound, item)
  // lists give way to other requests now and then
  return inTurn(items, (one) => validateValue(serializer, bound, one) ?? (isTurnOver() ? nextTurn() : undefined))
}

function validateValue(serializer: AnySerializer, bound: BoundField, item: Item): Promise<void> | undefined {
  const { name, field } = bound
  const input = take(serializer, bound, item)
  if (input === undefined) return undefined
  try {
    const given = item.textual || item.isInexact || bound.shownKey !== undefined ? convert(bound, item) : input
    if (given === null) return takeNull(serializer, bound, item)
    if (item.current !== undefined && isAsShown(serializer, bound, item, given)) {
      return validateShown(serializer, bound, item, given)
    }
    const value = field.toInternalValue(given, serializer.context)
    if (isPromise(value)) return keepLater(bound, item, value)
    keep(bound, item, value)
  } catch (error) {
    fail(item, name, error)
  }
  return undefined
}

async function keepLater(bound: BoundField, item: Item, value: PromiseLike<unknown>): Promise<void> {
  try {
    keep(bound, item, await value)
  } catch (error) {
    fail(item, bound.name, error)
  }
}

/** @throws ValidationError the column would store another value, and no code behind the field may make one of it that fits */
function keep({ name, field, hook, exactForm }: BoundField, item: Item, value: unknown): void {
  const isLast = hook === undefined && field.options.validators === undefined
  item.value[name] = isLast && exactForm ? exactForm(value) : value
}

/** What the object shows already is not refused; where the field has a value for it, hooks get that. */
function validateShown(
  serializer: AnySerializer,
  { name, field }: BoundField,
  item: Item,
  given: unknown,
): Promise<void> | undefined {
  const refused = (error: unknown) => {
    if (!(error instanceof ValidationError)) throw error
    leaveOut(item, name)
  }
  try {
    const value = field.toInternalValue(given, serializer.context)
    if (isPromise(value))
      return Promise.resolve(value.then((checked) => keepUnchanged(item, name, checked))).catch(refused)
    keepUnchanged(item, name, value)
  } catch (error) {
    refused(error)
  }
  return undefined
}

/** The checks behind those of the fields' own. Waits only where one does. */
function runHooks(serializer: AnySerializer, item: Item): Promise<void> | undefined {
  if (serializer.plan.hasHooks) return runFieldHooks(serializer, item).then(() => runObjectHook(serializer, item))
  return runObjectHook(serializer, item)
}

async function runFieldHooks(serializer: AnySerializer, item: Item): Promise<void> {
  const hooks = serializer as unknown as Record<string, (value: unknown, stored: object | undefined) => unknown>
  for (const { name, field, hook, input, exactForm } of serializer.plan.writable) {
    if (!Object.hasOwn(item.value, name) || item.errors?.[name]) continue
    const given = isGiven(item, name) ? item.value[name] : undefined
    try {
      const { validators } = field.options
      if (validators && item.value[name] !== null) {
        const checked = await runValidators(validators, item.value[name], serializer.context)
        // copies of nested objects would not know the stored ones that they change
        if (input !== 'objects') item.value[name] = checked
      }
      const kept = hook === undefined ? undefined : hooks[hook]?.(item.value[name], item.current)
      const value = isPromise(kept) ? await kept : kept
      if (value !== undefined) item.value[name] = value
      if (exactForm && item.value[name] === given && !item.unchanged?.has(name)) item.value[name] = exactForm(given)
      if (item.unchanged?.has(name)) keepUnchanged(item, name, item.value[name])
    } catch (error) {
      const isRefused = !(item.unchanged?.has(name) || changesNothing(item.value[name]))
      if (isRefused || !(error instanceof ValidationError)) fail(item, name, error)
    }
  }
}

function runObjectHook(serializer: AnySerializer, item: Item): Promise<void> | undefined {
  if (item.errors) return undefined
  if (serializer.plan.validators.length > 0) {
    return runObjectValidators(serializer, item).then(() =>
      item.errors ? undefined : runObjectMethod(serializer, item),
    )
  }
  return runObjectMethod(serializer, item)
}

function runObjectMethod(serializer: AnySerializer, item: Item): Promise<void> | undefined {
  const keep = (value: unknown) => {
    if (value === undefined) return
    if (!isRecord(value)) {
      throw new Error(`${serializer.constructor.name}: validate() returned no object; return the data, or nothing`)
    }
    refuseOpaque(serializer, 'what validate() returned', value)
    // another object may be one that the application keeps
    if (value !== item.value) item.value = { ...value }
  }
  const refuse = (error: unknown) => {
    if (!(error instanceof ValidationError)) throw error
    item.errors = error.errors
  }
  try {
    const kept = serializer.validate(item.value, item.current)
    if (isPromise(kept)) return Promise.resolve(kept.then(keep)).catch(refuse)
    keep(kept)
  } catch (error) {
    refuse(error)
  }
  return undefined
}

/**
 * Validators see the validated data; where some of an object changes (PATCH), beside it what the object shows of its other
 * columns. What a schema returns is laid over the data: names that it drops stay, and nested objects stay as they are.
 */
async function runObjectValidators(serializer: AnySerializer, item: Item): Promise<void> {
  const { plan, context } = serializer
  const stored = item.partial && item.current ? shownValues(serializer, item, item.current) : {}
  try {
    const checked = await runValidators(plan.validators, { ...stored, ...item.value }, context)
    if (typeof checked !== 'object' || checked === null) {
      throw new Error(`${serializer.constructor.name}: a schema among its validators made no object of the data`)
    }
    const nested = new Set(plan.fields.filter(({ input }) => input === 'objects').map(({ name }) => name))
    for (const [name, value] of Object.entries(checked)) {
      if (!Object.hasOwn(stored, name) && !nested.has(name)) item.value[name] = value
    }
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error
    item.errors = error.errors
  }
}

/** The values of the columns that the client leaves unchanged: keys as they are stored, others in the form in which it would send them. */
function shownValues(serializer: AnySerializer, { value }: Item, current: object): Record<string, unknown> {
  // they are the application's, and see what rules keep from its caller
  const columns = serializer.plan.fields.filter(
    ({ name, column, writable, access, field, input, rivals }) =>
      column &&
      (writable || access?.isKept) &&
      !field.writeOnly &&
      (input === 'value' || input === 'keys') &&
      ![name, ...rivals].some((one) => Object.hasOwn(value, one)),
  )
  const shown = (bound: BoundField) => {
    const stored = exactAt(current, bound.column?.property ?? '')
    // a column that was not read has no value
    if (stored === undefined) return null
    return bound.input === 'keys' ? stored : representValue(serializer, bound, current, serializer.context)
  }
  return Object.fromEntries(columns.map((bound) => [bound.name, shown(bound)]))
}
