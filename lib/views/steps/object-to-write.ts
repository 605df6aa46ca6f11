/** Finds the object that a path names: to show it, or to write it, held until the request's transaction ends. */

import type { Model } from 'objection'
import { ROW_VERSION } from '../../caching/cache-response.js'
import { keyText } from '../../fields/object-key.js'
import { isSafeMethod } from '../../http/context.js'
import { ConfigurationError, Conflict, NotFound } from '../../kernel/errors.js'
import { boundKnex, describeModel } from '../../models/describe-model.js'
import { exactKey } from '../../models/exact-key.js'
import { standardValues } from '../../models/exact-types.js'
import { keyColumns } from '../../models/model-description.js'
import { isRowOf } from '../../models/one-table.js'
import { isHeld } from '../../queryset/held-rows.js'
import { spelling } from '../../queryset/key-rows.js'
import type { ObjectLookup } from '../../rows/find-rows.js'
import { writeLogOf } from '../../serializers/write-log.js'
import { foundObject, type GenericView } from '../generic-view.js'
import { refusesLocks, transactionOf } from '../request/in-view-transaction.js'
import { applyBody } from './apply-body.js'
import { checkRowWrite } from './check-row-write.js'
import { checkConditions, noteVersion, readNewVersion } from './concurrency.js'
import { rememberMark } from './delete-softly.js'
import { allowedLock, CHANGED, holdObjects, readObjects, readVersioned, unheldMark } from './hold-objects.js'
import { holdRow } from './hold-rows.js'
import { lookedUp, lookupOf } from './read-object.js'

/** How often an application's own `getObject()` may choose another row while one is waited for. */
const MOST_CHOICES = 3

/** @see GenericAPIView.getObjectToWrite */
// biome-ignore lint/suspicious/noExplicitAny: an object of the view's own model
export async function getObjectToWrite(view: GenericView): Promise<any> {
  checkTransaction(view)
  view.holds = true
  try {
    const found = await foundObject(view)
    const object = view.plan.resource.overrides.has('getObject') ? await holdChosen(view, found) : found
    // a lookup by a column that is not unique has read no version
    if (view.plan.viewClass.concurrency !== null && ROW_VERSION.get(view.ctx) === undefined)
      await readNewVersion(view, object)
    await checkConditions(view, object)
    await checkRowWrite(view, [object])
    await writeLogOf(transactionOf(view))?.keep([object as Model])
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
  // without a database there is no transaction, whatever else is said of it
  if (!view.knex) boundKnex(viewClass.modelClass())
  throw new ConfigurationError(
    `${where} holds the row until a transaction ends, and there is none; leave static atomic as it is (true), ` +
      'or set this.trx to a transaction of your own first',
  )
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

/**
 * Holds the row of an object that an application's own `getObject()` has chosen, and has it choose again: the row may have
 * gone to somebody else while it was waited for.
 */
async function holdChosen(view: GenericView, chosen: object): Promise<object> {
  const model = view.plan.viewClass.modelClass()
  const description = describeModel(model)
  const key = keyColumns(description)
  let object = chosen
  let held: string | undefined
  for (let choice = 0; choice < MOST_CHOICES; choice++) {
    // an object of something else
    if (!isRowOf(model, object)) return object
    const own = object as Model
    if (isHeld(own, transactionOf(view)) || held === keyOf(own) || !description.lockable) return object
    if (key.length < description.primaryKey.length || exactKey(own) == null) return object
    const values = [exactKey(own)].flat()
    const texts = refusesLocks(view) ? undefined : await allowedLock(holdRow(view, key, values))
    const mark = texts ? undefined : await unheldMark(view, key, values)
    if (texts) noteVersion(view, texts)
    else if (mark === undefined && refusesLocks(view)) return object
    else if (mark === undefined) throw new NotFound()
    held = keyOf(own)
    object = await foundObject(view)
    if (mark !== undefined) rememberMark(object, mark)
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
  const shown = standardValues(object, key.columns)
  return key.columns.every((column, index) => {
    const held = shown[index]
    if (!COMPARABLE.has(column.type) || !KEY.test(String(held))) return true
    return keyText(column, held).toLowerCase() === keyText(column, values[index]).toLowerCase()
  })
}

const COMPARABLE = new Set(['int2', 'int4', 'int8', 'uuid'])
const KEY = /^(?:-?\d+|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/i
