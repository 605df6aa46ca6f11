/** What a typed client asks by QUERY, against what the same client gets by GET. */
import {
  APIRouter,
  CursorPagination,
  configure,
  FieldFilter,
  IntegerField,
  LimitOffsetPagination,
  listAction,
  modelSerializer,
  modelViewSet,
  OrderingFilter,
  PageNumberPagination,
  SearchFilter,
  ServerCursorPagination,
} from 'koa-viewsets'
import { ClientError, createClient } from 'koa-viewsets/client'
import { count, max } from 'koa-viewsets/views'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, serving } from '../support/client.js'
import { Book, database, Review, useLibrary } from '../support/library.js'

useLibrary({
  sql: `
    insert into books (title, n) select 'book ' || i, nullif(i % 5, 0) from generate_series(1, 20) i;
    insert into reviews (book_id, stars) select i % 7 + 1, i % 6 from generate_series(1, 30) i;`,
  keep: true,
})

class Reviews extends modelViewSet(Review, {
  serializerClass: modelSerializer(Review, { fields: ['id', 'stars'] }),
  filterBackends: [FieldFilter],
  filtersetFields: ['stars'],
}) {}
class Books extends modelViewSet(Book, {
  serializerClass: modelSerializer(Book, { fields: ['id', 'title', 'n'] }),
  queryMethod: true,
  strictParams: true,
  paginationClass: new PageNumberPagination({ pageSize: 4 }),
  filterBackends: [new FieldFilter({ groupParam: 'filter' }), SearchFilter, OrderingFilter],
  filtersetFields: ['id', 'title', 'n'],
  filterRelations: { reviews: () => Reviews },
  searchFields: ['title'],
  orderingFields: ['n', 'id'],
  ordering: ['id'],
  aggregates: { books: count(), last: max('id') },
  groupBy: ['n'],
  facets: ['n'],
  actions: {
    near: listAction({ methods: ['QUERY'], input: { lon: new IntegerField() } }, (input) => ({ asked: input })),
  },
}) {}
class Feed extends Books {
  static override paginationClass = new CursorPagination({ pageSize: 3, ordering: 'id' })
}
class Slices extends Books {
  static override paginationClass = new LimitOffsetPagination({ defaultLimit: 3 })
}
class Kept extends Books {
  static override paginationClass = new ServerCursorPagination({ pageSize: 3 })
}

const router = new APIRouter({ prefix: '/api' })
  .register('books', Books, 'book')
  .register('feed', Feed, 'feed')
  .register('slices', Slices, 'slice')
  .register('kept', Kept, 'kept')
  .register('reviews', Reviews, 'review')

let server: Client
const sent: { method: string; url: string; body: unknown }[] = []

const client = (query = '') =>
  createClient<typeof router>(`http://127.0.0.1:${server.port}/api${query}`, {
    headers: { 'X-Client': 'yes' },
    fetch: (url, init) => {
      sent.push({ method: String(init.method), url: url.replace(/^.*?\/api/, ''), body: init.body })
      return fetch(url, init)
    },
  })

beforeAll(async () => {
  configure({ secretKey: 'x'.repeat(32) })
  await router.prepare()
  server = await serving(router.routes())
})
afterAll(async () => {
  await router.close()
  await server.close()
})

const idsOf = (books: readonly { id: number }[]) => books.map(({ id }) => id)

async function collected<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

describe('a list by QUERY', () => {
  it('is what GET answers, and its URL says nothing of what is asked', async () => {
    const { books } = client()
    const asked = await books.query.list({
      filter: { id__lte: 12, or: [{ n: 1 }, { n__isnull: true }] },
      order: ['-id'],
      search: 'book',
      page_size: 3,
      fields: ['id', 'n'],
    })
    const { method, url, body } = sent.at(-1) as (typeof sent)[number]
    expect([method, url, JSON.parse(String(body)).order]).toEqual(['QUERY', '/books', ['-id']])
    const same = await books.list({
      id__lte: 12,
      filter: 'or(n=1,n__isnull=true)',
      ordering: '-id',
      search: 'book',
      page_size: 3,
      fields: ['id', 'n'],
    })
    expect(asked).toMatchObject({ ok: true, status: 200, data: { count: 5, results: [{ id: 11, n: 1 }, {}, {}] } })
    expect(asked.data?.results).toEqual(same.data?.results)
  })

  it('asks about related objects', async () => {
    const { books } = client()
    const found = await books.query.list({
      filter: { 'any(reviews)': { stars: 5 }, 'count(reviews)__gte': 4 },
      page_size: 50,
    })
    const { rows } =
      await database.knex.raw(`select id from books b where exists (select from reviews where book_id = b.id
      and stars = 5) and (select count(*) from reviews where book_id = b.id) >= 4 order by id`)
    expect(idsOf(found.data?.results ?? [])).toEqual(idsOf(rows))
    expect(rows.length).toBeGreaterThan(0)
  })

  it('may be longer than a URL', async () => {
    const { books } = client()
    const titles = Array.from({ length: 999 }, (_, index) => `a title that no book here has ${index}`)
    const filter = { title__in: ['book 7', ...titles] }
    expect(idsOf((await books.query.list({ filter })).data?.results ?? [])).toEqual([7])
    expect(String(sent.at(-1)?.body).length).toBeGreaterThan(30_000)
    expect(await books.list(filter)).toMatchObject({ ok: false, status: 431 })
  })

  it('has what the address of the API says besides', async () => {
    const found = await client('?page_size=2').books.query.list({ filter: { n: 1 } })
    expect(sent.at(-1)).toMatchObject({ method: 'QUERY', url: '/books?page_size=2' })
    expect(idsOf(found.data?.results ?? [])).toEqual([1, 6])
  })

  it('is a failure where the body is wrong', async () => {
    const { books } = client()
    expect(await books.query.list({ filter: { n: 'x' as never } })).toMatchObject({
      ok: false,
      kind: 'invalid',
      errors: { n: ['A valid integer is required.'] },
    })
    expect(await books.query.list({ nothing: 1 } as never)).toMatchObject({ ok: false, kind: 'invalid' })
    expect(await books.query.list(undefined as never)).toMatchObject({ ok: false, status: 400 })
  })
})

