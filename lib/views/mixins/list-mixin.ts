/** The action `list`. */
import { described } from '../../kernel/declarations.js'
import { markBuiltIn } from '../built-in.js'
import type { ViewConstructor } from './mixin.js'

/** Adds `list`: filtered, ordered, paginated if a pagination class is set. */
export function ListMixin<Base extends ViewConstructor>(base: Base) {
  const mixed = class extends base {
    /** Answers GET of the collection: what `getList()` makes. */
    list(): Promise<unknown> {
      return this.getList()
    }
  }
  markBuiltIn(mixed.prototype)
  return described(mixed)
}
