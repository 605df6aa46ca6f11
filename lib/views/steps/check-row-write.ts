/** Refuses to change or delete rows that a caller may only read, by the rules of the API. */

import type { Queryable } from '../../postgres/pg-types.js'
import { noteAnswer } from '../../queryset/row-answers.js'
import type { RowWrite } from '../../queryset/visible-rows.js'
import { checkRows } from '../../serializers/check-written.js'
import { actionsOf } from '../action-options.js'
import type { GenericView } from '../generic-view.js'
import { isRowOf } from './selection.js'

/** What the request does to the rows that it names, as rules call it. */
export function rowWriteOf({ plan: { action, viewClass } }: GenericView): RowWrite | 'read' {
  return actionsOf(viewClass).get(action)?.rule ?? (DELETING.has(action) ? 'delete' : 'update')
}

const DELETING: ReadonlySet<string> = new Set(['destroy', 'bulkDestroy', 'restoreDeleted', 'purgeDeleted'])

/** Refuses to change or delete rows that the caller may only read. @throws PermissionDenied */
export async function checkRowWrite(view: GenericView, objects: readonly object[]): Promise<void> {
  const { visibleRows } = view
  if (!visibleRows) return
  const model = view.plan.viewClass.modelClass()
  const own = objects.filter((object) => isRowOf(model, object))
  const readable = visibleRows.written(model, 'read')
  // they were found by that condition, unless code of the application has found them
  if (readable && !view.plan.resource.overrides.lookup) for (const one of own) noteAnswer(one, readable, true)
  await checkRows({ view }, own, rowWriteOf(view), (view.trx ?? view.knex ?? model.knex()) as Queryable)
}
