/** Errors as `application/problem+json` (RFC 9457), for clients that ask for it: docs/reference/wire-format.md, section 16. */

import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { ErrorMessages } from '../kernel/errors.js'
import { UUID } from '../kernel/id-text.js'
import { writeStep } from '../kernel/json-pointer.js'
import { setting } from '../kernel/settings.js'
import { preferredType } from './accept.js'
import { type Context, isSafeMethod, RequestSlot } from './context.js'
import type { ShownErrors } from './shown-errors.js'

export const PROBLEM_TYPE = 'application/problem+json'

/** The member of the body that holds what messages are about. */
export const BODY_MEMBER = new RequestSlot<string>('the member of the body that holds the object')

/** What is being read is the query, whatever the method: what is wrong with it are parameters. */
export const READS_QUERY = new RequestSlot<boolean>('the query is being read')

/** The parts of an error that a problem is made of. */
export interface ProblemAnswer {
  readonly status: number
  readonly detail: string
  readonly code: string | undefined
  readonly shown: ShownErrors | undefined
  readonly members: Readonly<Record<string, unknown>> | undefined
}

/** One message of a problem. */
interface ProblemMessage {
  /** Where it stands in the body, as the fragment of a JSON pointer (RFC 6901, section 6). */
  readonly pointer?: string
  /** The parameter of the query that it is about. */
  readonly parameter?: string
  readonly code: string
  readonly detail: string
}

/** True where the setting offers problems, and the client would have one rather than plain JSON. The answer then depends on `Accept`. */
export function prefersProblem(ctx: Context): boolean {
  if (setting('problemDetails') !== true) return false
  ctx.vary('Accept')
  return preferredType(ctx.headers.accept ?? '*/*', ['application/json', PROBLEM_TYPE]) === PROBLEM_TYPE
}

/** The body. `ctx.state.instance` names it for whoever hears of the error by the `error` event. */
export function problemOf(ctx: Context, { status, detail, code, shown, members }: ProblemAnswer): object {
  const instance = `urn:uuid:${uuidOf(ctx)}`
  ctx.state['instance'] = instance
  const base = {
    type: setting('problemTypes')?.[status] ?? 'about:blank',
    title: STATUS_CODES[status],
    status,
    detail,
    instance,
    ...(shown && { errors: messagesOf(ctx, shown) }),
  }
  // a member of the error takes the place of none of these, which RFC 9457 has names for
  return { ...base, code, ...members, ...base }
}

function uuidOf(ctx: Context): string {
  return requestIdOf(ctx) ?? randomUUID()
}

/** The id of the request, where it is a UUID: that of an earlier middleware, or the one that it came with. */
export function requestIdOf(ctx: Context): string | undefined {
  const known = [ctx.response.get('X-Request-Id'), ctx.get('X-Request-Id')].map(String).find((id) => UUID.test(id))
  return known?.toLowerCase()
}

function messagesOf(ctx: Context, { errors, codes = {} }: ShownErrors): ProblemMessage[] {
  const found: ProblemMessage[] = []
  const ofQuery = isSafeMethod(ctx.method) || READS_QUERY.get(ctx) === true
  const around = [BODY_MEMBER.get(ctx) ?? []].flat()
  const walk = (map: ErrorMessages, ofMap: ErrorMessages, path: readonly string[]) => {
    for (const [name, inner] of Object.entries(map)) {
      const place = name === 'non_field_errors' ? path : [...path, name]
      const known = ofMap[name]
      if (!Array.isArray(inner)) {
        walk(inner, known as ErrorMessages, place)
        continue
      }
      for (const [index, detail] of inner.entries()) {
        const code = String((known as readonly string[])[index])
        const parameter = ofQuery || code === 'unknown_parameter' ? place.join('.') : undefined
        const where =
          parameter === undefined ? { pointer: pointerTo([...around, ...place]) } : parameter !== '' && { parameter }
        found.push({ ...where, code, detail })
      }
    }
  }
  walk(errors, codes, [])
  return found
}

/** A JSON pointer as the fragment of a URI (RFC 6901 section 6): `#/author/name`. A URI has no half of a surrogate pair. */
export function pointerTo(path: readonly string[]): string {
  return `#${path.map((step) => `/${encodeURIComponent(writeStep(step.toWellFormed()))}`).join('')}`
}
