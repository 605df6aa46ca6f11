/** Refuses parameters of the query that nothing of a view reads: for `strictParams`, and where a client prefers so. */

import { queryOf } from '../../http/context.js'
import { type ErrorMessages, ValidationError } from '../../kernel/errors.js'
import { UnknownNames } from '../../kernel/unknown-names.js'
import { listParameters } from '../action-parameters.js'
import { actionNamed, showsFigures } from '../actions.js'
import type { GenericView } from '../generic-view.js'
import { selectionParameters } from './selection.js'

/** @throws ValidationError the request has parameters that nothing of the view reads */
export function refuseUnknownParameters(view: GenericView): void {
  const { viewClass, policies, action } = view
  // an action of the application's may show a list
  const listing = listParameters(viewClass, actionNamed(action) ? action : 'list')
  const selecting = showsFigures(action) ? [] : selectionParameters(view, view.getSerializerClass())
  const read = [...listing, ...(policies.versioning?.parameters() ?? []), ...viewClass.queryParameters, ...selecting]
  const allowed = new Set(read.map(({ name }) => name))
  const unknown = new UnknownNames('parameter', () => allowed)
  const errors: ErrorMessages = {}
  for (const name of Object.keys(queryOf(view.ctx))) if (!allowed.has(name)) unknown.note(name, errors)
  if (Object.keys(errors).length > 0) throw new ValidationError(errors)
}
