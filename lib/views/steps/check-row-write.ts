/** Refuses to change or delete rows that a caller may only read, by the rules of the API. */

import { isRowOf } from '../../models/one-table.js'
import { noteAnswer } from '../../queryset/row-answers.js'
import { checkWrittenRows } from '../../serializers/check-written.js'
import { type GenericView, knexOf } from '../generic-view.js'

/** Refuses to change or delete rows that the caller may only read. @throws PermissionDenied */
export async function checkRowWrite(view: GenericView, objects: readonly object[]): Promise<void> {
  const { visibleRows } = view
  if (!visibleRows) return
  const model = view.plan.viewClass.modelClass()
  const own = objects.filter((object) => isRowOf(model, object))
  const readable = visibleRows.allowed(model, 'read')
  // they were found by that condition, unless code of the application has found them
  if (readable && !view.plan.resource.overrides.has('getObject')) for (const one of own) noteAnswer(one, readable, true)
  await checkWrittenRows({ view }, own, view.plan.writing.does, knexOf(view))
}
