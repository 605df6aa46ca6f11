/** Ways to ask for aggregates and facets besides a GET, what is said of them, and what no request can do. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createClient } from '../../lib/client/index.js'
import {
  APIRouter,
  configure,
  FieldFilter,
  modelSerializer,
  PageNumberPagination,
  readOnlyModelViewSet,
} from '../../lib/index.js'
import { formatExplanations } from '../../lib/tools/index.js'
import { count, max, sum } from '../../lib/views/index.js'
import { hostileValues } from '../lib/filters/books.js'
import { type Client, serving } from '../support/client.js'
import { database, Book as LibraryBook, useLibrary } from '../support/library.js'
import { size } from '../trust/support/size.js'

class Book extends LibraryBook {
  declare kind: 'novel' | 'poem' | null
}
class Books extends readOnlyModelViewSet(Book, {
  serializerClass: modelSerializer(Book, { fields: ['id', 'title', 'price', 'kind', 'author_id'] }),
  filterBackends: [new FieldFilter({ groupParam: 'filter' })],
  filtersetFields: ['kind', 'price', 'author_id'],
  paginationClass: new PageNumberPagination({ pageSize: 2 }),
  queryMethod: true,
  aggregates: { total: sum('price'), last: max('title'), books: count() },
  groupBy: ['kind', 'author__name', 'author_id'],
  facets: ['kind', 'author__name'],
  strictParams: true,
}) {}

useLibrary({
  sql: `
    alter table books add kind text;
    insert into books (title, price, kind, author_id) values
      ('a', 1.5, 'novel', 1), ('b', 2, 'poem', 1), ('c', null, 'novel', 2), ('d', 4, null, null);`,
  keep: true,
})

let client: Client
const api = new APIRouter({ prefix: '/api' }).register('books', Books)

beforeAll(async () => {
  configure({ secretKey: 'a secret of the tests' })
  await api.prepare()
  client = await serving(api.routes())
})
afterAll(() => client.close())
afterEach(() => expect(client.reported).toEqual([]))

describe('QUERY', () => {
  const ask = (path: string, body: unknown) => client.send('QUERY', `/api/books/${path}`, body)

  it.each([
    ['aggregate', {}, ''],
    ['aggregate', { aggregate: ['total', 'books'], filter: { kind: 'novel' } }, '?aggregate=total,books&kind=novel'],
    [
      'aggregate',
      { aggregate: 'books', filter: { or: [{ kind: 'poem' }, { price__gt: 3 }] } },
      '?aggregate=books&filter=or(kind=poem,price__gt=3)',
    ],
    ['facets', {}, ''],
    ['facets', { facet: ['kind'], filter: { kind: 'poem', author_id: 1 } }, '?facet=kind&kind=poem&author_id=1'],
  ])('answers as GET does: %s %j', async (path, body, query) => {
    const [asked, got] = [await ask(path, body), await client.get(`/api/books/${path}${query}`)]
    expect([asked.status, asked.text]).toEqual([200, got.text])
  })

  it('pages groups by links that are sent the same body', async () => {
    const body = { group_by: ['kind'], aggregate: ['books'], order: ['-books', 'kind'] }
    const first = await ask('aggregate', body)
    expect(first.json).toMatchObject({ count: 3, next: '/api/books/aggregate?page=2' })
    expect(first.json.results).toEqual([
      { kind: 'novel', books: 2 },
      { kind: 'poem', books: 1 },
    ])
    expect((await ask('aggregate?page=2', body)).json.results).toEqual([{ kind: null, books: 1 }])
  })

  it.each([
    ['aggregate', { aggregate: [] }, ['aggregate']],
    ['aggregate', { aggregate: { a: 1 } }, ['aggregate']],
    ['aggregate', { group_by: [null] }, ['group_by']],
    ['aggregate', { ordering: 'books' }, ['ordering']],
    ['aggregate', { facet: 'kind' }, ['facet']],
    ['facets', { facet: ['kind', 'kind'] }, ['facet']],
    ['facets', { page: 1 }, ['page']],
  ])('is 400 where GET would be: %s %j', async (path, body, names) => {
    const { status, json } = await ask(path, body)
    expect([status, Object.keys(json.errors)]).toEqual([400, names])
  })
})

it('are explained with their SQL, parameters and pages', async () => {
  const [aggregate, facets] = [...(await api.explain('book-aggregate')), ...(await api.explain('book-facets'))].filter(
    ({ method }) => method === 'GET',
  )
  expect(aggregate).toMatchObject({
    path: '/api/books/aggregate',
    answeredBy: 'Books.aggregate',
    pagination: 'PageNumberPagination',
    filters: ['FieldFilter'],
    notes: [],
  })
  expect(aggregate?.parameters).toEqual(expect.arrayContaining(['group_by', 'aggregate', 'ordering', 'kind', 'page']))
  expect(aggregate?.statements.map(({ sql }) => sql).join()).toMatch(/sum\("books"\."price"\).*group by 1, 2, 3/)
  expect(facets?.parameters).toEqual(expect.arrayContaining(['facet', 'kind']))
  expect(facets?.statements).toHaveLength(2)
  expect(formatExplanations([aggregate as never])).toContain('group by')
})

it('have no pages where nothing is grouped, as the document says', async () => {
  class Whole extends Books {
    static override groupBy = []
  }
  const whole = new APIRouter().register('books', Whole)
  const [aggregate] = await whole.explain('book-aggregate')
  expect([aggregate?.pagination, aggregate?.filters]).toEqual([null, ['FieldFilter']])
  expect(aggregate?.parameters).not.toContain('page')
})

it('tell by OPTIONS what may be named', async () => {
  expect((await client.send('OPTIONS', '/api/books/aggregate')).json.parameters).toEqual({
    group_by: ['kind', 'author__name', 'author_id'],
    aggregate: ['total', 'last', 'books'],
  })
  expect((await client.send('OPTIONS', '/api/books/facets')).json.parameters).toEqual({
    facet: ['kind', 'author__name'],
  })
  expect((await client.send('OPTIONS', '/api/books')).json).not.toHaveProperty('parameters')
})

it('have methods of the typed client', async () => {
  const books = createClient<typeof api>(`http://127.0.0.1:${client.port}/api`).books
  const whole = await books.aggregate({ aggregate: ['total'], kind: 'novel' })
  expect(whole.ok && whole.data).toEqual({ total: '1.50' })
  const groups = await books.aggregate({ group_by: 'author__name', aggregate: 'books', ordering: '-author__name' })
  expect(groups.ok && groups.data.results).toEqual([
    { author__name: null, books: 1 },
    { author__name: 'Ben', books: 1 },
  ])
  const facets = await books.facets({ facet: 'kind', price__isnull: false })
  expect(facets.ok && facets.data.kind.values[0]).toEqual({ value: 'novel', count: 1 })
})

it('put nothing that a client sends into SQL, and end in no 5xx', { timeout: 60_000 }, async () => {
  const sent: string[] = []
  const note = ({ sql }: { sql: string }) => void sent.push(sql)
  database.knex.on('query', note)
  for (const { token, value } of hostileValues()) {
    const text = encodeURIComponent(value)
    for (const query of [`aggregate=${text}`, `group_by=${text}`, `group_by=kind&ordering=${text}`, `${text}=1`]) {
      expect((await client.get(`/api/books/aggregate?${query}`)).status).toBe(400)
    }
    expect((await client.get(`/api/books/facets?facet=${text}`)).status).toBe(400)
    // a value of a filter is bound
    expect((await client.get(`/api/books/facets?facet=author__name&kind=${text}`)).status).toBe(200)
    expect(sent.filter((sql) => sql.includes(token))).toEqual([])
  }
  database.knex.off('query', note)
  expect(sent.length).toBeGreaterThan(size(20, 100))
})
