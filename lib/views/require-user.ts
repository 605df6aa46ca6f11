/** Refuses anonymous callers where an answer would hold ids that only users have (wire format, section 4). */
import { AuthenticationFailed } from '../errors.js'
import { callerId } from '../ids/codec.js'
import { externalIds } from '../ids/external-ids.js'
import { serializerPlan } from '../serializers/plan.js'
import type { GenericView } from './generic-view.js'
import { answerClass } from './selection.js'

/** For lists and creates, before anything is read or written. @throws {AuthenticationFailed} */
export function requireUser(view: GenericView): void {
  const { viewClass } = view
  const ids = viewClass.model || viewClass.queryset ? externalIds(viewClass.modelClass()) : undefined
  const shown = [view.getSerializerClass(), answerClass(view)]
  if (ids?.perUser !== true && !shown.some((serializer) => serializerPlan(serializer).needsUser)) return
  if (callerId({ user: view.ctx.state['user'] }) === undefined) throw new AuthenticationFailed()
}
