/** What an answer shows: what of its objects a request wants to see (`?fields=title,price` and `?expand=author`), of rows or of instances. */

import { lastValueOf, type ParameterDescription, type QueryParameters } from '../../filters/filter.js'
import { queryOf } from '../../http/context.js'
import { ConfigurationError, PermissionDenied } from '../../kernel/errors.js'
import { oncePer, RecentMap } from '../../kernel/once-per.js'
import { describeModel } from '../../models/describe-model.js'
import { isModelClass, type ModelClass, modelOf } from '../../models/objection.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { readsRawRows } from '../../postgres/run-statement.js'
import { type Loading, loadRelations, type Relations } from '../../queryset/load-relations.js'
import { toldOf } from '../../queryset/row-answers.js'
import { JSONRenderer } from '../../renderers/json-renderers.js'
import { RowAccess } from '../../rows/row-access.js'
import { isWrapped } from '../../rows/row-sql.js'
import type { SerializerClass, SerializerPlan } from '../../serializers/contract.js'
import { isRelatedCount } from '../../serializers/count-field.js'
import { findReadable } from '../../serializers/limited-fields.js'
import { NestedSerializer } from '../../serializers/nested-serializer.js'
import { serializerPlan } from '../../serializers/plan.js'
import { canExpand, type Selection, selectFields } from '../../serializers/select-fields.js'
import type { Serializer } from '../../serializers/serializer.js'
import type { ActionPlan } from '../action-plan.js'
import { actionNamed } from '../actions.js'
import type { GenericView } from '../generic-view.js'
import { type GenericViewClass, hasModel } from '../generic-view-class.js'
import type { RowAnswer } from '../overrides.js'
import { requireUser } from '../request/require-user.js'
import { rendererOf } from '../request/respond.js'
import { resourceOf } from '../resource.js'
import { counterOf, countSqlOf } from './count-related.js'
import { readAgain, shapingQuery } from './read-again.js'
import { querysetOf } from './visible-query.js'

const FIELDS = 'fields'
/** Asks for all that may be expanded. */
const ALL = '*'

/**
 * What the request asks for; undefined for whole objects. Names that are no fields of the view are ignored, and when none
 * is left all fields are shown. Only actions as they come with the package select: code of the application's sees whole objects.
 */
export function selectionOf(view: GenericView): Selection | undefined {
  const { ctx } = view
  const { expandParam } = view.plan.viewClass
  // asked several times for each request: Koa's getters take longer
  const url = ctx.req.url ?? ''
  if (!(url.includes(FIELDS) || url.includes(expandParam) || url.includes('%') || ctx.req.method === 'QUERY'))
    return undefined
  const query = queryOf(ctx)
  if (query[FIELDS] === undefined && query[expandParam] === undefined) return undefined
  return selects(view) ? readSelection(view, query) : undefined
}

/** True for an action as it comes with the package: code of the application's sees whole objects. */
function selects({ plan: { action, resource } }: GenericView): boolean {
  const { shows = 'nothing' } = actionNamed(action) ?? {}
  return (shows === 'object' || shows === 'list') && !resource.overrides.has(action)
}

/** What clients have asked of a serializer, by the texts of the parameters; they choose the combinations. */
const MOST_SELECTIONS = 200
/** The characters of a text that is kept: a body may bring one of a megabyte. */
const LONGEST_SELECTION = 500
const selectionsOf = oncePer((_plan: ActionPlan) =>
  oncePer((_serializer: SerializerClass) => new RecentMap<Selection | null>(MOST_SELECTIONS)),
)

function readSelection(view: GenericView, query: QueryParameters): Selection | undefined {
  const { plan } = view
  const { viewClass } = plan
  const asked = [FIELDS, viewClass.expandParam].map((parameter) => lastValueOf(query, parameter) ?? '')
  const known = selectionsOf(plan)(ownClass(view))
  const key = JSON.stringify(asked)
  let selection = known.get(key)
  if (selection === undefined) {
    selection = selectionFor(view, asked) ?? null
    if (key.length <= LONGEST_SELECTION) known.set(key, selection)
  }
  return selection ?? undefined
}

/** @param texts the values of the two parameters */
function selectionFor(view: GenericView, texts: readonly string[]): Selection | undefined {
  const { viewClass } = view.plan
  const names = namesOf(view, view.getSerializerClass())
  const read = (parameter: string, text = ''): ReadonlySet<string> => {
    const allowed = names.get(parameter)
    const asked = text.split(',').map((name) => name.trim())
    if (!allowed) return new Set()
    if (allowed.has(ALL) && asked.includes(ALL)) return new Set([...allowed].filter((name) => name !== ALL))
    return new Set(asked.filter((name) => allowed.has(name)))
  }
  const fields = read(FIELDS, texts[0])
  const expand = read(viewClass.expandParam, texts[1])
  return fields.size + expand.size === 0 ? undefined : { fields: fields.size > 0 ? fields : undefined, expand }
}

