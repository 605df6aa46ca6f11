/** Counts the nested objects and the keys in lists of an input, before anything is done for them (promise R10). */

import { readForm } from '../fields/json-text.js'
import type { ErrorMessages } from '../kernel/errors.js'
import { isPlain } from '../kernel/records.js'
import type { AnySerializer, SerializerPlan } from './contract.js'
import { NestedSerializer } from './nested-serializer.js'
import { serializerPlan } from './plan.js'

/** How many nested objects and keys in lists one request may hold, where the view says nothing else. */
export const DEFAULT_NESTED_OBJECTS = 1_000

/** How many more nested objects and keys a request may hold, all of its objects together. */
interface Budget {
  left: number
  readonly serializer: AnySerializer
  readonly message: string
}

/**
 * What is wrong with an input of more nested objects and keys than the request may hold: the list, or the object, with
 * which they are too many. Lists that are longer than their own field allows are not looked into: they are refused anyway.
 */
export function tooManyNested(serializer: AnySerializer, input: unknown, many: boolean): ErrorMessages | undefined {
  const most = mostNested(serializer)
  const budget = { left: most, serializer, message: tooMany(most) }
  const found = many ? countItems(input, serializer.plan, budget) : countFields(input, serializer.plan, budget)
  return Array.isArray(found) ? { non_field_errors: found } : found
}

/** Errors of an input that holds too many objects, whose fields nobody knows: all objects below it are counted. */
export function tooManyObjects(serializer: AnySerializer, input: unknown): ErrorMessages | undefined {
  const most = mostNested(serializer)
  const open: unknown[] = isContainer(input) ? [...Object.values(input)] : []
  for (let count = 0; open.length > 0; ) {
    const value = open.pop()
    if (!isContainer(value)) continue
    if (!Array.isArray(value) && ++count > most) return { non_field_errors: [tooMany(most)] }
    for (const inner of Object.values(value)) if (typeof inner === 'object') open.push(inner)
  }
  return undefined
}

/** A list or an object of JSON, not one of a class such as a file of a form. */
function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null && (Array.isArray(value) || isPlain(value))
}

function tooMany(most: number): string {
  return `A request may hold at most ${most} nested objects.`
}

function mostNested({ context }: AnySerializer): number {
  const view = context.view as { constructor?: { maxNestedObjects?: unknown } } | null | undefined
  const own = context.maxNestedObjects ?? view?.constructor?.maxNestedObjects
  return typeof own === 'number' ? own : DEFAULT_NESTED_OBJECTS
}

type Found = string[] | ErrorMessages | undefined

function countItems(input: unknown, plan: SerializerPlan, budget: Budget): Found {
  if (!Array.isArray(input)) return undefined
  for (const [position, item] of input.entries()) {
    const found = countFields(item, plan, budget)
    if (found) return { [position]: found }
  }
  return undefined
}

function countFields(input: unknown, plan: SerializerPlan, budget: Budget): ErrorMessages | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return undefined
  for (const { name, field } of plan.nesting) {
    if (!Object.hasOwn(input, name)) continue
    const given = (input as Readonly<Record<string, unknown>>)[name]
    // in a form one string may be a list of many
    const value = budget.serializer.textual ? readForm(field, given) : given
    const found = field instanceof NestedSerializer ? countObjects(value, field, budget) : countKeys(value, budget)
    if (found) return { [name]: found }
  }
  return undefined
}

function countObjects(value: unknown, field: NestedSerializer, budget: Budget): Found {
  if (typeof value !== 'object' || value === null) return undefined
  const plan = serializerPlan(field.serializerClass)
  if (!field.many) return spend(1, budget) ?? countFields(value, plan, budget)
  if (!Array.isArray(value) || value.length > field.maxItems) return undefined
  return spend(value.length, budget) ?? (plan.nesting.length > 0 ? countItems(value, plan, budget) : undefined)
}

function countKeys(value: unknown, budget: Budget): Found {
  return Array.isArray(value) ? spend(value.length, budget) : undefined
}

function spend(count: number, budget: Budget): string[] | undefined {
  budget.left -= count
  return budget.left < 0 ? [budget.message] : undefined
}