describe('pages by QUERY', () => {
  it.each(['books', 'feed', 'slices', 'kept'] as const)('go to the end of %s', async (name) => {
    const { query } = client()[name]
    const filter = { id__gt: 2, or: [{ n__lt: 4 }, { n__isnull: true }] } as const
    const expected = Array.from({ length: 18 }, (_, index) => index + 3).filter((id) => id % 5 !== 4)
    expect(idsOf(await collected(query.all({ filter })))).toEqual(expected)
    const asked = sent.slice(-4)
    expect(asked.every(({ method, body }) => method === 'QUERY' && String(body).includes('id__gt'))).toBe(true)
    const pages = await collected<{ results: unknown[] }>(query.pages({ filter, fields: ['id'] }))
    expect(pages.flatMap(({ results }) => results)).toEqual(expected.map((id) => ({ id })))
    expect(pages.length).toBeGreaterThan(3)
  })

  it('are followed by their links, with the same body', async () => {
    const { query } = client().feed
    const body = { filter: { n: 2 } } as const
    const first = await query.list(body)
    const second = await query.follow(String(first.data?.next), body)
    expect(idsOf(second.data?.results ?? [])).toEqual([17])
    expect(sent.at(-1)?.url).toMatch(/^\/feed\?cursor=/)
    expect(await query.follow('https://elsewhere.example/feed?cursor=x', body)).toMatchObject({
      ok: false,
      kind: 'unsent',
    })
  })

  it('throw where their cursor fails, in place of beginning again', async () => {
    const { feed } = client()
    for (const asked of [feed.pages({}), feed.query.pages({})]) {
      const pages = asked[Symbol.asyncIterator]()
      const first = await pages.next()
      expect(idsOf((first.value as { results: { id: number }[] }).results)).toEqual([1, 2, 3])
      configure({ secretKey: 'y'.repeat(32) })
      const second = pages.next()
      await expect(second).rejects.toThrow('the answer is not the next page')
      configure({ secretKey: 'x'.repeat(32) })
      expect(await pages.next()).toMatchObject({ done: true })
    }
  })

  it('throw what cannot be had', async () => {
    await expect(collected(client().books.query.all({ page: 99 }))).rejects.toThrow(ClientError)
  })
})

describe('sums and counts by QUERY', () => {
  it('are those of GET', async () => {
    const { books } = client()
    const whole = await books.query.aggregate({ filter: { or: [{ n: 1 }, { n: 2 }] }, aggregate: 'books' })
    expect(whole.data).toEqual({ books: 8 })
    const groups = await books.query.aggregate({ group_by: 'n', aggregate: ['last'], order: '-last', page_size: 2 })
    const same = await books.aggregate({ group_by: 'n', aggregate: ['last'], ordering: '-last', page_size: 2 })
    expect(groups.data?.results).toEqual([
      { n: null, last: 20 },
      { n: 4, last: 19 },
    ])
    expect(groups.data?.results).toEqual(same.data?.results)
    const facets = await books.query.facets({ facet: 'n', filter: { not: { id__gt: 4 } } })
    expect(facets.data).toEqual((await books.facets({ facet: 'n', id__lte: 4 })).data)
    expect(sent.slice(-2).map(({ method, url }) => `${method} ${url}`)).toEqual([
      'QUERY /books/facets',
      'GET /books/facets?facet=n&id__lte=4',
    ])
  })
})

it('calls actions that take QUERY', async () => {
  const found = await client().books.call('QUERY', 'near', { lon: 1 })
  expect(found.data).toEqual({ asked: { lon: 1 } })
})

it('sends what it is given for the one request, and tells the method to who makes headers', async () => {
  const methods: string[] = []
  const api = createClient<typeof router>(`http://127.0.0.1:${server.port}/api`, {
    headers: ({ method }) => {
      methods.push(method)
      return {}
    },
  })
  const etag = (await api.books.query.list({ filter: { n: 1 } })).headers?.get('etag')
  const again = await api.books.query.list({ filter: { n: 1 } }, { headers: { 'if-none-match': etag ?? 'none' } })
  expect([methods, again.status]).toEqual([['QUERY', 'QUERY'], etag ? 304 : 200])
  expect(await api.books.query.list({}, { signal: AbortSignal.abort() })).toMatchObject({ ok: false, kind: 'aborted' })
})
