import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createClient } from '../../lib/client/index.js'
import {
  APIRouter,
  type BasePagination,
  CSVRenderer,
  CursorPagination,
  configure,
  JSONRenderer,
  LimitOffsetPagination,
  ModelViewSet,
  modelViewSet,
  PageNumberPagination,
} from '../../lib/index.js'
import { count } from '../../lib/views/index.js'
import { type Client, serveApp } from '../support/client.js'
import { undescribed } from '../support/contract.js'
import type { TestDatabase } from '../support/database.js'
import { Book, BookSerializer, createLibrary } from '../support/library.js'

let database: TestDatabase

beforeAll(async () => {
  configure({ secretKey: 'a secret of sixteen characters' })
  database = await createLibrary()
  await database.knex.raw(`insert into books (title, n) select 'b' || i, i from generate_series(1, 23) i`)
})
afterAll(() => database.drop())

async function served(paginationClass: BasePagination, before?: Parameters<typeof serveApp>[0]) {
  class Books extends ModelViewSet<Book> {
    static override model = Book
    static override serializerClass = BookSerializer
    static override paginationClass = paginationClass
    static override rendererClasses = [JSONRenderer, CSVRenderer]
  }
  const api = new APIRouter({ prefix: '/api' }).register('books', Books)
  await api.prepare()
  const client = await serveApp(...(before ? [before] : []), api.routes())
  return { api, client }
}

/** Targets by relation. */
async function linksOf(client: Client, path: string) {
  const { headers, json } = await client.get(path)
  const found = [...String(headers['link'] ?? '').matchAll(/<([^<>]*)>; rel="(\w+)"/g)]
  return { links: Object.fromEntries(found.map(([, target, relation]) => [relation, target])), json }
}

