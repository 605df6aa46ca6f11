/** Puts answers into the envelope of their view, and takes bodies out of it. */

import { BODY_MEMBER } from '../../http/problem.js'
import { type ErrorMessages, ValidationError } from '../../kernel/errors.js'
import { writeJson } from '../../kernel/json-numerals.js'
import { isRecord } from '../../kernel/records.js'
import { UnknownNames } from '../../kernel/unknown-names.js'
import { JsonText } from '../../renderers/json-renderers.js'
import { actionNamed, takesMany } from '../actions.js'
import type { EnvelopeNames } from '../envelope-names.js'
import type { GenericView } from '../generic-view.js'
import { refusesUnknown } from './heeded-preferences.js'
import { rendererOf } from './respond.js'

/** What an action's answer shows, as far as an envelope goes by it. */
function shownBy(view: GenericView): 'object' | 'list' | undefined {
  const action = actionNamed(view.plan.action)
  if (action?.name === 'destroy') return 'object'
  return action?.shows === 'object' || action?.shows === 'list' ? action.shows : undefined
}

/** The answer of an action that comes with the package, in the view's envelope: JSON only, rows of other forms have none. */
export function enclose(view: GenericView, data: unknown): unknown {
  const { envelope } = view.plan.resource
  const shown = envelope && shownBy(view)
  if (!shown || data === undefined || data === null || view.ctx.res.statusCode >= 300) return data
  if (shown === 'object') return encloseObject(view, data)
  return rendererOf(view).format === 'json' ? encloseList(envelope, data) : data
}

/** An object in the view's envelope. */
export function encloseObject(view: GenericView, data: unknown): unknown {
  const name = view.plan.resource.envelope?.object
  return name === undefined || rendererOf(view).format !== 'json' ? data : around(name, data)
}

function encloseList({ list, meta }: EnvelopeNames, data: unknown): unknown {
  if (list === undefined) return data
  if (Array.isArray(data) || data instanceof JsonText) return around(list, data)
  if (typeof data !== 'object' || data === null || !('results' in data)) return data
  const { results, ...rest } = data
  return around(list, results, meta === undefined ? rest : { [meta]: rest })
}

/** What is written already stays so. Members that JSON has no form for are left out, as `JSON.stringify` does. */
function around(name: string, data: unknown, beside: Readonly<Record<string, unknown>> = {}): unknown {
  if (!(data instanceof JsonText)) return { [name]: data, ...beside }
  const members = Object.entries(beside).flatMap(([key, value]) => {
    const json = writeJson(value)
    return json === undefined ? [] : `,${JSON.stringify(key)}:${json}`
  })
  return new JsonText(`{${JSON.stringify(name)}:`, ...data.pieces, ...members, '}')
}

/** The member of a body that holds what an action writes; undefined where the whole body does. */
export function memberOfBody({ plan: { action, resource } }: GenericView): string | undefined {
  const { envelope } = resource
  const { writes, path } = actionNamed(action) ?? {}
  if (!envelope || !writes) return undefined
  const isList = takesMany(action)
  if (!isList && !(path === 'list' || (path === 'detail' && writes === 'update'))) return undefined
  return isList ? envelope.list : envelope.object
}

/**
 * Takes the body of an action out of its envelope. Forms and lists of operations have none.
 * @throws ValidationError the body has no such member, or others beside it where unknown names are refused
 */
export function openEnvelope(view: GenericView): void {
  const { body } = view
  const name = body.textual || body.patch === 'operations' ? undefined : memberOfBody(view)
  if (name === undefined) return
  const { data } = body
  const isObject = isRecord(data)
  if (!(isObject && Object.hasOwn(data, name))) throw new ValidationError({ [name]: ['This field is required.'] })
  if (refusesUnknown(view)) refuseBeside(name, data)
  view.body = { ...body, data: data[name] }
  BODY_MEMBER.set(view.ctx, name)
}

/** @throws ValidationError the body has other names beside the member of the envelope */
function refuseBeside(member: string, body: Readonly<Record<string, unknown>>): void {
  const unknown = new UnknownNames('body')
  const errors: ErrorMessages = {}
  for (const name of Object.keys(body)) if (name !== member) unknown.note(name, () => [member], errors)
  if (Object.keys(errors).length > 0) throw new ValidationError(errors)
}
