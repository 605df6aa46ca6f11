/** Refuses parameters of the query that nothing of a view reads: for `strictParams`, and where a client prefers so. */

import { queryOf } from '../../http/context.js'
import { ValidationError } from '../../kernel/errors.js'
import { listParameters } from '../action-parameters.js'
import { actionNamed, showsFigures } from '../actions.js'
import type { GenericView } from '../generic-view.js'
import { selectionParameters } from './selection.js'

/** A name that is shown again: a plain word. */
const PLAIN = /^\w{1,64}$/

/** @throws ValidationError the request has parameters that nothing of the view reads */
export function refuseUnknownParameters(view: GenericView): void {
  const { viewClass, policies, action } = view
  // an action of the application's may show a list
  const listing = listParameters(viewClass, actionNamed(action) ? action : 'list')
  const selecting = showsFigures(action) ? [] : selectionParameters(view, view.getSerializerClass())
  const read = [...listing, ...(policies.versioning?.parameters() ?? []), ...viewClass.queryParameters, ...selecting]
  const allowed = new Set(read.map(({ name }) => name))
  const unknown = Object.keys(queryOf(view.ctx)).filter((name) => !allowed.has(name))
  if (unknown.length === 0) return
  const keys = unknown.map(shownName)
  const message = `Unknown parameter. Use ${[...allowed].join(', ') || 'none'}.`
  throw new ValidationError(Object.fromEntries(keys.map((key) => [key, [message]])))
}

/** Where what is wrong with a name stands. */
export function shownName(name: string): string {
  return PLAIN.test(name) ? name : 'non_field_errors'
}
