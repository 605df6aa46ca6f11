/** Refuses anonymous callers where an answer would hold ids that only users have (wire format, section 4). */

import { callerId } from '../../ids/codec.js'
import { AuthenticationFailed, NotFound } from '../../kernel/errors.js'
import type { SerializerClass } from '../../serializers/contract.js'
import type { GenericView } from '../generic-view.js'
import { narrowed } from '../steps/selection.js'

interface Answer {
  readonly own: SerializerClass
  readonly shown: SerializerClass
}

function answerOf(view: GenericView): Answer {
  const own = view.getSerializerClass()
  return { own, shown: narrowed(view, own) }
}

/**
 * Refuses an anonymous caller of a list or a create whose answer is for known users, before anything is read or written.
 * @param answer the view's serializer class, and the part of it that the answer shows
 * @throws {AuthenticationFailed}
 */
export function requireUser(view: GenericView, { own, shown }: Answer = answerOf(view)): void {
  const { resource } = view
  const needsUser = resource.answers(own).needsUser || (shown !== own && resource.answers(shown).needsUser)
  if ((needsUser || resource.namesPerUser) && isAnonymous(view)) throw new AuthenticationFailed()
}

/** To an anonymous caller there is no object that has its id for users only, whatever the path names it by. @throws NotFound */
export function requireOwner(view: GenericView): void {
  if (view.resource.namesPerUser && isAnonymous(view)) throw new NotFound()
}

function isAnonymous(view: GenericView): boolean {
  return callerId({ user: view.ctx.state['user'] }) === undefined
}
