/** Typed clients of servers that are none of ours, to see what clients make of any answer. */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type APIRouter,
  bulkModelViewSet,
  DateField,
  modelSerializer,
  type NestedRouter,
  objectAction,
  PageNumberPagination,
} from 'koa-viewsets'
import { type Client, type ClientOptions, createClient } from 'koa-viewsets/client'
import { Model } from 'objection'

class Book extends Model {
  static override tableName = 'books'
  declare id: number
  declare title: string
  declare cover: string | null
}
class BookViewSet extends bulkModelViewSet(Book, {
  serializerClass: modelSerializer(Book, { fields: ['id', 'title', 'cover'] }),
  paginationClass: PageNumberPagination,
  actions: {
    publish: objectAction({ methods: ['POST'], input: { on: new DateField() } }, () => undefined),
  },
}) {}

type Router = APIRouter<{ books: typeof BookViewSet }>
type Nested = NestedRouter<Router, 'books', { 'books/{}/books': typeof BookViewSet }>
export type BooksClient = Client<Router | Nested>

/** A client of an API of books, wherever that is. */
export function booksClient(url: string, options?: ClientOptions): BooksClient {
  return createClient<Router | Nested>(url, options)
}

const servers: Server[] = []

/** Starts a server that answers whatever the listener does. @returns its address */
export async function answering(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Ends all servers of `answering()`. */
export function closeServers(): void {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
}

/** An answer of JSON. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): RequestListener {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return (_req, res) => void res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
}

/** An answer of a proxy. */
export function page(status: number, headers: Record<string, string> = {}): RequestListener {
  return (_req, res) => void res.writeHead(status, { 'content-type': 'text/html', ...headers }).end('<html></html>')
}
