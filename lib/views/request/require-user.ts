/** Refuses anonymous callers where an answer would hold ids that only users have (wire format, section 4). */

import { callerId } from '../../ids/codec.js'
import { AuthenticationFailed, NotFound } from '../../kernel/errors.js'
import type { GenericView } from '../generic-view.js'

/** For lists and creates, before anything is read or written, where `resource.needsUser()`. @throws {AuthenticationFailed} */
export function requireUser(view: GenericView): void {
  if (isAnonymous(view)) throw new AuthenticationFailed()
}

/** To an anonymous caller there is no object that has its id for users only, whatever the path names it by. For those of `resource.namesPerUser`. @throws NotFound */
export function requireOwner(view: GenericView): void {
  if (isAnonymous(view)) throw new NotFound()
}

function isAnonymous(view: GenericView): boolean {
  return callerId({ user: view.ctx.state['user'] }) === undefined
}
