/** Serializers of bodies, with the values that the path decides. */
import type { SerializerOptions } from '../../serializers/contract.js'
import type { Serializer } from '../../serializers/serializer.js'
import { type GenericView, knownClassOf, serializerContextOf, serializerOf } from '../generic-view.js'
import { forcedValues } from '../request/parents.js'

/** A serializer of the request's body, or of an object as bodies have it. */
export function inputSerializerOf(view: GenericView, options: SerializerOptions): Serializer {
  const { inputSerializer, parents, viewClass } = view.plan
  const own = inputSerializer ?? viewClass.inputSerializerClass
  // an application's own getSerializer() may know nothing of parents
  const given = parents.length === 0 ? options : { forced: forcedValues(view), ...options }
  if (!own || own === knownClassOf(view)) return serializerOf(view, 'getSerializer', given)
  return new own({ context: serializerContextOf(view), ...given }) as Serializer
}
