/** What a write answers: the objects as a reader of the same transaction sees them, and their version. */

import { ROW_VERSION } from '../../caching/cache-response.js'
import type { KeyValues } from '../../fields/object-key.js'
import { waitingFor } from '../../kernel/begun-work.js'
import { ConfigurationError, NotFound } from '../../kernel/errors.js'
import { objectsIn } from '../../kernel/records.js'
import { exactValues } from '../../models/exact-types.js'
import type { ModelClass } from '../../models/objection.js'
import { isRowOf } from '../../models/one-table.js'
import { escaped, quoteIdentifier, toReference } from '../../models/table-reference.js'
import { readingError } from '../../postgres/database-errors.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { spelling } from '../../queryset/key-rows.js'
import { forgetAnswers } from '../../queryset/row-answers.js'
import { isSpelledOnce } from '../../queryset/same-keys.js'
import { type JsonText, jsonList } from '../../renderers/json-renderers.js'
import { findRows } from '../../rows/find-rows.js'
import { writingCode } from '../../rows/own-code.js'
import type { RowAccess } from '../../rows/row-access.js'
import { allowsRows, checkWrittenRows } from '../../serializers/check-written.js'
import type { SerializerClass } from '../../serializers/contract.js'
import { checkLimited } from '../../serializers/guard-fields.js'
import { serializerPlan } from '../../serializers/plan.js'
import { hasOwnData, type Serializer } from '../../serializers/serializer.js'
import { type DeferredTriggers, deferredOf } from '../../serializers/stored-rows.js'
import { actionNamed, insertsRows, takesMany } from '../actions.js'
import { foundObject, type GenericView, knexOf } from '../generic-view.js'
import { inputClassOf } from '../input-class.js'
import type { RowAnswer, WritingAction } from '../overrides.js'
import type { DeletedRows } from '../soft-delete.js'
import { noteVersion, readNewVersion } from './concurrency.js'
import { openRows } from './open-rows.js'
import { lookupAny, lookupBy } from './read-object.js'
import { representFound, representSaved } from './represent.js'
import { answerClass } from './selection.js'

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
  const access = savedRows(view)
  const isUnseen = view.plan.writing.saved.way === 'unseen'
  if (isUnseen) Object.assign(serializer, { leavesRelated: true })
  await waitingFor(serializer, save)
  if (serializer.obj === undefined && !hasOwnData(serializer)) throw unsaved(view, action)
  const { because, deferred } = view.plan.resource.stored(action, serializer.constructor as SerializerClass)
  await runDeferred(view, deferred)
  const { obj } = serializer
  if (view.visibleRows && !(await mayShow(view, serializer, action))) {
    view.ctx.append('Preference-Applied', 'return=minimal')
    return undefined
  }
  if (access && typeof obj === 'object' && obj !== null) {
    const text = await readSavedRows(view, access, obj)
    if (text) return text
  }
  // of a list there is no version
  if (!serializer.many) await readNewVersion(view, serializer.obj)
  return representSaved(view, serializer, { isStale: because !== null, isLoaded: !isUnseen })
}

/** An application may have made the object by code of its own, of which nobody but the serializer knows how to show it. */
function unsaved(view: GenericView, action: WritingAction): ConfigurationError {
  const { hooks: [hook] = [] } = actionNamed(action) ?? {}
  return new ConfigurationError(
    `${view.constructor.name}: ${hook}() has not called serializer.save(), so that there is no object to show; call it, and ` +
      'make the object in create(data) of the serializer where it is made in a way of its own',
  )
}

/**
 * Whether the caller may read what was written. What code of the application has written, or triggers have changed when the
 * transaction's work was done, is checked here once more.
 * @throws PermissionDenied the rows are none that the caller may have written
 */
async function mayShow(view: GenericView, serializer: Serializer, action: WritingAction): Promise<boolean> {
  const { resource, viewClass } = view.plan
  const model = viewClass.modelClass()
  const own = objectsIn(serializer.obj).filter((one) => isRowOf(model, one))
  const knex = knexOf(view)
  const serializerClass = serializer.constructor as SerializerClass
  const { deferred } = resource.stored(action, serializerClass)
  const isNew = insertsRows(action)
  const isOwn = resource.ownHook(action) ?? writingCode(serializerClass, isNew ? 'insert' : 'update')
  if (deferred.length > 0 || isOwn !== null) forgetAnswers(own)
  await checkWrittenRows({ view }, own, isNew ? 'create' : 'update', knex)
  if (isNew && isOwn !== null) await checkLimited(serializer, newRows(serializer, model))
  return allowsRows({ view }, own, 'read', knex)
}

