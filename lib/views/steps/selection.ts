/** Sparse fields and expansions of a request: `?fields=title,price` and `?expand=author`. */

import { lastValueOf, type ParameterDescription, type QueryParameters } from '../../filters/filter.js'
import { queryOf } from '../../http/context.js'
import { ConfigurationError } from '../../kernel/errors.js'
import { oncePer, RecentMap } from '../../kernel/once-per.js'
import type { SerializerClass } from '../../serializers/contract.js'
import { NestedSerializer } from '../../serializers/nested-serializer.js'
import { serializerPlan } from '../../serializers/plan.js'
import { canExpand, type Selection, selectFields } from '../../serializers/select-fields.js'
import { showsObjects } from '../actions.js'
import { type GenericView, hasSerializerClass, serializerClassOf } from '../generic-view.js'
import { type GenericViewClass, hasModel } from '../generic-view-class.js'
import { requireUser } from '../request/require-user.js'
import { type Resource, resourceOf } from '../resource.js'

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
function selects({ plan: { action, resource, viewClass } }: GenericView): boolean {
  return showsObjects(action, viewClass.statuses) && !resource.overrides.has(action)
}

/** What clients have asked of a serializer, by the texts of the parameters: an application has a few, and a hostile client any number. */
const MOST_SELECTIONS = 32
/** The characters of a text that is kept: a body may bring one of a megabyte. */
const LONGEST_SELECTION = 500
/** By the view class as a caller may ask it: the serializer is the same where rules hide only what it can be expanded with. */
const selectionsOf = oncePer((_asked: Resource) =>
  oncePer((_serializer: SerializerClass) => new RecentMap<Selection | null>(MOST_SELECTIONS)),
)

function readSelection(view: GenericView, query: QueryParameters): Selection | undefined {
  const texts = [FIELDS, view.plan.viewClass.expandParam].map((parameter) => lastValueOf(query, parameter) ?? '')
  const known = selectionsOf(view.asked)(ownClass(view))
  const key = JSON.stringify(texts)
  let selection = known.get(key)
  if (selection === undefined) {
    selection = selectionFor(view, texts) ?? null
    if (key.length <= LONGEST_SELECTION) known.set(key, selection)
  }
  return selection ?? undefined
}

/** @param texts the values of the two parameters */
function selectionFor(view: GenericView, texts: readonly string[]): Selection | undefined {
  const { viewClass } = view.plan
  const names = namesOf(view, serializerClassOf(view))
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
  return path.split('.').every((name) => {
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

/** Those of a request. */
export function askedSelection(view: GenericView): readonly ParameterDescription[] {
  return selects(view) ? selectionParameters(view, serializerClassOf(view)) : []
}

/** The serializer class of the answer: the view's, or the part of it that the request asks for. */
export function answerClass(view: GenericView): SerializerClass {
  return selectedSerializer(view, serializerClassOf(view))
}

/** The view's serializer class, as the caller sees it. */
export function ownClass(view: GenericView): SerializerClass {
  return view.seenClass(serializerClassOf(view))
}

/** The part of a serializer class that the request asks for; all of it where it asks for nothing. */
export function selectedSerializer(view: GenericView, serializer: SerializerClass): SerializerClass {
  const selection = selectionOf(view)
  return view.seenClass(selection ? selectFields(serializer, view.plan.viewClass.expandable, selection) : serializer)
}

/**
 * Refuses what could not be answered, before anything is written: a wrong name, and an anonymous caller where only a known
 * user may see the answer.
 * @throws ValidationError, AuthenticationFailed
 */
export function checkAnswer(view: GenericView): void {
  if (showsIdsOfUsers(view)) requireUser(view)
}

/** True where only a known user may see what the view shows of its objects. */
export function showsIdsOfUsers(view: GenericView): boolean {
  const { resource } = view.plan
  if (!hasSerializerClass(view)) return resource.namesPerUser
  const own = ownClass(view)
  return resource.needsUser(own, selectionOf(view) ? answerClass(view) : own)
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
