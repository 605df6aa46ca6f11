/** A typed client of an API, for browsers and Node: `koa-viewsets/client`. Nothing of the server is in it. */
import { baseOf } from './address.js'
import { resource } from './resource.js'
import type { ClientOptions } from './send.js'
import type { Client } from './types.js'

// `ActionMethods`, `Key` and `Methods` are what declarations name that compilers write of `api.books`
export type { ActionMethods } from './action-types.js'
export type { ChangeEvent, ChangesOptions } from './changes.js'
export type { Method, RequestOptions, WriteOptions } from './options.js'
export type { Key, ListQuery } from './query-types.js'
export {
  ClientError,
  type Failure,
  type FailureKind,
  type FieldErrors,
  type Messages,
  type Result,
  type Success,
} from './result.js'
export type { ClientOptions } from './send.js'
export type { Client, Methods, ResourceClient, ShowQuery } from './types.js'
export type { KeyOf, PageOf } from './view-types.js'

/**
 * A client of an API whose routers have the type `Api`.
 * @param url where the API's paths begin: that of its router's prefix. Its query, if it has one, is part of every request. In
 * a browser it may be relative to the page: `/api`
 * @throws {TypeError} the address holds a user or a password, which `fetch` refuses to send: give `headers`
 * @example
 * import type { Api } from './api.js' // export type Api = typeof api
 * const api = createClient<Api>('https://example.org/api/v1')
 * const found = await api.books.list({ price__gte: 10, ordering: '-price' })
 * if (found.ok) for (const book of found.data.results) console.log(book.title)
 * else console.error(found.kind, found.detail)
 */
export function createClient<Api>(url: string, options: ClientOptions = {}): Client<Api> {
  return resource({ ...options, base: baseOf(url) }, []) as Client<Api>
}
