/** Refuses parameters of the query that nothing of a view reads, or of which a part is read: for `strictParams`, and where a client prefers so. */

import { queryOf } from '../../http/context.js'
import { type ErrorMessages, ValidationError } from '../../kernel/errors.js'
import { UnknownNames } from '../../kernel/unknown-names.js'
import type { GenericView } from '../generic-view.js'
import { isList, readParameters } from './query-lists.js'

/** @throws ValidationError the request has parameters that nothing of the view reads, or several values of one that takes one */
export function refuseUnknownParameters(view: GenericView): void {
  const read = new Map(readParameters(view).map((parameter) => [parameter.name, parameter]))
  const unknown = new UnknownNames('parameter', () => read.keys())
  const errors: ErrorMessages = {}
  for (const [name, value] of Object.entries(queryOf(view.ctx))) {
    const parameter = read.get(name)
    if (!parameter) unknown.note(name, errors)
    else if (Array.isArray(value) && value.length > 1 && !isList(parameter)) errors[name] = ['Give it only once.']
  }
  if (Object.keys(errors).length > 0) throw new ValidationError(errors)
}
