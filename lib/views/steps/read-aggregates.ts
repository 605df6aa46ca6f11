/** Answers `aggregate` and `facets`: what is computed of all objects that a list would have. */
import type { Facet } from '../../aggregates/aggregate-plan.js'
import { Figure } from '../../aggregates/figure.js'
import { FigureList, type FigureRow, readFigureRows } from '../../aggregates/figure-list.js'
import { COUNTING } from '../../aggregates/functions.js'
import { type AskedFigures, allFigures, readFacets, readFigures } from '../../aggregates/read-asked.js'
import { readConditions, timeGuardOf } from '../../filters/filter.js'
import { checkSubQueries, SEVERAL, subQueriesOf } from '../../filters/sub-queries.js'
import { qualifiedName, queryOf, withParameters } from '../../http/context.js'
import { ServiceUnavailable, ValidationError } from '../../kernel/errors.js'
import { sqlStateOf } from '../../postgres/database-errors.js'
import { type AggregateResource, type AggregatingClass, aggregatesOf } from '../aggregates.js'
import { type GenericView, serializerContextOf } from '../generic-view.js'
import type { GenericViewClass } from '../generic-view-class.js'
import { requireUser } from '../request/require-user.js'
import { readGuarded } from './guarded-view.js'
import { cutPage } from './read-list.js'
import { refuseUnknownParameters } from './refuse-unknown-parameters.js'
import { showsIdsOfUsers } from './selection.js'
import { listQuery } from './visible-query.js'

type AggregatingView = GenericView & { readonly viewClass: GenericViewClass & AggregatingClass }

/** The body of an answer to `aggregate`: one object, or a page of groups. @throws ValidationError, AuthenticationFailed */
export async function readAggregates(view: GenericView): Promise<unknown> {
  const own = view as AggregatingView
  const resource = aggregatesOf(view.asked)
  const asked = readFigures(queryOf(view.ctx), resource.plan)
  return readWhole(own, asked.figures, () => cutGroups(own, resource, asked))
}

/** Sends the statements of what the request asks for, or of all that may be asked: for `explain()`. */
export async function describeFigures(view: GenericView, isAsked: boolean): Promise<void> {
  const own = view as AggregatingView
  const resource = aggregatesOf(view.asked)
  const { plan } = resource
  const query = queryOf(view.ctx)
  if (view.plan.action === 'facets') await countFacets(own, readFacets(isAsked ? query : {}, plan))
  else await cutGroups(own, resource, isAsked ? readFigures(query, plan) : allFigures(plan))
}

async function cutGroups(view: AggregatingView, { paginator }: AggregateResource, asked: AskedFigures) {
  // rules have left this caller nothing to compute
  if (asked.figures.length === 0) return {}
  const list = groupsOf(view, asked)
  if (asked.groups === 0) return list.only()
  return cutPage(view, list, paginator)
}

function groupsOf(view: AggregatingView, asked: AskedFigures): FigureList {
  const { ctx } = view
  const { resource, viewClass } = view.plan
  return new FigureList({
    name: qualifiedName(ctx, view.plan.basename ?? viewClass.name),
    model: resource.model,
    parameters: view.asked.parameterNames,
    asked,
    query: () => listQuery(view),
    context: () => serializerContextOf(view),
    client: ctx.req.socket,
  })
}

/** The most frequent values of a facet. */
interface FacetCounts {
  readonly values: readonly { readonly value: unknown; readonly count: unknown }[]
  /** There are more values than these. */
  readonly has_more: boolean
}

/** The body of an answer to `facets`: of each the most frequent values. @throws ValidationError, AuthenticationFailed */
export async function readFacetCounts(view: GenericView): Promise<unknown> {
  const own = view as AggregatingView
  const { plan } = aggregatesOf(view.asked)
  const facets = readFacets(queryOf(view.ctx), plan)
  const figures = facets.map(({ figure }) => figure)
  return readWhole(own, figures, () => countFacets(own, facets))
}

/** Each by a statement of its own, within the time of one: there is one order, and one type, for each. */
async function countFacets(view: AggregatingView, facets: readonly Facet[]): Promise<Record<string, FacetCounts>> {
  const { aggregateTimeout } = view.viewClass
  const end = performance.now() + aggregateTimeout
  const counted: [string, FacetCounts][] = []
  for (const facet of facets) {
    if (performance.now() > end) throw new ServiceUnavailable()
    counted.push([facet.figure.name, await countFacet(view, facet)])
  }
  return Object.fromEntries(counted)
}

async function countFacet(view: AggregatingView, { figure, own }: Facet): Promise<FacetCounts> {
  const { maxFacetValues } = view.viewClass
  const asked = { groups: 1, figures: [figure.named('value'), COUNT], order: MOST_FREQUENT }
  const page = { limit: maxFacetValues + 1 }
  const rows = await readFigureRows(queryWithout(view, own), asked, {
    page,
    context: serializerContextOf(view),
    client: view.ctx.req.socket,
  })
  return {
    values: rows.slice(0, maxFacetValues) as readonly FigureRow[] as FacetCounts['values'],
    has_more: rows.length > maxFacetValues,
  }
}

const COUNT = new Figure({ name: 'count', ...COUNTING })
const MOST_FREQUENT = [
  { position: 1, descending: true },
  { position: 0, descending: false },
]

/** The objects of the list under all parameters but these. */
function queryWithout(view: AggregatingView, names: ReadonlySet<string>) {
  const { ctx } = view
  const query = queryOf(ctx)
  const others = Object.entries(query).filter(([name]) => !names.has(name))
  if (others.length === Object.keys(query).length) return listQuery(view)
  // a filterQueryset() of the application's reads the view's context; nothing else runs until it has
  const holder = view as { ctx: typeof ctx }
  try {
    holder.ctx = withParameters(ctx, Object.fromEntries(others))
    return listQuery(view)
  } finally {
    holder.ctx = ctx
  }
}

/** What lists check of a request, then the work by statements whose time is bounded. */
async function readWhole<T>(view: AggregatingView, figures: readonly Figure[], work: () => Promise<T>): Promise<T> {
  const { ctx } = view
  const { viewClass } = view
  // who may not see the list may not count it either
  const isPersonal = figures.some(({ needsUser }) => needsUser) || showsIdsOfUsers(view)
  if (isPersonal) requireUser(view)
  if (viewClass.strictParams) refuseUnknownParameters(view)
  const conditions = readConditions(queryOf(ctx), view.asked.filterSettings, { user: ctx.state['user'], ctx })
  const guard = timeGuardOf(conditions)
  const timeout = Math.min(viewClass.aggregateTimeout, guard.timeout ?? Number.POSITIVE_INFINITY)
  const asked = subQueriesOf(conditions)
  checkSubQueries(asked)
  try {
    return await readGuarded(view, { ...guard, timeout, jit: asked < SEVERAL }, work)
  } catch (error) {
    throw OVERFLOWS.has(sqlStateOf(error) ?? '') ? new ValidationError(TOO_LARGE) : error
  }
}

/** What PostgreSQL raises where values together are more than their type holds: an answer about them, not about the request. */
const OVERFLOWS: ReadonlySet<string> = new Set(['22003', '22008'])
const TOO_LARGE = 'The values are too large to be computed together.'
