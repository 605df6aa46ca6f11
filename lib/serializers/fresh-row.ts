/** The rows of objects that a patch changes: as they are once nobody else can change them. */
import type { Model } from 'objection'
import { describeModel } from '../models/describe-model.js'
import { isModelClass, modelOf } from '../models/objection.js'
import type { AnySerializer } from './contract.js'
import { lockRows, moved } from './lock-rows.js'
import { serializerKnex } from './write-rows.js'

/**
 * The rows of objects of one model, read anew and held until the transaction ends; the objects themselves where their table
 * cannot be locked.
 * @throws Conflict one of them is gone
 */
export async function freshRows(objects: readonly object[], serializer: AnySerializer): Promise<readonly object[]> {
  const [first] = objects
  const model: unknown = first && modelOf(first)
  if (!isModelClass(model) || !describeModel(model).lockable) return objects
  const rows = await lockRows(objects as readonly Model[], serializerKnex(serializer))
  return rows.map((row) => {
    if (!row) throw moved()
    return row
  })
}

/** The row of one object. @see freshRows */
export async function freshRow(object: object, serializer: AnySerializer): Promise<object> {
  const [row] = await freshRows([object], serializer)
  return row as object
}
