/** Calls a tool: as a request to the API, by the same way as any other, and its answer as a result. */

import { answerError } from '../http/answer-error.js'
import type { Context } from '../http/context.js'
import { type AskedRequest, askedContext, askInProcess, type InProcessAnswer } from '../http/in-process.js'
import { type ErrorMessages, NotFound, ValidationError } from '../kernel/errors.js'
import { writeJson } from '../kernel/json-numerals.js'
import { UnknownNames } from '../kernel/unknown-names.js'
import { type Endpoint, pathTo } from '../views/endpoint.js'
import { parameterText } from '../views/steps/parameter-text.js'
import { namedVersion } from './named-version.js'
import { ToolCaller } from './permitted-tools.js'
import { failureOf, type ToolResult, toolResult } from './result.js'
import { ACTION, type CalledOperation, ONLY, type Tool } from './tools-of.js'

export interface Calling extends CallOptions {
  /** What answers the API's paths. */
  readonly answer: (ctx: Context, next: () => Promise<unknown>) => unknown
  readonly maxResultBytes: number
}

/** What came of a call: a result, and how the request was answered. */
export interface Called {
  readonly result: ToolResult
  readonly status: number
  /** The challenges of a 401 or 403; empty for none. */
  readonly challenge: string
}

/** Calls a tool with these arguments. What is wrong with them is a result, too, for the agent to mend. */
export async function callTool(
  outer: Context,
  tool: Tool,
  given: Readonly<Record<string, unknown>>,
  calling: Calling,
): Promise<Called> {
  const { call, rest } = chosen(tool, given)
  const answer = await ask(outer, tool, { call, rest }, calling)
  const isFailed = answer.status >= 400 || typeof answer.body !== 'string' || call === undefined
  const result = isFailed ? failureOf(answer, call, calling.maxResultBytes) : toolResult(answer, call)
  return { result, status: answer.status, challenge: answer.header('WWW-Authenticate') }
}

interface Chosen {
  readonly call: CalledOperation | undefined
  readonly rest: Readonly<Record<string, unknown>>
}

/** The operation that the arguments choose, and what is left of them. */
function chosen({ calls }: Tool, given: Readonly<Record<string, unknown>>): Chosen {
  const only = calls.get(ONLY)
  if (only) return { call: only, rest: given }
  const { [ACTION]: action, ...rest } = given
  return { call: typeof action === 'string' ? calls.get(action) : undefined, rest }
}

async function ask(outer: Context, tool: Tool, { call, rest }: Chosen, calling: Calling): Promise<InProcessAnswer> {
  let asked: ReturnType<typeof requestOfCall>
  try {
    if (!call) throw new ValidationError({ [ACTION]: ['Choose one of the actions that the tool lists.'] })
    asked = requestOfCall(call, rest, calling)
  } catch (error) {
    // told as the API itself tells what is wrong
    const ctx = askedContext(outer, { method: 'GET', url: outer.path })
    return askInProcess(
      ctx,
      async () => answerError(ctx, (await refusalOf(outer, call ? [call] : tool.calls.values(), calling)) ?? error),
      calling.maxResultBytes,
    )
  }
  return askInProcess(askedContext(outer, asked), calling.answer, calling.maxResultBytes)
}

/** Who may not call the tool is not told what is wrong with the arguments. */
async function refusalOf(
  outer: Context,
  calls: Iterable<CalledOperation>,
  { apiVersion }: CallOptions,
): Promise<unknown> {
  try {
    return await new ToolCaller(outer, apiVersion).refusal(calls)
  } catch (error) {
    return error
  }
}

/** What the options say of all requests. */
interface CallOptions {
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
function requestOfCall(
  call: CalledOperation,
  given: Readonly<Record<string, unknown>>,
  { apiVersion, idempotencyKey, leadsTo }: CallOptions,
): AskedRequest {
  const errors: ErrorMessages = {}
  const named = namedVersion(call, apiVersion)
  const path: Record<string, unknown> = { ...named.params }
  const query = new URLSearchParams(named.query)
  const headers: Record<string, string> = { accept: named.accept }
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
  let path: string
  try {
    path = pathTo(endpoint, params)
  } catch (cause) {
    throw new NotFound(undefined, { cause })
  }
  if (leadsTo(path) !== endpoint) throw new NotFound()
  return path
}

function takesKey({ places }: CalledOperation): boolean {
  return [...places.values()].some((place) => place.in === 'header' && place.name === 'idempotency-key')
}
