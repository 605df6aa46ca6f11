/** The objects that the list of another view set would show the same caller, as a query. */

import { withoutParameters } from '../../http/context.js'
import { ConfigurationError } from '../../kernel/errors.js'
import { oncePer } from '../../kernel/once-per.js'
import type { AnyQueryBuilder } from '../../models/objection.js'
import { isShaped } from '../../queryset/count-rows.js'
import { groupConditions } from '../../queryset/group-conditions.js'
import type { RuleSet } from '../../rules/rule-set.js'
import { type ActionRoute, planOf } from '../action-plan.js'
import type { GenericView } from '../generic-view.js'
import type { RelatedViewClass } from '../generic-view-class.js'
import { listQuery } from '../steps/visible-query.js'

const LIST = { get: 'list' }

const routesOf = oncePer((view: RelatedViewClass) => {
  const make = (rules?: RuleSet): ActionRoute => ({ view, action: 'list', actions: LIST, rules })
  return { unruled: make(), ruled: oncePer((rules: RuleSet) => make(rules)) }
})

/** The view of a list, under the rules of the view that asks. */
export function openList(viewClass: RelatedViewClass, { ctx, plan: { rules } }: GenericView): GenericView {
  const { unruled, ruled } = routesOf(viewClass)
  return viewClass.open(withoutParameters(ctx), planOf(rules ? ruled(rules) : unruled)) as GenericView
}

/** The query of the objects that a view's list would show, within the statements of another; undefined for all rows of the table. */
export function relatedListQuery(view: GenericView, { knex, trx }: GenericView): AnyQueryBuilder | undefined {
  const { resource, viewClass } = view.plan
  Object.assign(view, { knex, trx })
  const scope = view.scope()
  if (!scope && resource.isWholeTable && resource.isQuiet && !resource.overrides.has('filterQueryset')) return undefined
  const query = groupConditions(listQuery(view, { scope }))
  refuseHooks(viewClass.name, query)
  if (isShaped(query)) return query.clear(/^eager/)
  // conditions may be on columns that its own list does not select
  return query.clear(/^(orderBy|eager)/).clearSelect()
}

/** What runs before or after a query may hide rows, and does not run where the query is part of another. */
function refuseHooks(name: string, query: AnyQueryBuilder): void {
  const { runBefore, runAfter } = query.context() as Readonly<Record<string, unknown>>
  if (runBefore === undefined && runAfter === undefined && !query.has(/^(runBefore|runAfter)$/)) return
  throw new ConfigurationError(
    `${name}: its queryset runs code before or after it is read (runBefore, runAfter), which a query of related objects cannot ask; narrow it by conditions`,
  )
}
