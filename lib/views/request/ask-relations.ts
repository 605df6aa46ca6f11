/**
 * Asks whether the caller may see the related objects that filters of the request ask about, or that it has
 * counted. What a client may not see it cannot ask about: there are those that a GET of their own list, without
 * parameters, would show the same caller.
 */

import type { FilterRelation } from '../../filters/filter.js'
import { queryOf, withoutParameters } from '../../http/context.js'
import { ConfigurationError } from '../../kernel/errors.js'
import { oncePer } from '../../kernel/once-per.js'
import type { AnyQueryBuilder } from '../../models/objection.js'
import { checkPermissions } from '../../permissions/check-permissions.js'
import { isShaped } from '../../queryset/count-rows.js'
import { groupConditions } from '../../queryset/group-conditions.js'
import type { RuleSet } from '../../rules/rule-set.js'
import { type ActionRoute, planOf } from '../action-plan.js'
import { checkQueryset } from '../checks/check-queryset.js'
import type { GenericView } from '../generic-view.js'
import type { RelatedViewClass } from '../generic-view-class.js'
import type { RelatedViewSet } from '../related-view-set.js'
import { countedRelations } from '../steps/count-related.js'
import { selectionOf } from '../steps/selection.js'
import { askedQuery } from '../steps/visible-query.js'
import { requireUser } from './require-user.js'

/**
 * Asks the permissions of the view sets that show these objects, as if their lists were asked for. Without it no filter reads
 * related objects.
 * @throws PermissionDenied, AuthenticationFailed one refuses
 */
export async function askRelations(view: GenericView): Promise<void> {
  for (const relation of askedRelations(view) as ReadonlySet<RelatedViewSet>) {
    const related = openList(relation.viewClass, view)
    const { permissions } = related.plan.policies
    if (permissions.length > 0) await checkPermissions(related.ctx, related, permissions)
    if (related.plan.resource.namesPerUser) requireUser(related)
    relation.admit(view.ctx, () => visibleRows(related, view))
  }
}

function askedRelations(view: GenericView): ReadonlySet<FilterRelation> {
  const { filterView } = view.plan.resource
  const query = queryOf(view.ctx)
  const filtered = filterView.backends.flatMap((backend) => backend.askedRelations(query, filterView))
  return new Set([...filtered, ...countedRelations(view, selectionOf(view)?.expand ?? NONE)])
}

const NONE: ReadonlySet<string> = new Set()

const LIST = { get: 'list' }

const routesOf = oncePer((view: RelatedViewClass) => {
  const make = (rules?: RuleSet): ActionRoute => ({ view, action: 'list', actions: LIST, rules })
  return { unruled: make(), ruled: oncePer((rules: RuleSet) => make(rules)) }
})

/** The view of a list, under the rules of the view that asks. */
function openList(viewClass: RelatedViewClass, { ctx, plan: { rules } }: GenericView): GenericView {
  const { unruled, ruled } = routesOf(viewClass)
  return viewClass.open(withoutParameters(ctx), planOf(rules ? ruled(rules) : unruled)) as GenericView
}

/** The query of the objects that a view's list would show; undefined for all rows of the table. */
function visibleRows(view: GenericView, { knex, trx }: GenericView): AnyQueryBuilder | undefined {
  const { resource, viewClass } = view.plan
  Object.assign(view, { knex, trx })
  const scope = view.scope()
  if (!scope && resource.isWholeTable && resource.isQuiet && !resource.overrides.filtering) return undefined
  const declared = askedQuery(view, scope)
  checkQueryset(view, declared)
  const query = groupConditions(view.filterQueryset(declared))
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
    `${name}: its queryset runs code before or after it is read (runBefore, runAfter), which filters by relations cannot ask; narrow it by conditions`,
  )
}
