/** Refuses to change or delete rows that a caller may only read, by the rules of the API. */

import type { Queryable } from '../../postgres/pg-types.js'
import type { RowWrite } from '../../queryset/visible-rows.js'
import { areReadable, checkBefore, type NamedRows, noteChecked } from '../../serializers/check-written.js'
import type { GenericView } from '../generic-view.js'
import { isRowOf } from './selection.js'

/** What the request does to the rows that it names, as rules call it. */
function rowWriteOf({ plan: { action } }: GenericView): RowWrite {
  return DELETING.has(action) ? 'delete' : 'update'
}

const DELETING: ReadonlySet<string> = new Set(['destroy', 'bulkDestroy', 'restoreDeleted', 'purgeDeleted'])

/** Refuses to change or delete rows that the caller may only read. @throws PermissionDenied */
export async function checkRowWrite(view: GenericView, objects: readonly object[]): Promise<void> {
  const { visibleRows } = view
  if (!visibleRows) return
  const model = view.plan.viewClass.modelClass()
  const own = objects.filter((object) => isRowOf(model, object))
  const write = rowWriteOf(view)
  const isFound = visibleRows.written(model, write) === visibleRows.written(model, 'read')
  // they were found by that condition, unless code of the application has found them
  if (isFound && !view.plan.resource.overrides.lookup) return noteChecked(own, write)
  await checkBefore({ view }, own, write, (view.trx ?? view.knex ?? model.knex()) as Queryable)
}

/** Whether the caller may read rows that a write has made: what the same condition lets it write it may read. */
export async function isReadable(
  view: GenericView,
  rows: NamedRows,
  write: RowWrite,
  knex: Queryable,
): Promise<boolean> {
  const { visibleRows } = view
  const isSame = visibleRows?.written(rows.model, write) === visibleRows?.written(rows.model, 'read')
  return isSame || areReadable({ view }, rows, knex)
}
