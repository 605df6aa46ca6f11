import type { QueryBuilder } from 'objection'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  APIRouter,
  type BasePagination,
  ConfigurationError,
  LimitOffsetPagination,
  ModelSerializer,
  ModelViewSet,
  NestedSerializer,
  PageNumberPagination,
} from '../../lib/index.js'
import { type Client, serveApp } from '../support/client.js'
import { countQueries, type TestDatabase } from '../support/database.js'
import { Author, AuthorSerializer, Book, BookSerializer, createLibrary } from '../support/library.js'
import { exchange } from '../support/server.js'

const ROWS = 230

let database: TestDatabase

beforeAll(async () => {
  database = await createLibrary()
  // two values of n only, so that nearly every comparison is a tie
  await database.knex.raw(
    `insert into books (title, n, author_id)
     select 'b' || lpad(i::text, 3, '0'), i % 2, case when i % 3 = 0 then 1 else 2 end
     from generate_series(1, ${ROWS}) i`,
  )
  // rows on disk in another order than their keys
  await database.knex.raw(`update books set title = title where id % 7 = 0`)
})
afterAll(() => database.drop())

class Counts extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'author_id']
}

interface ViewOptions {
  paginationClass: (new () => BasePagination) | BasePagination
  ordering?: readonly string[]
  queryset?: () => QueryBuilder<Book>
  serializerClass?: typeof BookSerializer
}

async function listOf(options: ViewOptions): Promise<Client> {
  class Books extends ModelViewSet<Book> {
    static override model = Book
    static override serializerClass = options.serializerClass ?? BookSerializer
    static override paginationClass = options.paginationClass
    static override ordering = options.ordering ?? []
    override getQueryset(): QueryBuilder<Book> {
      return options.queryset?.() ?? super.getQueryset()
    }
  }
  const api = new APIRouter({ prefix: '/api' }).register('books', Books)
  await api.prepare()
  return serveApp(api.routes())
}

/** Follows `next` to the end. Returns the ids of each page. */
async function walk({ get }: Client, from: string, link: 'next' | 'previous' = 'next'): Promise<number[][]> {
  const pages: number[][] = []
  for (let url: string | null = from; url !== null; ) {
    const { status, json } = await get(url)
    expect(status).toBe(200)
    expect(json.count).toBe(ROWS)
    pages.push(json.results.map((book: Book) => book.id))
    url = json[link]
    expect(pages.length).toBeLessThanOrEqual(ROWS + 1)
  }
  return pages
}

const ALL = Array.from({ length: ROWS }, (_, i) => i + 1)
const BAD_SIZES = [
  '',
  'abc',
  'NaN',
  'Infinity',
  '-Infinity',
  '-1',
  '0',
  '00',
  '1e3',
  '1.5',
  '+5',
  '%205',
  '5%20',
  '0x10',
]
const ODD_SIZES = ['%00', '5%00', '%EF%BC%95', '9'.repeat(20), '9'.repeat(400), '5,6', '[5]', 'true', 'null', '%zz']

