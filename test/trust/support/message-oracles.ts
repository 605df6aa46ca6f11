/** What must hold of every answer to a message of an agent. */
import type { Hit, Shot } from './client.js'
import { findLeaks } from './oracles.js'

/** What comes after the API's own envelope: advice of ours, and none but it. */
const ADVICE = [
  /^Change the arguments that errors names, and call again\.$/,
  /^The server does not know the caller: the client has to send credentials\. Calling again does not help\.$/,
  /^The caller may not do this\. Calling again does not help\.$/,
  /^There is no such object for this caller: look its key up, by a list, before calling again\.$/,
  /^The object is in another state than the call needs: read it before calling again\.$/,
  /^Somebody has changed the object: read it again, and give its ETag as if_match\.$/,
  /^Send less\.$/,
  /^This tool cannot send what the API takes\.$/,
  /^Read the object first, and give its ETag as if_match\.$/,
  /^Call again in \d+ seconds, not before\.$/,
]
const TAG = /^ETag, for if_match: "[^"]*"$/

interface Answer {
  readonly jsonrpc?: unknown
  readonly id?: unknown
  readonly result?: unknown
  readonly error?: { readonly code?: unknown; readonly message?: unknown; readonly data?: unknown }
}

/** What the request names as its id, where its body can be read as it stands. */
function idOf({ body }: Shot): unknown {
  if (typeof body !== 'string') return undefined
  try {
    // half a surrogate pair is another character on the wire
    const message = JSON.parse(body.toWellFormed().replace(/^\ufeff/, '')) as { readonly id?: unknown } | null
    return typeof message === 'object' && message !== null && Object.hasOwn(message, 'id') ? message.id : undefined
  } catch {
    return undefined
  }
}

/** True where the message was refused, by the protocol or by the API. */
export function isRefused({ status, text }: Hit): boolean {
  if (status >= 400) return true
  if (text === '') return false
  const { error, result } = JSON.parse(text) as { error?: unknown; result?: { isError?: unknown } }
  return error !== undefined || result?.isError === true
}

/** Rules for every answer: never 5xx, nothing of the inside, nothing or one message of JSON-RPC for this request. */
export function findInMessage(hit: Hit): string[] {
  const { shot, status, headers, text, failure, milliseconds } = hit
  const found: string[] = []
  if (failure !== undefined) return [`no answer: ${failure}`]
  if (status >= 500) found.push(`status ${status}`)
  if (milliseconds > 10_000) found.push(`took ${Math.round(milliseconds)} ms`)
  // what Node's own parser refuses never reaches us
  if (headers['content-type'] === undefined && headers.connection === 'close') return found
  if (headers['cache-control'] !== 'no-store') found.push(`may be stored: ${headers['cache-control']}`)
  if (headers['x-content-type-options'] !== 'nosniff') found.push('may be sniffed')
  if (text === '') return status === 202 || shot.method === 'HEAD' ? found : [...found, `nothing, with ${status}`]
  if (headers['content-type'] !== 'application/json; charset=utf-8') found.push(`is ${headers['content-type']}`)
  try {
    return [...found, ...findInJson(JSON.parse(text) as Answer, hit)]
  } catch {
    return [...found, 'is no JSON']
  }
}

function findInJson(answer: Answer, { shot, status, text }: Hit): string[] {
  const { jsonrpc, id, result, error } = answer
  const found: string[] = []
  if (jsonrpc !== '2.0') found.push('is no JSON-RPC')
  const names = Object.keys(answer).filter((key) => !['jsonrpc', 'id', 'result', 'error'].includes(key))
  if (names.length > 0) found.push(`has ${names.join(', ')}`)
  if ((result === undefined) === (error === undefined)) found.push('is neither a result nor an error, or both')
  if (id !== undefined && typeof shot.body === 'string' && id !== idOf(shot))
    found.push(`answers ${JSON.stringify(id)}`)
  if (result !== undefined && id === undefined) found.push('is a result of nothing')
  if (error === undefined) return [...found, ...findInResult(result, shot)]
  if (!Number.isSafeInteger(error.code) || typeof error.message !== 'string') found.push('has no code and message')
  if (typeof error.code === 'number' && error.code >= 500) found.push(`code ${error.code}`)
  if (status === 202) found.push('is an error of what was accepted')
  return [...found, ...findLeaks(shot, text)]
}

interface Result {
  readonly content?: readonly { readonly type?: unknown; readonly text?: unknown }[]
  readonly isError?: unknown
  readonly structuredContent?: unknown
}

/** Of results only those of tools have a content. */
function findInResult(result: unknown, shot: Shot): string[] {
  if (typeof result !== 'object' || result === null) return ['has a result that is no object']
  const { content, isError, structuredContent } = result as Result
  if (content === undefined) return []
  const found: string[] = []
  if (typeof isError !== 'boolean') found.push(`isError is ${String(isError)}`)
  if (content.some((item) => item.type !== 'text' || typeof item.text !== 'string')) found.push('has what is no text')
  const [first = '', second, ...more] = content.map((item) => String(item.text))
  if (more.length > 0) found.push(`has ${content.length} items`)
  if (second !== undefined && !(isError === true ? ADVICE : [TAG]).some((known) => known.test(second)))
    found.push(`advises ${second.slice(0, 200)}`)
  if (isError !== true) {
    if (structuredContent !== undefined && JSON.stringify(structuredContent) !== JSON.stringify(JSON.parse(first)))
      found.push('shows two answers')
    return found
  }
  if (structuredContent !== undefined) found.push('shows an error as an answer')
  const { detail, status } = JSON.parse(first) as { readonly detail?: unknown; readonly status?: unknown }
  if (typeof detail !== 'string' || typeof status !== 'number') found.push('has no detail and status')
  if (typeof status === 'number' && status >= 500) found.push(`status ${status} of a tool`)
  return [...found, ...content.flatMap((item) => findLeaks(shot, String(item.text)))]
}
