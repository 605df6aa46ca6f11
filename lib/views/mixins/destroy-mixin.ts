/** The action `destroy`. */

import type { Model } from 'objection'
import { described } from '../../kernel/declarations.js'
import { byExactKey } from '../../models/exact-key.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { deleteOne, deletesPlainly } from '../../queryset/one-row.js'
import { ownRow } from '../../queryset/own-row.js'
import { serializerPlan } from '../../serializers/plan.js'
import { dropUploads } from '../../serializers/store-uploads.js'
import { markBuiltIn } from '../built-in.js'
import type { GenericView } from '../generic-view.js'
import { holdingRows } from '../request/in-view-transaction.js'
import { whyKept } from '../steps/object-to-write.js'
import type { ViewConstructor } from './mixin.js'

/** @returns how many rows were deleted, or what the model's own hooks make of it */
function deleteRow({ rowMark }: GenericView, object: Model, knex: Queryable | undefined): Promise<unknown> {
  if (rowMark === undefined && knex && deletesPlainly(object, knex)) return deleteOne(object, knex)
  return byExactKey(object, () => {
    const query = ownRow(object, knex).delete()
    return rowMark === undefined ? query : query.whereRaw('xmin::text = ?', [rowMark])
  })
}

/** Adds `destroy`: 204, no body. */
export function DestroyMixin<Base extends ViewConstructor>(base: Base) {
  const mixed = class extends base {
    destroy(): Promise<void> {
      return holdingRows(this, async () => {
        await this.performDestroy((await this.getObjectToWrite()) as Model)
      })
    }

    /**
     * Deletes the object, and its uploads once that is committed. Override it for a soft delete, also where a
     * trigger keeps the row.
     * @throws PermissionDenied no row was deleted: the database keeps it, by a policy or a trigger
     * @throws NotFound another request has deleted it, or given it to somebody else
     */
    // biome-ignore lint/suspicious/noExplicitAny: the object is the subclass's own
    async performDestroy(instance: any): Promise<unknown> {
      const knex = this.trx ?? this.knex
      const object = instance as Model
      const deleted: unknown = await deleteRow(this, object, knex)
      if (deleted === 0) throw await whyKept(this)
      const { serializerClass } = this.viewClass
      if (serializerClass) dropUploads(serializerPlan(serializerClass), [object], knex)
      return deleted
    }
  }
  markBuiltIn(mixed.prototype)
  return described(mixed)
}
