/** The methods of each view set, made when they are asked for. */
import type { KeyPart, Path } from './address.js'
import type { ChangesOptions } from './changes.js'
import type { Method, RequestOptions, WriteOptions } from './options.js'
import { ClientError, failure, type Result } from './result.js'
import { type Call, type Settings, send } from './send.js'

interface Page {
  readonly next?: unknown
  readonly previous?: unknown
  readonly cursor_id?: unknown
  readonly results?: unknown
}

/** The view sets below a path. An object that makes its properties when they are asked for. */
export function resource(settings: Settings, path: Path): object {
  return new Proxy(Object.create(null) as Record<string, object>, {
    get(known, name) {
      // what awaits it is not to take it for a promise
      if (typeof name !== 'string' || name === 'then') return undefined
      known[name] ??= methodsOf(settings, [...path, name])
      return known[name]
    },
  })
}

function methodsOf(settings: Settings, path: Path): object {
  const one = (key: KeyPart['key']): Path => [...path, { key }]
  const below = (name: string): Path => [...path, name]
  /** Sends what it is given to a path; `onOne` to that of an object. The answer of what may be empty need not say anything. */
  const on = (method: Method, at: Path, mayBeEmpty?: boolean) => (data: unknown, options?: Partial<Call>) =>
    send(settings, {
      // GET has no body: what it is given are query parameters
      ...(method === 'GET' ? { query: data as object } : { data }),
      ...options,
      mayBeEmpty,
      method,
      path: at,
    })
  const onOne = (method: Method) => (key: KeyPart['key'], data: unknown, options?: WriteOptions) =>
    on(method, one(key))(data, options)

  /** Sends nothing but the method to the path of one object, or further. */
  const bare =
    (method: Method, ...further: Path) =>
    (key: KeyPart['key'], options?: WriteOptions) =>
      on(method, [...one(key), ...further], true)(undefined, options)

  /** What reads lists: by a query in the URL, or in the body. */
  const reading = (method: 'GET' | 'QUERY') => {
    async function* pages(query: unknown, options?: RequestOptions): AsyncGenerator<unknown> {
      const seen = new Set<unknown>()
      for (let place: Partial<Call> = {}; ; ) {
        const result: Result<unknown> = await on(method, path)(query, { ...options, ...place })
        if (!result.ok) throw new ClientError(result)
        const page = result.data as Page
        const items = itemsOf(page)
        if (!items) throw wrong('the answer is no page')
        const { next, previous, cursor_id: cursor } = placesOf(page)
        // only the first page has none before it, or a cursor of its own: a cursor that fails, or is not read, is that one
        if (place.link ? previous === null : place.query && cursor && !seen.has(cursor))
          throw wrong('the answer is not the next page')
        yield page
        const following = next ?? cursor
        if (following == null) return
        if (items.length === 0) throw wrong('an empty page leads on')
        // a server's cursor stays the same from page to page, and links do not
        if (seen.has(next)) throw wrong('the pages lead in a circle')
        seen.add(following)
        place = following === next ? { link: next } : { query: { server_cursor: cursor } }
      }
    }

    return {
      list: on(method, path),
      pages,
      async *all(query: unknown, options?: RequestOptions) {
        for await (const page of pages(query, options)) yield* itemsOf(page as Page) as readonly unknown[]
      },
      aggregate: on(method, below('aggregate')),
      facets: on(method, below('facets')),
    }
  }

  const bulk = below('bulk')
  return {
    ...reading('GET'),
    follow: (link: unknown, options?: RequestOptions) => on('GET', path)(undefined, { ...options, link }),
    query: {
      ...reading('QUERY'),
      follow: (link: unknown, data: unknown, options?: RequestOptions) => on('QUERY', path)(data, { ...options, link }),
    },
    retrieve: onOne('GET'),
    create: on('POST', path),
    update: onOne('PUT'),
    partialUpdate: onOne('PATCH'),
    destroy: bare('DELETE'),
    restoreDeleted: bare('POST', 'restore'),
    purgeDeleted: bare('DELETE', 'purge'),
    bulkCreate: on('POST', bulk),
    bulkUpdate: on('PATCH', bulk),
    bulkDestroy: on('DELETE', bulk),
    async *changes(options?: ChangesOptions) {
      const loaded = await import('./changes.js')
      yield* loaded.changeEvents(on('GET', below('changes')), ClientError, options)
    },
    call: (method: Method, name: string, data?: unknown, options?: RequestOptions) =>
      on(method, below(name), true)(data, options),
    callOn: (key: KeyPart['key'], method: Method, name: string, data?: unknown, options?: WriteOptions) =>
      on(method, [...one(key), name], true)(data, options),
    at: (key: KeyPart['key']) => resource(settings, one(key)),
  }
}

/** What leads on from a page: itself, or in an envelope what stands beside its objects. */
function placesOf(page: Page): Page {
  const leads = (one: Page | null | undefined) => (one?.cursor_id ?? one?.next) !== undefined
  return Array.isArray(page) ? page : ([page, ...(Object.values(page) as Page[])].find(leads) ?? page)
}

/** The objects of a page, or of a list without pages; undefined for what is neither. */
const itemsOf = (page: Page): readonly unknown[] | undefined =>
  [page, page.results, ...Object.values(page)].find(Array.isArray)

const wrong = (detail: string): ClientError => new ClientError(failure('unreadable', detail))
