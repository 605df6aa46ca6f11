/** The contract of a filter backend. */

import { type Context, type QueryParameters, queryOf } from '../http/context.js'
import type { IDContext } from '../ids/codec.js'
import { described, insteadOf } from '../kernel/declarations.js'
import { type ApiError, ValidationError } from '../kernel/errors.js'
import { emptyListOf } from '../kernel/once-per.js'
import { settled } from '../kernel/settled.js'
import type { ModelDescription } from '../models/model-description.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import type { StatementLimits } from '../postgres/guarded.js'
import type { Queryable } from '../postgres/pg-types.js'
import { saysOr } from '../queryset/says-or.js'
import { joinSql, type SqlPart } from '../queryset/sql-part.js'
import type { OrderTerm } from '../queryset/total-order.js'
import { PathStart, type Where } from './field-path.js'

export type { QueryParameters }

/** What a filter backend knows of a view class. One object stands for a class as long as its catalogue is the same. */
export interface FilterSettings {
  /** The view's class name, for messages to the programmer. */
  readonly name: string
  /** The model of the list. */
  readonly model: ModelDescription
  /** The view's `filtersetFields`. */
  readonly filtersetFields: readonly string[]
  /** The view's `searchFields`. */
  readonly searchFields: readonly string[]
  /** The view's `orderingFields`. */
  readonly orderingFields: readonly string[]
  /** PostgreSQL's text search configuration. */
  readonly searchConfig: string
  /** `plain`, `phrase`, `raw` or `websearch`. */
  readonly searchType: string
  /** Query parameter of full-text search. */
  readonly searchParam: string
  /** All backends of the view, in order. */
  readonly backends: readonly BaseFilter[]
  /** The relations that groups of filters may ask about, by name. @default none */
  readonly relations?: ReadonlyMap<string, FilterRelation>
}

/** What stands for the related objects that a group of filters may ask about: the view set that shows them. */
export interface FilterRelation {
  /** What that view set lets its own clients ask. View sets may name each other, so that it is made when it is asked for. */
  readonly related: FilterSettings
  /**
   * The objects that the caller may see, as a query; undefined where these are all rows of the table.
   * @throws Error nobody has asked whether the caller may see any
   */
  rows(ctx: Context | undefined): AnyQueryBuilder | undefined
}

/** Who asks a filter backend: for external ids, and for what of related objects the caller may see. */
export interface FilterCaller extends IDContext {
  readonly ctx?: Context | undefined
}

/** A query parameter as OpenAPI describes it. */
export interface ParameterDescription {
  /** The parameter's name in the query. */
  readonly name: string
  /** A sentence for the reader of the document. */
  readonly description: string
  /** JSON Schema of its values. */
  readonly schema: Readonly<Record<string, unknown>>
  /** Values of a list are separated by commas. */
  readonly explode?: false
  /** A request without it is refused. @default false */
  readonly required?: boolean
  /** What its schema's list does not name is ignored, but for `strictParams` and `Prefer: handling=strict`. @default false */
  readonly ignoresUnknown?: boolean
}

/** What a request asks of one backend. */
export interface FilterCondition {
  /**
   * The condition on the rows of a table, SQL in knex's notation with what it binds: `??` for names of columns, which stand
   * behind `start.table` and a dot, `?` for values. A list's statement is kept under this text. @default none
   */
  readonly where?: Where | undefined
  /** What no condition says, such as an order: the list's SQL is made anew for each request. */
  readonly change?: ((query: AnyQueryBuilder) => void) | undefined
  /** Clients write the SQL's form themselves: it is neither kept nor prepared. */
  readonly varied?: boolean | undefined
  /**
   * The database may be slow at it: the list's statements only read, and each takes at most so many milliseconds, or what the
   * connection is set to where that is less.
   */
  readonly guarded?: number | undefined
  /** The answer where a statement has taken longer than that. @default 503 */
  readonly exceeded?: (() => ApiError) | undefined
  /**
   * The conditions cost the database more than keeping a row does: a list that was short before is read once, not once more for its
   * count.
   */
  readonly expensive?: boolean | undefined
  /** How many sub-queries it is; all of a request have one budget. @default 0 */
  readonly subQueries?: number | undefined
}

/**
 * Narrows or orders a list by what the request asks. Immutable and shared by all requests. It protects no object: whose rows a
 * caller may see is said by `getQueryset()`, which detail routes go by, too.
 *
 * A backend of your own overrides `filterQueryset`, or `read` to return the condition as a value: then the list's statement
 * is kept, and prepared, under its text.
 * @example
 * class Cheap extends BaseFilter {
 *   override filterQueryset(query: AnyQueryBuilder, ctx: Context) {
 *     return ctx.query['cheap'] === undefined ? query : query.where('price', '<', 10)
 *   }
 * }
 */
export abstract class BaseFilter {
  /** The backend orders by what is no column, such as a rank; a cursor cannot carry a place in such an order. */
  readonly ordersByExpression: boolean = false