/**
 * The names that each of the two parameters takes. A parameter is missing where there is nothing to ask for, or where the
 * view reads one of that name for another purpose.
 */
function namesOf(open: GenericView, serializer: SerializerClass): ReadonlyMap<string, ReadonlySet<string>> {
  const view = open.plan.viewClass
  const expandable = Object.keys(view.expandable).filter(
    (name) => canExpand(serializer, view.expandable, name) && mayExpand(open, serializer, name),
  )
  const names = new Map([
    [FIELDS, new Set(serializerPlan(open.seenClass(serializer)).readable.map(({ name }) => name))],
    [view.expandParam, new Set(expandable.length > 0 ? [...expandable, ALL] : [])],
  ])
  const filters = hasModel(view) ? resourceOf(view).parameterNames : []
  const own = [...(resourceOf(view).paginator?.parameters() ?? []), ...view.queryParameters].map(({ name }) => name)
  const taken = new Set([...filters, ...own])
  return new Map([...names].filter(([name, { size }]) => size > 0 && !taken.has(name)))
}

/** True for an expansion that shows the caller something. */
function mayExpand(view: GenericView, serializer: SerializerClass, path: string): boolean {
  if (!view.visibleFields) return true
  const { expandable } = view.plan.viewClass
  let shown = view.seenClass(selectFields(serializer, expandable, { fields: undefined, expand: new Set([path]) }))
  const names = isRelatedCount(expandable[path]) ? [path] : path.split('.')
  return names.every((name) => {
    const bound = serializerPlan(shown).readable.find((one) => one.name === name)
    if (bound?.field instanceof NestedSerializer) shown = bound.field.serializerClass
    return bound !== undefined
  })
}

/** The parameters by which a client selects what the view's action shows. */
export function selectionParameters(
  view: GenericView,
  serializer: SerializerClass | undefined,
): readonly ParameterDescription[] {
  if (!serializer || !selects(view)) return []
  return [...namesOf(view, serializer)].map(([name, values]) => ({
    name,
    description: name === FIELDS ? 'Fields to show; the others are left out.' : 'Related objects to show in full.',
    schema: { type: 'array', items: { type: 'string', enum: [...values] } },
    explode: false,
    ignoresUnknown: true,
  }))
}

/** The serializer class of the answer: the view's, or the part of it that the request asks for. */
export function answerClass(view: GenericView): SerializerClass {
  return narrowed(view, view.getSerializerClass())
}

/** The view's serializer class, as the caller sees it. */
export function ownClass(view: GenericView): SerializerClass {
  return view.seenClass(view.getSerializerClass())
}

/** The part of a serializer class that the request asks for; all of it where it asks for nothing. */
export function narrowed(view: GenericView, serializer: SerializerClass): SerializerClass {
  const selection = selectionOf(view)
  return view.seenClass(selection ? selectFields(serializer, view.plan.viewClass.expandable, selection) : serializer)
}

/**
 * Refuses what could not be answered, before anything is written: a wrong name, and an anonymous caller where only a known
 * user may see the answer.
 * @throws ValidationError, AuthenticationFailed
 */
export function checkAnswer(view: GenericView): void {
  const own = ownClass(view)
  const shown = selectionOf(view) ? answerClass(view) : own
  if (view.plan.resource.needsUser(own, shown)) requireUser(view)
}

/** Objects in their written form, once what it shows of related ones was loaded. */
export function represent(view: GenericView, obj: object, many = false): unknown {
  const whole = view.getSerializer({ obj, many })
  return (partOf(view, whole) ?? whole).data
}

/** A serializer of the same objects that shows what the request asks for; undefined where that is all. */
function partOf(view: GenericView, whole: Serializer): Serializer | undefined {
  const own = whole.constructor as SerializerClass
  const part = narrowed(view, own)
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
  const isWhole = shown === own || view.plan.resource.overrides.loading || isComputed(serializerPlan(shown))
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
  if (view.visibleFields)
    await findReadable(answerClass(view), objects, { context: view.getSerializerContext(), again })
}

