/** An app whose `ctx.query` another package has made: values may be objects, which no parameter of ours is. */
import Koa from 'koa'
import koaQs from 'koa-qs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  APIRouter,
  CSVRenderer,
  CursorPagination,
  configure,
  FieldFilter,
  type Filters,
  FullTextSearchFilter,
  JSONRenderer,
  LimitOffsetPagination,
  ModelSerializer,
  OrderingFilter,
  PageNumberPagination,
  QueryParamVersioning,
  ReadOnlyModelViewSet,
  SearchFilter,
  SearchRankOrderingFilter,
  ServerCursorPagination,
  StreamMixin,
} from '../../lib/index.js'
import { Book, useLibrary } from '../support/library.js'
import { serve, type TestResponse, type TestServer } from '../support/server.js'
import { isLong } from '../trust/support/size.js'

class BookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title']
}
class Books extends StreamMixin(ReadOnlyModelViewSet<Book>) {
  static override model = Book
  static override serializerClass = BookSerializer
  static override rendererClasses = [JSONRenderer, CSVRenderer]
  static override paginationClass: typeof ReadOnlyModelViewSet.paginationClass = PageNumberPagination
  static override filterBackends: Filters = [FieldFilter, SearchFilter, OrderingFilter]
  static override filtersetFields = ['id', 'title']
  static override searchFields = ['title']
  static override orderingFields = ['id', 'title']
  static override versioningClass = new QueryParamVersioning({ defaultVersion: '1', allowedVersions: ['1', '2'] })
}
class Strict extends Books {
  static override strictParams = true
}
class Cursors extends Books {
  static override paginationClass = CursorPagination
}
class Slices extends Books {
  static override paginationClass = LimitOffsetPagination
}
class Exports extends Books {
  static override paginationClass = ServerCursorPagination
}
class Texts extends Books {
  static override filterBackends: Filters = [FullTextSearchFilter, SearchRankOrderingFilter]
}

const VIEWS = { books: Books, strict: Strict, cursors: Cursors, slices: Slices, exports: Exports, texts: Texts }
const PARAMETERS = [
  ...['page', 'page_size', 'limit', 'offset', 'cursor', 'server_cursor', 'search', 'ordering', 'fields', 'expand'],
  ...['version', 'format', 'id', 'id__in', 'title__icontains', 'title__isnull'],
]
/** What makes an object, a list of objects, or null of a value: to Koa, names that are none of ours, or an empty text. */
const ODD = ['[a]=1', '[a][b]=1', '[][a]=1', '[25]=1', '']
/** What makes lists, whose texts count as those of repeated names do, or nothing. */
const LISTS = ['[toString]=1', '[]=1', '[0]=1', '[]=1&x[]=2']

useLibrary({ sql: "insert into books (title) values ('Momo'), ('Emil')", keep: true })

let api: APIRouter
const servers: Record<string, TestServer> = {}
const reported: unknown[] = []
let turn = 0

beforeAll(async () => {
  configure({ secretKey: 'a secret of these tests' })
  api = new APIRouter()
  for (const [name, view] of Object.entries(VIEWS)) api.register(name, view, name)
  await api.prepare()
  for (const mode of ['extended', 'strict', 'first', 'plain'] as const) {
    const app = new Koa()
    app.on('error', (error) => reported.push(error))
    if (mode === 'extended') koaQs(app, mode, { strictNullHandling: true })
    else if (mode !== 'plain') koaQs(app, mode)
    servers[mode] = await serve(app.use(api.routes()))
  }
})
afterAll(async () => {
  configure({})
  for (const server of Object.values(servers)) await server.close()
  await api.close()
})

describe.each(['extended', 'strict', 'first'])('under koa-qs in its mode %s', (mode) => {
  it.each(Object.keys(VIEWS))('/%s answers each parameter in brackets as plain Koa does', async (view) => {
    for (const parameter of PARAMETERS) {
      // in the short run a third, another one for each parameter, view and mode
      turn += 1
      for (const shape of [...ODD, ...LISTS].filter((_, index) => isLong || (index + turn) % 3 === 0)) {
        const path = `/${view}?${parameter}${shape}`
        const [plain, own] = await Promise.all(['plain', mode].map((name) => ask(name, path)))
        expect([path, own?.status]).toEqual([path, expect.toSatisfy((status) => status < 500)])
        if (LISTS.includes(shape)) continue
        expect([path, own?.status, masked(own?.text)]).toEqual([path, plain?.status, masked(plain?.text)])
      }
    }
    expect(reported).toEqual([])
  })

  it('filters, pages and selects by texts and repeated ones', async () => {
    const path = '/books?id__in=1,2&title__icontains=m&page_size=1&page=2&fields=title&ordering=title&ordering=-id'
    const [plain, own] = await Promise.all(['plain', mode].map((name) => ask(name, path)))
    if (mode !== 'first') expect(own?.json).toEqual(plain?.json)
    expect(own?.json).toMatchObject({ count: 2, results: [{ title: expect.any(String) }] })
  })

  it('is 400 with strictParams', async () => {
    expect((await servers[mode]?.send({ path: '/strict?id[a]=1' }))?.status).toBe(400)
  })
})

/** Each server cursor has an id of its own. */
function masked(text = ''): string {
  return text.replace(/"cursor_id":"[^"]*"/, '"cursor_id":"…"')
}

async function ask(server: string, path: string): Promise<TestResponse | undefined> {
  return servers[server]?.send({ path })
}
