/** Answers a list: filters, order, and the page that the paginator cuts. */
import type { Model } from 'objection'
import { answerOnce } from '../../caching/cache-response.js'
import { type FilterPart, guardOf, isVaried, NO_PARTS, type QueryParameters, readParts } from '../../filters/filter.js'
import { type Context, qualifiedName, queryOf } from '../../http/context.js'
import { NotFound, ValidationError } from '../../kernel/errors.js'
import type { AnyQueryBuilder } from '../../models/objection.js'
import type { ListSource } from '../../pagination/list-source.js'
import type { PageRequest } from '../../pagination/pagination.js'
import { toApiError } from '../../postgres/database-errors.js'
import { canOrderBy, type OrderTerm, totalOrder } from '../../queryset/total-order.js'
import { InstanceList } from '../../rows/list-source.js'
import { listKey } from '../../rows/row-access.js'
import { RowList } from '../../rows/row-list.js'
import { WatchedList } from '../../rows/watched-list.js'
import type { SerializerClass } from '../../serializers/contract.js'
import type { GenericView } from '../generic-view.js'
import type { GenericViewClass } from '../generic-view-class.js'
import { confirmParents } from '../request/parents.js'
import { requireUser } from '../request/require-user.js'
import { rendererOf } from '../request/respond.js'
import type { Resource } from '../resource.js'
import { readGuarded } from './guarded-view.js'
import { refuseUnknownParameters } from './refuse-unknown-parameters.js'
import { loadShown, narrowed, represent, rowAccess, type Tell } from './selection.js'
import { listQuery } from './visible-query.js'

/** What the steps of one list ask again and again. */
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
  const { viewClass, ctx, resource } = view
  const own = view.getSerializerClass()
  const query = queryOf(ctx)
  let asks = !resource.isQuiet || resource.overrides.filtering
  for (const name in query) if (!resource.pagingNames.has(name)) asks = true
  return { view, viewClass, resource, ctx, query, asks, own, shown: asks ? narrowed(view, own) : own, writesRows }
}

/** The body of a list answer: filtered, in a total order, one page of it if a pagination class is set. */
export function readList(view: GenericView): Promise<unknown> {
  try {
    const listing = listingOf(view)
    const { keepsConnections } = listing.resource
    // all pages of a cursor have one URL
    if (keepsConnections) answerOnce(listing.ctx)
    const parts = askedParts(listing)
    const timeout = keepsConnections || parts === NO_PARTS ? undefined : guardOf(parts)
    return timeout === undefined ? readPage(listing, parts) : readGuardedPage(listing, parts, timeout)
  } catch (error) {
    return rejection(error)
  }
}

/** What fails before there is a promise fails as one. */
async function rejection(error: unknown): Promise<never> {
  throw error
}

/** Reads a page in a transaction that bounds the time of its statements. */
async function readGuardedPage(listing: Listing, parts: readonly FilterPart[], timeout: number): Promise<unknown> {
  const { view } = listing
  if (view.trx ?? view.knex) checkOrdering(listing)
  return readGuarded(view, { timeout, parts }, () => readPage(listing, parts))
}

/** The whole list that the request asks for, to be read in portions and written row by row. @throws ValidationError */
export function wholeList(view: GenericView): ListSource {
  const listing = listingOf(view, true)
  const parts = askedParts(listing)
  checkOrdering(listing)
  return listSource(listing, parts)
}

/** The list that the request asks for, which nobody has read yet: for `explain()`. @throws ValidationError */
export function describedList(view: GenericView, tell: Tell): ListSource {
  const listing = listingOf(view)
  const parts = askedParts(listing)
  checkOrdering(listing)
  return listSource(listing, parts, tell)
}

/** What the request asks of the filter backends. @throws AuthenticationFailed, ValidationError */
function askedParts(listing: Listing): readonly FilterPart[] {
  const { view, viewClass, resource, query, ctx, own, shown, asks } = listing
  if (resource.needsUser(own, shown)) requireUser(view)
  if (viewClass.strictParams) refuseUnknownParameters(view)
  return asks ? readParts(query, resource.filterView, { user: ctx.state['user'], ctx }) : NO_PARTS
}

/** What a request has wrong is told before a connection is taken. */
function checkOrdering({ resource: { filterView }, query }: Listing): void {
  for (const backend of filterView.backends) backend.ordering(query, filterView)
}

function readPage(listing: Listing, parts: readonly FilterPart[]): Promise<unknown> {
  const isNested = listing.view.parents.length > 0
  return isNested ? readNestedPage(listing, parts) : cutPage(listing, listSource(listing, parts))
}

