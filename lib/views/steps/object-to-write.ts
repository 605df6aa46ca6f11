/** Finds the object that a path names: to show it, or to write it, held until the request's transaction ends. */

import type { Model } from 'objection'
import { ROW_VERSION } from '../../caching/cache-response.js'
import { keyText } from '../../fields/object-key.js'
import { isSafeMethod } from '../../http/context.js'
import { type ApiError, ConfigurationError, Conflict, NotFound, PermissionDenied } from '../../kernel/errors.js'
import { describeModel } from '../../models/describe-model.js'
import { exactKey } from '../../models/exact-key.js'
import { type Column, mayKeep } from '../../models/model-description.js'
import { isModelClass, modelOf } from '../../models/objection.js'
import { INSUFFICIENT_PRIVILEGE, sqlStateOf } from '../../postgres/database-errors.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { isHeld } from '../../queryset/held-rows.js'
import { spelling } from '../../queryset/key-rows.js'
import { readExactly } from '../../queryset/read-exactly.js'
import type { ObjectLookup } from '../../rows/find-rows.js'
import type { GenericView } from '../generic-view.js'
import { LockRefused, refusesLocks } from '../request/in-view-transaction.js'
import { applyBody } from './apply-body.js'
import { checkRowWrite } from './check-row-write.js'
import { checkConditions, readNewVersion, readVersionOf, versionOf } from './concurrency.js'
import { markOf, rememberMark } from './delete-softly.js'
import { holdRow, holdRows } from './hold-rows.js'
import { lookedUp, lookupOf } from './read-object.js'

/** How often an application's own `getObject()` may choose another row while one is waited for. */
const MOST_CHOICES = 3
const CHANGED = 'Object was changed by another request.'

/** @see GenericAPIView.getObjectToWrite */
// biome-ignore lint/suspicious/noExplicitAny: an object of the view's own model
export async function getObjectToWrite(view: GenericView): Promise<any> {
  checkTransaction(view)
  view.holds = true
  try {
    const found = (await view.getObject()) as object
    const object = view.plan.resource.overrides.lookup ? await holdChosen(view, found) : found
    // a lookup by a column that is not unique has read no version
    if (view.plan.viewClass.concurrency !== null && ROW_VERSION.get(view.ctx) === undefined)
      await readNewVersion(view, object)
    checkConditions(view, object)
    await checkRowWrite(view, [object])
    const { patch } = view.body
    return patch === undefined ? object : await applyBody(view, patch, object)
  } finally {
    view.holds = false
  }
}

/** A row is held until a transaction ends. @throws {ConfigurationError} there is none */
function checkTransaction(view: GenericView): void {
  const { ctx } = view
  const { viewClass, action } = view.plan
  const where = `${viewClass.name}.${action}(): getObjectToWrite()`
  if (isSafeMethod(ctx.method)) {
    throw new ConfigurationError(
      `${where} is for requests that write; call getObject() where ${ctx.method} is answered`,
    )
  }
  if (transactionOf(view)) return
  throw new ConfigurationError(
    `${where} holds the row until a transaction ends, and there is none; leave static atomic as it is (true), ` +
      'or set this.trx to a transaction of your own first',
  )
}

function transactionOf({ trx, knex }: GenericView): Queryable | undefined {
  return trx ?? (knex?.isTransaction ? knex : undefined)
}

/**
 * The object that the path names. `getObjectToWrite()` has its row held, and so has any request that writes where the view
 * distinguishes versions of rows.
 * @throws NotFound there is none, or not for this caller
 */
export async function findObject(view: GenericView): Promise<Model> {
  const lookup = lookupOf(view)
  const isVersioned = view.plan.viewClass.concurrency !== null
  const isHeld = view.holds || (isVersioned && transactionOf(view) !== undefined && !isSafeMethod(view.ctx.method))
  const found = await lookedUp(isHeld ? holdObjects(view, lookup) : readVersioned(view, lookup))
  // an application's own query may find more
  const object = view.plan.resource.isWholeTable ? found[0] : found.find((one) => isNamed(one, lookup))
  if (!object) throw new NotFound()
  return object
}

/** True where a row that the caller sees has the key on the path. */
export async function isFound(view: GenericView): Promise<boolean> {
  const lookup = lookupOf(view)
  const found = await lookedUp(readObjects(lookup))
  return found.some((one) => isNamed(one, lookup))
}

async function readVersioned(view: GenericView, lookup: ObjectLookup): Promise<readonly Model[]> {
  await readVersionOf(view, lookup)
  return readObjects(lookup)
}

async function readObjects(lookup: ObjectLookup): Promise<readonly Model[]> {
  const query = lookup.query()
  if (!lookup.key.unique) void query.limit(1)
  return (await readExactly(query)) as Model[]
}