/** The rows that code of the application has made of what was sent. */
function newRows({ validatedData, obj }: Serializer, model: ModelClass): readonly { data: object; row: object }[] {
  const rows = objectsIn(obj)
  return objectsIn(validatedData).flatMap((data, index) => {
    const row = rows[index]
    return row && isRowOf(model, row) ? [{ data, row }] : []
  })
}

/**
 * What is shown of an object whose mark of a soft delete was set or taken away.
 * @param rows those among which it is now
 * @returns undefined where the caller does not see it there
 */
export async function answerMarked(view: GenericView, rows: DeletedRows): Promise<unknown> {
  const { model } = view.plan.resource
  await runDeferred(view, deferredOf(model))
  Object.assign(view, { plan: view.plan.ofWritten })
  view.deletedRows = rows
  ROW_VERSION.set(view.ctx, undefined)
  try {
    const object = await foundObject(view)
    await readNewVersion(view, object)
    return await representFound(view, object)
  } catch (error) {
    if (error instanceof NotFound) return undefined
    throw error
  }
}

/**
 * Has triggers run that would wait for COMMIT: what they change is what clients read from then on. Those of later statements
 * wait again.
 */
async function runDeferred({ trx, knex }: GenericView, deferred: readonly DeferredTriggers[]): Promise<void> {
  const transaction = (trx ?? knex) as Queryable | undefined
  // without a transaction COMMIT was at the end of the statement
  if (deferred.length === 0 || !transaction?.isTransaction) return
  const names = deferred.flatMap(({ tableName, names: own }) => {
    const schema = toReference(transaction, tableName).split('.').slice(0, -1)
    return own.map((name) => [...schema, quoteIdentifier(name)].join('.'))
  })
  for (const when of ['immediate', 'deferred']) {
    await transaction.raw(`set constraints ${escaped(names.join(', '))} ${when}`)
  }
}

/** How objects are read that were written; undefined where RETURNING has all that is shown, or where code of the application shows it. */
export function savedRows(view: GenericView): RowAccess | undefined {
  const { resource, action, writing } = view.plan
  const { writes, runs = action } = actionNamed(action) ?? {}
  if (!(writes === 'insert' || writes === 'update') || !resource.lookup.unique) return undefined
  const isList = takesMany(action)
  if (isList && !resource.lookup.columns.every(isSpelledOnce)) return undefined
  const shown = answerClass(view)
  const isUnseen = writing.saved.way === 'unseen'
  const isReturned =
    (isList || resource.versionTerms.length === 0 || writing.telling.way === 'update') &&
    resource.stored(runs as WritingAction, inputClassOf(view)).because === null &&
    !(isUnseen && Object.keys(serializerPlan(shown).relations).length > 0)
  return isReturned ? undefined : openRows(view, action as RowAnswer, { shown })
}

/**
 * The object, or the list of them, as it is stored; undefined for something else, and where the view does not show one of them
 * any more or its query needs instances.
 */
export async function readSavedRows(
  view: GenericView,
  access: RowAccess,
  saved: object | readonly object[],
): Promise<JsonText | undefined> {
  const { lookup, versionTerms, model } = view.plan.resource
  const objects = [saved].flat() as readonly object[]
  if (objects.length === 0 || !objects.every((object) => isRowOf(model.model, object))) return undefined
  const keys = objects.map((object) => exactValues(object, lookup.columns))
  if (keys.flat().some((value) => value === null || value === undefined)) return undefined
  try {
    if (Array.isArray(saved)) return await readList(view, access, keys)
    const [found] = (await findRows(access, lookupBy(view, keys[0] as unknown[]), versionTerms)) ?? []
    if (found && versionTerms.length > 0) noteVersion(view, found.texts)
    return found?.text
  } catch (error) {
    throw readingError(error)
  }
}

/** The objects of a list in its order: rows are told by the texts of their keys. */
async function readList(
  view: GenericView,
  access: RowAccess,
  keys: readonly KeyValues[],
): Promise<JsonText | undefined> {
  const { columns } = view.plan.resource.lookup
  const terms = columns.map(({ property }) => ({ property, descending: false }))
  const rows = (await findRows(access, lookupAny(view, keys), terms)) ?? []
  const byKey = new Map(rows.map(({ text, texts }) => [spelling(texts, columns), text.text]))
  const texts = keys.map((key) => byKey.get(spelling(key, columns)))
  return texts.includes(undefined) ? undefined : jsonList(texts, String, undefined)
}
