/** What can be wrong with what lists declare: the paginator and its orders, aggregates, dialects, and query parameters that two read. */
import { FieldFilter } from '../../filters/field-filter.js'
import type { BaseFilter, ParameterDescription } from '../../filters/filter.js'
import { declaredTerm } from '../../filters/resolve-paths.js'
import { ConfigurationError } from '../../kernel/errors.js'
import { quote } from '../../kernel/quote.js'
import { describeModel } from '../../models/describe-model.js'
import type { ModelDescription } from '../../models/model-description.js'
import { modelName } from '../../models/objection.js'
import { LimitOffsetPagination } from '../../pagination/limit-offset-pagination.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { poolSize } from '../../queryset/database-cursor.js'
import { canBeTotal, type OrderTerm } from '../../queryset/total-order.js'
import type { BaseVersioning } from '../../versioning/versioning.js'
import { isNoOrder, ownParameters, pagingParameters } from '../action-parameters.js'
import { answers } from '../actions.js'
import { aggregatesOf, declaresAggregates, isAggregating } from '../aggregates.js'
import { isBuiltIn } from '../built-in.js'
import type { GenericViewClass } from '../generic-view-class.js'
import { DIALECTS } from '../query-dialects.js'
import { orders, resourceOf } from '../resource.js'

/** Checks the paginator against every order the list can have. */
export async function checkPaginator(view: GenericViewClass): Promise<void> {
  const { paginator, filters } = resourceOf(view)
  if (!paginator) return
  const model = describeModel(view.modelClass())
  const asked = filters.some(orders)
    ? view.orderingFields.map((field) => declaredTerm(`${view.name}: orderingFields`, model, field))
    : []
  const order = [...resourceOf(view).defaultOrder, ...asked]
  const ordersByExpression = filters.some((filter) => filter.ordersByExpression)
  const poolSize = poolSizeOf(view)
  const checked: unknown = paginator.check({
    name: view.name,
    model,
    order,
    orderingFields: asked,
    poolSize,
    ordersByExpression,
  })
  await checked
  // only a paginator with an order of its own reads positions
  if (paginator.ordering === undefined) return
  checkTotal(view, model, [resourceOf(view).declaredOrder(), ...asked.map((term) => [term])])
}

/** The size of the pool that requests of the view use; undefined where a `getKnex()` of the application's chooses one. */
export function poolSizeOf(view: GenericViewClass): number | undefined {
  const knex: unknown = isBuiltIn(view.prototype, 'getKnex') ? view.modelClass().knex() : undefined
  return knex ? poolSize(knex as Queryable) : undefined
}

/** Refuses an order in which rows that are alike cannot be told apart: a cursor would lose those behind a page's end. */
function checkTotal(view: GenericViewClass, model: ModelDescription, orders: readonly (readonly OrderTerm[])[]) {
  if (!model.prepared || orders.every((terms) => canBeTotal(model, terms))) return
  throw new ConfigurationError(
    `${view.name}: nothing tells rows of ${modelName(model.model)} apart that are alike in an order of the list, as there is no ` +
      `column "${model.primaryKey.join()}"; set static idColumn of the model to what does, or order by a unique column`,
  )
}

/**
 * Checks what a class declares against the catalogue, and that no parameter of it is read for another purpose.
 * @throws {ConfigurationError} naming class, attribute and fix
 */
export function checkAggregates(view: GenericViewClass, versioning: BaseVersioning | undefined): void {
  if (!isAggregating(view) || !declaresAggregates(view)) return
  void aggregatesOf(resourceOf(view))
  const { filterSettings } = resourceOf(view)
  const taken = [
    ...filterSettings.backends.flatMap((backend) => {
      const parameters = backend.parameters(filterSettings)
      return orders(backend) ? parameters.filter(isNoOrder) : parameters
    }),
    ...(versioning?.parameters() ?? []),
  ]
  for (const action of ['aggregate', 'facets']) {
    if (!answers(view, action)) continue
    const own = [...ownParameters(resourceOf(view), action), ...pagingParameters(resourceOf(view), action)].map(
      ({ name }) => name,
    )
    const twice = own.find((name, index) => own.indexOf(name) < index || taken.some((other) => other.name === name))
    if (twice === undefined) continue
    throw new ConfigurationError(
      `${view.name}: the query parameter "${twice}" is read by ${action}() and for another purpose; rename it there, or leave it out of filtersetFields`,
    )
  }
}

interface Reader {
  readonly policy: object
  readonly parameter: ParameterDescription
}

/**
 * A parameter that two policies read would act twice: a page asked for would be a value filtered by, too. What the view's
 * own code reads is its own affair.
 * @throws {ConfigurationError} naming view, parameter and both policies
 */
export function checkParameters(view: GenericViewClass, versioning: BaseVersioning | undefined): void {
  const filterSettings = resourceOf(view).filterSettings
  const { paginator } = resourceOf(view)
  const readers = [
    ...filterSettings.backends.flatMap((policy) => readersOf(policy, policy.parameters(filterSettings))),
    ...(paginator ? readersOf(paginator, paginator.parameters()) : []),
    ...(versioning ? readersOf(versioning, versioning.parameters()) : []),
  ]
  const known = new Map<string, Reader>()
  for (const reader of readers) {
    const { name } = reader.parameter
    const other = known.get(name)
    if (other && !meanTheSame(filterSettings.backends, other, reader)) {
      const [one, two] = [other, reader].map(({ policy }) => policy.constructor.name)
      const owners = other.policy === reader.policy ? `${one} for two purposes` : `${one} and by ${two}`
      throw new ConfigurationError(
        `${view.name}: the query parameter "${name}" is read by ${owners}; rename it for one, or leave it out of filtersetFields`,
      )
    }
    known.set(name, reader)
  }
}

function readersOf(policy: object, parameters: readonly ParameterDescription[]): readonly Reader[] {
  return parameters.map((parameter) => ({ policy, parameter }))
}

/** Searching and ranking by one string is what two backends are for; a filter by a column is always something else. */
function meanTheSame(backends: readonly BaseFilter[], one: Reader, other: Reader): boolean {
  const policies = [one.policy, other.policy]
  return (
    policies.every((policy) => !(policy instanceof FieldFilter) && backends.includes(policy as BaseFilter)) &&
    JSON.stringify(one.parameter.schema) === JSON.stringify(other.parameter.schema)
  )
}

/** Checks `queryDialect`: which dialects there are, and what pages they need. @throws {ConfigurationError} */
export function checkDialect(view: GenericViewClass): void {
  const { name, queryDialect, filtersetFields } = view
  if (queryDialect === null) return
  if (!Object.hasOwn(DIALECTS, queryDialect)) {
    throw new ConfigurationError(
      `${name}: queryDialect is ${quote(queryDialect)}; give one of ${Object.keys(DIALECTS).join(', ')}`,
    )
  }
  const { paginator, parameterNames } = resourceOf(view)
  if (!(paginator instanceof LimitOffsetPagination && paginator.countHeader !== undefined)) {
    throw new ConfigurationError(
      `${name}: queryDialect asks for slices of bare lists; set paginationClass to new LimitOffsetPagination({ countHeader: 'X-Total-Count' })`,
    )
  }
  const own = [...parameterNames, paginator.limitQueryParam, paginator.offsetQueryParam]
  const twice = DIALECTS[queryDialect].parameters.find(
    (one) => own.includes(one.name) && !filtersetFields.includes(one.name),
  )
  if (!twice) return
  throw new ConfigurationError(
    `${name}: queryDialect reads the parameter "${twice.name}", which a filter backend or the paginator reads, too; give that one another name`,
  )
}
