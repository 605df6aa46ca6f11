/** What view sets compute of all objects of a list: `GET /orders/aggregate`. */
import { Model } from 'objection'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  APIRouter,
  BasePagination,
  ConfigurationError,
  CSVRenderer,
  CursorPagination,
  configure,
  FieldFilter,
  type Filters,
  JSONRenderer,
  LimitOffsetPagination,
  type ListSource,
  ModelSerializer,
  OrderingFilter,
  PageNumberPagination,
  type PageRequest,
  type Pagination,
  ReadOnlyModelViewSet,
  type Renderers,
  SearchFilter,
  ServerCursorPagination,
} from '../../lib/index.js'
import { avg, count, countDistinct, max, min, sum } from '../../lib/views/index.js'
import { Book, createBooks } from '../lib/filters/books.js'
import { type Client, serving } from '../support/client.js'
import { countQueries, type TestDatabase } from '../support/database.js'
import { serializerOf } from '../support/views.js'

let database: TestDatabase
let client: Client

class BookSerializer extends ModelSerializer<Book> {
  static override schemaName = 'AggregatedBook'
  static override model = Book
  static override fields = ['id', 'title', 'n']
}

class Books extends ReadOnlyModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override filterBackends: Filters = [FieldFilter, SearchFilter, OrderingFilter]
  static override filtersetFields = ['n', 'state', 'author_id', 'author__name', 'created']
  static override searchFields = ['title']
  static override orderingFields = ['n']
  static override aggregates = {
    books: count(),
    total: sum('n'),
    large: sum('big'),
    price: sum('price'),
    average: avg('price'),
    mean: avg('n'),
    scores: sum('score'),
    first: min('published'),
    latest: max('created'),
    last_state: max('state'),
    authors: countDistinct('author_id'),
    name: max('author__name'),
    lasted: sum('lasted'),
  }
  static override groupBy = [
    ...['state', 'author_id', 'flag', 'author__name', 'author__country__region'],
    ...['created__year', 'created__month', 'created__day', 'published__month', 'printed__day', 'created'],
  ]
}

class Numbered extends Books {
  static override paginationClass: Pagination = new PageNumberPagination({ pageSize: 2 })
}

class Sliced extends Books {
  static override paginationClass: Pagination = new LimitOffsetPagination({ defaultLimit: 2, linkHeader: true })
}

class Uncounted extends Books {
  static override paginationClass: Pagination = new PageNumberPagination({ pageSize: 2, count: 'none' })
}

class Capped extends Books {
  static override paginationClass: Pagination = new PageNumberPagination({
    pageSize: 1,
    count: 'capped',
    countLimit: 2,
  })
}

class Cursors extends Books {
  static override paginationClass: Pagination = new CursorPagination({ pageSize: 2, maxPageSize: 3 })
}

class ServerCursors extends Books {
  static override paginationClass: Pagination = new ServerCursorPagination({ pageSize: 2 })
}

/** A paginator of the application's own, which reads any slice. */
class Slices extends BasePagination {
  async paginate(source: ListSource, { query }: PageRequest) {
    const [limit, offset] = [Number(query['limit']), Number(query['offset'])]
    const rows = await source.read({ limit, offset, count: 'exact' })
    return { count: rows.count, results: rows.results(0, rows.length) }
  }
}

class ReadAnyhow extends Books {
  static override paginationClass: Pagination = new Slices()
}

class Strict extends Books {
  static override strictParams = true
}

class Written extends Books {
  static override rendererClasses: Renderers = [JSONRenderer, CSVRenderer]
}

class Own extends Books {
  override getQueryset() {
    return super.getQueryset().where('books.n', '<', 5).orWhere('books.title', 'axb')
  }
}

/** What it masks, and what it leaves out, is in no figure. */
class Masked extends Books {
  override getQueryset() {
    return super.getQueryset().select('books.id', Book.raw('1 as n')) as never
  }
}

