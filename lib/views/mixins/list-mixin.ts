/** The action `list`. */
import { described } from '../../kernel/declarations.js'
import { read } from '../../kernel/properties.js'
import type { GenericAPIView } from '../generic-api-view.js'
import { markStandard } from '../standard.js'
import type { ViewConstructor } from './mixin.js'

/** Adds `list`: filtered, ordered, paginated if a pagination class is set. */
export function ListMixin<Base extends ViewConstructor>(base: Base) {
  const mixed = class extends base {
    list(): Promise<unknown> {
      return read(this as GenericAPIView, 'getList').call(this)
    }
  }
  markStandard(mixed.prototype, 'list')
  return described(mixed)
}