/** True where a method of the serializer or an accessor of a model computes a field, from what it likes of the object. */
function isComputed({ readable, model }: SerializerPlan): boolean {
  return readable.some(({ method, column, relation, source }) => {
    if (method !== undefined) return true
    if (column || !model) return false
    let owner = model.model
    let next = relation
    for (const step of relation ? source.slice(1) : source) {
      if (next) owner = next.model
      const { columns, relations } = describeModel(owner)
      next = relations.get(step)
      if (!next) return !columns.has(step) && step in owner.prototype
    }
    return false
  })
}

/** Loads what the answer shows besides the related objects that were loaded with an object. */
async function loadExpanded(view: GenericView, objects: readonly object[]): Promise<void> {
  const shown = serializerPlan(answerClass(view)).relations
  const relations = without(shown, serializerPlan(ownClass(view)).relations)
  await load(view, objects, { relations, knex: undefined })
}

async function load(view: GenericView, objects: readonly object[], loading: Loading): Promise<void> {
  const { knex = view.trx ?? view.knex } = loading
  const parent = querysetOf(view)
  const count = counterOf(view, parent)
  await loadRelations(view.plan.viewClass.modelClass(), objects, { ...loading, knex, parent, count })
}

/** The relations that are not there yet, or not as deep. */
function without(relations: Relations, known: Relations): Relations {
  return Object.fromEntries(
    Object.entries(relations).filter(([name, inner]) => JSON.stringify(known[name]) !== JSON.stringify(inner)),
  )
}

/** The written form of an object that `getObject()` has found. */
export async function representFound(view: GenericView, object: object): Promise<unknown> {
  if (selectionOf(view)) await loadExpanded(view, [object])
  await askReadable(view, [object])
  return represent(view, object)
}

/** What is known of objects that were saved. */
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
  if (serializer.constructor !== view.getSerializerClass() && serializer.obj) return representOther(view, serializer)
  const objects = [serializer.obj].flat().filter((object) => object != null)
  const isTold = !isStale && objects.length === 1 && isInQueryset(objects[0] as object)
  const shaping = resource.isWholeTable || isTold ? undefined : shapingQuery(view)
  const query = shaping ?? (isStale || (keepsQueryset && !isTold) ? querysetOf(view) : undefined)
  if (!selected && !query && isLoaded) {
    await askReadable(view, objects, true)
    return serializer.data
  }
  const model = view.plan.viewClass.modelClass()
  if (objects.every((object) => isRowOf(model, object))) {
    if (query) await readAgain(view, query, objects, isStale)
    if (shaping || isStale || !isLoaded) await loadShown(view, objects)
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
  return represent(view, obj as object, many)
}

/** False for what is no row of the model's table: code of the application may have saved something else. */
export function isRowOf(model: ModelClass, object: object): boolean {
  const own: unknown = modelOf(object)
  return isModelClass(own) && own.tableName === model.tableName
}

/** @throws {ConfigurationError} `expandable` names no relation, or its serializer shows what is not there */
export function checkExpandable(view: GenericViewClass): void {
  const { serializerClass, expandable, name } = view
  if (!serializerClass) return
  for (const path of Object.keys(expandable)) {
    try {
      serializerPlan(selectFields(serializerClass, expandable, { fields: undefined, expand: new Set([path]) }))
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error
      throw new ConfigurationError(`${name}: ${error.message}`)
    }
  }
}

/** Gets the reason why rows are not read, as a sentence for `explain()`; without it none is made. */
export type Tell = (because: string) => undefined

export interface RowAccessRequest {
  /** The serializer class of the answer. */
  readonly shown?: SerializerClass
  readonly tell?: Tell | undefined
}

/** The view's rows, where nothing of the application needs instances of them; else undefined. */
export function rowAccess(view: GenericView, answer: RowAnswer, options: RowAccessRequest = {}): RowAccess | undefined {
  const { tell } = options
  // before it is asked what is shown
  const { because, of } = view.plan.readings(answer)
  if (because !== null) return tell?.(because)
  const reading = of(options.shown ?? answerClass(view))
  if (reading.way === 'instances') return tell?.(reading.because)
  const { plan, statements, way } = reading
  const knex = view.trx ?? view.knex
  if (!knex || !readsRawRows(knex)) return tell?.("its queries do not run on pg's own client by knex")
  if (answer !== 'stream' && rendererOf(view).constructor !== JSONRenderer)
    return tell?.(`${rendererOf(view).constructor.name} takes values, not JSON`)
  return new RowAccess({
    model: view.plan.resource.model,
    plan,
    knex,
    statements,
    client: view.ctx.req.socket,
    native: way === 'native',
    countSql: plan.varies ? countSqlOf(view) : undefined,
    varies: plan.varies || (view.plan.limitsRows && isWrapped(plan)),
    context: () => view.getSerializerContext(),
  })
}
