/** The objects that a bulk request is about: the list it sends, their keys, and their rows, locked. */

import type { Model } from 'objection'
import { representationOf } from '../../fields/field.js'
import type { KeyValues, ObjectKey } from '../../fields/object-key.js'
import { RelatedField } from '../../fields/related-field.js'
import type { IDContext } from '../../ids/codec.js'
import { begin, waitingFor } from '../../kernel/begun-work.js'
import { ApiError, BadRequest, type ErrorMessages, ValidationError } from '../../kernel/errors.js'
import { namedTwice, noObject } from '../../kernel/messages.js'
import { isRecord, ownMember } from '../../kernel/records.js'
import { exactValues, standardValues } from '../../models/exact-types.js'
import { readingError } from '../../postgres/database-errors.js'
import { spelling } from '../../queryset/key-rows.js'
import { namesOfKeys } from '../../queryset/same-keys.js'
import type { BoundField } from '../../serializers/contract.js'
import { NestedSerializer } from '../../serializers/nested-serializer.js'
import { serializerPlan } from '../../serializers/plan.js'
import { prefixErrors } from '../../serializers/prefix-errors.js'
import type { Serializer } from '../../serializers/serializer.js'
import { writeLogOf } from '../../serializers/write-log.js'
import { type GenericView, knexOf, serializerContextOf } from '../generic-view.js'
import { writesUnseen } from '../writing-plan.js'
import { checkRowWrite } from './check-row-write.js'
import { holdObjects } from './hold-objects.js'
import { lookupAny } from './read-object.js'
import { ownClass } from './selection.js'

/**
 * The list that the request sends.
 * @throws ValidationError the body is no list
 * @throws BadRequest it is longer than `maxBulkSize`
 */
export function bulkItems(view: GenericView): readonly unknown[] {
  const items = view.body.data
  if (!Array.isArray(items)) throw new ValidationError('Expected a list of items.')
  const most = (view.plan.viewClass as { maxBulkSize?: number }).maxBulkSize ?? DEFAULT_BULK_SIZE
  if (items.length > most) throw new BadRequest(`Bulk size ${items.length} exceeds maximum of ${most}.`)
  return items
}

/** The most items of one bulk request, where a view set says nothing else. */
export const DEFAULT_BULK_SIZE = 100

/** A name by which items name objects. */
export interface ItemName {
  readonly name: string
  /** The field that shows what paths name objects by, or a part of it; undefined where none does. */
  readonly field: BoundField | undefined
}

/** The names by which items name objects: one for each column of the key. */
export function keyNames(view: GenericView): readonly ItemName[] {
  const { columns } = view.plan.resource.lookup
  const { readable } = serializerPlan(ownClass(view))
  return columns.map((column) => {
    const field = readable.find(
      ({ column: shown, field: one }) => shown === column && !(one instanceof NestedSerializer),
    )
    return { name: field?.name ?? (columns.length === 1 ? view.plan.viewClass.lookupField : column.property), field }
  })
}

/**
 * The objects that the items name, in their order, with what the output shows of related objects. Their rows are locked in
 * the order of their keys, so that two bulk requests cannot wait for each other.
 * @throws ApiError 412 the request has conditions, which can be those of one object only
 * @throws ValidationError by position: an item has no usable key, names no object of the caller's, or one named before
 * @throws PermissionDenied, AuthenticationFailed an object permission refuses one of them
 */
export async function bulkObjects(view: GenericView, items: readonly unknown[]): Promise<Model[]> {
  const { 'if-match': match = '*', 'if-none-match': noneMatch } = view.ctx.headers
  if (match !== '*' || noneMatch !== undefined) throw new ApiError(412, 'Precondition failed')
  const lookup = view.plan.resource.lookup
  const { columns } = lookup
  const names = keyNames(view).map(({ name }) => name)
  const caller = { user: view.ctx.state['user'], ctx: view.ctx }
  const errors: ErrorMessages = {}
  const place = names.length === 1 ? (names[0] as string) : 'non_field_errors'
  const keys = items.map((item, position) => {
    const named: NamedKey = isRecord(item)
      ? keyOfItem(lookup, { item, names, caller })
      : { values: lookup.fromJson(item, caller), shown: item }
    const { values, shown } = named
    if (values && view.asked.namesObjects) return { values, shown }
    errors[position] = named.errors ?? { [place]: [keyProblem(item)] }
    return undefined
  })
  const usable = keys.flatMap((key) => (key ? [key.values] : []))
  const distinct = new Map(usable.map((values) => [spelling(values, columns), values]))
  const found = await findObjects(view, [...distinct.values()])
  const held = found.map((object) => exactValues(object, columns))
  const keyNamesOf = await namesOfKeys(columns, [...held, ...usable], knexOf(view))
  const byKey = new Map(found.map((object, index) => [keyNamesOf[index], object]))
  const seen = new Set<unknown>()
  let next = found.length
  const objects = keys.flatMap((key, position) => {
    if (!key) return []
    const name = keyNamesOf[next++]
    const object = byKey.get(name)
    if (!object) errors[position] = { [place]: [keyProblem(key.shown)] }
    else if (seen.has(name)) errors[position] = { [place]: [namedTwice(key.shown)] }
    seen.add(name)
    return object ? [object] : []
  })
  if (Object.keys(errors).length > 0) throw new ValidationError(errors)
  await checkRowWrite(view, objects)
  await writeLogOf(knexOf(view))?.keep(objects)
  if (!writesUnseen(view)) await view.loadRelated(objects)
  if (view.plan.resource.guardsObjects) for (const object of objects) await view.checkObjectPermissions(object)
  return objects
}

