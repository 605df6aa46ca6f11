/**
 * Asks whether the caller may see the related objects that filters of the request ask about, or that it has
 * counted. What a client may not see it cannot ask about: there are those that a GET of their own list, without
 * parameters, would show the same caller.
 */

import type { FilterRelation } from '../../filters/filter.js'
import { queryOf } from '../../http/context.js'
import { checkPermissions } from '../../permissions/check-permissions.js'
import type { GenericView } from '../generic-view.js'
import type { RelatedViewSet } from '../related-view-set.js'
import { countedRelations } from '../steps/count-related.js'
import { checkAnswer } from '../steps/selection.js'
import { openList, relatedListQuery } from './related-list.js'

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
    checkAnswer(related)
    relation.admit(view.ctx, () => relatedListQuery(related, view))
  }
}

function askedRelations(view: GenericView): ReadonlySet<FilterRelation> {
  const { filterSettings } = view.asked
  const query = queryOf(view.ctx)
  const filtered = filterSettings.backends.flatMap((backend) => backend.askedRelations(query, filterSettings))
  return new Set([...filtered, ...countedRelations(view)])
}
