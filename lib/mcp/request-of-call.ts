/** Arguments of a tool call as a request to the API. */
import { guardSuffix } from '../http/context.js'
import type { AskedRequest } from '../http/in-process.js'
import { type ErrorMessages, NotFound, ValidationError } from '../kernel/errors.js'
import { writeJson } from '../kernel/json-numerals.js'
import { buildPath } from '../kernel/path-pattern.js'
import { UnknownNames } from '../kernel/unknown-names.js'
import type { Endpoint } from '../views/endpoint.js'
import { parameterText } from '../views/steps/parameter-text.js'
import type { CalledOperation } from './tool.js'

/** What the options say of all requests. */
export interface CallOptions {
  /** The version of the API; undefined for each view's own. */
  readonly apiVersion: string | undefined
  /** The `Idempotency-Key` that the client has sent for the whole message. */
  readonly idempotencyKey: string | undefined
  /** The path of the API that answers this one. */
  readonly leadsTo: (path: string) => Endpoint | undefined
}

/** A header holds no more than this. */
const VISIBLE = /^[\x20-\x7e]*$/

/**
 * Reads arguments. What they say is checked by the view, as that of any client; here only that there is a place for each.
 * @throws ValidationError naming each argument that is none, is missing, or cannot be said
 * @throws NotFound a key that no path can hold
 */
export function requestOfCall(
  call: CalledOperation,
  given: Readonly<Record<string, unknown>>,
  { apiVersion, idempotencyKey, leadsTo }: CallOptions,
): AskedRequest {
  const errors: ErrorMessages = {}
  const path: Record<string, unknown> = {}
  const query = new URLSearchParams()
  const headers: Record<string, string> = { accept: acceptOf(apiVersion) }
  if (idempotencyKey !== undefined && takesKey(call)) headers['idempotency-key'] = idempotencyKey
  let body: string | undefined
  const unknown = new UnknownNames('argument')
  for (const name of Object.keys(given)) {
    const place = call.places.get(name)
    if (!place) {
      unknown.note(name, () => call.places.keys(), errors)
      continue
    }
    // models write null for what they leave out; in a body it is a value
    if (place.in === 'body') body = writeJson(given[name])
    else if (given[name] === null) continue
    else {
      const text = readText(given, name, errors)
      if (text === undefined) continue
      if (place.in === 'path') path[place.name] = text
      else if (place.in === 'query') query.set(place.name, text)
      else if (VISIBLE.test(text)) headers[place.name] = text
      else errors[name] = ['Give visible characters of ASCII.']
    }
  }
  for (const name of call.required) {
    // what a header says, and its absence, is the API's to judge
    if (call.places.get(name)?.in === 'header') continue
    if ((!Object.hasOwn(given, name) || given[name] === null) && !errors[name])
      errors[name] = ['This argument is required.']
  }
  if (Object.keys(errors).length > 0) throw new ValidationError(errors)
  if (apiVersion !== undefined) setVersion(call, apiVersion, { path, query })
  const search = query.toString()
  return {
    method: call.operation.method,
    url: pathOf(call.endpoint, path, leadsTo) + (search === '' ? '' : `?${search}`),
    headers,
    body,
  }
}

function readText(given: object, name: string, errors: ErrorMessages): string | undefined {
  try {
    return parameterText(given, name)
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error
    errors[name] = error.messages
    return undefined
  }
}

/**
 * The path of an operation. A key that does not fit leads nowhere, as in a URL; and one that is written as the path of
 * another operation is (`recent` in `/lists/{id}`) is no key, as that one may be no tool.
 * @throws NotFound
 */
function pathOf(
  endpoint: Endpoint,
  params: Readonly<Record<string, unknown>>,
  leadsTo: CallOptions['leadsTo'],
): string {
  const { segments, formats } = endpoint
  let path: string
  try {
    path = buildPath(segments, params)
  } catch (cause) {
    throw new NotFound(undefined, { cause })
  }
  // a key may end as a format does
  if (segments.at(-1)?.kind === 'param') path = guardSuffix(path, formats)
  if (leadsTo(path) !== endpoint) throw new NotFound()
  return path
}

function takesKey({ places }: CalledOperation): boolean {
  return [...places.values()].some((place) => place.in === 'header' && place.name === 'idempotency-key')
}

/** JSON where there is any. */
function acceptOf(apiVersion: string | undefined): string {
  return `application/json${apiVersion === undefined ? '' : `; version=${apiVersion}`}, */*;q=0.1`
}

function setVersion(
  call: CalledOperation,
  version: string,
  { path, query }: { readonly path: Record<string, unknown>; readonly query: URLSearchParams },
): void {
  path['version'] = version
  for (const name of call.versioning) query.set(name, version)
}
