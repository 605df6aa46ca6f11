/** The action `retrieve` (spec section 4.6). */
import type { ViewConstructor } from './mixin.js'

/** Adds `retrieve`: one object, after its object permissions. */
export function RetrieveMixin<Base extends ViewConstructor>(base: Base) {
  return class extends base {
    async retrieve(): Promise<unknown> {
      return this.getSerializer({ obj: await this.getObject() }).data
    }
  }
}
