/** Refuses anonymous callers where an answer would hold ids that only users have (wire format, section 4). */
import { AuthenticationFailed } from '../errors.js'
import { callerId } from '../ids/codec.js'
import { externalIds } from '../ids/external-ids.js'
import type { SerializerClass } from '../serializers/contract.js'
import { serializerPlan } from '../serializers/plan.js'
import type { GenericView } from './generic-view.js'
import { read } from './properties.js'
import { narrowed } from './selection.js'

interface Answer {
  readonly own: SerializerClass
  readonly shown: SerializerClass
}

function answerOf(view: GenericView): Answer {
  const own = read(view, 'getSerializerClass').call(view)
  return { own, shown: narrowed(view, own) }
}

/**
 * For lists and creates, before anything is read or written.
 * @param answer the view's serializer class, and the part of it that the answer shows
 * @throws {AuthenticationFailed}
 */
export function requireUser(view: GenericView, { own, shown }: Answer = answerOf(view)): void {
  const viewClass = read(view, 'viewClass')
  const hasModel = read(viewClass, 'model') || read(viewClass, 'queryset')
  const ids = hasModel ? externalIds(read(viewClass, 'modelClass').call(viewClass)) : undefined
  const needsUser = serializerPlan(own).needsUser || (shown !== own && serializerPlan(shown).needsUser)
  if (ids?.perUser !== true && !needsUser) return
  if (callerId({ user: read(view, 'ctx').state['user'] }) === undefined) throw new AuthenticationFailed()
}
