/** The action `create` (spec section 4.6). */
import type { Serializer } from '../../serializers/serializer.js'
import { locationOf } from '../location.js'
import type { ViewConstructor } from './mixin.js'

/** Adds `create`: 201 with the object as it was stored, and its `Location`. */
export function CreateMixin<Base extends ViewConstructor>(base: Base) {
  return class extends base {
    async create(): Promise<unknown> {
      const serializer = this.getInputSerializer()
      await serializer.isValid({ raiseException: true })
      await this.performCreate(serializer)
      const { ctx } = this
      const location = locationOf(this, serializer.obj)
      if (location !== undefined) ctx.set('Location', location)
      ctx.status = 201
      return serializer.data
    }

    /** Stores a new object. Override it to add values: `return serializer.save({ owner_id: this.ctx.state.user.id })`. */
    // biome-ignore lint/suspicious/noExplicitAny: the serializer is the subclass's own
    async performCreate(serializer: Serializer<any>): Promise<unknown> {
      return serializer.save()
    }
  }
}
