/** The action `destroy` (spec section 4.6). */
import type { Model } from 'objection'
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

    /** Deletes the object, and its uploads once that is committed. Override it for a soft delete. */
    // biome-ignore lint/suspicious/noExplicitAny: the object is the subclass's own
    async performDestroy(instance: any): Promise<unknown> {
      const knex = this.trx ?? this.knex
      const deleted = await (instance as Model).$query(knex).delete()
      const { serializerClass } = this.viewClass
      if (serializerClass) dropUploads(serializerPlan(serializerClass), [instance as Model], knex)
      return deleted
    }
  }
  markStandard(mixed.prototype, 'destroy', 'performDestroy')
  return mixed
}
