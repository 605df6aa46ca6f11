/** The query of the objects of a view that a caller sees, to which conditions may be added. */

import type { Where } from '../../filters/field-path.js'
import { addWhere, type FilterSettings, isDescribed } from '../../filters/filter.js'
import { type Context, isSafeMethod } from '../../http/context.js'
import { NotFound } from '../../kernel/errors.js'
import { oncePer } from '../../kernel/once-per.js'
import { type AnyQueryBuilder, isModelQuery } from '../../models/objection.js'
import { addApart, groupConditions } from '../../queryset/group-conditions.js'
import { readsWholeRows } from '../../queryset/reads-whole-rows.js'
import { readFor } from '../../queryset/recipient.js'
import { computedColumns, shownRows } from '../../queryset/shown-rows.js'
import { leaveOutOfGraph, seenBy } from '../../queryset/visible-rows.js'
import { checkQueryset } from '../checks/check-queryset.js'
import { filteredBy, type GenericView, noResult } from '../generic-view.js'

/**
 * The view's queryset, within its `scope()`: rules, the object before its own on the path, and what is not deleted.
 * @throws {ConfigurationError} it is one that lookups cannot narrow
 * @throws NotFound paths name objects by what it computes
 */
export function visibleQuery(view: GenericView, query: AnyQueryBuilder = querysetOf(view)): AnyQueryBuilder {
  const { resource } = view.plan
  const visible = resource.isWholeTable ? query : groupConditions(query)
  checkQueryset(view, visible)
  refuseComputedLookup(view, visible)
  // an application's own queryset may have lost it
  const scope = resource.overrides.has('getQueryset') ? view.scope() : undefined
  if (scope) addWhere(visible, scope)
  return visible
}

/**
 * Adds conditions of ours to a query that the application has begun, and may go on with: an OR of its own reaches none of them,
 * wherever it stands.
 */
export function addConditions(
  { resource }: Pick<GenericView, 'resource'>,
  query: AnyQueryBuilder,
  ...conditions: readonly (Where | undefined)[]
): void {
  const added = conditions.filter((one) => one !== undefined)
  if (added.length === 0) return
  if (!resource.isWholeTable) groupConditions(query)
  addApart(query, () => {
    for (const one of added) addWhere(query, one)
  })
}

/**
 * The view's queryset, which remembers for whom it reads, and who waits for it.
 * @throws {ConfigurationError} an application's own method makes no query
 */
export function querysetOf(view: GenericView): AnyQueryBuilder {
  const { visibleRows, ctx, plan } = view
  const { resource } = plan
  const made: unknown = view.getQueryset()
  if (!isModelQuery(made)) throw noResult(view.viewClass.name, 'getQueryset', made)
  // the application may keep the query that it gives, and give it to other requests
  const query = resource.overrides.has('getQueryset') ? made.clone() : made
  // a graph is the application's
  if (visibleRows && !resource.isWholeTable) leaveOutOfGraph(query, visibleRows)
  // what an action does that writes goes on
  return seenBy(readFor(query, isSafeMethod(ctx.method) ? ctx.req.socket : undefined), visibleRows)
}

/** Options of a list's query. */
interface ListConditions {
  /** Filter backends may have a say in it. @default true */
  readonly asks?: boolean
  /** What narrows the queryset. @default the view's `scope()` */
  readonly scope?: Where | undefined
}

/** The view's queryset with the conditions of a list: its `scope()`, and those of all filter backends. */
export function listQuery(
  view: GenericView,
  { asks = true, scope = view.scope() }: ListConditions = {},
): AnyQueryBuilder {
  const { resource } = view.plan
  const objects = askedQuery(view, scope)
  const filtered = asks ? filteredBy(view.viewClass.name, view.filterQueryset(objects)) : objects
  const query = resource.overrides.has('filterQueryset') ? groupConditions(filtered) : filtered
  // an application's own queryset or filter may have lost it
  if (scope && (resource.overrides.has('getQueryset') || (asks && resource.filtersByCode))) addWhere(query, scope)
  checkQueryset(view, query)
  return query
}

/**
 * The view's queryset for what clients ask of its list. Where it computes columns, they ask about what it shows: what is
 * masked changes no answer.
 * @throws {ConfigurationError} it is one that pages cannot narrow, or does not name what it selects
 */
function askedQuery(view: GenericView, scope: Where | undefined): AnyQueryBuilder {
  const { resource } = view.plan
  const objects = querysetOf(view)
  if (resource.isWholeTable) return objects
  const query = groupConditions(objects)
  if (readsWholeRows(query)) return query
  checkQueryset(view, query)
  const shown = shownRows(query, declaringOf(view), scope && ((rows) => addWhere(rows, scope)))
  return shown ? groupConditions(shown) : query
}

function declaringOf({ plan: { viewClass, resource } }: GenericView) {
  return { name: viewClass.name, model: resource.model }
}

/** The properties of which rows hold what the queryset computes, and not what the table does. */
export const maskedProperties = oncePer((view: GenericView): readonly string[] => {
  if (view.plan.resource.isWholeTable) return []
  const query = querysetOf(view)
  return readsWholeRows(query) ? [] : computedColumns(query, declaringOf(view))
})

/** @throws NotFound paths name objects by a column that the query computes: it is not what the caller was shown */
function refuseComputedLookup(view: GenericView, query: AnyQueryBuilder): void {
  const { lookup } = view.plan.resource
  if (lookup.columns.every(({ primary }) => primary) || readsWholeRows(query)) return
  const computed = computedColumns(query, declaringOf(view))
  if (lookup.columns.some(({ property }) => computed.includes(property))) throw new NotFound()
}

/** The query with the conditions of all filter backends, in order. */
export function filteredQuery(settings: FilterSettings, ctx: Context, query: AnyQueryBuilder): AnyQueryBuilder {
  return settings.backends.reduce((narrowed, backend) => {
    // ours add conditions that are whole
    if (isDescribed(backend)) return backend.filterQueryset(narrowed, ctx, settings)
    const own = backend.filterQueryset(groupConditions(narrowed), ctx, settings)
    return groupConditions(filteredBy(backend.constructor.name, own))
  }, query)
}
