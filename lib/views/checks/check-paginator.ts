/** What can be wrong between a view's paginator and the orders of its lists. */

import { declaredTerm } from '../../filters/order-term.js'
import { ConfigurationError } from '../../kernel/errors.js'
import { describeModel } from '../../models/describe-model.js'
import type { ModelDescription } from '../../models/model-description.js'
import { modelName } from '../../models/objection.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { poolSize } from '../../queryset/database-cursor.js'
import { canBeTotal, type OrderTerm } from '../../queryset/total-order.js'
import { isBuiltIn } from '../built-in.js'
import type { GenericViewClass } from '../generic-view-class.js'
import { orders, resourceOf } from '../resource.js'

/** Checks the paginator against every order the list can have. */
export function checkPaginator(view: GenericViewClass): void {
  const { paginator, filters } = resourceOf(view)
  if (!paginator) return
  const model = describeModel(view.modelClass())
  const asked = filters.some(orders)
    ? view.orderingFields.map((field) => declaredTerm(`${view.name}: orderingFields`, model, field))
    : []
  const order = [...resourceOf(view).defaultOrder, ...asked]
  const ordersByExpression = filters.some((filter) => filter.ordersByExpression)
  const poolSize = poolSizeOf(view)
  paginator.check({ name: view.name, model, order, orderingFields: asked, poolSize, ordersByExpression })
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
