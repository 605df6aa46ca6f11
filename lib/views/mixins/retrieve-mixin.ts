/** The action `retrieve`. */
import { described } from '../../kernel/declarations.js'
import { read } from '../../kernel/properties.js'
import type { GenericAPIView } from '../generic-api-view.js'
import { markStandard } from '../standard.js'
import type { ViewConstructor } from './mixin.js'

/** Adds `retrieve`: one object, after its object permissions. */
export function RetrieveMixin<Base extends ViewConstructor>(base: Base) {
  const mixed = class extends base {
    retrieve(): Promise<unknown> {
      return read(this as GenericAPIView, 'getDetail').call(this)
    }
  }
  markStandard(mixed.prototype, 'retrieve')
  return described(mixed)
}
