/** Refuses parameters of the query that nothing of a view reads, or of which a part is read: for `strictParams`, and where a client prefers so. */

import type { ParameterDescription } from '../../filters/filter.js'
import { queryOf } from '../../http/context.js'
import { type ErrorMessages, ValidationError } from '../../kernel/errors.js'
import { UnknownNames, unknownAmong } from '../../kernel/unknown-names.js'
import type { GenericView } from '../generic-view.js'
import { isList, readParameters } from './query-lists.js'

/**
 * @param onlyNames what nothing reads is left alone: writes with `strictParams`
 * @throws ValidationError the request has parameters that nothing of the view reads, several values of one that takes one, or
 * names that would be ignored
 */
export function refuseUnknownParameters(view: GenericView, onlyNames = false): void {
  const asked = Object.entries(queryOf(view.ctx))
  if (asked.length === 0) return
  const read = new Map(readParameters(view).map((parameter) => [parameter.name, parameter]))
  const unknown = new UnknownNames('parameter')
  const errors: ErrorMessages = {}
  for (const [name, value = ''] of asked) {
    const parameter = read.get(name)
    if (!parameter) {
      if (!onlyNames) unknown.note(name, () => read.keys(), errors)
      continue
    }
    const wrong = parameter.ignoresUnknown
      ? unheeded(parameter, [value].flat().join())
      : Array.isArray(value) && value.length > 1 && !isList(parameter) && !onlyNames && 'Give it only once.'
    if (wrong) errors[name] = [wrong]
  }
  if (Object.keys(errors).length > 0) throw new ValidationError(errors)
}

/** What is wrong with names of which some would be ignored. */
function unheeded({ schema }: ParameterDescription, text: string): string | undefined {
  const { enum: known = [] } = schema['items'] as { readonly enum?: readonly string[] }
  const names = new Set(text.split(',').flatMap((name) => name.trim() || []))
  const turned = [...names].some((name) => names.has(`-${name}`))
  return unknownAmong(names, known) ?? (turned ? 'Name each only once.' : undefined)
}
