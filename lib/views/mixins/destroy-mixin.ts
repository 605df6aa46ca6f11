/** The action `destroy` (spec section 4.6). */

import type { Model } from 'objection'
import { described } from '../../declarations.js'
import { NotFound } from '../../errors.js'
import { byExactKey } from '../../models/exact-key.js'
import { serializerPlan } from '../../serializers/plan.js'
import { dropUploads } from '../../serializers/store-uploads.js'
import { markStandard } from '../standard.js'
import type { ViewConstructor } from './mixin.js'

/** Adds `destroy`: 204, no body. */
export function DestroyMixin<Base extends ViewConstructor>(base: Base) {
  const mixed = class extends base {
    async destroy(): Promise<void> {
      await this.performDestroy((await this.getObjectToWrite()) as Model)
    }

    /**
     * Deletes the object, and its uploads once that is committed. Override it for a soft delete, also where a
     * trigger keeps the row.
     * @throws NotFound no row was deleted: another request has done so, or the database does not let this one
     */
    // biome-ignore lint/suspicious/noExplicitAny: the object is the subclass's own
    async performDestroy(instance: any): Promise<unknown> {
      const knex = this.trx ?? this.knex
      const object = instance as Model
      const deleted: unknown = await byExactKey(object, () => object.$query(knex).delete())
      if (deleted === 0) throw new NotFound()
      const { serializerClass } = this.viewClass
      if (serializerClass) dropUploads(serializerPlan(serializerClass), [object], knex)
      return deleted
    }
  }
  markStandard(mixed.prototype, 'destroy', 'performDestroy')
  return described(mixed)
}
