/** Sends one request, and makes a value of whatever comes of it. */
import { addressOf, type Base, linkedQuery, type Path, queryText } from './address.js'
import { bodyOf } from './body.js'
import type { Method, RequestOptions } from './options.js'
import { type Failure, failure, MOST_SECONDS, type Result, resultOf } from './result.js'

/** Options of `createClient()`. */
export interface ClientOptions {
  /** What sends requests. @default the global `fetch` */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** Headers of every request, or a function that makes them: for tokens. @default none */
  readonly headers?:
    | Readonly<Record<string, string>>
    | ((request: { readonly method: Method; readonly url: string }) => Headings | Promise<Headings>)
  /** Milliseconds to wait for an answer, of `headers` and its body too; `Infinity` for ever. @default 30000 */
  readonly timeout?: number
  /** Whether cookies are sent; as `fetch` has it. @default 'same-origin' */
  readonly credentials?: NonNullable<RequestInit['credentials']>
}

type Headings = Readonly<Record<string, string>>

/** A client's options, and where its API is. */
export interface Settings extends ClientOptions {
  readonly base: Base
}

/** A request. */
export interface Call extends RequestOptions {
  readonly method: Method
  readonly path: Path
  readonly query?: object | undefined
  /** The link of a page, in place of a query. */
  readonly link?: unknown
  readonly data?: unknown
  readonly ifMatch?: string | null | undefined
  /** The answer may have no body. */
  readonly mayBeEmpty?: boolean
}

export async function send(settings: Settings, call: Call): Promise<Result<unknown>> {
  const { signal, timeout = settings.timeout ?? 30_000 } = call
  const aborted = () => failure('aborted', 'aborted', undefined, signal?.reason)
  if (signal?.aborted) return aborted()
  const ended = new AbortController()
  let finish: (result: Failure) => void
  // decides even where a function of the caller's never comes to an end
  const stopped = new Promise<Failure>((resolve) => {
    finish = resolve
  })
  const stop = (result: Failure) => {
    finish(result)
    ended.abort()
  }
  const timer = setTimeout(() => stop(failure('timeout', 'no answer in time')), Math.min(timeout, MOST_SECONDS * 1_000))
  const onAbort = () => stop(aborted())
  signal?.addEventListener('abort', onAbort)
  try {
    return await Promise.race([stopped, attempt(settings, call, ended.signal)])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

async function attempt(settings: Settings, call: Call, signal: AbortSignal): Promise<Result<unknown>> {
  const { fetch: ask = (target, init) => fetch(target, init), credentials } = settings
  let kind: 'unsent' | 'unreachable' = 'unsent'
  try {
    const { url, init } = await prepare(settings, call)
    // the caller may have ended it while its own function made headers
    signal.throwIfAborted()
    kind = 'unreachable'
    const sent = { ...init, signal, redirect: 'manual', ...(credentials && { credentials }) } as const
    return await resultOf(await ask(url, sent), call.mayBeEmpty)
  } catch (error) {
    return failure(kind, String((error as Partial<Error> | null)?.message ?? error), undefined, error)
  }
}

async function prepare(
  { base, headers: given = {} }: Settings,
  call: Call,
): Promise<{ url: string; init: RequestInit }> {
  const { method, path, link, ifMatch } = call
  const query = link === undefined ? queryText(base, call.query) : linkedQuery(base, link)
  if (query === undefined) throw new TypeError('the link leads to another server')
  const url = addressOf(base, path, query)
  const body = bodyOf(call.data)
  const type = typeof body === 'string' && { 'content-type': 'application/json' }
  const own = typeof given === 'function' ? await given({ method, url }) : given
  const headers = new Headers({ accept: 'application/json' })
  for (const more of [type, ifMatch && { 'if-match': ifMatch }, own, call.headers]) {
    for (const [name, value] of Object.entries(more || {})) headers.set(name, value)
  }
  return { url, init: { method, body, headers } }
}
