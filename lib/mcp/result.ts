/** Tool results, made of the API's answers: the same bytes, and where something is wrong, what to change. */
import { isSafeMethod } from '../http/context.js'
import { type InProcessAnswer, Unread } from '../http/in-process.js'
import { paginatorOf } from '../views/action-parameters.js'
import { isGeneric } from '../views/generic-api-view.js'
import { hasModel } from '../views/generic-view-class.js'
import { resourceOf } from '../views/resource.js'
import type { CalledOperation } from './tools-of.js'

/** A result as members of JSON, without the braces: `"content":[…],"isError":true`. */
export interface ToolResult {
  /** What all clients read. */
  readonly content: readonly string[]
  /** The answer as JSON; undefined where there is none. */
  readonly structured: string | undefined
  /** The answer is no object, which only clients of 2026-07-28 take. */
  readonly isObject: boolean
  readonly isError: boolean
}

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json(?:;|$)/

/** What an answer that succeeded shows. */
export function toolResult(answer: InProcessAnswer, call: CalledOperation): ToolResult {
  const text = String(answer.body)
  if (text === '') return plain([answer.status === 204 ? 'Done.' : `Done (${answer.status}).`])
  const tag = call.places.has('if_match') || call.operation.method === 'GET' ? answer.header('ETag') : ''
  const content = [text, ...(tag === '' || tag.startsWith('W/') ? [] : [`ETag, for if_match: ${tag}`])]
  if (!JSON_TYPE.test(answer.header('Content-Type')) || !isJson(text)) return plain(content)
  return { content, structured: text, isObject: text.trimStart().startsWith('{'), isError: false }
}

/** What an application calls JSON by itself may be none, and would be part of the message as it is. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** The API's own envelope, and what to change. */
export function failureOf(answer: InProcessAnswer, call: CalledOperation | undefined, limit: number): ToolResult {
  const { status, body } = answer
  if (body === Unread.tooLarge) return { ...plain([envelope(413, tooLarge(call, limit))]), isError: true }
  if (body === Unread.pastKoa) {
    return { ...plain([envelope(500, 'The answer is none that a tool can show')]), isError: true }
  }
  const hint = hintFor(answer)
  return { ...plain([body === '' ? envelope(status, 'Failed') : body, ...(hint === '' ? [] : [hint])]), isError: true }
}

function plain(content: readonly string[]): ToolResult {
  return { content, structured: undefined, isObject: false, isError: false }
}

function envelope(status: number, detail: string): string {
  return JSON.stringify({ detail, status })
}

/** What says how many objects a page has. */
interface SizedPages {
  readonly pageSizeQueryParam?: string
  readonly limitQueryParam?: string
}

/** Which arguments make an answer smaller. */
function narrowingOf({ places, operation: { view, action } }: CalledOperation): readonly string[] {
  const isPaged = isGeneric(view) && hasModel(view)
  const paginator = isPaged ? paginatorOf(resourceOf(view), action) : undefined
  const { pageSizeQueryParam = 'page_size', limitQueryParam = 'limit' } = (paginator ?? {}) as SizedPages
  return ['fields', pageSizeQueryParam, limitQueryParam].filter((name) => places.has(name))
}

function tooLarge(call: CalledOperation | undefined, limit: number): string {
  const names = call ? narrowingOf(call) : []
  const how = names.length > 0 ? `ask for less by ${names.join(' or ')}` : 'ask for less'
  const isDone = call !== undefined && !isSafeMethod(call.operation.method)
  return isDone
    ? `Done, but what it shows has more than ${limit} bytes; ${how}`
    : `The answer has more than ${limit} bytes; ${how}`
}

/** What an agent can do about a status, a sentence each. */
const HINTS: ReadonlyMap<number, string> = new Map([
  [400, 'Change the arguments that errors names, and call again.'],
  [401, 'The server does not know the caller: the client has to send credentials. Calling again does not help.'],
  [403, 'The caller may not do this. Calling again does not help.'],
  [404, 'There is no such object for this caller: look its key up, by a list, before calling again.'],
  [409, 'The object is in another state than the call needs: read it before calling again.'],
  [412, 'Somebody has changed the object: read it again, and give its ETag as if_match.'],
  [413, 'Send less.'],
  [415, 'This tool cannot send what the API takes.'],
  [428, 'Read the object first, and give its ETag as if_match.'],
])

function hintFor({ status, header }: InProcessAnswer): string {
  const wait = header('Retry-After')
  if (wait !== '' && (status === 429 || status === 503)) return `Call again in ${wait} seconds, not before.`
  return HINTS.get(status) ?? ''
}
