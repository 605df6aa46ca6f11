/** Answers a list: filters, order, and the page that the paginator cuts. */

import type { Model } from 'objection'
import { preventCaching } from '../../caching/cache-response.js'
import { PathStart, type Where } from '../../filters/field-path.js'
import {
  addPart,
  type FilterCondition,
  isVaried,
  NO_CONDITIONS,
  type QueryParameters,
  readConditions,
  timeGuardOf,
} from '../../filters/filter.js'
import { checkSubQueries, SEVERAL, subQueriesOf } from '../../filters/sub-queries.js'
import { type Context, qualifiedName, queryOf } from '../../http/context.js'
import { publicUrl } from '../../http/public-url.js'
import { ConfigurationError, NotFound, ValidationError } from '../../kernel/errors.js'
import { type ModelDescription, tellsAllApart } from '../../models/model-description.js'
import type { AnyQueryBuilder } from '../../models/objection.js'
import type { ListSource } from '../../pagination/list-source.js'
import type { BasePagination, PageRequest } from '../../pagination/pagination.js'
import { toApiError } from '../../postgres/database-errors.js'
import type { StatementLimits } from '../../postgres/guarded.js'
import { conditionKey } from '../../queryset/condition-key.js'
import { copyOf, queryKey } from '../../queryset/query-key.js'
import type { SqlPart } from '../../queryset/sql-part.js'
import { canOrderBy, hasKey, type OrderTerm } from '../../queryset/total-order.js'
import { InstanceList } from '../../rows/instance-list.js'
import type { ListKey } from '../../rows/row-access.js'
import { RowList } from '../../rows/row-list.js'
import { shownColumns } from '../../rows/row-plan.js'
import { WatchedList } from '../../rows/watched-list.js'
import type { SerializerClass } from '../../serializers/contract.js'
import type { GenericView } from '../generic-view.js'
import type { GenericViewClass } from '../generic-view-class.js'
import { confirmParents } from '../request/parents.js'
import { requireUser } from '../request/require-user.js'
import { rendererOf } from '../request/respond.js'
import type { Resource } from '../resource.js'
import { readGuarded } from './guarded-view.js'
import { openRows, type Tell } from './open-rows.js'
import { refuseUnknownParameters } from './refuse-unknown-parameters.js'
import { loadShown, representObjects } from './represent.js'
import { answerClass, ownClass, selectionOf } from './selection.js'
import { listQuery } from './visible-query.js'

/** Values that the steps of one list share. */
interface Listing {
  readonly view: GenericView
  readonly viewClass: GenericViewClass
  readonly resource: Resource
  readonly ctx: Context
  readonly query: QueryParameters
  /** Filter backends may have a say in it, or the request selects fields. */
  readonly asks: boolean
  /** The view's serializer class, and the part of it that the answer shows. */
  readonly own: SerializerClass
  readonly shown: SerializerClass
  /** The list is written row by row, in whatever form. */
  readonly writesRows: boolean
}

function listingOf(view: GenericView, writesRows = false): Listing {
  const { ctx } = view
  const { viewClass } = view.plan
  const resource = view.asked
  const own = ownClass(view)
  const query = queryOf(ctx)
  let asks = !resource.isQuiet || resource.overrides.has('filterQueryset')
  for (const name in query) if (!resource.pagingNames.has(name)) asks = true
  return { view, viewClass, resource, ctx, query, asks, own, shown: asks ? answerClass(view) : own, writesRows }
}

/** The body of a list answer: filtered, in a total order, one page of it if a pagination class is set. */
export async function readList(view: GenericView): Promise<unknown> {
  const listing = listingOf(view)
  const { keepsConnections } = listing.resource
  // all pages of a cursor have one URL
  if (keepsConnections) preventCaching(listing.ctx)
  const asked = askedOf(listing)
  const bounds = keepsConnections ? undefined : boundsOf(listing, asked)
  if (!bounds) return readPage(listing, asked)
  return readGuarded(view, bounds, () => readPage(listing, asked))
}

/**
 * What the list's statements run with; undefined where nothing asks for a bound.
 * @throws ValidationError the request asks for more sub-queries than one may
 */
