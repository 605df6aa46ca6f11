/** Objects inside the input of others, validated together for a whole list. */
import { type ErrorMessages, MOST_MESSAGES } from '../errors.js'
import { ExternalIdField } from '../fields/external-id-field.js'
import { quote } from '../quote.js'
import type { AnySerializer, BoundField } from './contract.js'
import type { NestedSerializer } from './nested-serializer.js'
import {
  type Candidate,
  failAt,
  type Item,
  type Outcome,
  refuse,
  TARGET,
  take,
  type ValidationScope,
} from './validated-item.js'

/** Validates objects of one serializer. */
type Validate = (
  serializer: AnySerializer,
  candidates: readonly Candidate[],
  scope: ValidationScope,
) => readonly Outcome[] | Promise<readonly Outcome[]>

/** One field of all items: what stands in it is validated by the field's own serializer. */
export async function validateNested(
  serializer: AnySerializer,
  bound: BoundField,
  field: NestedSerializer,
  items: readonly Item[],
  validate: Validate,
): Promise<void> {
  const child = serializer.child(bound, field.serializerClass)
  const entries: { item: Item; position: number | undefined; candidate: Candidate }[] = []
  for (const item of items) {
    const input = take(serializer, bound, item)
    if (input === undefined) continue
    const wrong = field.many ? listProblem(input, field.maxItems) : undefined
    if (wrong !== undefined) {
      refuse(item, bound.name, [wrong])
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
  const candidates = entries.map(({ candidate }) => candidate)
  const outcomes = await validate(child, candidates, { nested: true, forced: forcedBy(bound) })
  let wrong = 0
  for (const [index, { item, position, candidate }] of entries.entries()) {
    const { value, errors: found } = outcomes[index] as Outcome
    const errors = found ?? foreignKeyError(child, item, candidate)
    if (errors) {
      // lists in lists multiply: of the rest each object is told of one, as else it would pass
      const isFirst = item.errors?.[bound.name] === undefined
      if (wrong++ < MOST_MESSAGES || isFirst) failAt(item, bound.name, position, errors)
    } else if (value) {
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
