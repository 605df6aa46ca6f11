/** The methods of each view set, made when they are asked for. */
import type { KeyPart, Path } from './address.js'
import type { Method, RequestOptions, WriteOptions } from './options.js'
import { ClientError, failure, type Result } from './result.js'
import { type Call, type Settings, send } from './send.js'

type Query = object | undefined

interface Page {
  readonly next?: unknown
  readonly cursor_id?: unknown
  readonly results?: unknown
}

/** The view sets below a path. An object that makes its properties when they are asked for. */
export function resource(settings: Settings, path: Path): object {
  const known = new Map<string, object>()
  return new Proxy(Object.create(null) as object, {
    get(_target, name) {
      // what awaits it is not to take it for a promise
      if (typeof name !== 'string' || name === 'then') return undefined
      let made = known.get(name)
      if (!made) {
        made = methodsOf(settings, [...path, name])
        known.set(name, made)
      }
      return made
    },
  })
}

function methodsOf(settings: Settings, path: Path): object {
  const request = (method: Method, at: Path, call?: Partial<Call>) => send(settings, { ...call, method, path: at })
  const one = (key: KeyPart['key']): Path => [...path, { key }]
  const bulk = [...path, 'bulk']

  async function* pages(query: Query, options?: RequestOptions): AsyncGenerator<unknown> {
    const seen = new Set<unknown>()
    for (let asked: Partial<Call> = { query }; ; ) {
      const result: Result<unknown> = await request('GET', path, { ...options, ...asked })
      if (!result.ok) throw new ClientError(result)
      const page = result.data as Page
      const items = itemsOf(page)
      if (!items) throw wrong('the answer is no page of a list')
      yield page
      const { next, cursor_id: cursor } = page
      const isLink = next !== undefined && next !== null
      const following = isLink ? next : (cursor ?? undefined)
      if (following === undefined) return
      if (items.length === 0) throw wrong('a page without objects leads to another one')
      // a server's cursor stays the same from page to page
      if (isLink ? seen.has(next) : seen.size > 0 && !seen.has(cursor)) throw wrong('the pages lead in a circle')
      seen.add(following)
      asked = isLink ? { link: next } : { query: { server_cursor: cursor } }
    }
  }

  return {
    list: (query: Query, options?: RequestOptions) => request('GET', path, { ...options, query }),
    pages,
    async *all(query: Query, options?: RequestOptions) {
      for await (const page of pages(query, options)) yield* itemsOf(page as Page) ?? []
    },
    aggregate: (query: Query, options?: RequestOptions) =>
      request('GET', [...path, 'aggregate'], { ...options, query }),
    facets: (query: Query, options?: RequestOptions) => request('GET', [...path, 'facets'], { ...options, query }),
    follow: (link: unknown, options?: RequestOptions) => request('GET', path, { ...options, link }),
    retrieve: (key: KeyPart['key'], query: Query, options?: RequestOptions) =>
      request('GET', one(key), { ...options, query }),
    create: (data: unknown, options?: RequestOptions) => request('POST', path, { ...options, data }),
    update: (key: KeyPart['key'], data: unknown, options?: WriteOptions) =>
      request('PUT', one(key), { ...options, data }),
    partialUpdate: (key: KeyPart['key'], data: unknown, options?: WriteOptions) =>
      request('PATCH', one(key), { ...options, data }),
    destroy: (key: KeyPart['key'], options?: WriteOptions) =>
      request('DELETE', one(key), { ...options, mayBeEmpty: true }),
    bulkCreate: (data: unknown, options?: RequestOptions) => request('POST', bulk, { ...options, data }),
    bulkUpdate: (data: unknown, options?: RequestOptions) => request('PATCH', bulk, { ...options, data }),
    bulkDestroy: (data: unknown, options?: RequestOptions) => request('DELETE', bulk, { ...options, data }),
    call: (method: Method, name: string, data?: unknown, options?: RequestOptions) =>
      request(method, [...path, name], { ...options, ...given(method, data) }),
    callOn: (key: KeyPart['key'], method: Method, name: string, data?: unknown, options?: WriteOptions) =>
      request(method, [...one(key), name], { ...options, ...given(method, data) }),
    at: (key: KeyPart['key']) => resource(settings, one(key)),
  }
}

/** What an action takes. GET has no body: what it is given are query parameters. */
function given(method: Method, data: unknown): Partial<Call> {
  return method === 'GET' ? { query: data as Query, mayBeEmpty: true } : { data, mayBeEmpty: true }
}

/** The objects of a page, or of a list without pages; undefined for what is neither. */
function itemsOf(page: Page): readonly unknown[] | undefined {
  const items = Array.isArray(page) ? page : page.results
  return Array.isArray(items) ? items : undefined
}

function wrong(detail: string): ClientError {
  return new ClientError(failure('unreadable', detail))
}