async function readNestedPage(listing: Listing, parts: readonly FilterPart[]): Promise<unknown> {
  const { view } = listing
  const source = new WatchedList(listSource(listing, parts))
  let page: unknown
  try {
    page = await cutPage(listing, source)
  } catch (error) {
    // a key on the path that PostgreSQL refuses leads nowhere
    const isRefused = view.trx === undefined && toApiError(error) instanceof ValidationError
    if (error instanceof NotFound || isRefused) await confirmParents(view)
    throw error
  }
  // an empty list may be one of a path that leads nowhere
  if (!source.hasRows) await confirmParents(view)
  return page
}

function cutPage({ view, resource, ctx, query }: Listing, source: ListSource): Promise<unknown> {
  const { paginator, keepsConnections } = resource
  if (!paginator) return readAll(source)
  const params = (ctx['params'] ?? {}) as Record<string, string>
  const request: PageRequest = { ctx, url: ctx.originalUrl, query, params }
  const asked = keepsConnections ? { ...request, resultsOnly: rendererOf(view).resultsOnly } : request
  return paginator.paginate(source, asked)
}

async function readAll(source: ListSource): Promise<unknown> {
  const rows = await source.read({ limit: Number.POSITIVE_INFINITY })
  return rows.results(0, rows.length)
}

/** The list to cut pages from: rows where the output needs no more, else instances. */
function listSource(listing: Listing, asked: readonly FilterPart[], tell?: Tell): ListSource {
  const { view, viewClass, resource, asks, own, shown, writesRows } = listing
  const { filterView, model } = resource
  const description = {
    name: qualifiedName(view.ctx, view.basename ?? viewClass.name),
    parameters: resource.parameterNames,
    shown: resource.answers(own).columns,
    hidesKeys: resource.ids?.hidesKeys === true,
  }
  const statementMilliseconds = asked === NO_PARTS ? undefined : guardOf(asked)
  const rows = rowAccess(view, writesRows ? 'stream' : 'list', { shown, tell })
  const scope = view.scope()
  const described = rows && scope?.shape !== null ? describedOrder(listing, asked) : undefined
  if (rows && described) {
    const query = () => {
      const conditions = view.getQueryset() as AnyQueryBuilder
      for (const part of asked) part.apply(conditions)
      return conditions
    }
    const key = listKey(filterView, scope ? [scope, ...asked] : asked)
    return new RowList(rows, { description, order: described, key, query, statementMilliseconds })
  }
  const query = listQuery(view, { asks, scope })
  const wanted = wantedOrder(listing, query)
  const order = canOrderBy(query, model, wanted) ? wanted : []
  if (rows?.canRead(query)) {
    const varied = isVaried(asked)
    const options = { description, order, key: undefined, varied, query: () => query.clone(), statementMilliseconds }
    return new RowList(rows, options)
  }
  if (rows) tell?.('its query has hooks, selects, joins or groups of its own')
  return new InstanceList({
    description,
    query,
    order,
    statementMilliseconds,
    load: (items, knex) => loadShown(view, items, knex),
    represent: (items: readonly Model[]) => represent(view, items, true),
  })
}

/** The order, where the model and what the filter backends are asked for say all there is to know of the list's SQL. */
function describedOrder(listing: Listing, asked: readonly FilterPart[]): readonly OrderTerm[] | undefined {
  for (const part of asked) if (part.shape === null || part.guarded !== undefined) return undefined
  if (!listing.resource.describesLists) return undefined
  const order = wantedOrder(listing, undefined)
  // the SQL of a narrowed relation is known only once it is built
  return order.some(({ related }) => related?.narrowed) ? undefined : order
}

/** The order a filter backend was asked for, the paginator's own, the query's own, or the view's. */
function wantedOrder(listing: Listing, query: AnyQueryBuilder | undefined): readonly OrderTerm[] {
  const { resource, asks } = listing
  const { filterView, model } = resource
  // a paginator with an order of its own knows rows by their place in it
  if (query && resource.paginator?.ordering !== undefined) query.clearOrder()
  for (const backend of asks ? filterView.backends : []) {
    const asked = backend.ordering(listing.query, filterView)
    if (!asked) continue
    const order = resource.totalOf(asked)
    if (query && canOrderBy(query, model, order)) query.clearOrder()
    return order
  }
  return query?.has(/^orderBy/) ? totalOrder(model, []) : resource.defaultOrder
}
