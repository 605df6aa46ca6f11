/** The action `destroy` (spec section 4.6). */
import type { Model } from 'objection'
import type { ViewConstructor } from './mixin.js'

/** Adds `destroy`: 204, no body. */
export function DestroyMixin<Base extends ViewConstructor>(base: Base) {
  return class extends base {
    async destroy(): Promise<void> {
      await this.performDestroy((await this.getObjectToWrite()) as Model)
    }

    /** Deletes the object. Override it for a soft delete. */
    // biome-ignore lint/suspicious/noExplicitAny: the object is the subclass's own
    async performDestroy(instance: any): Promise<unknown> {
      return (instance as Model).$query(this.trx ?? this.knex).delete()
    }
  }
}