/** Whose rows are chosen by a hook. */
class Hooked extends Books {
  override getQueryset() {
    return super.getQueryset().runBefore((_, builder) => void builder.where('n', 1)) as never
  }
}

class Selected extends Books {
  override getQueryset() {
    return super.getQueryset().select('books.*').distinct()
  }
}

/** The book of each author with the highest n. */
class Highest extends Books {
  override getQueryset() {
    return super.getQueryset().distinctOn('author_id').orderBy('author_id').orderBy('n', 'desc')
  }
}

class Locked extends Books {
  override getQueryset() {
    return super.getQueryset().forShare()
  }
}

class Joined extends Books {
  override getQueryset() {
    return super.getQueryset().joinRelated('author').where('author.name', 'Ada')
  }
}

class BookOfSchema extends Model {
  static override tableName = 'public.books'
}

class OfSchema extends Books {
  static override model = BookOfSchema as never
  static override serializerClass = serializerOf(BookOfSchema, ['id', 'n', 'state']) as never
  static override filtersetFields = ['n'] as never
  static override aggregates = { books: count(), total: sum('n') } as never
  static override groupBy = ['state'] as never
  override getQueryset() {
    return super.getQueryset().select('id', 'n', 'state').distinct()
  }
}

const VIEWS = {
  of_schema: OfSchema,
  books: Books,
  numbered: Numbered,
  sliced: Sliced,
  uncounted: Uncounted,
  capped: Capped,
  cursors: Cursors,
  servercursors: ServerCursors,
  anyhow: ReadAnyhow,
  strict: Strict,
  written: Written,
  own: Own,
  masked: Masked,
  hooked: Hooked,
  selected: Selected,
  highest: Highest,
  locked: Locked,
  joined: Joined,
}

