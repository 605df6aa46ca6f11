/** Sends one request, and makes a value of whatever comes of it. */
import { addressOf, type Base, linkedQuery, type Path, queryText } from './address.js'
import { bodyOf } from './body.js'
import type { Method, RequestOptions } from './options.js'
import { type FailureKind, failure, MOST_SECONDS, type Result, resultOf } from './result.js'

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
  readonly mayBeEmpty?: boolean | undefined
  /** The answer goes on: it is given as it is, for its body to be read. */
  readonly isStream?: boolean
}

export function send(settings: Settings, call: Call): Promise<Result<unknown>> {
  const { signal, timeout = settings.timeout ?? 30_000 } = call
  const ended = new AbortController()
  // the timer and the signal decide even where a function of the caller's never comes to an end
  return new Promise((resolve, reject) => {
    const finish = (result: Result<unknown>) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      resolve(result)
    }
    const stop = (kind: FailureKind, detail: string, cause?: unknown) => {
      finish(failure(kind, detail, undefined, cause))
      ended.abort()
    }
    const timer = setTimeout(() => stop('timeout', 'no answer in time'), Math.min(timeout, MOST_SECONDS * 1_000))
    const onAbort = () => stop('aborted', 'aborted', signal?.reason)
    signal?.addEventListener('abort', onAbort)
    if (signal?.aborted) onAbort()
    else attempt(settings, call, ended.signal).then(finish, reject)
  })
}

async function attempt(settings: Settings, call: Call, signal: AbortSignal): Promise<Result<unknown>> {
  const { base, headers: given = {}, fetch: ask = (target, init) => fetch(target, init), credentials } = settings
  const { method, path, link, ifMatch } = call
  let kind: 'unsent' | 'unreachable' = 'unsent'
  try {
    const query = link === undefined ? queryText(base, call.query) : linkedQuery(base, link)
    const url = addressOf(base, path, query)
    const body = bodyOf(call.data)
    const own = typeof given === 'function' ? await given({ method, url }) : given
    // the caller may have ended it while its own function made headers
    signal.throwIfAborted()
    const headers = new Headers({
      accept: 'application/json',
      ...(typeof body === 'string' && { 'content-type': 'application/json' }),
      ...(ifMatch && { 'if-match': ifMatch }),
    })
    for (const more of [own, call.headers])
      for (const [name, value] of new Headers(more ?? {})) headers.set(name, value)
    kind = 'unreachable'
    const init = { method, body, headers, signal, redirect: 'manual', credentials } as RequestInit
    const response = await ask(url, init)
    return call.isStream && response.ok ? (response as never) : await resultOf(response, call.mayBeEmpty)
  } catch (error) {
    return failure(kind, String((error as Partial<Error> | null)?.message ?? error), undefined, error)
  }
}
