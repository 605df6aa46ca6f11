/** The action `retrieve` (spec section 4.6). */
import { markStandard } from '../standard.js'
import type { ViewConstructor } from './mixin.js'

/** Adds `retrieve`: one object, after its object permissions. */
export function RetrieveMixin<Base extends ViewConstructor>(base: Base) {
  const mixed = class extends base {
    retrieve(): Promise<unknown> {
      return this.getDetail()
    }
  }
  markStandard(mixed.prototype, 'retrieve')
  return mixed
}
