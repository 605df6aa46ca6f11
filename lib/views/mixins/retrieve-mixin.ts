/** The action `retrieve`. */
import { described } from '../../kernel/declarations.js'
import { markBuiltIn } from '../built-in.js'
import type { ViewConstructor } from './mixin.js'

/** Adds `retrieve`: one object, after its object permissions. */
export function RetrieveMixin<Base extends ViewConstructor>(base: Base) {
  const mixed = class extends base {
    /** Answers GET of an object: what `getDetail()` makes. */
    retrieve(): Promise<unknown> {
      return this.getDetail()
    }
  }
  markBuiltIn(mixed.prototype)
  return described(mixed)
}
