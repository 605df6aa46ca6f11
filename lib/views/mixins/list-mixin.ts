/** The action `list` (spec section 4.6). */
import type { ViewConstructor } from './mixin.js'

/** Adds `list`: filtered, ordered, paginated if a pagination class is set. */
export function ListMixin<Base extends ViewConstructor>(base: Base) {
  return class extends base {
    async list(): Promise<unknown> {
      return this.getList()
    }
  }
}