beforeAll(async () => {
  configure({ secretKey: 'a secret of the tests' })
  database = await createBooks()
  BookOfSchema.knex(database.knex)
  await database.knex.raw(`
    insert into countries values ('de', 'Germany', 'Europe'), ('ke', 'Kenya', 'Africa');
    insert into people (name, country_code) values ('Ada', 'de'), ('Ben', 'ke'), ('Cleo', null);
    insert into books (title, n, big, price, score, published, created, printed, flag, state, lasted, author_id) values
      ('100%', 1, 9223372036854775807, 1.25, 1.5, '2024-01-31', '2024-01-31T23:30:00.000001-02:00', '2024-01-31 23:30', true, 'draft', '1 day', 1),
      ('a_b', 2, 9223372036854775807, 2.50, 2, '2024-02-01', '2024-02-01T00:00:00Z', null, false, 'open', '2 hours', 1),
      ('a\\b', 3, null, null, null, null, '2023-12-31T23:59:59Z', null, null, 'done', null, 2),
      ('axb', null, null, null, null, null, null, null, null, null, null, null),
      ('O''Reilly Media', 5, null, null, null, null, 'infinity', null, null, 'done', null, 3);
  `)
  const router = new APIRouter({ prefix: '/api' })
  for (const [name, view] of Object.entries(VIEWS)) router.register(name, view, name)
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

async function refused(path: string): Promise<unknown> {
  const { status, json } = await client.get(`/api/${path}`)
  expect([path, status, json]).toEqual([path, 400, json])
  return json.errors
}

describe('without groups', () => {
  it('computes all that is declared, as the serializers show values', async () => {
    expect(await got('books/aggregate')).toEqual({
      books: 5,
      total: 11,
      large: '18446744073709551614',
      price: '3.75',
      average: '1.8750000000000000',
      mean: '2.7500000000000000',
      scores: 3.5,
      first: '2024-01-31',
      latest: 'infinity',
      last_state: 'done',
      authors: 3,
      name: 'Cleo',
      lasted: 'P1DT2H',
    })
  })

  it('computes what is asked for, in that order', async () => {
    const { text } = await client.get('/api/books/aggregate?aggregate=total,books')
    expect(text).toBe('{"total":11,"books":5}')
  })

  it('is null of nothing, and zero where it counts', async () => {
    expect(await got('books/aggregate?n=77&aggregate=books,total,average,latest,authors')).toEqual({
      books: 0,
      total: null,
      average: null,
      latest: null,
      authors: 0,
    })
  })

  it('is under the filters and the search of the list', async () => {
    expect(await got('books/aggregate?aggregate=books&state=done')).toEqual({ books: 2 })
    expect(await got('books/aggregate?aggregate=books&author__name=Ada')).toEqual({ books: 2 })
    expect(await got('books/aggregate?aggregate=total&search=a')).toEqual({ total: 10 })
  })

  it('answers HEAD, and no other method', async () => {
    expect(await client.send('HEAD', '/api/books/aggregate')).toMatchObject({ status: 200, text: '' })
    const { status, headers } = await client.send('POST', '/api/books/aggregate', {})
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS'])
  })
})

describe('with groups', () => {
  it('has one object for each, in the order of the groups', async () => {
    expect(await got('books/aggregate?group_by=state&aggregate=books,total')).toEqual([
      { state: 'draft', books: 1, total: 1 },
      { state: 'open', books: 1, total: 2 },
      { state: 'done', books: 2, total: 8 },
      { state: null, books: 1, total: null },
    ])
  })

  it('has none where there are no objects', async () => {
    expect(await got('books/aggregate?group_by=state&n=77')).toEqual([])
  })

  it('takes the first days of periods, in UTC', async () => {
    expect(await got('books/aggregate?group_by=created__month&aggregate=books')).toEqual([
      { created__month: '2023-12-01', books: 1 },
      { created__month: '2024-02-01', books: 2 },
      { created__month: 'infinity', books: 1 },
      { created__month: null, books: 1 },
    ])
    expect((await got('books/aggregate?group_by=created__year&aggregate=books'))[1]).toEqual({
      created__year: '2024-01-01',
      books: 2,
    })
    expect((await got('books/aggregate?group_by=published__month&aggregate=books'))[0]).toEqual({
      published__month: '2024-01-01',
      books: 1,
    })
    expect((await got('books/aggregate?group_by=printed__day&aggregate=books'))[0]).toEqual({
      printed__day: '2024-01-31',
      books: 1,
    })
  })

  it('shows points in time as the serializers do', async () => {
    const [first, second] = await got('books/aggregate?group_by=created&aggregate=books&n__in=1,3')
    expect([first.created, second.created]).toEqual(['2023-12-31T23:59:59Z', '2024-02-01T01:30:00.000001Z'])
  })

  it('follows relations to one object', async () => {
    expect(await got('books/aggregate?group_by=author__country__region,author__name&aggregate=books')).toEqual([
      { author__country__region: 'Africa', author__name: 'Ben', books: 1 },
      { author__country__region: 'Europe', author__name: 'Ada', books: 2 },
      { author__country__region: null, author__name: 'Cleo', books: 1 },
      { author__country__region: null, author__name: null, books: 1 },
    ])
  })

  it('join what they lead to, and look it up for no row by itself', async () => {
    const texts = await countQueries(database.knex, async () => {
      await got('books/aggregate?group_by=author__country__region,author__name&aggregate=name,books')
    })
    expect(texts.join().split('left join (').length - 1).toBe(2)
    expect(texts.join()).not.toContain('limit 1)')
  })

  it('is ordered by what is asked for, then by the groups', async () => {
    const states = (rows: { state: string | null }[]) => rows.map(({ state }) => state)
    const path = 'books/aggregate?group_by=state&aggregate=books'
    expect(states(await got(`${path}&ordering=-books`))).toEqual(['done', 'draft', 'open', null])
    expect(states(await got(`${path}&ordering=books,-state`))).toEqual([null, 'open', 'draft', 'done'])
    expect(states(await got(`${path}&ordering=-state`))).toEqual([null, 'done', 'open', 'draft'])
  })
})

describe('pages of groups', () => {
  it('go by number', async () => {
    const first = await got('numbered/aggregate?group_by=state&aggregate=books')
    expect(first).toEqual({
      count: 4,
      next: '/api/numbered/aggregate?group_by=state&aggregate=books&page=2',
      previous: null,
      results: [
        { state: 'draft', books: 1 },
        { state: 'open', books: 1 },
      ],
    })
    const second = await got(first.next.slice('/api/'.length))
    expect(second.results.map(({ state }: any) => state)).toEqual(['done', null])
    expect(second.next).toBeNull()
    expect((await client.get('/api/numbered/aggregate?group_by=state&page=9')).status).toBe(404)
    expect((await got('numbered/aggregate?group_by=state&page_size=50')).results).toHaveLength(4)
  })

  it('go by limit and offset, with links', async () => {
    const { json, headers } = await client.get('/api/sliced/aggregate?group_by=state&aggregate=books&offset=3')
    expect(json).toMatchObject({ count: 4, next: null, results: [{ state: null, books: 1 }] })
    expect(headers['link']).toMatch(/rel="prev"/)
    expect(await got('sliced/aggregate?group_by=state&offset=9')).toMatchObject({ count: 4, results: [] })
  })

  it('need no count, or stop at one', async () => {
    expect(await got('uncounted/aggregate?group_by=state')).toMatchObject({ count: null, next: expect.any(String) })
    expect(await got('capped/aggregate?group_by=state')).toMatchObject({ count: 2 })
  })

  it('go by limit and offset where lists go by cursors', async () => {
    for (const name of ['cursors', 'servercursors']) {
      const page = await got(`${name}/aggregate?group_by=state&aggregate=books`)
      expect(page).toMatchObject({ count: 4, next: expect.stringContaining('limit=2&offset=2') })
      expect((await got(page.next.slice('/api/'.length))).results).toHaveLength(2)
    }
    expect((await got('cursors/aggregate?group_by=state&limit=99')).results).toHaveLength(3)
  })

  it.each([
    [0, 0],
    [2, 0],
    [2, 9],
    ['Infinity', 0],
    ['Infinity', 3],
    ['Infinity', 9],
  ])('are counted as lists are, whatever is read: %s from %s', async (limit, offset) => {
    const slice = `limit=${limit}&offset=${offset}`
    expect(await got(`anyhow?${slice}`)).toMatchObject({ count: 5 })
    expect(await got(`anyhow/aggregate?group_by=state&${slice}`)).toMatchObject({ count: 4 })
  })
})

describe('querysets of the application', () => {
  it('narrow what is computed', async () => {
    expect(await got('own/aggregate?aggregate=books,total')).toEqual({ books: 4, total: 6 })
    expect(await got('own/aggregate?aggregate=books&state=open')).toEqual({ books: 1 })
    expect(await got('hooked/aggregate?aggregate=books,price,latest')).toEqual({
      books: 1,
      price: '1.25',
      latest: '2024-02-01T01:30:00.000001Z',
    })
    expect(await got('hooked/aggregate?group_by=state,created__month&aggregate=books')).toEqual([
      { state: 'draft', created__month: '2024-02-01', books: 1 },
    ])
    expect(await got('selected/aggregate?aggregate=books,name&author__name=Ada')).toEqual({ books: 2, name: 'Ada' })
    expect(await got('of_schema/aggregate?aggregate=books,total')).toEqual(
      await got('books/aggregate?aggregate=books,total'),
    )
    expect(await got('of_schema/aggregate?group_by=state&aggregate=total&n__gt=0')).toEqual(
      await got('books/aggregate?group_by=state&aggregate=total&n__gt=0'),
    )
    for (const path of ['aggregate?aggregate=books,total', 'aggregate?group_by=state&aggregate=total'])
      expect(await got(`locked/${path}`)).toEqual(await got(`books/${path}`))
    const shown = (await got('highest?n__gt=0')) as { n: number }[]
    const total = shown.map(({ n }) => n).reduce((one, other) => one + other)
    expect(await got('highest/aggregate?aggregate=books,total&n__gt=0')).toEqual({ books: shown.length, total })
    expect(await got('joined/aggregate?aggregate=books,name')).toEqual({ books: 2, name: 'Ada' })
    expect(await got('joined/aggregate?group_by=author__name&aggregate=total')).toEqual([
      { author__name: 'Ada', total: 3 },
    ])
  })
})

describe('what cannot be asked', () => {
  const names = Object.keys(Books.aggregates).join(', ')

  it.each([
    ['aggregate=', 'aggregate', `Unknown name. Use ${names}.`],
    ['aggregate=total,', 'aggregate', `Unknown name. Use ${names}.`],
    ['aggregate=secret', 'aggregate', `Unknown name. Use ${names}.`],
    ['aggregate=__proto__', 'aggregate', `Unknown name. Use ${names}.`],
    ['aggregate=constructor', 'aggregate', `Unknown name. Use ${names}.`],
    ['aggregate=total%00', 'aggregate', 'Unknown name; did you mean "total"?'],
    ['aggregate=total,total', 'aggregate', 'Name each only once.'],
    ['aggregate=sum(n)', 'aggregate', `Unknown name. Use ${names}.`],
    ['group_by=secret', 'group_by', `Unknown name. Use ${Books.groupBy.join(', ')}.`],
    ['group_by=', 'group_by', `Unknown name. Use ${Books.groupBy.join(', ')}.`],
    ['group_by=state,state', 'group_by', 'Name each only once.'],
    ['aggregate=total&ordering=average', 'ordering', 'Unknown name. Use total.'],
    ['group_by=state&aggregate=total&ordering=--total', 'ordering', 'Unknown name; did you mean "total"?'],
    ['group_by=state&aggregate=total&ordering=total,-total', 'ordering', 'Name each only once.'],
    ['n=x', 'n', 'A valid integer is required.'],
  ])('is 400: %s', async (query, parameter, message) => {
    expect(await refused(`books/aggregate?${query}`)).toEqual({ [parameter]: [message] })
  })

  it('is 400 where there are more names than there can be', async () => {
    expect(await refused(`books/aggregate?group_by=${'state,'.repeat(1_000)}`)).toHaveProperty('group_by')
    expect(await refused(`books/aggregate?ordering=${'books,'.repeat(1_000)}`)).toHaveProperty('ordering')
  })

  it('takes several values of a name, or of the name with brackets, as a list', async () => {
    const one = await got('books/aggregate?group_by=state&aggregate=books,total')
    const repeated = 'books/aggregate?group_by[]=state&aggregate=books&aggregate=total'
    expect(await got(`${repeated}&group_by[x]=1`)).toEqual(one)
    expect(await refused('books/aggregate?aggregate=secret&aggregate=books')).toHaveProperty('aggregate')
  })

  it('is named with strictParams', async () => {
    expect(await refused('strict/aggregate?agregate=total&ordering=total&aggregate=total')).toEqual({
      agregate: ['Unknown parameter; did you mean "aggregate"?'],
    })
    expect(await got('strict/aggregate?aggregate=books&n__gte=3&search=a')).toEqual({ books: 2 })
    expect(await refused('strict/aggregate?fields=id')).toHaveProperty('fields')
  })
})

it('writes groups as CSV', async () => {
  const { text } = await client.get('/api/written/aggregate.csv?group_by=state&aggregate=total,price')
  expect(text).toBe('state,total,price\r\ndraft,1,1.25\r\nopen,2,2.50\r\ndone,8,\r\n,,\r\n')
})

describe('a queryset that selects its own columns', () => {
  it('hides from figures what it masks', async () => {
    const { json } = await client.get('/api/masked/aggregate?aggregate=books,total')
    expect(json.total).toBe(json.books)
  })

  it('is told which column it leaves out, and its clients nothing', async () => {
    expect((await client.get('/api/masked/aggregate?aggregate=large')).status).toBe(500)
    const [error] = client.reported.splice(0)
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(String(error)).toMatch(/Book: the queryset selects its own columns and leaves out one/)
  })
})