describe.each([
  {
    name: 'PageNumberPagination',
    Class: PageNumberPagination,
    make: (size: number, max?: number) =>
      new PageNumberPagination({ pageSize: size, ...(max === undefined ? {} : { maxPageSize: max }) }),
    renamed: new PageNumberPagination({ pageQueryParam: 'p', pageSizeQueryParam: 'per' }),
    size: 'page_size',
    /** The query of the page that begins behind `skipped` pages of `size` items. */
    at: (skipped: number, size: number) => `page=${skipped + 1}&page_size=${size}`,
    link: (skipped: number, size: number) => `/api/books?page=${skipped + 1}&page_size=${size}`,
    renamedQuery: 'p=2&per=10',
  },
  {
    name: 'LimitOffsetPagination',
    Class: LimitOffsetPagination,
    make: (size: number, max?: number) =>
      new LimitOffsetPagination({ defaultLimit: size, ...(max === undefined ? {} : { maxLimit: max }) }),
    renamed: new LimitOffsetPagination({ limitQueryParam: 'per', offsetQueryParam: 'p' }),
    size: 'limit',
    at: (skipped: number, size: number) => `limit=${size}&offset=${skipped * size}`,
    link: (skipped: number, size: number) => `/api/books?limit=${size}&offset=${skipped * size}`,
    renamedQuery: 'p=10&per=10',
  },
])('$name', ({ Class, make, renamed, size, at, link, renamedQuery }) => {
  it('answers count, next, previous and results, in this order', async () => {
    const { get } = await listOf({ paginationClass: Class })
    const { status, text, json } = await get(`/api/books?${at(1, 10)}`)
    expect(status).toBe(200)
    expect(Object.keys(json)).toEqual(['count', 'next', 'previous', 'results'])
    expect(json).toMatchObject({ count: ROWS, next: link(2, 10), previous: link(0, 10) })
    expect(text).toMatch(/^\{"count":230,"next":"/)
  })

  it('[B4] counts in numbers, on every page', async () => {
    const { get } = await listOf({ paginationClass: Class })
    for (const page of [0, 1, 22]) expect((await get(`/api/books?${at(page, 10)}`)).json.count).toBe(ROWS)
  })

  it('has 25 items on a page unless asked otherwise', async () => {
    const { get } = await listOf({ paginationClass: Class })
    expect((await get('/api/books')).json.results).toHaveLength(25)
  })

  it(`[D1] takes a ${size} that is no positive whole number for none`, async () => {
    const { get } = await listOf({ paginationClass: Class })
    for (const value of [...BAD_SIZES, ...ODD_SIZES]) {
      const { status, json } = await get(`/api/books?${size}=${value}`)
      expect({ value, status, length: json.results?.length }).toEqual({ value, status: 200, length: 25 })
      expect(json.next).not.toContain('page_size')
    }
  })

  it(`[D1] gives at most 100, whatever ${size} says`, async () => {
    const { get } = await listOf({ paginationClass: Class })
    for (const value of ['100', '101', '99999', '9007199254740991']) {
      const { json } = await get(`/api/books?${size}=${value}`)
      expect(json.results).toHaveLength(100)
      expect(json.next).toContain(`${size}=100`)
    }
  })

  it('[D1] gives at most its own maximum', async () => {
    const { get } = await listOf({ paginationClass: make(5, 7) })
    expect((await get('/api/books')).json.results).toHaveLength(5)
    expect((await get(`/api/books?${size}=8`)).json.results).toHaveLength(7)
  })

  it('[B14] reads the last of repeated parameters, and keeps the others', async () => {
    const { get } = await listOf({ paginationClass: Class })
    const { json } = await get(`/api/books?tag=a&${at(5, 9)}&tag=b&${at(1, 10)}`)
    expect(json.results.map((book: Book) => book.id)).toEqual(ALL.slice(10, 20))
    expect(json.next).toContain('tag=a&')
    expect(json.next).toContain('tag=b')
    expect(new URLSearchParams(json.next.split('?')[1]).getAll(size)).toEqual(['10'])
  })

  it('may have its parameters renamed', async () => {
    const { get } = await listOf({ paginationClass: renamed })
    const { json } = await get(`/api/books?${renamedQuery}&page=9&limit=9&offset=9&page_size=9`)
    expect(json.results.map((book: Book) => book.id)).toEqual(ALL.slice(10, 20))
    expect(json.next).toContain('&page=9&limit=9&offset=9&page_size=9')
    expect((await get(json.next)).json.results[0].id).toBe(21)
  })

  it.each([1, 10, 46, 99, 100])(
    'shows each item once on the way by next, %i at a time, and back by previous',
    async (n) => {
      const books = await listOf({ paginationClass: Class })
      const pages = await walk(books, `/api/books?${at(0, n)}`)
      expect(pages.flat()).toEqual(ALL)
      expect(pages).toHaveLength(Math.ceil(ROWS / n))
      const back = await walk(books, `/api/books?${at(pages.length - 1, n)}`, 'previous')
      expect(back.reverse()).toEqual(pages)
    },
  )

  it.each([[[]], [['n']], [['-n']], [['n', '-title']], [['-n', 'author_id']]])(
    '[C10] has a total order with ordering %j',
    async (ordering) => {
      const books = await listOf({ paginationClass: Class, ordering })
      const pages = await walk(books, `/api/books?${at(0, 7)}`)
      expect(pages.flat().toSorted((a, b) => a - b)).toEqual(ALL)
    },
  )

  it('[C10] keeps the order of a queryset, and makes it total', async () => {
    const books = await listOf({
      paginationClass: Class,
      ordering: ['title'],
      queryset: () => Book.query().orderBy('n', 'desc'),
    })
    const ids = (await walk(books, `/api/books?${at(0, 7)}`)).flat()
    expect(ids).toEqual([...ALL.filter((id) => id % 2 === 1), ...ALL.filter((id) => id % 2 === 0)])
  })

  it.each<[string, () => QueryBuilder<Book>]>([
    ['a join', () => Book.query().joinRelated('author').select('books.*').where('author.id', '>', 0)],
    ['a join and an order by it', () => Book.query().joinRelated('author').select('books.*').orderBy('author.name')],
    ['an order by an expression', () => Book.query().orderByRaw('n % 2')],
    ['DISTINCT', () => Book.query().leftJoinRelated('author.books').distinct('books.*')],
    ['GROUP BY', () => Book.query().leftJoinRelated('author.books').groupBy('books.id').select('books.*')],
    ['a subquery', () => Book.query().whereIn('author_id', Author.query().select('id'))],
    ['a column of its own', () => Book.query().select('books.*').select(Book.raw('n + 1 as more'))],
    ['a common table expression', () => Book.query().with('ada', Author.query()).select('books.*')],
  ])('[C10] shows each row once of a queryset with %s', async (_what, queryset) => {
    const books = await listOf({ paginationClass: Class, queryset })
    const pages = await walk(books, `/api/books?${at(0, 13)}`)
    expect(pages.flat().toSorted((a, b) => a - b)).toEqual(ALL)
  })

  it('never looks beyond a limit of the queryset: such a queryset is a mistake', async () => {
    // told by prepare(), or by the first request where only that can make the queryset
    let limited = false
    const queryset = () => (limited ? Book.query().limit(30) : Book.query())
    const { get, reported } = await listOf({ paginationClass: Class, queryset })
    limited = true
    await expect(listOf({ paginationClass: Class, queryset })).rejects.toThrow(/^Books: .*limit/)
    for (const path of ['/api/books', `/api/books?${at(1, 30)}`, '/api/books/31']) {
      expect((await get(path)).status).toBe(500)
      expect(reported.pop()).toEqual(
        expect.objectContaining({ name: 'ConfigurationError', message: expect.stringMatching(/^Books: .*limit/) }),
      )
    }
  })

  it('leaves the order to a queryset of which the key is no part', async () => {
    const { get } = await listOf({
      paginationClass: Class,
      ordering: ['-title'],
      serializerClass: Counts as never,
      queryset: () => Book.query().groupBy('author_id').select('author_id').max('id as id').orderBy('author_id'),
    })
    expect((await get(`/api/books?${at(0, 1)}`)).json).toMatchObject({ count: 2, results: [{ author_id: 1, id: 228 }] })
    expect((await get(`/api/books?${at(1, 1)}`)).json).toMatchObject({ count: 2, results: [{ author_id: 2, id: 230 }] })
  })

  it('[D3] does not count when the first page shows all', async () => {
    const { get } = await listOf({ paginationClass: Class, queryset: () => Book.query().where('id', '<=', 10) })
    const queries = await countQueries(database.knex, async () => {
      expect((await get(`/api/books?${at(0, 11)}`)).json).toMatchObject({ count: 10, next: null, previous: null })
    })
    expect(queries).toHaveLength(1)
    const full = await countQueries(database.knex, async () => {
      expect((await get(`/api/books?${at(0, 10)}`)).json).toMatchObject({ count: 10, next: null })
    })
    expect(full.length).toBeLessThanOrEqual(2)
  })

  it('[D3] counts without an order and without related objects', async () => {
    class WithAuthor extends BookSerializer {
      static override declaredFields = { author: new NestedSerializer(AuthorSerializer, { readOnly: true }) }
    }
    const { get } = await listOf({ paginationClass: Class, ordering: ['-n'], serializerClass: WithAuthor })
    const queries = await countQueries(database.knex, async () => {
      expect((await get(`/api/books?${at(1, 10)}`)).json.results[0]).toMatchObject({
        author: { id: expect.any(Number) },
      })
    })
    const counting = queries.filter((sql) => /count\(/i.test(sql))
    expect(counting).toHaveLength(1)
    expect(counting[0]).not.toMatch(/order by|join|author|limit/i)
  })

  it('of nothing is one empty page', async () => {
    const { get } = await listOf({ paginationClass: Class, queryset: () => Book.query().where('id', 0) })
    expect((await get('/api/books')).text).toBe('{"count":0,"next":null,"previous":null,"results":[]}')
  })

  it('[D4 R8] builds links from the path alone', async () => {
    const { get, port } = await listOf({ paginationClass: Class })
    const headers = {
      Host: 'evil.test',
      'X-Forwarded-Host': 'evil.test',
      'X-Forwarded-Proto': 'https',
      Forwarded: 'host=evil.test',
      'X-Original-URL': '/evil',
    }
    const { json } = await get(`/api/books?${at(1, 10)}`, headers)
    expect(json).toMatchObject({ next: link(2, 10), previous: link(0, 10) })
    for (const target of [
      `http://evil.test/api/books?${at(1, 10)}`,
      `https://user:pw@evil.test:81/api/books?${at(1, 10)}`,
      `HTTP://EVIL.test/api/books?${at(1, 10)}`,
    ]) {
      const answer = await exchange(port, `GET ${target} HTTP/1.1\r\nHost: evil.test\r\n\r\n`, (t) => t.endsWith('}'))
      expect(answer).toMatch(/^HTTP\/1\.1 200 /)
      expect(answer).not.toMatch(/evil/i)
      expect(answer).toContain(`"next":"${link(2, 10)}"`)
    }
  })

  it('[D5] keeps every other parameter as it was', async () => {
    const { get } = await listOf({ paginationClass: Class })
    const { json } = await get(`/api/books?search=a%26b%3Dc&tag=x&${at(1, 10)}&tag=y&e=&%22%3E%3Cscript%3E=1`)
    for (const url of [json.next, json.previous]) {
      const query = new URLSearchParams(url.split('?')[1])
      expect(query.get('search')).toBe('a&b=c')
      expect(query.getAll('tag')).toEqual(['x', 'y'])
      expect(query.get('e')).toBe('')
      expect(url).not.toMatch(/[<>"]/)
    }
  })

  it('keeps the suffix and the slash of the path in links', async () => {
    const { get } = await listOf({ paginationClass: Class })
    expect((await get(`/api/books.json?${at(1, 10)}`)).json.next).toMatch(/^\/api\/books\.json\?/)
    expect((await get(`/api/books/?${at(1, 10)}`)).json.next).toMatch(/^\/api\/books\/\?/)
  })

  it('[I23] finds a wrong size before any request', async () => {
    const wrong: (() => BasePagination)[] = [
      () => make(0),
      () => make(-1),
      () => make(1.5),
      () => make(Number.NaN),
      () => make(Number.POSITIVE_INFINITY),
      () => make(10, 5),
      () => make(10, Number.POSITIVE_INFINITY),
      () => make(10, 10.5),
      () => make('10' as never),
    ]
    for (const attempt of wrong) {
      const register = async () => {
        class Books extends ModelViewSet<Book> {
          static override model = Book
          static override serializerClass = BookSerializer
          static override paginationClass = attempt()
        }
        await new APIRouter().register('books', Books).prepare()
      }
      await expect(register()).rejects.toThrow(ConfigurationError)
      await expect(register()).rejects.toThrow(
        /^(PageNumberPagination: (max)?pageSize|LimitOffsetPagination: (max|default)Limit) must be a whole number from 1/i,
      )
    }
  })

  it('[I22] costs the same queries for 1, 10 and 100 rows', async () => {
    class Titles extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['id', 'title']
    }
    class Writers extends ModelSerializer<Author> {
      static override model = Author
      static override fields = ['id', 'name']
      static override declaredFields = { books: new NestedSerializer(Titles, { many: true, readOnly: true }) }
    }
    class Nested extends BookSerializer {
      static override declaredFields = { author: new NestedSerializer(Writers, { readOnly: true }) }
    }
    const { get } = await listOf({ paginationClass: Class, serializerClass: Nested })
    const counts: number[] = []
    for (const rows of [1, 10, 100]) {
      const queries = await countQueries(database.knex, async () => {
        const { json } = await get(`/api/books?${at(0, rows)}`)
        expect(json.results).toHaveLength(rows)
        expect(json.results[0].author.books.length).toBeGreaterThan(1)
      })
      counts.push(queries.length)
    }
    // the page, the count, and one for each relation at most
    expect(counts[0]).toBeLessThanOrEqual(4)
    expect(new Set(counts).size).toBe(1)
  })
})

describe('PageNumberPagination', () => {
  it.each([
    '0',
    '-1',
    'abc',
    '',
    '1e3',
    '1.0',
    '+1',
    '%201',
    '%EF%BC%91',
    '00',
    'last',
    '9'.repeat(15),
    '9'.repeat(20),
    '%00',
    '11',
  ])('[D2] answers page=%s with 404', async (page) => {
    const { get } = await listOf({ paginationClass: PageNumberPagination })
    expect(await get(`/api/books?page=${page}`)).toMatchObject({
      status: 404,
      text: '{"detail":"Invalid page","status":404}',
    })
  })

  it('[D3] sends no row query for a page past the end, and none at all for a page that cannot be', async () => {
    const { get } = await listOf({ paginationClass: PageNumberPagination })
    const past = await countQueries(database.knex, async () => {
      expect((await get('/api/books?page=11')).status).toBe(404)
    })
    expect(past).toHaveLength(1)
    expect(past[0]).toMatch(/count\(/)
    expect(await countQueries(database.knex, () => get('/api/books?page=0'))).toEqual([])
    expect(await countQueries(database.knex, () => get(`/api/books?page=${'9'.repeat(16)}`))).toEqual([])
  })

  it('[D2] answers page 1 of nothing with 200, and page 2 with 404', async () => {
    const { get } = await listOf({ paginationClass: PageNumberPagination, queryset: () => Book.query().where('id', 0) })
    expect((await get('/api/books?page=1')).status).toBe(200)
    expect((await get('/api/books?page=2')).status).toBe(404)
  })

  it('says the size in links only when it was asked for, as it is in use', async () => {
    const { get } = await listOf({ paginationClass: PageNumberPagination })
    expect((await get('/api/books?page=2')).json).toMatchObject({
      next: '/api/books?page=3',
      previous: '/api/books?page=1',
    })
    expect((await get('/api/books?page_size=1000')).json.next).toBe('/api/books?page_size=100&page=2')
    expect((await get('/api/books?page_size=abc')).json.next).toBe('/api/books?page=2')
  })

  it('may be a subclass that sets its attributes', async () => {
    class Small extends PageNumberPagination {
      override readonly pageSize = 3
      override readonly maxPageSize = 4
      override readonly pageQueryParam = 'seite'
    }
    const { get } = await listOf({ paginationClass: Small })
    expect((await get('/api/books')).json.results).toHaveLength(3)
    const { json } = await get('/api/books?page_size=9&seite=2')
    expect(json.results.map((book: Book) => book.id)).toEqual([5, 6, 7, 8])
    class Wrong extends PageNumberPagination {
      override readonly maxPageSize = 4
    }
    await expect(listOf({ paginationClass: Wrong })).rejects.toThrow(/^Wrong: pageSize /)
  })
})

describe('LimitOffsetPagination', () => {
  it.each(['abc', '-1', '', '1e3', '1.5', '9'.repeat(20), '%00', '%EF%BC%95', 'NaN'])(
    '[D2] takes offset=%s for 0',
    async (offset) => {
      const { get } = await listOf({ paginationClass: LimitOffsetPagination })
      const { status, json } = await get(`/api/books?offset=${offset}`)
      expect(status).toBe(200)
      expect(json.results[0].id).toBe(1)
      expect(json.previous).toBeNull()
    },
  )

  it.each([String(ROWS), '99999', '9007199254740991'])('[D3] sends no row query at offset %s', async (offset) => {
    const { get } = await listOf({ paginationClass: LimitOffsetPagination })
    const queries = await countQueries(database.knex, async () => {
      const { status, json } = await get(`/api/books?offset=${offset}`)
      expect(status).toBe(200)
      expect(json).toMatchObject({ count: ROWS, next: null, results: [] })
    })
    expect(queries).toHaveLength(1)
    expect(queries[0]).toMatch(/count\(/)
  })

  it('always says limit and offset in links, and never a negative one', async () => {
    const { get } = await listOf({ paginationClass: LimitOffsetPagination })
    expect((await get('/api/books?limit=5&offset=3')).json).toMatchObject({
      next: '/api/books?limit=5&offset=8',
      previous: '/api/books?limit=5&offset=0',
    })
    expect((await get('/api/books')).json.next).toBe('/api/books?limit=25&offset=25')
  })

  it('may be a subclass that sets its attributes', async () => {
    class Small extends LimitOffsetPagination {
      override readonly defaultLimit = 3
      override readonly maxLimit = 4
    }
    const { get } = await listOf({ paginationClass: Small })
    expect((await get('/api/books')).json.results).toHaveLength(3)
    expect((await get('/api/books?limit=9')).json.results).toHaveLength(4)
  })
})

describe('a list without pagination', () => {
  it('is an array of all rows, in a total order', async () => {
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      static override ordering = ['-n']
    }
    const api = new APIRouter({ prefix: '/api' }).register('books', Books)
    const client = await serveApp(api.routes())
    const first = await client.get('/api/books?page=2&limit=1')
    expect(first.json).toHaveLength(ROWS)
    const queries = await countQueries(database.knex, async () => {
      expect((await client?.get('/api/books'))?.text).toBe(first.text)
    })
    expect(queries).toHaveLength(1)
    expect(queries[0]).toMatch(/order by "books"\."n" desc, "books"\."id" desc$/)
  })
})
