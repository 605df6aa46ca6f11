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
  const rows = await readAnew(objects, serializer)
  return rows.map((row) => {
    if (!row) throw moved()
    return row
  })
}

/** The same of rows that were just written: who looks for one that is not found any more tells of it. */
export async function freshWritten(rows: readonly Model[], serializer: AnySerializer): Promise<readonly object[]> {
  const found = await readAnew(rows, serializer)
  return rows.map((row, index) => found[index] ?? row)
}

async function readAnew(
  objects: readonly object[],
  serializer: AnySerializer,
): Promise<readonly (object | undefined)[]> {
  const [first] = objects
  const model: unknown = first && modelOf(first)
  if (!isModelClass(model) || !describeModel(model).lockable) return objects
  return lockRows(objects as readonly Model[], serializerKnex(serializer))
}

/** The row of one object. @see freshRows */
export async function freshRow(object: object, serializer: AnySerializer): Promise<object> {
  const [row] = await freshRows([object], serializer)
  return row as object
}
