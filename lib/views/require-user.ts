/** Refuses anonymous callers where an answer would hold ids that only users have (wire format, section 4). */
import { AuthenticationFailed } from '../errors.js'
import { callerId } from '../ids/codec.js'
import { externalIds } from '../ids/external-ids.js'
import { serializerPlan } from '../serializers/plan.js'
import type { GenericView } from './generic-view.js'
import { read } from './properties.js'
import { answerClass } from './selection.js'

/** For lists and creates, before anything is read or written. @throws {AuthenticationFailed} */
export function requireUser(view: GenericView): void {
  const viewClass = read(view, 'viewClass')
  const hasModel = read(viewClass, 'model') || read(viewClass, 'queryset')
  const ids = hasModel ? externalIds(read(viewClass, 'modelClass').call(viewClass)) : undefined
  const own = read(view, 'getSerializerClass').call(view)
  const shown = answerClass(view)
  const needsUser = serializerPlan(own).needsUser || (shown !== own && serializerPlan(shown).needsUser)
  if (ids?.perUser !== true && !needsUser) return
  if (callerId({ user: read(view, 'ctx').state['user'] }) === undefined) throw new AuthenticationFailed()
}