describe('pages by number with linkHeader', () => {
  it('names next, prev, first and last by the paths of the body', async () => {
    const { client } = await served(new PageNumberPagination({ pageSize: 5, linkHeader: true }))
    const { links, json } = await linksOf(client, '/api/books?a=1&page=2')
    expect(links).toEqual({
      next: json.next,
      prev: json.previous,
      first: '/api/books?a=1&page=1',
      last: '/api/books?a=1&page=5',
    })
    expect((await client.get(links['last'] as string)).json.results).toHaveLength(3)
  })

  it('names no next page on the last, and no page before on the first', async () => {
    const { client } = await served(new PageNumberPagination({ pageSize: 5, linkHeader: true }))
    const last = await linksOf(client, '/api/books?page=5')
    expect(Object.keys(last.links)).toEqual(['prev', 'first', 'last'])
    const first = await linksOf(client, '/api/books')
    expect(Object.keys(first.links)).toEqual(['next', 'first', 'last'])
  })

  it.each(['none', 'estimated', 'capped'] as const)(
    'names no last page where the count is %s, until it is there',
    async (count) => {
      const { client } = await served(new PageNumberPagination({ pageSize: 5, count, linkHeader: true }))
      expect((await linksOf(client, '/api/books')).links).not.toHaveProperty('last')
      expect((await linksOf(client, '/api/books?page=5')).links['last']).toBe('/api/books?page=5')
    },
  )

  it('has the links where the body has none, as in CSV', async () => {
    const { client } = await served(new PageNumberPagination({ pageSize: 20, linkHeader: true }))
    const { headers } = await client.get('/api/books.csv')
    expect(headers['link']).toBe(
      '</api/books.csv?page=2>; rel="next", </api/books.csv?page=1>; rel="first", </api/books.csv?page=2>; rel="last"',
    )
  })

  it('keeps the links that earlier middleware has set', async () => {
    const { client } = await served(new PageNumberPagination({ linkHeader: true }), (ctx, next) => {
      ctx.set('Link', '</license>; rel="license"')
      return next()
    })
    const { headers } = await client.get('/api/books')
    expect([headers['link']].flat().join(', ')).toMatch(
      /^<\/license>; rel="license", <\/api\/books\?page=1>; rel="first"/,
    )
  })

  it('is silent without the option, and on a 404', async () => {
    const silent = await served(new PageNumberPagination())
    expect((await silent.client.get('/api/books')).headers).not.toHaveProperty('link')
    const { client } = await served(new PageNumberPagination({ linkHeader: true }))
    expect((await client.get('/api/books?page=99')).headers).not.toHaveProperty('link')
  })

  it('encodes what would end a link, and leaves out links of thousands of characters', async () => {
    const { client } = await served(new PageNumberPagination({ pageSize: 20, linkHeader: true }))
    const { headers } = await client.get('/api/books?a=>;rel="x"')
    expect(headers['link']).not.toMatch(/[^<]*<[^>]*"/)
    const long = await client.get(`/api/books?a=${'x'.repeat(5_000)}`)
    expect(long.status).toBe(200)
    expect(long.headers).not.toHaveProperty('link')
    expect(long.json.next).toContain('page=2')
  })

  it('stands in the document, and is explained', async () => {
    const { api } = await served(new PageNumberPagination({ linkHeader: true }))
    const { responses } = (api.getSchema().paths['/api/books'] as never)['get']
    expect(responses['200']['headers']).toHaveProperty('Link')
    const silent = await served(new PageNumberPagination())
    expect(
      (silent.api.getSchema().paths['/api/books'] as never)['get']['responses']['200']['headers'] ?? {},
    ).not.toHaveProperty('Link')
    expect((await api.explain()).length).toBeGreaterThan(0)
  })

  it('takes true and false only', () => {
    expect(() => new PageNumberPagination({ linkHeader: 'yes' as never })).toThrow(/linkHeader/)
  })
})

describe('slices with linkHeader', () => {
  it.each([
    ['/api/books?limit=5&offset=7', { prev: 2, next: 12, first: 0, last: 22 }],
    ['/api/books?limit=5&offset=22', { prev: 17, first: 0, last: 22 }],
    ['/api/books?limit=5&offset=99', { prev: 94, first: 0, last: 20 }],
    ['/api/books?limit=50', { first: 0, last: 0 }],
  ])('leads from %s to the slices that its links lead to', async (path, offsets) => {
    const { client } = await served(new LimitOffsetPagination({ linkHeader: true }))
    const { links } = await linksOf(client, path)
    const found = Object.entries(links).map(([relation, target]) => [
      relation,
      Number(/offset=(\d+)/.exec(target as string)?.[1]),
    ])
    expect(Object.fromEntries(found)).toEqual(offsets)
  })
})

describe('cursors with linkHeader', () => {
  it('names the pages around, and the first', async () => {
    const { client } = await served(new CursorPagination({ pageSize: 5, linkHeader: true }))
    const one = await linksOf(client, '/api/books?page_size=4')
    expect(one.links).toEqual({ next: one.json.next, first: '/api/books?page_size=4' })
    const two = await linksOf(client, one.json.next)
    expect(two.links).toEqual({ next: two.json.next, prev: two.json.previous, first: '/api/books?page_size=4' })
  })
})

describe('bare lists with countHeader', () => {
  const classes = [
    new PageNumberPagination({ pageSize: 10, countHeader: 'X-Total-Count' }),
    new LimitOffsetPagination({ defaultLimit: 10, countHeader: 'X-Total-Count' }),
  ] as const

  it.each(classes)('have their count in the header, and links to other pages', async (paginator) => {
    const { client, api } = await served(paginator)
    const { links, json } = await linksOf(client, '/api/books')
    expect(json).toHaveLength(10)
    expect((await client.get('/api/books')).headers['x-total-count']).toBe('23')
    const second = await linksOf(client, links['next'] as string)
    const third = await client.get(second.links['next'] as string)
    expect([second.json.length, third.json.length]).toEqual([10, 3])
    expect(third.headers['x-total-count']).toBe('23')
    expect((await client.get('/api/books.csv')).text.split('\r\n')).toHaveLength(12)
    const { paths } = api.getSchema({ title: 'Books', version: '1' })
    expect(paths['/api/books']?.get?.responses['200']).toMatchObject({
      content: { 'application/json': { schema: { type: 'array' } } },
      headers: { 'X-Total-Count': { $ref: '#/components/headers/X-Total-Count' } },
    })
  })

  it.each([
    [new PageNumberPagination({ countHeader: 'Content-Range' }), '?page_size=5&page=2', 'items 5-9/23'],
    [new LimitOffsetPagination({ countHeader: 'content-range' }), '?limit=9&offset=20', 'items 20-22/23'],
    [new LimitOffsetPagination({ countHeader: 'Content-Range' }), '?offset=40', 'items */23'],
    [new LimitOffsetPagination({ countHeader: 'Content-Range', count: 'none' }), '?limit=5', 'items 0-4/*'],
  ])('say in Content-Range which objects they are, and that the document says so', async (paginator, query, range) => {
    const { client, api } = await served(paginator)
    expect((await client.get(`/api/books${query}`)).headers['content-range']).toBe(range)
    const { components } = api.getSchema()
    expect(components.headers).toMatchObject({ [paginator.countHeader as string]: { schema: { type: 'string' } } })
  })

  it('are lists for a typed client, too, which walks over none', async () => {
    class Books extends modelViewSet(Book, {
      serializerClass: BookSerializer,
      paginationClass: new PageNumberPagination({ pageSize: 10, countHeader: 'X-Total-Count' }),
    }) {}
    const api = new APIRouter({ prefix: '/api' }).register('books', Books)
    await api.prepare()
    const { port } = await serveApp(api.routes())
    const client = createClient<typeof api>(`http://127.0.0.1:${port}/api`)
    const first = await client.books.list()
    expect(first.ok && first.data.length).toBe(10)
    // what a bare list does not say, no walk can know
    const walk: never = client.books.all()
    expect(walk).toBeDefined()
  })

  it('say no count that nobody has counted, and refuse what is no header', async () => {
    const { client, api } = await served(new LimitOffsetPagination({ count: 'none', countHeader: 'X-Total-Count' }))
    expect(api.getSchema().components.headers).not.toHaveProperty('X-Total-Count')
    expect((await client.get('/api/books')).headers).not.toHaveProperty('x-total-count')
    await expect(served(new PageNumberPagination({ countHeader: 'a b' }))).rejects.toThrow(
      'PageNumberPagination: countHeader "a b" is no name of a header',
    )
  })
})

describe('Behind a proxy that strips a prefix, forwardedPrefix', () => {
  async function shop() {
    configure({ forwardedPrefix: '/shop' })
    onTestFinished(() => configure({}))
    const api = new APIRouter({ prefix: '/api' }).register(
      'books',
      modelViewSet(Book, {
        serializerClass: BookSerializer,
        paginationClass: new PageNumberPagination({ linkHeader: true }),
        aggregates: { copies: count() },
        groupBy: ['title'],
      }),
    )
    await api.prepare()
    return { api, client: await serveApp(undescribed(api.routes())) }
  }

  it('begins next, previous, Link, Location and the API root', async () => {
    const { client } = await shop()
    const { json, headers } = await client.get('/api/books?page_size=5&page=2')
    expect([json.next, json.previous]).toEqual([
      '/shop/api/books?page_size=5&page=3',
      '/shop/api/books?page_size=5&page=1',
    ])
    expect(String(headers['link'])).toMatch(/^<\/shop\/api\/books\?page_size=5&page=3>; rel="next"/)
    const groups = await client.get('/api/books/aggregate?group_by=title&page_size=5')
    expect(groups.json.next).toBe('/shop/api/books/aggregate?group_by=title&page_size=5&page=2')
    const created = await client.send('POST', '/api/books', { title: 'new' })
    expect(created.headers['location']).toMatch(/^\/shop\/api\/books\/\d+$/)
    expect((await client.get('/api')).json).toEqual({ book: '/shop/api/books' })
  })

  it('begins api.url() and the servers of the document, and no path of it', async () => {
    const { api } = await shop()
    expect([api.url('book-list'), api.url('book-retrieve', { id: 7 })]).toEqual([
      '/shop/api/books',
      '/shop/api/books/7',
    ])
    const { servers, paths } = api.getSchema()
    expect([servers, Object.keys(paths)[0]]).toEqual([[{ url: '/shop' }], '/api'])
    expect(api.getSchema({ servers: [{ url: 'https://example.org' }] }).servers).toEqual([
      { url: 'https://example.org' },
    ])
  })

  it('is read of the environment, and of no header', async () => {
    const { client } = await shop()
    const headers = { 'X-Forwarded-Prefix': '/evil' }
    expect((await client.get('/api/books?page_size=5', headers)).json.next).toBe('/shop/api/books?page_size=5&page=2')
    configure({})
    expect((await client.get('/api/books?page_size=5', headers)).json.next).toBe('/api/books?page_size=5&page=2')
    vi.stubEnv('FORWARDED_PREFIX', '/a/b')
    onTestFinished(() => void vi.unstubAllEnvs())
    configure({})
    expect((await client.get('/api/books?page_size=5')).json.next).toBe('/a/b/api/books?page_size=5&page=2')
  })

  it.each(['shop', '/shop/', '//shop', '/a b', '/shop?x', 7])('refuses %j', (forwardedPrefix) => {
    expect(() => configure({ forwardedPrefix: forwardedPrefix as string })).toThrow(
      `configure({ forwardedPrefix }) is ${JSON.stringify(forwardedPrefix)}: give a path such as /shop, without a slash at the end`,
    )
  })
})
