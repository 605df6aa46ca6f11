/** What can be wrong with the query that a view works on, and the serializer it chooses, whatever the request (promise I23). */

import { isSafeMethod } from '../../http/context.js'
import { ConfigurationError } from '../../kernel/errors.js'
import { ignoreRejection, isPromise } from '../../kernel/realms.js'
import { configOf, describeModel } from '../../models/describe-model.js'
import type { AnyQueryBuilder } from '../../models/objection.js'
import { isModelQuery } from '../../models/objection.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { readsWholeRows } from '../../queryset/reads-whole-rows.js'
import { schemaOf } from '../../queryset/schema-of.js'
import { computedColumns } from '../../queryset/shown-rows.js'
import { isSerializer } from '../../serializers/check-serializer.js'
import { planOf } from '../action-plan.js'
import { isBuiltIn } from '../built-in.js'
import { type GenericView, noResult } from '../generic-view.js'
import type { GenericViewClass, RelatedViewClass } from '../generic-view-class.js'

/**
 * Asks a view for its queryset as no request does, and checks what it is. One that looks at the request cannot be asked: it
 * is checked when the first request comes.
 * @throws {ConfigurationError} it is no query, or one that pages and lookups cannot narrow
 */
export function checkOwnQueryset(view: RelatedViewClass): void {
  const { name, queryset } = view
  const isDeclared = isBuiltIn(view.prototype, 'getQueryset')
  if (isDeclared && queryset === null) return
  const query = isDeclared ? madeWithoutRequest(queryset) : askWithoutRequest(view, 'getQueryset')
  if (query === UNKNOWN) return
  if (!isModelQuery(query)) {
    // what an async function rejects with is nobody's
    ignoreRejection(query)
    const given = isPromise(query) ? 'a promise' : Array.isArray(query) ? 'a list' : String(query)
    throw new ConfigurationError(
      `${name}: its queryset is no query but ${given}; return Model.query(), and make no async function of it`,
    )
  }
  refuseShape(name, query)
  if (!readsWholeRows(query)) checkSelected(view, query)
}

/**
 * Asks a view which serializer class it chooses, as no request does. Nothing may be what it chooses without one.
 * @throws {ConfigurationError} it is something else
 */
export function checkChosenSerializer(view: RelatedViewClass): void {
  if (isBuiltIn(view.prototype, 'getSerializerClass')) return
  const chosen = askWithoutRequest(view, 'getSerializerClass')
  if (chosen === UNKNOWN || chosen === undefined || chosen === null || isSerializer(chosen)) return
  throw noResult(view.name, 'getSerializerClass', chosen)
}

/** @throws {ConfigurationError} what it computes has no name */
function checkSelected(view: GenericViewClass, query: AnyQueryBuilder): void {
  try {
    computedColumns(query, { name: view.name, model: describeModel(view.modelClass()) })
  } catch (error) {
    // its hooks may need a request
    if (error instanceof ConfigurationError) throw error
  }
}

const LIST = { get: 'list' }

/** What a method returns that needs a request. */
const UNKNOWN = Symbol('what only a request can tell')

function askWithoutRequest(view: RelatedViewClass, method: 'getQueryset' | 'getSerializerClass'): unknown {
  const plan = planOf({ view, action: 'list', actions: LIST })
  return madeWithoutRequest(() => {
    const asked = new (view as new () => Record<typeof method, () => unknown>)()
    return Object.assign(asked, { plan })[method]()
  })
}

function madeWithoutRequest(make: (() => unknown) | null): unknown {
  try {
    return make?.()
  } catch {
    return UNKNOWN
  }
}

/** @throws {ConfigurationError} pages and lookups cannot narrow the query */
export function refuseShape(name: string, query: AnyQueryBuilder): void {
  if (query.has(/^(union|intersect|except)/i)) {
    throw new ConfigurationError(
      `${name}: its queryset is a union, of which a lookup would narrow the first part only; select by a condition, such as whereIn('id', union)`,
    )
  }
  if (joinsGraph(query)) {
    throw new ConfigurationError(
      `${name}: its queryset uses withGraphJoined(), whose rows pages and counts would cut and lookups find ambiguous; load by withGraphFetched(), select by joinRelated() or whereExists()`,
    )
  }
  if (query.has(/^(limit|offset|first|range|page)$/)) {
    throw new ConfigurationError(
      `${name}: its queryset has a limit, which pages and lookups cannot keep; select by a condition, such as whereIn('id', subquery)`,
    )
  }
}

/** Objection documents it, but it is not in its types. */
interface Clearing {
  clearWithGraphFetched(): AnyQueryBuilder
}

/** True for a query with `withGraphJoined`: its graph stays when those that are fetched are cleared. */
function joinsGraph(query: AnyQueryBuilder): boolean {
  return query.hasWithGraph() && (query.clone() as AnyQueryBuilder & Clearing).clearWithGraphFetched().hasWithGraph()
}

/**
 * A queryset must be one that pages and lookups can narrow, in the database that the request works on; it is bound to the
 * request's transaction, if it is in none.
 * @throws {ConfigurationError} it has a limit, is a union, joins what it loads, or reads elsewhere than it writes
 */
export function checkQueryset(view: GenericView, query: AnyQueryBuilder): void {
  const { name } = view.viewClass
  // a view without a model, which this one is a parent of, has no database
  const own = view.trx ?? view.knex ?? view.viewClass.modelClass().knex()
  if (poolOf(query.knex()) !== poolOf(own)) {
    throw new ConfigurationError(
      `${name}: its queryset is of another database than the request; override getKnex(), which reads, writes and transactions follow`,
    )
  }
  refuseShape(name, query)
  if (!isSafeMethod(view.ctx.method) && schemaOf(query) !== undefined) {
    throw new ConfigurationError(
      `${name}: its queryset reads another schema than its writes go to; name the schema in the model's tableName, or override getKnex()`,
    )
  }
  // an application's own may have forgotten the request's transaction
  if (own && query.knex() !== own && !(query.knex() as Queryable).isTransaction) void query.transacting(own as never)
}

/** What a pool and its transactions have in common; undefined without one. */
function poolOf(knex: unknown): object | undefined {
  return knex ? configOf(knex as Queryable) : undefined
}
