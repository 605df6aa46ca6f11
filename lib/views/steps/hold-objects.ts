/**
 * Holds the objects that a path or a list names, as far as the database lets the caller. Rights on the table, and its policies
 * for updates, may keep rows from locks that the caller may see, or delete.
 */

import type { Model } from 'objection'
import type { KeyValues } from '../../fields/object-key.js'
import { Conflict, NotFound, PermissionDenied } from '../../kernel/errors.js'
import { describeModel } from '../../models/describe-model.js'
import { exactValues } from '../../models/exact-types.js'
import type { Column } from '../../models/model-description.js'
import { mayKeep } from '../../models/model-traits.js'
import { INSUFFICIENT_PRIVILEGE, sqlStateOf } from '../../postgres/database-errors.js'
import { readExactly } from '../../queryset/read-exactly.js'
import type { ObjectLookup } from '../../rows/find-rows.js'
import { takesMany } from '../actions.js'
import { type GenericView, knexOf } from '../generic-view.js'
import { LockRefused, refusesLocks } from '../request/in-view-transaction.js'
import { noteVersion, readVersionOf } from './concurrency.js'
import { markOf, rememberMark } from './delete-softly.js'
import { holdRows, NONE } from './hold-rows.js'
import { lookupBy, lookupOf } from './read-object.js'

export const CHANGED = 'Object was changed by another request.'

export async function readVersioned(view: GenericView, lookup: ObjectLookup): Promise<readonly Model[]> {
  // of a list there is no version
  if (!takesMany(view.plan.action)) await readVersionOf(view, lookup)
  return readObjects(lookup)
}

export async function readObjects(lookup: ObjectLookup): Promise<readonly Model[]> {
  const query = lookup.query()
  if (!lookup.key.unique) void query.limit(1)
  return (await readExactly(query)) as Model[]
}

/**
 * The objects of a lookup, held until the request's transaction ends as far as the caller may hold them; of one whose caller may
 * not, those that can be deleted, where that is what the request is for.
 * @param keys those of a list
 * @throws PermissionDenied the caller sees one of them, and the database does not let it be written
 */
export async function holdObjects(
  view: GenericView,
  lookup: ObjectLookup,
  keys?: readonly KeyValues[],
): Promise<readonly Model[]> {
  const { writing, resource } = view.plan
  const { lookup: key, model, versionTerms } = resource
  const isRefused = refusesLocks(view)
  if (!isRefused && writing.holding.way === 'none') return readVersioned(view, lookup)
  const wanted = { key, keys: keys ?? [lookup.values], terms: keys || !key.unique ? [] : versionTerms }
  const { objects, count, texts } = isRefused ? NONE : await allowedLock(holdRows(view, wanted))
  if (texts && texts.length > 0 && !keys) noteVersion(view, texts)
  // the table's policies for updates hide rows from locks, too
  if (!isRefused && !(model.secured && count < wanted.keys.length)) return objects
  if (deletesRow(view)) return markObjects(view, wanted.keys)
  const seen = await readObjects(lookup)
  if (seen.length > count) throw new PermissionDenied()
  return seen
}

/** What a lock of rows has found. @throws {LockRefused} the caller may not lock them */
export function allowedLock<Held>(locked: Promise<Held>): Promise<Held> {
  return locked.catch((error: unknown) => {
    throw sqlStateOf(error) === INSUFFICIENT_PRIVILEGE ? new LockRefused(error) : error
  })
}

async function markObjects(view: GenericView, keys: readonly KeyValues[]): Promise<readonly Model[]> {
  const objects: Model[] = []
  for (const values of keys) objects.push(...(await markObject(view, lookupBy(view, values))))
  return objects
}

/** True when the request deletes rows of a table that it names. */
function deletesRow(view: GenericView): boolean {
  const { action, writing } = view.plan
  return (
    (action === 'destroy' ||
      action === 'purgeDeleted' ||
      (action === 'bulkDestroy' && writing.deleting.way !== 'mark')) &&
    !view.plan.resource.overrides.has(action) &&
    !describeModel(view.plan.viewClass.modelClass()).isView
  )
}

/**
 * The object of a deletion whose row cannot be held: only a row that is still the one that was read here is deleted.
 * `xmin` is the transaction that wrote a version of a row (PostgreSQL's manual, 5.5).
 */
async function markObject(view: GenericView, lookup: ObjectLookup): Promise<readonly Model[]> {
  const mark = await markOfRow(view, lookup.key.columns, lookup.values)
  const objects = await readVersioned(view, lookup)
  if (mark !== undefined) for (const object of objects) rememberMark(object, mark)
  return objects
}

async function markOfRow(
  view: GenericView,
  key: readonly Column[],
  values: readonly unknown[],
): Promise<string | undefined> {
  const model = view.plan.viewClass.modelClass()
  const knex = knexOf(view)
  const query = knex(model.tableName).select(knex.raw('xmin::text as mark'))
  for (const [index, { column }] of key.entries()) query.where(column, values[index] as string)
  const [row] = (await query) as { mark: string }[]
  return row?.mark
}

/** The mark of a row that could not be held, where the request deletes it nevertheless. */
export async function unheldMark(
  view: GenericView,
  key: readonly Column[],
  values: readonly unknown[],
): Promise<string | undefined> {
  const isHidden = refusesLocks(view) || describeModel(view.plan.viewClass.modelClass()).secured
  return isHidden && deletesRow(view) ? markOfRow(view, key, values) : undefined
}

/**
 * Tells why the database has deleted, or marked, no row of those that a lookup names. A row that is no longer to be seen, as after
 * a trigger that marks it in place of its deletion, is deleted.
 * @throws PermissionDenied a policy, a trigger or a rule keeps it
 * @throws NotFound, Conflict another request has deleted or changed it
 */
export async function refuseKept(
  view: GenericView,
  object: Model,
  event: 'update' | 'delete',
  lookup = lookupAgain(view, object),
): Promise<void> {
  const model = describeModel(view.plan.viewClass.modelClass())
  const isKept = mayKeep(model, event)
  const mark = markOf(object)
  if (!(model.secured || isKept || mark !== undefined)) throw new NotFound()
  const [seen] = await readObjects(lookup)
  if (!seen) {
    if (isKept && event === 'delete') return
    throw new NotFound()
  }
  const [now] = mark === undefined ? [] : await markObject(view, lookup)
  throw mark === undefined || (now && markOf(now) === mark) ? new PermissionDenied() : new Conflict(CHANGED)
}

/** An object that a `getObject()` of the application's has found need not be named by a path. */
function lookupAgain(view: GenericView, object: Model): ObjectLookup {
  const { overrides, lookup } = view.plan.resource
  return overrides.has('getObject') ? lookupBy(view, exactValues(object, lookup.columns)) : lookupOf(view)
}