function boundsOf({ view, asks }: Listing, { conditions, orders }: AskedList): StatementLimits | undefined {
  if (!asks) return undefined
  const guard = timeGuardOf(conditions)
  let count = subQueriesOf(conditions) + (selectionOf(view)?.expand.size ?? 0)
  for (const { related } of orders.flat()) count += related?.subQueries ?? 0
  checkSubQueries(count)
  return guard.timeout === undefined && count < SEVERAL ? undefined : { ...guard, jit: count < SEVERAL }
}

/** The whole list that the request asks for, to be read in portions and written row by row. @throws ValidationError */
export function wholeList(view: GenericView): ListSource {
  const listing = listingOf(view, true)
  return listSource(listing, askedOf(listing))
}

/** The list that the request asks for, which nobody has read yet: for `explain()`. @throws ValidationError */
export function explainedList(view: GenericView, tell: Tell): ListSource {
  const listing = listingOf(view)
  const asked = askedOf(listing)
  boundsOf(listing, asked)
  return listSource(listing, asked, tell)
}

/** What the request asks of the filter backends. */
interface AskedList {
  readonly conditions: readonly FilterCondition[]
  /** The order that each of them was asked for. */
  readonly orders: readonly (readonly OrderTerm[])[]
}

const NOTHING_ASKED: AskedList = { conditions: NO_CONDITIONS, orders: [] }

/** Reads it before a connection is taken. @throws AuthenticationFailed, ValidationError */
function askedOf({ view, viewClass, resource, query, ctx, own, shown, asks }: Listing): AskedList {
  if (resource.needsUser(own, shown)) requireUser(view)
  if (viewClass.strictParams) refuseUnknownParameters(view)
  if (!asks) return NOTHING_ASKED
  const { filterSettings } = resource
  const conditions = readConditions(query, filterSettings, { user: ctx.state['user'], ctx })
  const orders = filterSettings.backends.map((one) => one.ordering(query, filterSettings))
  return { conditions, orders: orders.filter((one) => one !== null) }
}

function readPage(listing: Listing, asked: AskedList): Promise<unknown> {
  const { view, resource } = listing
  if (view.parents.length > 0) return readNestedPage(listing, asked)
  return cutPage(view, listSource(listing, asked), resource.paginator)
}

async function readNestedPage(listing: Listing, asked: AskedList): Promise<unknown> {
  const { view } = listing
  // a refusal would end it, and nothing could be asked any more
  if ((view.trx ?? view.knex)?.isTransaction) await confirmParents(view)
  const source = new WatchedList(listSource(listing, asked))
  let page: unknown
  try {
    page = await cutPage(view, source, listing.resource.paginator)
  } catch (error) {
    // a key on the path that PostgreSQL refuses leads nowhere
    if (error instanceof NotFound || toApiError(error) instanceof ValidationError) await confirmParents(view)
    throw error
  }
  // an empty list may be one of a path that leads nowhere
  if (!source.hasRows) await confirmParents(view)
  return page
}

/** The page of a list that the request asks for; all of it without a paginator. */
export async function cutPage(
  view: GenericView,
  source: ListSource,
  paginator: BasePagination | undefined,
): Promise<unknown> {
  if (!paginator) {
    const rows = await source.read({ limit: Number.POSITIVE_INFINITY })
    return rows.results(0, rows.length)
  }
  const { ctx } = view
  const params = (ctx['params'] ?? {}) as Record<string, string>
  const request: PageRequest = { ctx, url: publicUrl(ctx), query: queryOf(ctx), params }
  const asked = paginator.keepsConnections ? { ...readOn(view), ...request } : request
  const page: unknown = await paginator.paginate(source, asked)
  if (typeof page === 'object' && page !== null) return page
  throw new ConfigurationError(`${paginator.constructor.name}: paginate() returned ${String(page)}; return the page`)
}

/** Additional facts for paginators that keep a connection for later requests. */
function readOn(view: GenericView): Pick<PageRequest, 'resultsOnly' | 'reads'> {
  const { resultsOnly } = rendererOf(view)
  const { rules } = view.plan
  return { resultsOnly, reads: rules && ((held) => rules.of(view.ctx).reading(held?.keys())) }
}

