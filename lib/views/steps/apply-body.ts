/** Patch documents: what they change of an object that is held becomes the body that a plain PATCH would have had. */

import { ConfigurationError } from '../../kernel/errors.js'
import type { PatchFormat } from '../../parsers/parser.js'
import type { AnySerializer } from '../../serializers/contract.js'
import { mergedInput } from '../../serializers/merged-input.js'
import type { GenericView } from '../generic-view.js'

/**
 * Puts the changes in the place of the document, in `view.body` and `ctx.request.body`: hooks, validation and messages are
 * then those of a plain PATCH.
 */
export async function applyBody(view: GenericView, _format: PatchFormat, object: object): Promise<void> {
  const serializer = view.getSerializer({ obj: object as never, partial: true }) as AnySerializer
  // a queryset of the application's may show less of its columns than there is
  const isHeld = view.resource.isWholeTable
  const data = await mergedInput(view.body.data, { serializer, object, isHeld })
  view.body = { data, textual: false }
  Object.assign(view.ctx.request, { body: data })
}

/** A patch document must not pass for plain data. */
export function notApplied({ viewClass, action }: GenericView): ConfigurationError {
  return new ConfigurationError(
    `${viewClass.name}.${action}(): a patch document is applied by getObjectToWrite(); call it before getInputSerializer()`,
  )
}
