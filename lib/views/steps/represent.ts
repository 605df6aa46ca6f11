/** The written form of objects: loads what it shows of related ones, and what the request selects. */

import { isDeepStrictEqual } from 'node:util'
import { PermissionDenied } from '../../kernel/errors.js'
import { isRowOf } from '../../models/one-table.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { type Loading, loadRelations, type Relations } from '../../queryset/load-relations.js'
import { readsWholeRows } from '../../queryset/reads-whole-rows.js'
import { toldOf } from '../../queryset/row-answers.js'
import type { SerializerClass } from '../../serializers/contract.js'
import { findReadable } from '../../serializers/limited-fields.js'
import { runsCode } from '../../serializers/needed-relations.js'
import { serializerPlan } from '../../serializers/plan.js'
import type { Serializer } from '../../serializers/serializer.js'
import { type GenericView, serializerClassOf, serializerContextOf, serializerOf } from '../generic-view.js'
import { counterOf } from './count-related.js'
import { readAgain } from './read-again.js'
import { answerClass, ownClass, selectedSerializer, selectionOf } from './selection.js'
import { querysetOf } from './visible-query.js'

/** Objects in their written form, once what it shows of related ones was loaded. */
export function representObjects(view: GenericView, obj: object, many = false): unknown {
  const whole = serializerOf(view, 'getSerializer', { obj, many })
  return (partOf(view, whole) ?? whole).data
}

/** A serializer of the same objects that shows what the request asks for; undefined where that is all. */
function partOf(view: GenericView, whole: Serializer): Serializer | undefined {
  const own = whole.constructor as SerializerClass
  const part = selectedSerializer(view, own)
  if (part === own || whole.obj === undefined) return undefined
  return new part({ obj: whole.obj, many: whole.many, context: whole.context }) as Serializer
}

/**
 * Loads what the answer shows of related objects: one query for each relation. Code of the application that computes a
 * field finds all that whole objects have, as it does on an object's own page.
 */
export async function loadShown(view: GenericView, objects: readonly object[], knex?: Queryable): Promise<void> {
  const shown = answerClass(view)
  const own = ownClass(view)
  const isWhole = shown === own || view.plan.resource.overrides.has('loadRelated') || isComputed(shown)
  if (isWhole) await view.loadRelated(objects, knex)
  if (shown !== own) {
    const all = serializerPlan(shown).relations
    const known = isWhole ? serializerPlan(own).relations : {}
    await load(view, objects, { relations: without(all, known), knex })
  }
  await askReadable(view, objects)
}

/** Finds out which values of the objects the caller may read, where rules say so of each row. */
export async function askReadable(view: GenericView, objects: readonly object[], again = false): Promise<void> {
  if (view.visibleFields) await findReadable(answerClass(view), objects, { context: serializerContextOf(view), again })
}

/** True where code of the application computes a field, from what it likes of the object. */
function isComputed(serializer: SerializerClass): boolean {
  const { readable, model } = serializerPlan(serializer)
  return readable.some((bound) => runsCode(bound, model))
}

/** Loads what the answer shows besides the related objects that were loaded with an object. */
async function loadExpanded(view: GenericView, objects: readonly object[]): Promise<void> {
  const shown = serializerPlan(answerClass(view)).relations
  const relations = without(shown, serializerPlan(ownClass(view)).relations)
  await load(view, objects, { relations, knex: undefined })
}

async function load(view: GenericView, objects: readonly object[], loading: Loading): Promise<void> {
  const { knex = view.trx ?? view.knex } = loading
  if (Object.keys(loading.relations).length === 0) return
  const parent = querysetOf(view)
  const count = counterOf(view, parent)
  await loadRelations(view.plan.viewClass.modelClass(), objects, { ...loading, knex, parent, count })
}

/** The relations that are not there yet, not as deep, or in another order. */
function without(relations: Relations, known: Relations): Relations {
  return Object.fromEntries(Object.entries(relations).filter(([name, inner]) => !isDeepStrictEqual(known[name], inner)))
}

/** The written form of an object that `getObject()` has found. */
export async function representFound(view: GenericView, object: object): Promise<unknown> {
  if (selectionOf(view)) await loadExpanded(view, [object])
  await askReadable(view, [object])
  return representObjects(view, object)
}

/** Options of showing objects that were saved. */
interface Saved {
  /** Something may have changed the rows since they were returned. @default false */
  readonly isStale?: boolean
  /** What is shown of related objects was loaded when they were saved. @default true */
  readonly isLoaded?: boolean
}

/** The written form of what a serializer has saved. */
export async function representSaved(
  view: GenericView,
  serializer: Serializer,
  { isStale = false, isLoaded = true }: Saved = {},
): Promise<unknown> {
  const selected = selectionOf(view) !== undefined
  const { resource, keepsQueryset } = view.plan
  // what it takes is not what is shown
  if (serializer.constructor !== serializerClassOf(view) && serializer.obj) return representOther(view, serializer)
  const objects = [serializer.obj].flat().filter((object) => object != null)
  const isTold = !isStale && objects.length === 1 && isInQueryset(objects[0] as object)
  const own = isStale || !(resource.isWholeTable || isTold) ? querysetOf(view) : undefined
  // what a write returns is then not yet what reads show
  const isShaped = own !== undefined && !resource.isWholeTable && !readsWholeRows(own)
  const query = isShaped || isStale || keepsQueryset ? own : undefined
  if (!selected && !query && isLoaded) {
    await askReadable(view, objects, true)
    return serializer.data
  }
  const model = view.plan.viewClass.modelClass()
  if (objects.every((object) => isRowOf(model, object))) {
    if (query) await readAgain(view, query, objects, isStale)
    if (isShaped || isStale || !isLoaded) await loadShown(view, objects)
    else if (selected) await loadExpanded(view, objects)
  }
  await askReadable(view, objects, true)
  return (partOf(view, serializer) ?? serializer).data
}

/** True where the UPDATE has told so, of a queryset that makes nothing else of its rows. @throws PermissionDenied it has told the contrary */
function isInQueryset(object: object): boolean {
  const { holds } = toldOf(object) ?? {}
  if (holds === false) throw new PermissionDenied()
  return holds === true
}

/** What was saved by another serializer than the one that shows it. */
async function representOther(view: GenericView, { obj, many }: Serializer): Promise<unknown> {
  const model = view.plan.viewClass.modelClass()
  const objects = [obj].flat() as object[]
  if (objects.every((object) => isRowOf(model, object))) {
    await readAgain(view, querysetOf(view), objects, true)
    await loadShown(view, objects)
  }
  return representObjects(view, obj as object, many)
}