/** The list to cut pages from: rows where the output needs no more, else instances. */
function listSource(listing: Listing, asked: AskedList, tell?: Tell): ListSource {
  const { view, viewClass, resource, asks, shown, writesRows } = listing
  const { model } = resource
  const description = {
    name: qualifiedName(view.ctx, view.plan.basename ?? viewClass.name),
    parameters: resource.parameterNames,
    shown: shownColumns(listing.own),
    hidesKeys: resource.hidesKeys,
  }
  // of pages the whole request is bounded
  const bounds = writesRows || resource.keepsConnections ? boundsOf(listing, asked) : undefined
  const rows = openRows(view, writesRows ? 'stream' : 'list', { shown, tell })
  const once = resource.describesLists && subQueriesOf(asked.conditions) >= SEVERAL && isKeyed(model)
  const scope = view.scope()
  const known = rows && knownList(listing, asked, scope)
  if (rows && known) {
    const { order, key, parts } = known
    const query = () => {
      const objects = view.getQueryset() as AnyQueryBuilder
      for (const part of parts) addPart(objects, part)
      return objects
    }
    return new RowList(rows, { description, order, key, query, bounds, once })
  }
  const query = listQuery(view, { asks, scope })
  const wanted = wantedOrder(listing, asked, query)
  const order = canOrderBy(query, model, wanted) ? wanted : []
  const obstacle = rows?.obstacleOf(query) ?? null
  if (rows && obstacle === null) {
    const varied = isVaried(asked.conditions)
    const own = varied || isOfCaller(order, view) ? undefined : queryKey(query, model.model, rows.knex)
    const key: ListKey | undefined = own && { expensive: false, ...own }
    const copy = (isMarked?: boolean) => copyOf(query, isMarked)
    return new RowList(rows, { description, order, key, varied, query: copy, bounds, once })
  }
  if (obstacle !== null) tell?.(obstacle)
  return new InstanceList({
    description,
    query,
    order,
    bounds,
    load: (items, knex) => loadShown(view, items, knex),
    represent: (items: readonly Model[]) => representObjects(view, items, true),
  })
}

/** True for a table whose rows are found by their keys, one each. */
function isKeyed(model: ModelDescription): boolean {
  const { primaryKey, isView, hasHeirs } = model
  return !isView && !hasHeirs && primaryKey.length > 0 && hasKey(model) && tellsAllApart(model, primaryKey)
}

/** What makes a list's SQL, besides the plan of its rows. */
interface KnownList {
  readonly order: readonly OrderTerm[]
  /** What the filter backends are asked for. */
  readonly parts: readonly SqlPart[]
  readonly key: ListKey
}

/** A list of which the model and what the filter backends are asked for say all there is to know; undefined of any other. */
function knownList(listing: Listing, asked: AskedList, scope: Where | undefined): KnownList | undefined {
  const { resource } = listing
  if (!resource.describesLists) return undefined
  const { tableName } = resource.model.model
  const start = new PathStart(tableName, { visible: listing.view.visibleRows })
  const parts: SqlPart[] = []
  let expensive = false
  for (const { where, change, varied, guarded, expensive: isExpensive } of asked.conditions) {
    if (change || varied || guarded !== undefined) return undefined
    if (where) parts.push(where(start))
    if (isExpensive) expensive = true
  }
  const conditions = conditionKey(scope ? [scope(start), ...parts] : parts)
  if (!conditions) return undefined
  const order = wantedOrder(listing, asked, undefined)
  if (isOfCaller(order, listing.view)) return undefined
  return { order, parts, key: { text: tableName + conditions.text, values: conditions.values, expensive } }
}

/** True where no statement with that order is kept: the SQL of a narrowed relation, and that of rules, is another for each caller. */
function isOfCaller(order: readonly OrderTerm[], { visibleRows }: GenericView): boolean {
  return order.some(({ related }) => related && (visibleRows || related.narrowed))
}

const UNORDERED: readonly OrderTerm[] = []

/** The order a filter backend was asked for, the paginator's own, the query's own, or the view's. */
function wantedOrder(
  { resource }: Listing,
  { orders }: AskedList,
  query: AnyQueryBuilder | undefined,
): readonly OrderTerm[] {
  const { model } = resource
  // a paginator with an order of its own knows rows by their place in it
  if (query && resource.paginator?.ordering !== undefined) query.clearOrder()
  for (const asked of orders) {
    const order = resource.totalOf(asked)
    if (query && !canOrderBy(query, model, order)) continue
    query?.clearOrder()
    return order
  }
  return query?.has(/^orderBy/) ? resource.totalOf(UNORDERED) : resource.defaultOrder
}