/** @throws PermissionDenied the caller sees the row, and the database does not let it be written */
async function holdObjects(view: GenericView, lookup: ObjectLookup): Promise<readonly Model[]> {
  const { key, values } = lookup
  const { writing, resource } = view.plan
  if (refusesLocks(view)) return unheldObjects(view, lookup)
  if (writing.holding.way === 'none') return readVersioned(view, lookup)
  const terms = key.unique ? resource.versionTerms : []
  const { objects, count, texts } = await holdRows(view, { key, keys: [values], terms }).catch((error: unknown) => {
    throw sqlStateOf(error) === INSUFFICIENT_PRIVILEGE ? new LockRefused(error) : error
  })
  if (texts && texts.length > 0) ROW_VERSION.set(view.ctx, versionOf(view, texts))
  if (count > 0 || !resource.model.secured) return objects
  // the table's policies for updates hide rows from locks, too
  return unheldObjects(view, lookup)
}

/**
 * The object of a request whose caller may not hold rows: it can be deleted, where that is what the request is for.
 * @throws PermissionDenied the caller sees the row, and the database does not let it be written
 */
async function unheldObjects(view: GenericView, lookup: ObjectLookup): Promise<readonly Model[]> {
  if (deletesRow(view)) return markObject(view, lookup)
  const seen = await readObjects(lookup)
  if (seen.length > 0) throw new PermissionDenied()
  return seen
}

/** True when the request deletes one row of a table. */
function deletesRow(view: GenericView): boolean {
  return (
    (view.plan.action === 'destroy' || view.plan.action === 'purgeDeleted') &&
    !view.plan.resource.overrides.has(view.plan.action) &&
    !describeModel(view.plan.viewClass.modelClass()).isView
  )
}

/**
 * The object of a deletion whose row cannot be held: only a row that is still the one that was read here is deleted.
 * `xmin` is the transaction that wrote a version of a row (PostgreSQL's manual, 5.5).
 */
async function markObject(view: GenericView, lookup: ObjectLookup): Promise<readonly Model[]> {
  const model = view.plan.viewClass.modelClass()
  const knex = (view.trx ?? view.knex ?? model.knex()) as Queryable
  const query = knex(model.tableName).select(knex.raw('xmin::text as mark'))
  for (const [index, { column }] of lookup.key.columns.entries()) query.where(column, lookup.values[index] as string)
  const rows = (await query) as { mark: string }[]
  const objects = await readVersioned(view, lookup)
  const [row] = rows
  if (row) for (const object of objects) rememberMark(object, row.mark)
  return objects
}

/**
 * Why the database has deleted, or marked, no row of those that the path names: a policy, a trigger or a rule keeps it, or it
 * is gone. Undefined where it is no longer to be seen, as after a trigger that marks a row in place of its deletion.
 */
export async function whyKept(
  view: GenericView,
  object: Model,
  event: 'update' | 'delete',
): Promise<ApiError | undefined> {
  const model = describeModel(view.plan.viewClass.modelClass())
  const isKept = mayKeep(model, event)
  const mark = markOf(object)
  if (!(model.secured || isKept || mark !== undefined)) return new NotFound()
  const lookup = lookupOf(view)
  const [seen] = await readObjects(lookup)
  if (!seen) return isKept && event === 'delete' ? undefined : new NotFound()
  if (mark === undefined) return new PermissionDenied()
  const [now] = await markObject(view, lookup)
  return now && markOf(now) === mark ? new PermissionDenied() : new Conflict(CHANGED)
}

/**
 * Holds the row of an object that an application's own `getObject()` has chosen, and has it choose again: the row may have
 * gone to somebody else while it was waited for.
 */
async function holdChosen(view: GenericView, chosen: object): Promise<object> {
  const model = view.plan.viewClass.modelClass()
  const { columns, primaryKey, lockable } = describeModel(model)
  const key = primaryKey.map((property) => columns.get(property))
  let object = chosen
  let held: string | undefined
  for (let choice = 0; choice < MOST_CHOICES; choice++) {
    // an object of something else
    const chosenModel: unknown = modelOf(object)
    if (!isModelClass(chosenModel) || chosenModel.tableName !== model.tableName) return object
    const own = object as Model
    if (isHeld(own, transactionOf(view)) || held === keyOf(own) || refusesLocks(view) || !lockable) return object
    if (!key.every((column): column is Column => column !== undefined) || exactKey(own) == null) return object
    const texts = await holdRow(view, key, [exactKey(own)].flat())
    if (!texts) throw new NotFound()
    ROW_VERSION.set(view.ctx, versionOf(view, texts))
    held = keyOf(own)
    object = (await view.getObject()) as object
  }
  throw new Conflict(CHANGED)
}

function keyOf(object: Model): string {
  return spelling([exactKey(object)].flat(), [])
}

/**
 * Whether the row that was found is the one that the path names, as far as values alone can show: strings may be equal in
 * ways that only the database knows, and a model may show its keys in a form of its own.
 */
function isNamed(object: Model, { key, values }: ObjectLookup): boolean {
  return key.columns.every((column, index) => {
    const held = (object as Model & Record<string, unknown>)[column.property]
    if (!COMPARABLE.has(column.type) || !KEY.test(String(held))) return true
    return keyText(column, held).toLowerCase() === keyText(column, values[index]).toLowerCase()
  })
}

const COMPARABLE = new Set(['int2', 'int4', 'int8', 'uuid'])
const KEY = /^(?:-?\d+|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/i