/** The items without their keys, which name objects and change nothing. */
export function withoutKeys(view: GenericView, items: readonly unknown[]): readonly unknown[] {
  const names = keyNames(view).map(({ name }) => name)
  return items.map((item) => {
    if (!isRecord(item)) return item
    // with the symbols, which hold the digits of its numbers
    const rest: Record<string, unknown> = { ...item }
    for (const name of names) delete rest[name]
    return rest
  })
}

/** Saves the items of a list one by one; errors stand under their positions. @returns the objects */
export function saveEach(
  serializer: Serializer,
  save: (item: Serializer, position: number) => Promise<unknown>,
): Promise<unknown> {
  return begin(serializer, saveInOrder(serializer, save))
}

async function saveInOrder(serializer: Serializer, save: Parameters<typeof saveEach>[1]): Promise<unknown> {
  const items = serializer.items()
  for (const [position, item] of items.entries())
    await prefixErrors([position], () => waitingFor(item, () => save(item, position)))
  serializer.obj = items.map(({ obj }) => obj as object)
  return serializer.obj
}

/** The hook of single objects, where the application has put its own there: lists are then written by it, one by one. */
export function ownItemHook(view: GenericView, name: string): ((...given: unknown[]) => Promise<unknown>) | undefined {
  const hook = (view as unknown as Readonly<Record<string, (...given: unknown[]) => Promise<unknown>>>)[name]
  return hook && view.resource.overrides.has(name) ? hook.bind(view) : undefined
}

/** The keys of objects as the output shows them. */
export function shownKeys(view: GenericView, objects: readonly object[]): readonly unknown[] {
  const lookup = view.plan.resource.lookup
  const [first, ...others] = keyNames(view)
  const shown = others.length === 0 ? first?.field : undefined
  const context = serializerContextOf(view)
  return objects.map((object) => {
    const values = standardValues(object, lookup.columns)
    // a related field shows the id of the other object
    const isShown = shown && !(lookup.ids && shown.field instanceof RelatedField)
    return isShown ? representationOf(shown.writer, values[0], context) : lookup.toText(values, context)
  })
}

/** How an item names an object. */
interface NamedKey {
  /** What its columns hold; undefined where no row can have what the item says. */
  readonly values?: KeyValues | undefined
  /** The key as messages show it. */
  readonly shown: unknown
  readonly errors?: ErrorMessages
}

/** The key of an item that has it among its members, one for each column. */
function keyOfItem(
  lookup: ObjectKey,
  { item, names, caller }: { item: object; names: readonly string[]; caller: IDContext },
): NamedKey {
  const given = names.map((name) => ownMember(item as Record<string, unknown>, name))
  const errors: ErrorMessages = {}
  const values = lookup.parts.flatMap((part, index) => {
    const held = part.fromJson(given[index], caller)
    if (held === undefined) errors[names[index] as string] = [keyProblem(given[index])]
    return held ?? []
  })
  if (Object.keys(errors).length > 0) return { shown: given, errors }
  return { values, shown: names.length === 1 ? given[0] : lookup.toText(values, caller) }
}

/** A key that cannot be one reads as one that is not there. */
function keyProblem(key: unknown): string {
  if (key === undefined) return 'This field is required.'
  if (key === null) return 'This field may not be null.'
  return noObject(key)
}

async function findObjects(view: GenericView, keys: readonly KeyValues[]): Promise<readonly Model[]> {
  if (keys.length === 0) return []
  try {
    return await holdObjects(view, lookupAny(view, keys), keys)
  } catch (error) {
    throw readingError(error)
  }
}
