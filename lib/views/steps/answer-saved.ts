/** What a write answers: the objects as a reader of the same transaction sees them, and their version. */

import { quoteIdentifier, toReference } from '../../models/table-reference.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { forgetAnswers } from '../../queryset/row-answers.js'
import { ownCode } from '../../rows/own-code.js'
import { allowsRows, checkRows } from '../../serializers/check-written.js'
import type { SerializerClass } from '../../serializers/contract.js'
import type { Serializer } from '../../serializers/serializer.js'
import type { DeferredTriggers } from '../../serializers/stored-rows.js'
import type { GenericView } from '../generic-view.js'
import type { WritingAction } from '../overrides.js'
import { readNewVersion } from './concurrency.js'
import { readSavedRows, savedRows } from './saved-row.js'
import { isRowOf, loadShown, representSaved } from './selection.js'

/**
 * Saves by the work of an action, and returns the written form of what the serializer has saved: read again where relations
 * are shown, or where the plan says that something may have changed it since.
 */
export async function answerSaved(
  view: GenericView,
  serializer: Serializer,
  action: WritingAction,
  save: () => Promise<unknown>,
): Promise<unknown> {
  const rows = savedRows(view)
  if (rows?.isUnseen) Object.assign(serializer, { leavesRelated: true })
  await save()
  const { because, deferred } = view.plan.resource.stored(action, serializer.constructor as SerializerClass)
  if (deferred.length > 0) await runDeferred(view, deferred)
  const { obj } = serializer
  if (view.visibleRows && !(await mayShow(view, serializer, action))) {
    view.ctx.append('Preference-Applied', 'return=minimal')
    return undefined
  }
  if (rows && typeof obj === 'object' && obj !== null) {
    const text = await readSavedRows(view, rows.access, obj)
    if (text) return text
    if (rows.isUnseen) await loadShown(view, [obj].flat())
  }
  // of a list there is no version
  if (!serializer.many) await readNewVersion(view, serializer.obj)
  return representSaved(view, serializer, because !== null)
}

/**
 * Whether the caller may read what was written. What code of the application has written, or triggers have changed when the
 * transaction's work was done, is checked here once more.
 * @throws PermissionDenied the rows are none that the caller may have written
 */
async function mayShow(view: GenericView, serializer: Serializer, action: WritingAction): Promise<boolean> {
  const { resource, viewClass } = view.plan
  const model = viewClass.modelClass()
  const rows = [serializer.obj].flat().filter((one): one is object => typeof one === 'object' && one !== null)
  const own = rows.filter((one) => isRowOf(model, one))
  const knex = (view.trx ?? view.knex ?? model.knex()) as Queryable
  const serializerClass = serializer.constructor as SerializerClass
  const { deferred } = resource.stored(action, serializerClass)
  const isNew = action === 'create' || action === 'bulkCreate'
  const isOwn = resource.ownHook(action) ?? ownCode(serializerClass, isNew ? 'insert' : 'update')
  if (deferred.length > 0 || isOwn !== null) forgetAnswers(own)
  await checkRows({ view }, own, isNew ? 'create' : 'update', knex)
  return allowsRows({ view }, own, 'read', knex)
}

/**
 * Has triggers run that would wait for COMMIT: what they change is what clients read from then on. Those of later statements
 * wait again.
 */
async function runDeferred({ trx, knex }: GenericView, deferred: readonly DeferredTriggers[]): Promise<void> {
  const transaction = (trx ?? knex) as Queryable | undefined
  // without a transaction COMMIT was at the end of the statement
  if (!transaction?.isTransaction) return
  const names = deferred.flatMap(({ tableName, names: own }) => {
    const schema = toReference(transaction, tableName).split('.').slice(0, -1)
    return own.map((name) => [...schema, quoteIdentifier(name)].join('.'))
  })
  for (const when of ['immediate', 'deferred']) {
    // knex takes a question mark for the place of a value
    await transaction.raw(`set constraints ${names.join(', ').replaceAll('?', '\\?')} ${when}`)
  }
}
