/** The rows of objects that a patch changes: as they are once nobody else can change them. */
import type { Model } from 'objection'
import { Conflict } from '../kernel/errors.js'
import { describeModel } from '../models/describe-model.js'
import { isModelClass, modelOf } from '../models/objection.js'
import type { AnySerializer } from './contract.js'
import { lockRows } from './lock-rows.js'
import { rowKey } from './row-keys.js'
import { knexOf } from './write-rows.js'

/**
 * The row of an object, read anew and held until the transaction ends; the object itself where its table cannot be locked.
 * @throws Conflict it is gone
 */
export async function freshRow(object: object, serializer: AnySerializer): Promise<object> {
  const model: unknown = modelOf(object)
  if (!isModelClass(model) || !describeModel(model).lockable) return object
  const rows = await lockRows([object as Model], knexOf(serializer))
  const row = rows.get(rowKey(model, object))
  if (!row) throw new Conflict('The related object was changed by another request.')
  return row
}
