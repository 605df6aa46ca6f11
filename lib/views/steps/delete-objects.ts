/** Deletes the rows of objects, or marks them as deleted where the class says so, and takes marks away: of one that a path names, or of those of a list. */

import type { Model } from 'objection'
import { NotFound, PermissionDenied } from '../../kernel/errors.js'
import { describeModel } from '../../models/describe-model.js'
import { byExactKey } from '../../models/exact-key.js'
import { exactValues } from '../../models/exact-types.js'
import { mayKeep } from '../../models/model-traits.js'
import { type AnyQueryBuilder, modelOf } from '../../models/objection.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { deleteOne, namesRow, severalRows } from '../../queryset/one-row.js'
import { ownRow, ownRows } from '../../queryset/own-row.js'
import { whereRows } from '../../queryset/where-keys.js'
import { serializerPlan } from '../../serializers/plan.js'
import { dropUploads } from '../../serializers/store-uploads.js'
import type { GenericView } from '../generic-view.js'
import { knownInputClass, uploadClassesOf } from '../input-class.js'
import { deleteAsRead, markAllDeleted, markDeleted, markOf, takeMark } from './delete-softly.js'
import { refuseKept } from './hold-objects.js'
import { lookupBy } from './read-object.js'
import { visibleQuery } from './visible-query.js'

/** @returns how many rows were deleted, or what the model's own hooks make of it */
function deleteOrMark({ plan }: GenericView, object: Model, knex: Queryable | undefined): Promise<unknown> {
  const isPlain = plan.writing.deleting.way === 'statement' && markOf(object) === undefined
  if (isPlain && knex && namesRow(object, plan.resource.model.model, knex)) return deleteOne(object, knex)
  return deleteAsRead(object, knex)
}

/** Deletes the row, and its uploads once that is committed. */
export async function deleteObject(view: GenericView, object: Model): Promise<unknown> {
  const knex = view.trx ?? view.knex
  const deleted: unknown = await deleteOrMark(view, object, knex)
  if (typeof deleted === 'number' && deleted > 1) throw severalRows(view.plan.resource.model.model)
  if (deleted === 0) await refuseKept(view, object, 'delete')
  dropFiles(view, [object])
  return deleted
}

/** Deletes the row, or marks it as deleted where the class says so. */
export async function destroyObject(view: GenericView, object: Model): Promise<unknown> {
  const { deletion } = view.resource
  if (!deletion) return deleteObject(view, object)
  const deleted = await markDeleted(view, object, deletion)
  if (deleted === 0) await refuseKept(view, object, 'update')
  return deleted
}

/** Takes away the mark of an object's row. */
export async function restoreObject(view: GenericView, object: Model): Promise<unknown> {
  const { deletion } = view.resource
  const restored = deletion && (await takeMark(view, object, deletion))
  if (restored === 0) await refuseKept(view, object, 'update')
  return restored
}

/**
 * Deletes objects by one statement, or one by one where the model has hooks for each; their uploads go with them.
 * @throws PermissionDenied a policy, a trigger or a rule of the database keeps one of them, where it is still to be seen
 * @throws NotFound one of them is gone
 */
export async function deleteObjects(view: GenericView, objects: readonly Model[]): Promise<void> {
  const [first] = objects
  if (!first) return
  const knex = view.trx ?? view.knex
  const { deletion } = view.plan.resource
  if (deletion) {
    if (!(await markAllDeleted(view, objects, deletion))) await checkGone(view, objects, 'update')
    return
  }
  if (view.plan.writing.deleting.way === 'model' || objects.some((object) => markOf(object) !== undefined)) {
    for (const object of objects) {
      const deleted = await deleteAsRead(object, knex)
      // one that is gone went with another, as a foreign key of the database says
      if (deleted === 0 && (await byExactKey(object, () => ownRow(object, knex).resultSize())) > 0) {
        await checkGone(view, [object], 'delete')
      }
    }
  } else {
    const deleted: unknown = await whereRows(ownRows(modelOf(first), knex).delete() as AnyQueryBuilder, objects)
    if (typeof deleted === 'number' && deleted < objects.length) await checkGone(view, objects, 'delete')
  }
  dropFiles(view, objects)
}

/** Removes the files of deleted objects, by whatever serializer of the view they came. */
function dropFiles(view: GenericView, objects: readonly Model[]): void {
  const taking = knownInputClass(view)
  const classes = [...(taking ? [taking] : []), ...uploadClassesOf(view.plan.viewClass)]
  dropUploads(classes.map(serializerPlan), objects, { view, knex: view.trx ?? view.knex })
}

/**
 * What a trigger or a rule marks in place of its deletion is deleted, once nobody sees it.
 * @throws PermissionDenied, NotFound, Conflict
 */
async function checkGone(view: GenericView, objects: readonly Model[], event: 'update' | 'delete'): Promise<void> {
  const [object] = objects as [Model]
  if (markOf(object) !== undefined) {
    await refuseKept(view, object, event, lookupBy(view, exactValues(object, view.plan.resource.lookup.columns)))
    return
  }
  const model = describeModel(modelOf(object))
  const isKept = mayKeep(model, event)
  const asks = isKept || model.secured
  if (asks && (await whereRows(visibleQuery(view), objects).resultSize()) > 0) throw new PermissionDenied()
  if (!isKept || event === 'update') throw new NotFound()
}
