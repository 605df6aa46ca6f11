/** How many objects have each value, under the filters of the others: `GET /books/facets`. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  APIRouter,
  configure,
  FieldFilter,
  type Filters,
  ModelSerializer,
  OrderingFilter,
  PageNumberPagination,
  type Pagination,
  ReadOnlyModelViewSet,
  SearchFilter,
} from '../../lib/index.js'
import { count, sum } from '../../lib/views/index.js'
import { Book, createBooks } from '../lib/filters/books.js'
import { type Client, serving } from '../support/client.js'
import type { TestDatabase } from '../support/database.js'

let database: TestDatabase
let client: Client

class BookSerializer extends ModelSerializer<Book> {
  static override schemaName = 'FacetedBook'
  static override model = Book
  static override fields = ['id', 'title', 'n']
}

class Books extends ReadOnlyModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override filterBackends: Filters = [new FieldFilter({ groupParam: 'filter' }), SearchFilter, OrderingFilter]
  static override filtersetFields = ['n', 'state', 'author_id', 'author__name', 'created']
  static override searchFields = ['title']
  static override orderingFields = ['n']
  static override facets = ['state', 'author__name', 'created__month', 'flag']
}

class Queried extends Books {
  static override queryMethod = true
  static override aggregates = { books: count(), total: sum('n') }
  static override groupBy = ['state', 'created__month']
  static override paginationClass: Pagination = new PageNumberPagination({ pageSize: 2 })
}

class Two extends Books {
  static override maxFacetValues = 2
}

class Strict extends Books {
  static override strictParams = true
}

class Own extends Books {
  override filterQueryset(query: Parameters<Books['filterQueryset']>[0]) {
    return super.filterQueryset(query).where('books.n', '<', 5)
  }
}

beforeAll(async () => {
  configure({ secretKey: 'a secret of the tests' })
  database = await createBooks()
  await database.knex.raw(`
    insert into people (name) values ('Ada'), ('Ben');
    insert into books (title, n, created, flag, state, author_id) values
      ('a', 1, '2024-01-31T12:00:00Z', true, 'draft', 1), ('b', 2, '2024-02-01T00:00:00Z', false, 'open', 1),
      ('c', 3, '2024-02-02T00:00:00Z', null, 'done', 2), ('d', 4, null, true, 'done', null), ('e', 5, null, true, 'done', 2);
  `)
  const router = new APIRouter({ prefix: '/api' })
  router.register('queried', Queried, 'queried')
  router.register('books', Books, 'book').register('two', Two, 'two')
  router.register('strict', Strict, 'strict').register('own', Own, 'own')
  await router.prepare()
  client = await serving(router.routes())
})
afterAll(async () => {
  await client.close()
  await database.drop()
})
afterEach(() => expect(client.reported).toEqual([]))

async function got(path: string): Promise<any> {
  const { status, json } = await client.get(`/api/${path}`)
  expect([path, status, json]).toEqual([path, 200, json])
  return json
}

const pairs = ({ values }: { values: { value: unknown; count: number }[] }) =>
  values.map(({ value, count }) => [value, count])

describe('facets', () => {
  it('are the most frequent values first, then by value, with those that have none', async () => {
    const { text } = await client.get('/api/books/facets')
    expect(text).toBe(
      '{"state":{"values":[{"value":"done","count":3},{"value":"draft","count":1},{"value":"open","count":1}],"has_more":false},' +
        '"author__name":{"values":[{"value":"Ada","count":2},{"value":"Ben","count":2},{"value":null,"count":1}],"has_more":false},' +
        '"created__month":{"values":[{"value":"2024-02-01","count":2},{"value":null,"count":2},{"value":"2024-01-01","count":1}],"has_more":false},' +
        '"flag":{"values":[{"value":true,"count":3},{"value":false,"count":1},{"value":null,"count":1}],"has_more":false}}',
    )
  })

  it('are those that are asked for, in that order', async () => {
    expect(Object.keys(await got('books/facets?facet=flag,state'))).toEqual(['flag', 'state'])
  })

  it('count under the filters of all columns but their own', async () => {
    const { state, author__name, flag } = await got('books/facets?facet=state,author__name,flag&state=done')
    expect(pairs(state)).toHaveLength(3)
    expect(pairs(author__name)).toEqual([
      ['Ben', 2],
      [null, 1],
    ])
    expect(pairs(flag)).toEqual([
      [true, 2],
      [null, 1],
    ])
  })

  it('leave out every lookup of their column, and only those', async () => {
    const { state } = await got('books/facets?facet=state&state__in=done,open&state__ne=open&n__lt=5')
    expect(pairs(state)).toEqual([
      ['done', 2],
      ['draft', 1],
      ['open', 1],
    ])
    const { created__month } = await got('books/facets?facet=created__month&created__isnull=true&n=1')
    expect(pairs(created__month)).toEqual([['2024-01-01', 1]])
  })

  it('count under a search and under groups of filters', async () => {
    expect(pairs((await got('books/facets?facet=state&search=d')).state)).toEqual([['done', 1]])
    expect(pairs((await got('books/facets?facet=state&filter=not(state=done)')).state)).toEqual([
      ['draft', 1],
      ['open', 1],
    ])
  })

  it('are empty where there are no objects', async () => {
    expect(await got('books/facets?facet=state&n=77')).toEqual({ state: { values: [], has_more: false } })
  })

  it('are cut, and say so', async () => {
    const { state, flag } = await got('two/facets?facet=state,flag&n__gt=1&n__lt=5')
    expect([pairs(state), state.has_more]).toEqual([
      [
        ['done', 2],
        ['open', 1],
      ],
      false,
    ])
    expect([pairs(flag).length, flag.has_more]).toEqual([2, true])
  })

  it('count under conditions of the application, and without their own filter there too', async () => {
    expect(pairs((await got('own/facets?facet=state&state=open')).state)).toEqual([
      ['done', 2],
      ['draft', 1],
      ['open', 1],
    ])
  })

  it.each([
    ['facet=', 'facet'],
    ['facet=secret', 'facet'],
    ['facet=state,state', 'facet'],
    ['facet=state%00', 'facet'],
    ['facet=__proto__', 'facet'],
    ['facet=state&n=x', 'n'],
    ['facet=state&state=x', 'state'],
  ])('are 400 where the request is wrong: %s', async (query, parameter) => {
    const { status, json } = await client.get(`/api/books/facets?${query}`)
    expect([status, Object.keys(json.errors)]).toEqual([400, [parameter]])
  })

  it('take no parameter that nothing reads, with strictParams', async () => {
    const { status, json } = await client.get('/api/strict/facets?facet=state&ordering=n&page=1')
    expect([status, Object.keys(json.errors)]).toEqual([400, ['ordering', 'page']])
    await got('strict/facets?facet=state&state=done&search=d')
  })
})

describe('a QUERY', () => {
  it.each<[path: string, body: object, query: string]>([
    ['facets', {}, ''],
    ['facets', { facet: ['state', 'flag'] }, 'facet=state,flag'],
    [
      'facets',
      { facet: ['state', 'author__name'], filter: { state: 'done', n__gt: 3 } },
      'facet=state,author__name&state=done&n__gt=3',
    ],
    ['facets', { filter: { or: [{ n: 1 }, { state: 'done' }] }, search: 'c' }, 'filter=or(n=1,state=done)&search=c'],
    ['aggregate', {}, ''],
    ['aggregate', { aggregate: ['total'], filter: { n__gte: 3 } }, 'aggregate=total&n__gte=3'],
  ])('to %s of %j answers as GET ?%s', async (path, body, query) => {
    const expected = await client.get(`/api/queried/${path}?${query}`)
    expect(expected.status).toBe(200)
    const answer = await client.send('QUERY', `/api/queried/${path}`, body)
    expect([answer.status, answer.text]).toEqual([200, expected.text])
    expect(answer.headers['accept-query']).toBe('application/json')
  })

  it('for groups is paged by links that take the same body', async () => {
    const body = { group_by: 'state', order: ['-total'], filter: { n__gt: 0 } }
    const first = await client.send('QUERY', '/api/queried/aggregate', body)
    expect(first.json).toMatchObject({ count: 3, next: '/api/queried/aggregate?page=2' })
    const rest = await client.send('QUERY', first.json.next, body)
    expect([...first.json.results, ...rest.json.results].map(({ total }) => total)).toEqual([12, 2, 1])
  })

  it.each([
    ['facets', { order: ['n'] }],
    ['facets', { group_by: ['state'] }],
    ['facets', { facet: ['nope'] }],
    ['facets', { page: 2 }],
    ['aggregate', { facet: ['state'] }],
    ['aggregate', { aggregate: ['total', 'total'] }],
    ['aggregate', { group_by: [''] }],
    ['aggregate', { fields: ['n'] }],
  ])('to %s refuses %j', async (path, body) => {
    const { status, json } = await client.send('QUERY', `/api/queried/${path}`, body)
    expect([status, Object.keys(json.errors)]).toEqual([400, Object.keys(body)])
  })
})