  /**
   * What it reads of a query, for the types of clients only: nothing at run time. The built-in backends name what of the view
   * they go by; one of your own says its parameters: `declare readonly asks?: { near?: string }`.
   */
  declare readonly asks?: unknown

  /** The query with this backend's conditions; the next backend gets what this one returns. */
  filterQueryset(query: AnyQueryBuilder, ctx: Context, settings: FilterSettings): AnyQueryBuilder {
    const condition = conditionOf(this, queryOf(ctx), settings, { user: ctx.state['user'], ctx })
    if (condition) addCondition(query, condition)
    return query
  }

  /**
   * What the request asks of this backend; null for nothing. `caller` is who asks.
   * @throws ValidationError naming the parameter
   */
  read(_query: QueryParameters, _settings: FilterSettings, _caller: FilterCaller = {}): FilterCondition | null {
    return null
  }

  /** The order the request asks for; null to leave it to the view. The names are checked: they are the view's own. */
  ordering(_query: QueryParameters, _settings: FilterSettings): readonly OrderTerm[] | null {
    return null
  }

  /** The relations that `read()` would ask about. What is no group at all asks about none. */
  askedRelations(_query: QueryParameters, _settings: FilterSettings): readonly FilterRelation[] {
    return []
  }

  /** The parameters this backend reads. */
  parameters(_settings: FilterSettings): readonly ParameterDescription[] {
    return []
  }

  /**
   * Checks what the view declares for it, once, before any request; the catalogue has been read.
   * @param knex where to ask the database; undefined when the model is bound to none
   * @throws {ConfigurationError} naming class, attribute and fix
   */
  check(_settings: FilterSettings, _knex: Queryable | undefined): void | Promise<void> {}
}

described(BaseFilter)

insteadOf(BaseFilter, {
  getSchemaFields: 'override parameters(settings)',
  getSchemaOperationParameters: 'override parameters(settings)',
})

/** True for a backend that says all it does by `read`. */
export function isDescribed(backend: BaseFilter): boolean {
  return backend.filterQueryset === BaseFilter.prototype.filterQueryset
}

/** The last value of a parameter, as repeated ones count (promise B14). */
export function lastValueOf(query: QueryParameters, name: string): string | undefined {
  const value = query[name]
  return typeof value === 'string' ? value : value?.at(-1)
}

/** What is read of a parameter. @throws ValidationError what is wrong, by its name */
export function readNamed<Value>(name: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    throw error instanceof ValidationError ? new ValidationError({ [name]: error.messages }) : error
  }
}

/** @throws {ConfigurationError} the condition is a promise, which would narrow nothing */
function conditionOf(backend: BaseFilter, ...asked: Parameters<BaseFilter['read']>): FilterCondition | null {
  const problem = `${backend.constructor.name}: read() returned a promise; return the condition, at once`
  return settled(backend.read(...asked), problem)
}

/**
 * What a request asks of all backends of a view.
 * @throws ValidationError naming the parameter
 */
export function readConditions(
  query: QueryParameters,
  settings: FilterSettings,
  caller: FilterCaller,
): readonly FilterCondition[] {
  let conditions: FilterCondition[] | undefined
  for (const backend of settings.backends) {
    const condition = conditionOf(backend, query, settings, caller)
    if (!condition) continue
    if (conditions) conditions.push(condition)
    else conditions = [condition]
  }
  return conditions ?? NO_CONDITIONS
}

/** What a request asks that asks for nothing. */
export const NO_CONDITIONS: readonly FilterCondition[] = emptyListOf<FilterCondition>({ varied: false })

/** Adds a condition to a query, which may know its table by another name. */
export function addCondition(query: AnyQueryBuilder, { where, change }: FilterCondition): void {
  if (where) addWhere(query, where)
  change?.(query)
}

/** Adds a condition on the rows of the query's own table. */
export function addWhere(query: AnyQueryBuilder, where: Where): void {
  addPart(query, where(PathStart.of(query)))
}

/** Adds a condition to a query as it is. An OR in it reaches none that stands beside it. */
export function addPart(query: AnyQueryBuilder, { sql, bindings }: SqlPart): void {
  void query.whereRaw(saysOr(sql) ? `(${sql})` : sql, bindings)
}

/** All of several conditions. */
export function every(parts: readonly SqlPart[]): SqlPart {
  return joinSql(parts, ' and ')
}

/** True where clients write the form of a condition themselves. */
export function isVaried(conditions: readonly FilterCondition[]): boolean {
  for (const condition of conditions) if (condition.varied) return true
  return false
}

/** The milliseconds that a statement of a list may take, and the answer to one that takes longer, where a condition says so. */
export function timeGuardOf(conditions: readonly FilterCondition[]): Pick<StatementLimits, 'timeout' | 'exceeded'> {
  let timeout: number | undefined
  for (const { guarded } of conditions) {
    if (guarded !== undefined && (timeout === undefined || guarded < timeout)) timeout = guarded
  }
  const answering = conditions.find(({ exceeded }) => exceeded)
  return { timeout, exceeded: answering && (() => answering.exceeded?.()) }
}
