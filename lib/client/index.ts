/** A typed client of an API, for browsers and Node: `koa-viewsets/client`. Nothing of the server is in it. */
import { ClientError, failure, type Result, resultOf } from './result.js'
import type { Client, Key, Method, RequestOptions, WriteOptions } from './types.js'

export { ClientError, type Failure, type FailureKind, type FieldErrors, type Result, type Success } from './result.js'
export type { Client, Key, ListQuery, PageOf, RequestOptions, ResourceClient, WriteOptions } from './types.js'

export interface ClientOptions {
  /** What sends requests. @default the global `fetch` */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** Headers of every request, or a function that makes them: for tokens. @default none */
  readonly headers?:
    | Readonly<Record<string, string>>
    | ((request: { readonly method: Method; readonly url: string }) => Headings | Promise<Headings>)
  /** Milliseconds to wait for an answer. @default 30000 */
  readonly timeout?: number
  /** Whether cookies are sent; as `fetch` has it. @default 'same-origin' */
  readonly credentials?: NonNullable<RequestInit['credentials']>
}

type Headings = Readonly<Record<string, string>>
type Query = Readonly<Record<string, unknown>> | undefined

interface Call extends WriteOptions {
  readonly query?: Query
  readonly data?: unknown
}

interface Page {
  readonly next?: string | null
  readonly results?: readonly unknown[]
}

/**
 * A client of an API whose routers have the type `Api`.
 * @param url where the API's paths begin: that of its router's prefix, without a slash at its end
 * @example
 * import type { Api } from './api.js' // export type Api = typeof api
 * const api = createClient<Api>('https://example.org/api/v1')
 * const found = await api.books.list({ price__gte: 10, ordering: '-price' })
 * if (found.ok) for (const book of found.data.results) console.log(book.title)
 * else console.error(found.kind, found.detail)
 */
export function createClient<Api>(url: string, options: ClientOptions = {}): Client<Api> {
  const base = url.replace(/\/+$/, '')
  return properties((name) => resource(options, `${base}/${name}`)) as Client<Api>
}

function resource(options: ClientOptions, path: string): object {
  const request = (method: Method, url: string, call?: Call) => send(options, method, url, call)
  const one = (id: Key) => `${path}/${encodeURIComponent(id)}`
  async function* pages(query?: Query, options?: RequestOptions): AsyncGenerator<unknown> {
    let next: string | null = path
    for (let asked = query; next !== null; asked = undefined) {
      const result: Result<unknown> = await request('GET', next, { ...options, query: asked })
      if (!result.ok) throw new ClientError(result)
      yield result.data
      const link = (result.data as Page).next ?? null
      // a path, from the root of the server
      next = link === null ? null : origin(path) + link
    }
  }
  return {
    list: (query?: Query, options?: RequestOptions) => request('GET', path, { ...options, query }),
    pages,
    async *all(query?: Query, options?: RequestOptions) {
      for await (const page of pages(query, options)) yield* Array.isArray(page) ? page : ((page as Page).results ?? [])
    },
    retrieve: (id: Key, query?: Query, options?: RequestOptions) => request('GET', one(id), { ...options, query }),
    create: (data: unknown, options?: RequestOptions) => request('POST', path, { ...options, data }),
    update: (id: Key, data: unknown, options?: WriteOptions) => request('PUT', one(id), { ...options, data }),
    partialUpdate: (id: Key, data: unknown, options?: WriteOptions) => request('PATCH', one(id), { ...options, data }),
    destroy: (id: Key, options?: WriteOptions) => request('DELETE', one(id), options),
    bulkCreate: (data: unknown, options?: RequestOptions) => request('POST', `${path}/bulk`, { ...options, data }),
    bulkUpdate: (data: unknown, options?: RequestOptions) => request('PATCH', `${path}/bulk`, { ...options, data }),
    bulkDestroy: (data: unknown, options?: RequestOptions) => request('DELETE', `${path}/bulk`, { ...options, data }),
    call: (method: Method, name: string, data?: unknown, options?: RequestOptions) =>
      request(method, `${path}/${name}`, { ...options, ...given(method, data) }),
    callOn: (id: Key, method: Method, name: string, data?: unknown, options?: WriteOptions) =>
      request(method, `${one(id)}/${name}`, { ...options, ...given(method, data) }),
    at: (id: Key) => properties((name) => resource(options, `${one(id)}/${name}`)),
  }
}

/** GET has no body: what it is given are query parameters. */
function given(method: Method, data: unknown): Call {
  return method === 'GET' ? { query: data as Query } : { data }
}

/** An object that makes its properties when they are asked for. */
function properties(make: (name: string) => object): object {
  const known = new Map<PropertyKey, object>()
  return new Proxy(Object.create(null) as object, {
    get(_target, name) {
      // what awaits it is not to take it for a promise
      if (typeof name !== 'string' || name === 'then') return undefined
      let made = known.get(name)
      if (!made) {
        made = make(name)
        known.set(name, made)
      }
      return made
    },
  })
}

async function send(
  { fetch: ask = (target, init) => fetch(target, init), headers = {}, timeout = 30_000, credentials }: ClientOptions,
  method: Method,
  target: string,
  call: Call = {},
): Promise<Result<unknown>> {
  const url = target + search(call.query)
  const ended = new AbortController()
  const timer = setTimeout(() => ended.abort(TIMEOUT), call.timeout ?? timeout)
  const { signal } = call
  const stop = () => ended.abort(signal?.reason)
  if (signal?.aborted) stop()
  else signal?.addEventListener('abort', stop)
  try {
    const own = typeof headers === 'function' ? await headers({ method, url }) : headers
    const { body, type } = bodyOf(call.data)
    const response = await ask(url, {
      method,
      body: body ?? null,
      headers: {
        accept: 'application/json',
        ...type,
        ...(call.ifMatch ? { 'if-match': call.ifMatch } : {}),
        ...own,
        ...call.headers,
      },
      signal: ended.signal,
      redirect: 'manual',
      ...(credentials ? { credentials } : {}),
    })
    return await resultOf(response)
  } catch (error) {
    if (signal?.aborted) return failure('aborted', 'the request was aborted')
    if (ended.signal.aborted) return failure('timeout', 'no answer in time')
    return failure('unreachable', error instanceof Error ? error.message : String(error))
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}

const TIMEOUT = new Error('timeout')

/** The server of an address; none of a path, which is asked of the page's own. */
function origin(url: string): string {
  return /^[a-z][a-z\d+.-]*:\/\/[^/]*/i.exec(url)?.[0] ?? ''
}

function search(query: Query): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined) continue
    parameters.set(name, Array.isArray(value) ? value.map(text).join(',') : text(value))
  }
  const written = String(parameters)
  return written && `?${written}`
}

function text(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value)
}

/** JSON, or a form where there are files. */
function bodyOf(data: unknown): { readonly body?: NonNullable<RequestInit['body']>; readonly type: Headings } {
  if (data === undefined) return { type: {} }
  const entries = typeof data === 'object' && data !== null ? Object.entries(data) : []
  if (data instanceof FormData) return { body: data, type: {} }
  if (!entries.some(([, value]) => value instanceof Blob)) {
    return { body: JSON.stringify(data), type: { 'content-type': 'application/json' } }
  }
  const form = new FormData()
  for (const [name, value] of entries) {
    if (value === undefined) continue
    for (const item of [value].flat() as unknown[]) form.append(name, item instanceof Blob ? item : formText(item))
  }
  return { body: form, type: {} }
}

function formText(value: unknown): string {
  if (value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
