import { Model } from 'objection'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  APIRouter,
  BaseFilter,
  ConfigurationError,
  type Context,
  CursorPagination,
  configure,
  FieldFilter,
  type Filters,
  type FilterView,
  FullTextSearchFilter,
  LimitOffsetPagination,
  ModelSerializer,
  ModelViewSet,
  NestedSerializer,
  OrderingFilter,
  PageNumberPagination,
  type Pagination,
  QueryParamVersioning,
  ReadOnlyModelViewSet,
  SearchFilter,
  SearchRankOrderingFilter,
  whereRaw,
} from '../../lib/index.js'
import {
  Book,
  BookSerializer,
  COLUMNS,
  createBooks,
  hostileValues,
  LOOKUPS,
  Person,
  PersonSerializer,
} from '../lib/filters/books.js'
import { type Client, serving } from '../support/client.js'
import { countQueries, type TestDatabase } from '../support/database.js'

let database: TestDatabase
let client: Client

class Books extends ReadOnlyModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override paginationClass: Pagination = new PageNumberPagination({ pageSize: 100 })
  static override filterBackends: Filters = [FieldFilter, SearchFilter, OrderingFilter]
  static override filtersetFields = [
    ...Object.keys(COLUMNS),
    ...['isbn', 'code', 'address', 'lasted', 'bytes', 'place', 'meta', 'tags', 'author_id', 'author__id'],
    ...['author__name', 'author__country__region', 'author__boss__name', 'genres__name', 'shownGenres__name'],
    ...['mainGenres__name', 'author__books__title'],
  ]
  static override searchFields = ['title', 'author__name', '=isbn']
  static override orderingFields = ['title', 'n', 'created']
  static override ordering = ['-n']
}

class StrictBooks extends Books {
  static override strictParams = true
  static override filtersetFields = ['n']
  static override queryParameters = [{ name: 'mine', description: 'Mine.', schema: { type: 'string' } }]
}
class InstanceBooks extends Books {
  override getQueryset() {
    return super.getQueryset().where('books.id', '>', 0)
  }
}
class PatternBooks extends Books {
  static override searchFields = ['$title']
}
class PrefixBooks extends Books {
  static override searchFields = ['^title', '=code', 'n', 'author__country__name']
}
class People extends ReadOnlyModelViewSet<Person> {
  static override model = Person
  static override serializerClass = PersonSerializer
  static override filterBackends = [FieldFilter]
  static override filtersetFields = ['books__title', 'books__n', 'books__genres__name', 'country__code']
}
class Ft extends Books {
  static override filterBackends: Filters = [FullTextSearchFilter]
  static override searchFields = ['title', 'code']
}
class FtRaw extends Ft {
  static override searchType = 'raw'
}
class FtPlain extends Ft {
  static override searchType = 'plain'
  static override searchParam = 'q'
}
class FtPhrase extends Ft {
  static override searchType = 'phrase'
}
class Ranked extends Ft {
  static override filterBackends = [FullTextSearchFilter, SearchRankOrderingFilter, OrderingFilter]
}
class RankOnly extends Ft {
  static override filterBackends = [SearchRankOrderingFilter, FieldFilter]
}
class FtRelated extends Ft {
  static override filterBackends = [FullTextSearchFilter, SearchRankOrderingFilter]
  static override searchFields = ['title', 'author__country__name']
}
class NestedBookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'author']
  static override declaredFields = { author: new NestedSerializer(PersonSerializer, { readOnly: true }) }
}
class RankedNested extends Ranked {
  static override serializerClass = NestedBookSerializer
}
class PatternCursor extends PatternBooks {
  static override paginationClass = new CursorPagination({ pageSize: 2 })
}

const VIEWS = {
  books: Books,
  strict: StrictBooks,
  instances: InstanceBooks,
  patterns: PatternBooks,
  prefixes: PrefixBooks,
  people: People,
  ft: Ft,
  ftraw: FtRaw,
  ftplain: FtPlain,
  ftphrase: FtPhrase,
  ranked: Ranked,
  rankonly: RankOnly,
  ftrelated: FtRelated,
  rankednested: RankedNested,
  patterncursor: PatternCursor,
}

beforeAll(async () => {
  configure({ secretKey: 'a secret of the tests' })
  database = await createBooks()
  await database.knex.raw(`
    insert into countries values ('de', 'Germany', 'Europe'), ('ke', 'Kenya', 'Africa');
    insert into people (name, country_code, boss_id) values ('Ada', 'de', null), ('Ben', 'ke', 1), ('Cleo', null, 2);
    insert into genres (name, hidden) values ('novel', false), ('essay', true), ('poem', false);
    insert into books (title, isbn, code, n, big, price, score, published, created, uid, flag, state, address, lasted, bytes, meta, tags, author_id) values
      ('100%', '111', 'ab', 1, 9007199254740993, 1.25, 1.5, '2024-01-31', '2024-01-31T12:00:00.000001Z', '7f1d0f1e-3f53-4c3b-9c3a-6a7a2a0f5f01', true, 'draft', '10.0.0.1', '1 day', '\\x00ff', '{"a":1}', '{x,y}', 1),
      ('a_b', '222', 'cd', 2, 2, 2.50, 2, '2024-02-01', '2024-02-01T00:00:00Z', '7f1d0f1e-3f53-4c3b-9c3a-6a7a2a0f5f02', false, 'open', '10.0.0.2', '2 hours', '\\x01', null, null, 1),
      ('a\\b', '333', null, 3, null, null, null, null, null, null, null, 'done', null, null, null, null, null, 2),
      ('axb', null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null),
      ('O''Reilly Media', '555', 'e', 5, null, null, null, null, null, null, null, null, null, null, null, null, null, 3),
      ('The lazy dog and the Quick fox', '666', 'f', 6, null, null, null, null, null, null, null, null, null, null, null, null, null, 2);
    insert into books_genres values (1, 1, true), (1, 3, false), (2, 2, true), (3, 1, false), (6, 1, true), (6, 2, true), (6, 3, true);
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

/** The ids that a list shows, in order. */
async function ids(path: string): Promise<number[]> {
  const { status, json } = await client.get(`/api/${path}`)
  expect([path, status, json]).toEqual([path, 200, json])
  return (json.results ?? json).map(({ id }: { id: number }) => id)
}

/** The same, in the order of the ids. */
async function found(path: string): Promise<number[]> {
  return (await ids(path)).sort((one, other) => one - other)
}

function parameters(query: Record<string, string>): string {
  return new URLSearchParams(query).toString()
}

describe.each(['books', 'instances'])('FieldFilter on %s', (path) => {
  it.each([
    ['title=axb', [4]],
    ['title__exact=AXB', []],
    ['title__iexact=AXB', [4]],
    ['title__contains=Quick', [6]],
    ['title__contains=quick', []],
    ['title__icontains=quick', [6]],
    ['title__startswith=The', [6]],
    ['title__startswith=the', []],
    ['title__istartswith=the', [6]],
    ['title__endswith=fox', [6]],
    ['title__endswith=FOX', []],
    ['title__iendswith=FOX', [6]],
    ['title__gt=a', [2, 3, 4]],
    ['n=2', [2]],
    ['n__gt=2', [3, 5, 6]],
    ['n__gte=2', [2, 3, 5, 6]],
    ['n__lt=2', [1]],
    ['n__lte=2', [1, 2]],
    ['n__in=1,3,99', [1, 3]],
    ['n__range=2,5', [2, 3, 5]],
    ['n__range=5,2', []],
    ['n__isnull=true', [4]],
    ['n__isnull=false', [1, 2, 3, 5, 6]],
    ['n__contains=5', [5]],
    ['n__in=-1,%205', null],
    ['big=9007199254740993', [1]],
    ['big=9007199254740992', []],
    ['big__in=9007199254740993,2', [1, 2]],
    ['price=1.25', [1]],
    ['price=1.250', null],
    ['price__range=1,2.5', [1, 2]],
    ['price__in=1.25,2.50', [1, 2]],
    ['price__startswith=2.', [2]],
    ['score__gte=1.5', [1, 2]],
    ['score__in=1.5,2', [1, 2]],
    ['published__gt=2024-01-31', [2]],
    ['published__in=2024-01-31,2024-02-01', [1, 2]],
    ['published__range=2024-01-01,2024-01-31', [1]],
    ['created=2024-01-31T12:00:00.000001Z', [1]],
    ['created=2024-01-31T12:00:00Z', []],
    ['created=2024-01-31T13:00:00.000001%2B01:00', [1]],
    ['created__lt=2024-02-01T00:00:00Z', [1]],
    ['created__in=2024-02-01T00:00:00Z', [2]],
    ['uid=7F1D0F1E-3F53-4C3B-9C3A-6A7A2A0F5F01', [1]],
    ['uid__in=7f1d0f1e-3f53-4c3b-9c3a-6a7a2a0f5f01,7f1d0f1e-3f53-4c3b-9c3a-6a7a2a0f5f02', [1, 2]],
    ['uid__endswith=02', [2]],
    ['flag=true', [1]],
    ['flag__in=true,false', [1, 2]],
    ['state=open', [2]],
    ['state__in=open,done', [2, 3]],
    ['state__gt=draft', [2, 3]],
    ['state__contains=o', [2, 3]],
    ['isbn__in=111,333', [1, 3]],
    ['isbn=a-text-longer-than-the-column', []],
    ['code=ab', [1]],
    ['code__in=ab,cd', [1, 2]],
    ['code__istartswith=A', [1]],
    ['address=10.0.0.1', [1]],
    ['address__in=10.0.0.1,10.0.0.2', [1, 2]],
    ['address__gt=10.0.0.1', [2]],
    ['lasted=P1D', [1]],
    ['lasted__lt=PT3H', [2]],
    ['lasted__in=PT24H,PT2H', [1, 2]],
    ['bytes=%5Cx00ff', [1]],
    ['bytes__in=%5Cx00ff,%5Cx01', [1, 2]],
    ['place__isnull=true', [1, 2, 3, 4, 5, 6]],
    ['place=(1,2)', []],
    ['place__in=1,2', []],
    ['meta__isnull=false', [1]],
    ['tags__isnull=false', [1]],
    ['author_id=1', [1, 2]],
    ['author_id__in=2,3', [3, 5, 6]],
    ['author_id__isnull=true', [4]],
    ['author__id=1', [1, 2]],
    ['author__name=Ada', [1, 2]],
    ['author__name__in=Ben,Cleo', [3, 5, 6]],
    ['author__name__isnull=true', [4]],
    ['author__name__isnull=false', [1, 2, 3, 5, 6]],
    ['author__country__region=Africa', [3, 6]],
    ['author__country__region__isnull=true', [4, 5]],
    ['author__boss__name=Ada', [3, 6]],
    ['author__boss__name__isnull=true', [1, 2, 4]],
    ['author__books__title=a_b', [1, 2]],
    ['genres__name=novel', [1, 3, 6]],
    ['genres__name__in=novel,poem,essay', [1, 2, 3, 6]],
    ['genres__name__isnull=true', [4, 5]],
    ['genres__name=novel&genres__name__startswith=p', [1, 6]],
    ['shownGenres__name=essay', []],
    ['shownGenres__name__in=novel,poem,essay', [1, 3, 6]],
    ['shownGenres__name__isnull=true', [2, 4, 5]],
    ['mainGenres__name=novel', [1, 6]],
    ['n=2&title=a_b', [2]],
    ['n=2&title=axb', []],
  ] as const)('answers ?%s', async (query, expected) => {
    if (expected === null) expect((await client.get(`/api/${path}?${query}`)).status).toBe(400)
    else expect(await found(`${path}?${query}`)).toEqual(expected)
  })

  it('multiplies no row, and counts each once', async () => {
    const { json } = await client.get(`/api/${path}?genres__name__in=novel,poem,essay`)
    expect(json).toMatchObject({ count: 4 })
    expect(json.results).toHaveLength(4)
  })

  it('[R1 C1] ignores what is no filter: no row is hidden or told', async () => {
    const plain = (await client.get(`/api/${path}`)).text
    for (const query of [
      'secret=x',
      'secret__startswith=a',
      'author__password_hash__contains=$',
      'author__password_hash=a',
      'author=1',
      'author__country=de',
      'id=1',
      'unknown=1',
      'title%20=axb',
      'TITLE=axb',
      'author.name=Ada',
    ]) {
      expect([query, (await client.get(`/api/${path}?${query}`)).text]).toEqual([query, plain])
    }
  })

  it('[C2] ignores hostile names, and refuses unknown lookups of its fields', async () => {
    const plain = (await client.get(`/api/${path}`)).text
    for (const name of [
      'title" OR 1=1--',
      "title' OR '1'='1",
      'n); drop table canary; --',
      'n::text',
      '(select 1)',
      '*',
    ]) {
      expect((await client.get(`/api/${path}?${parameters({ [name]: 'x' })}`)).text).toBe(plain)
    }
    for (const name of [
      'n__foo',
      'title__exact__secret',
      'n__',
      'n__gt__lt',
      'author__name__foo',
      'meta',
      'tags__in',
      'place__gt',
    ]) {
      const { status, json } = await client.get(`/api/${path}?${name}=1`)
      expect([name, status, Object.keys(json.errors)]).toEqual([name, 400, [name]])
      expect(json.errors[name]).toEqual([expect.stringMatching(/^Unknown lookup\. Use one of: .*isnull\.$/)])
    }
    // a name that is no plain word is not repeated
    const { json } = await client.get(`/api/${path}?${parameters({ 'n__select x from y': '1' })}`)
    expect(Object.keys(json.errors)).toEqual(['n'])
  })

  it('[C4] knows no operator objects', async () => {
    const plain = (await client.get(`/api/${path}`)).text
    expect((await client.get(`/api/${path}?n[gt]=1&n[$ne]=1&n[]=1`)).text).toBe(plain)
    expect((await client.get(`/api/${path}?n={"a":1}`)).json.errors).toEqual({ n: ['A valid integer is required.'] })
  })

  it('[C5] takes %, _ and \\ as they are', async () => {
    for (const [query, expected] of [
      [{ title__contains: '_' }, [2]],
      [{ title__contains: '%' }, [1]],
      [{ title__contains: '\\' }, [3]],
      [{ title__icontains: 'A_B' }, [2]],
      [{ title__startswith: 'a_' }, [2]],
      [{ title__istartswith: 'A\\' }, [3]],
      [{ title__endswith: '%' }, [1]],
      [{ title__endswith: '\\' }, []],
      [{ title__iendswith: '_B' }, [2]],
      [{ title__iexact: 'A_B' }, [2]],
      [{ search: '_' }, [2]],
      [{ search: '%' }, [1]],
      [{ search: 'a\\b' }, [3]],
      [{ search: '\\' }, [3]],
    ] as const) {
      expect([query, await found(`${path}?${parameters(query)}`)]).toEqual([query, expected])
    }
  })

  it('[C6] takes at most 1,000 values, none for nothing, and no gaps', async () => {
    const list = (length: number) => Array.from({ length }, (_, index) => index).join()
    expect(await found(`${path}?n__in=${list(1_000)}`)).toEqual([1, 2, 3, 5, 6])
    expect((await client.get(`/api/${path}?n__in=${list(1_001)}`)).json.errors).toEqual({
      n__in: ['Give at most 1000 values.'],
    })
    expect(await found(`${path}?n__in=`)).toEqual([])
    expect(await found(`${path}?title__in=`)).toEqual([])
    for (const query of ['n__in=1,,2', 'n__in=,', 'n__in=1,', 'title__in=a,,b', 'author__name__in=,Ada']) {
      const { status, json } = await client.get(`/api/${path}?${query}`)
      expect([query, status]).toEqual([query, 400])
      expect(Object.values(json.errors)).toEqual([['Give a value before and after each comma.']])
    }
  })

  it('[C7] isnull is true or false, and a range has two ends', async () => {
    for (const value of ['1', '0', '', 'True', 'null', 'yes']) {
      const { json } = await client.get(`/api/${path}?n__isnull=${value}`)
      expect(json.errors).toEqual({ n__isnull: ['Must be true or false.'] })
    }
    for (const value of ['1', '', '1,2,3', '1,2,3,4']) {
      const { json } = await client.get(`/api/${path}?n__range=${value}`)
      expect(json.errors).toEqual({ n__range: ['Give two values, separated by a comma.'] })
    }
    for (const value of [',', '1,', ',1', 'a,1', '1,99999999999']) {
      expect((await client.get(`/api/${path}?n__range=${value}`)).status).toBe(400)
    }
  })

  it('[R2 B1 B3 B5 B6] refuses what is no value of the column, with the name of the parameter', async () => {
    const wrong: Record<string, readonly string[]> = {
      n: ['', ' ', '2147483648', '-2147483649', '1.0', '1e0', '0x1', '+1', ' 1', '１', 'NaN', 'abc', '9'.repeat(400)],
      n__in: ['1,99999999999', 'a'],
      author_id: ['2147483648', 'x'],
      big: ['9223372036854775808', '1.5', ''],
      price: ['1e400', 'NaN', 'Infinity', '-Infinity', '123456.78', '1.239', '1,5', ''],
      score: ['1e400', 'NaN', 'Infinity', 'infinity', ''],
      published: ['2024-02-30', 'now', 'today', 'infinity', 'epoch', '20240101', '2024-1-1', '2024-01-01T00:00:00Z'],
      created: ['now', 'infinity', '-infinity', 'epoch', 'tomorrow', '2024-01-01 25:00', '1704067200', ''],
      created__lt: ['now'],
      published__range: ['today,tomorrow'],
      uid: ['x', '7f1d0f1e3f534c3b9c3a6a7a2a0f5f01', '{7f1d0f1e-3f53-4c3b-9c3a-6a7a2a0f5f01}', ''],
      flag: ['1', 't', 'True', 'yes', ''],
      state: ['closed', ''],
      address: ['10.0.0', 'localhost', '10.0.0.1/99'],
      lasted: ['1 day', 'P', ''],
      bytes: ['00', '\\x0', '\\xzz'],
      author__id: ['x'],
    }
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) {
        const { status, json } = await client.get(`/api/${path}?${parameters({ [name]: value })}`)
        expect([name, value, status, json.errors]).toEqual([name, value, 400, { [name]: [expect.any(String)] }])
      }
    }
  })

  it('[R5] reports all wrong parameters at once, and asks the database nothing', async () => {
    const texts = await countQueries(database.knex, async () => {
      const { json } = await client.get(`/api/${path}?n=x&flag=2&title__foo=1`)
      expect(Object.keys(json.errors).sort()).toEqual(['flag', 'n', 'title__foo'])
    })
    expect(texts).toEqual([])
  })

  it('[B7] refuses NUL, wherever it stands', async () => {
    for (const query of [
      'title=a%00',
      'title__contains=%00',
      'title__iexact=%00',
      'title__in=a,%00',
      'n=%001',
      'place=%00',
    ]) {
      const { status, json } = await client.get(`/api/${path}?${query}`)
      expect([query, status, Object.values(json.errors)]).toEqual([query, 400, [['Null characters are not allowed.']]])
    }
    expect((await client.get(`/api/${path}?search=a%00`)).json.errors).toEqual({
      search: ['Null characters are not allowed.'],
    })
  })

  it('[B10] reads broken percent-encoding as it can', async () => {
    expect(await found(`${path}?title=%zz`)).toEqual([])
    expect(await found(`${path}?title=%ff&search=%`)).toEqual([])
    expect(await found(`${path}?title=100%`)).toEqual([1])
  })

  it('[B14] takes the last of a repeated parameter', async () => {
    expect(await found(`${path}?n=1&n=2`)).toEqual([2])
    expect(await found(`${path}?n=x&n=2`)).toEqual([2])
    expect(await found(`${path}?search=zzz&search=axb`)).toEqual([4])
    expect((await ids(`${path}?ordering=n&ordering=-n,title`))[0]).toBe(4)
  })

  it('[C8 R10] takes at most 50 filters', async () => {
    const many = (count: number) =>
      ['title', 'isbn', 'code', 'author__name']
        .flatMap((name) => LOOKUPS.map((lookup) => `${name}__${lookup}=a,b`))
        .filter((text) => !text.includes('__range'))
        .slice(0, count)
        .join('&')
    expect((await client.get(`/api/${path}?${many(50)}`)).status).toBe(200)
    const { status, json } = await client.get(`/api/${path}?${many(51)}`)
    expect([status, json.errors]).toEqual([400, { non_field_errors: ['Give at most 50 filters.'] }])
  })

  it('[C16] loads no relation on demand', async () => {
    const plain = (await client.get(`/api/${path}`)).text
    for (const query of [
      'expand=author.[books]',
      'include=author',
      'depth=9',
      'fields=secret',
      'eager=author',
      'join=author',
    ]) {
      expect([query, (await client.get(`/api/${path}?${query}`)).text]).toEqual([query, plain])
    }
  })

  it('[C3] binds values: 200 payloads, each lookup with each of ten column types', async () => {
    const pairs = Object.keys(COLUMNS).flatMap((column) => LOOKUPS.map((lookup) => `${column}__${lookup}`))
    const payloads = hostileValues()
    expect(payloads).toHaveLength(200)
    const statuses = new Map<number, number>()
    const texts = await countQueries(database.knex, async () => {
      for (const [index, { value }] of payloads.entries()) {
        for (let turn = 0; turn < 7; turn++) {
          const parameter = pairs[(index * 7 + turn) % pairs.length] as string
          const query = parameters({ [parameter]: value, author__name__icontains: value })
          const { status } = await client.get(`/api/${path}?${query}`)
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
        }
        const { status } = await client.get(
          `/api/${path}?${parameters({ search: value, ordering: value, [value]: value })}`,
        )
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    })
    expect([...statuses.keys()].sort((one, other) => one - other)).toEqual([200, 400])
    expect(statuses.get(200)).toBeGreaterThan(400)
    expect(texts.length).toBeGreaterThan(400)
    expect(texts.filter((text) => /canary/.test(text))).toEqual([])
    // and every text is one that a harmless request makes, too
    expect(new Set(texts).size).toBeLessThan(250)
    expect(await database.knex('canary').count()).toEqual([{ count: '1' }])
  }, 60_000)
})

describe('FieldFilter', () => {
  it('filters through has-many relations', async () => {
    expect(await found('people?books__title=axb')).toEqual([])
    expect(await found('people?books__n__gt=2')).toEqual([2, 3])
    expect(await found('people?books__genres__name=essay')).toEqual([1, 2])
    expect(await found('people?books__n__isnull=true')).toEqual([])
    expect(await found('people?country__code=de')).toEqual([1])
  })

  it('[R4] sends one SELECT for the page, and asks nothing else', async () => {
    const texts = await countQueries(database.knex, () => client.get('/api/books?n__gt=1&search=a&ordering=n'))
    expect(texts).toHaveLength(1)
    expect(texts[0]).toMatch(/^(?:select|with) /)
    expect(texts[0]).not.toMatch(/insert|update|delete|for share/i)
  })

  it('[R3] sends 1,000 values as one parameter', async () => {
    const list = Array.from({ length: 1_000 }, (_, index) => index).join()
    const [text] = await countQueries(database.knex, () => client.get(`/api/books?n__in=${list}`))
    expect(text?.match(/\$\d+/g)?.length).toBeLessThan(5)
  })
})

describe('strictParams', () => {
  it('[C1] refuses parameters that nothing reads, and names those that something does', async () => {
    const { status, json } = await client.get('/api/strict?secret__startswith=a&page=1')
    expect(status).toBe(400)
    expect(Object.keys(json.errors)).toEqual(['secret__startswith'])
    const [message] = json.errors['secret__startswith']
    expect(message).toMatch(
      /^Unknown parameter\. Use n, n__exact, .*n__isnull, search, ordering, page, page_size, mine, fields\.$/,
    )
  })

  it('reads those that it names', async () => {
    expect(await found('strict?n__gt=2&search=a&ordering=n&page=1&page_size=5&mine=x')).toEqual([3, 5, 6])
  })

  it('repeats no name that is no plain word', async () => {
    const { json } = await client.get(
      `/api/strict?${parameters({ 'select x from y': '1', __proto__: '1' })}&__proto__=1`,
    )
    expect(Object.keys(json.errors).sort()).toEqual(['__proto__', 'non_field_errors'])
  })
})

describe('SearchFilter', () => {
  it.each([
    ['axb', [4]],
    ['AXB', [4]],
    ['lazy quick', [6]],
    ['lazy "quick fox"', [6]],
    ['"fox quick"', []],
    ['lazy ada', []],
    ['ben', [3, 6]],
    ['ben lazy', [6]],
    ['555', [5]],
    ['55', []],
    ["O'Reilly", [5]],
    ["o'reilly\tMEDIA", [5]],
    ['"media', [5]],
    ['', [1, 2, 3, 4, 5, 6]],
    ['  ', [1, 2, 3, 4, 5, 6]],
    ['""', [1, 2, 3, 4, 5, 6]],
    ['{idx} ? ?? $1', []],
  ])('[C17] finds %j', async (search, expected) => {
    expect(await found(`books?${parameters({ search })}`)).toEqual(expected)
  })

  it.each([
    ['the', [6]],
    ['lazy', []],
    ['AB', [1]],
    ['a', [1, 2, 3, 4, 6]],
    ['6', [6]],
    ['kenya', [3, 6]],
    ['kenya a\\', [3]],
    ['a_', [2]],
  ])('selects how to match by prefixes: %j', async (search, expected) => {
    expect(await found(`prefixes?${parameters({ search })}`)).toEqual(expected)
  })

  it('[C17] cuts a term at 200 characters, before any check', async () => {
    await database.knex('books').insert({ id: 1_000, title: 'z'.repeat(200) })
    expect(await found(`books?search=${'z'.repeat(300)}%00`)).toEqual([1_000])
    expect(await found(`books?search=${'z'.repeat(199)}y`)).toEqual([])
    await database.knex('books').where('id', 1_000).delete()
  })

  it('[C8 R10] takes 32 terms and refuses 4,000 in no time', async () => {
    expect((await client.get(`/api/books?search=${Array(32).fill('a').join('+')}`)).status).toBe(200)
    const start = performance.now()
    const { status, json } = await client.get(`/api/books?search=${Array(4_000).fill('a').join('+')}`)
    expect(performance.now() - start).toBeLessThan(50)
    expect([status, json.errors]).toEqual([400, { search: ['Give at most 32 terms.'] }])
  })
})

describe('SearchFilter by regular expression', () => {
  it.each([
    ['^a.b$', [2, 3, 4]],
    ['(fox|media)$', [5, 6]],
    ['\\mQUICK\\M', [6]],
    ['a[_x]b', [2, 4]],
    ['^.{3}$', [2, 3, 4]],
    ['%', [1]],
  ])('finds %j', async (search, expected) => {
    expect(await found(`patterns?${parameters({ search })}`)).toEqual(expected)
  })

  it('[C11] takes a blocked pattern as text, and refuses an invalid one', async () => {
    await database.knex('books').insert({ id: 1_001, title: 'c++ (a+)+ (?i)x' })
    expect(await found(`patterns?${parameters({ search: 'C++' })}`)).toEqual([1_001])
    expect(await found(`patterns?${parameters({ search: '(a+)+' })}`)).toEqual([1_001])
    expect(await found(`patterns?${parameters({ search: '(?i)' })}`)).toEqual([1_001])
    await database.knex('books').where('id', 1_001).delete()
    for (const search of ['(', '[a', 'a)', '*', '\\']) {
      const { status, json } = await client.get(`/api/patterns?${parameters({ search })}`)
      expect([status, json]).toEqual([400, { detail: 'Invalid search pattern.', status: 400 }])
    }
  })

  it('[C11] refuses a pattern that costs too much for each row, without asking the database', async () => {
    const refused = { search: ['This pattern takes longer than 1 second: make it simpler.'] }
    const texts = await countQueries(database.knex, async () => {
      const { status, json } = await client.get(`/api/patterns?${parameters({ search: '(a|e).{30}z{4}' })}`)
      expect([status, json.errors]).toEqual([400, refused])
    })
    expect(texts).toEqual([])
  })

  it('[R4] is 400 where the database takes longer at it than statementTimeout', async () => {
    class Patient extends Model {
      static override tableName = 'patients'
    }
    class PatientSerializer extends ModelSerializer<Patient> {
      static override model = Patient
      static override fields = ['id', 'title']
    }
    class Patients extends ModelViewSet<Patient> {
      static override model = Patient
      static override serializerClass = PatientSerializer
      static override filterBackends = [new SearchFilter({ statementTimeout: 50 })]
      static override searchFields = ['$title']
    }
    await database.knex.raw(
      'create view patients as select id, title from books where (select pg_sleep(5) where books.id > 0) is not null',
    )
    Patient.knex(database.knex)
    const router = new APIRouter().register('patients', Patients, 'patients')
    await router.prepare()
    const patients = await serving(router.routes())
    const { status, json } = await patients.get('/patients?search=a.b')
    expect([status, json.errors]).toEqual([
      400,
      { search: ['This pattern takes longer than 0.05 seconds: make it simpler.'] },
    ])
    expect(patients.reported).toEqual([])
    expect(database.knex.client.pool.numUsed()).toBe(0)
    await patients.close()
  })

  it('cuts an expression at 100 characters', async () => {
    await database.knex('books').insert({ id: 1_002, title: 'y'.repeat(100) })
    expect(await found(`patterns?search=${'y'.repeat(100)}(`)).toEqual([1_002])
    await database.knex('books').where('id', 1_002).delete()
  })

  it('[R4] runs in a transaction that only reads, with a bound on time', async () => {
    for (const [path, sql, milliseconds] of [
      ['patterns?search=a.b', / ~\* /, 1_000],
      ['ft?search=dog', / @@ /, 5_000],
    ] as const) {
      const texts = await countQueries(database.knex, () => client.get(`/api/${path}`))
      expect(texts[0]).toBe('BEGIN TRANSACTION READ ONLY;')
      expect(texts[1]).toBe(`SET LOCAL statement_timeout = ${milliseconds}`)
      expect(texts[2]).toMatch(sql)
      expect(texts.at(-1)).toBe('COMMIT;')
    }
    // what needs no guard has none
    expect(await countQueries(database.knex, () => client.get('/api/patterns?search=c%2B%2B'))).toHaveLength(1)
    expect(database.knex.client.pool.numUsed()).toBe(0)
  })

  it('pages by cursor in the same way', async () => {
    const first = (await client.get('/api/patterncursor?search=^a.b$')).json
    const second = (await client.get(first.next)).json
    expect(new Set([...first.results, ...second.results].map(({ id }) => id))).toEqual(new Set([2, 3, 4]))
  })
})

describe('[C11] time', () => {
  const PATTERNS = [
    '((a{1,30}){1,30}){1,30}',
    '(a)(b)(c)(d)(e)(f)\\1\\2\\3\\4\\5\\6',
    '(.*)(.*)(.*)(.*)(.*)(.*)\\6\\5\\4\\3\\2\\1',
    '(a?b?c?d?e?f?g?h?i?j?k?l?m?n?o?p?q?r?s?t?u?v?w?x?y?z?){50}x',
    '((((((((((a?){2}){2}){2}){2}){2}){2}){2}){2}){2}){2}',
    '(\\m|\\M|\\y|\\Y|a){50}z',
    '(a+)+$',
    '(a*)*b',
    '(a|aa)+$',
    '(a|a?)+$',
    '(.*a){20}',
    '.*.*.*.*.*.*.*.*.*.*.*x',
    '.*a.{50}z',
    '.{0,50}.{0,50}.{0,50}.{0,50}z',
    '([a-z]+)*[0-9]',
    '(x+x+)+y',
    'a{50}a{50}a{50}a{50}a{50}',
    'a{99}',
    'a{1,255}',
    '(?=a)*b',
    '(?!b)*a',
    '(?<=a)b',
    '(?i)a',
    '***=a',
    '(a{2}){2}',
    'a**',
    'a++',
    '(^|a)*(^|b)*(^|c)*z',
    '(^|$|a|\\y)*(^|$|a|\\y)*z',
    `[ -\u{10ffff}]{50}`,
    `[ -\u{10ffff}]*[ -\u{10ffff}]*[ -\u{10ffff}]*z`,
    '(|a|b|)*z',
    '()*',
    '(a|b)*a(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)z',
    '(((((((((((((((((((((((((((((((((((((((((((((((((a)))))))))))))))))))))))))))))))))))))))))))))))))',
    '\\w+\\s+\\w+\\s+\\w+\\s+\\w+\\s+\\w+\\s+zz',
    '(\\w+\\s?)*$',
    '[[:alpha:]]*[[:digit:]]*[[:space:]]*z',
    '(',
    '[z-a]',
    '\\',
    '(a*b*c*d*e*f*g*h*i*j*k*l*m*n*o*p*)z',
  ]

  it('answers 40 patterns in under 1 s each, while another client is served', async () => {
    await database.knex.raw(
      `insert into books (id, title) select 2000 + g, repeat('abc aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ', 100) || g from generate_series(1, 50) g`,
    )
    expect(PATTERNS.length).toBeGreaterThanOrEqual(40)
    let running = true
    const times: number[] = []
    const other = (async () => {
      while (running) {
        const start = performance.now()
        expect((await client.get('/api/books/1')).status).toBe(200)
        times.push(performance.now() - start)
      }
    })()
    for (const search of PATTERNS) {
      const start = performance.now()
      const { status } = await client.get(`/api/patterns?${parameters({ search: `"${search}"` })}`)
      expect([search, [200, 400].includes(status), performance.now() - start < 1_000]).toEqual([search, true, true])
    }
    running = false
    await other
    times.sort((one, two) => one - two)
    expect(times[Math.floor(times.length * 0.99)]).toBeLessThan(200)
    await database.knex('books').where('id', '>', 2_000).delete()
  }, 60_000)

  it('answers 503 when the time is up', async () => {
    class Slow extends BaseFilter {
      override read(_: unknown, _view: FilterView) {
        return {
          shape: null,
          values: [],
          guarded: 50,
          apply: (query: { whereRaw(sql: string): unknown }) => void query.whereRaw('pg_sleep(5) is not null'),
        }
      }
    }
    class SlowBooks extends Books {
      static override filterBackends = [Slow]
    }
    const router = new APIRouter().register('slow', SlowBooks, 'slow')
    const slow = await serving(router.routes())
    const { status, headers } = await slow.get('/slow')
    expect([status, headers['retry-after']]).toEqual([503, '1'])
    expect(database.knex.client.pool.numUsed()).toBe(0)
    await slow.close()
  })
})

describe('OrderingFilter', () => {
  it('orders as asked, with the primary key behind', async () => {
    expect(await ids('books?ordering=n')).toEqual([1, 2, 3, 5, 6, 4])
    expect(await ids('books?ordering=-n')).toEqual([4, 6, 5, 3, 2, 1])
    expect(await ids('books?ordering=-created,n')).toEqual([3, 5, 6, 4, 2, 1])
    expect(await ids('books?ordering=%20created%20,%20-n')).toEqual([1, 2, 4, 6, 5, 3])
    expect(await ids('books?ordering=n,-n,n')).toEqual(await ids('books?ordering=n'))
  })

  it('[C9] ignores what is not declared, and falls back to the default order', async () => {
    const plain = await ids('books')
    expect(plain).toEqual([4, 6, 5, 3, 2, 1])
    for (const ordering of [
      ...[
        'secret',
        '-secret',
        'author.secret',
        'author__name',
        'title as x',
        '--n',
        '-',
        ',',
        '',
        '+n',
        'N',
        'n desc',
        'n;',
      ],
      ...['__proto__', 'constructor', 'n asc, (select 1)', '1', 'random()', 'n nulls first', '-n-'],
    ]) {
      expect([ordering, await ids(`books?${parameters({ ordering })}`)]).toEqual([ordering, plain])
    }
    expect(await ids('books?ordering=secret,n')).toEqual(await ids('books?ordering=n'))
  })

  it('[C8 R10] takes at most ten terms', async () => {
    expect((await client.get(`/api/books?ordering=${Array(10).fill('n').join()}`)).status).toBe(200)
    const { status, json } = await client.get(`/api/books?ordering=${Array(11).fill('x').join()}`)
    expect([status, json.errors]).toEqual([400, { ordering: ['Give at most 10 terms.'] }])
  })

  it('[C10] is total: pages through ties see each row once', async () => {
    await database.knex.raw(
      `insert into books (id, title, n) select 3000 + g, 'tie', 7 from generate_series(1, 1000) g`,
    )
    const seen: number[] = []
    for (let page = 1; page <= 10; page++) {
      seen.push(...(await ids(`books?title=tie&ordering=n&page=${page}&page_size=100`)))
    }
    expect(new Set(seen).size).toBe(1_000)
    await database.knex('books').where('title', 'tie').delete()
  })

  it('orders where the backends are chained, whatever stands before it', async () => {
    expect(await ids('instances?n__gt=1&search=b&ordering=n')).toEqual([2, 3, 6])
  })
})

describe('FullTextSearchFilter', () => {
  it.each([
    ['ft', 'dogs', [6]],
    ['ft', 'lazy fox', [6]],
    ['ft', 'dog or media', [5, 6]],
    ['ft', '"quick fox"', [6]],
    ['ft', '"fox quick"', []],
    ['ft', 'fox -dog', []],
    ['ft', 'the', []],
    ['ft', 'ab', [1]],
    ['ft', '"foo OR -(', []],
    ['ftraw', 'dog & fox', [6]],
    ['ftraw', 'dog | media', [5, 6]],
    ['ftraw', 'dog & !fox', []],
    ['ftraw', 'med:*', [5]],
    ['ftphrase', 'quick fox', [6]],
    ['ftphrase', 'fox quick', []],
  ])('searches %s for %j', async (path, search, expected) => {
    expect(await found(`${path}?${parameters({ search })}`)).toEqual(expected)
  })

  it('reads the parameter of searchParam', async () => {
    expect(await found('ftplain?q=fox+lazy')).toEqual([6])
    expect(await found('ftplain?search=fox')).toEqual([1, 2, 3, 4, 5, 6])
  })

  it('searches for nothing when nothing is asked', async () => {
    expect(await found('ft?search=+')).toHaveLength(6)
    expect(await found('ftraw?search=')).toHaveLength(6)
  })

  it('[C12] refuses a raw query that cannot be read', async () => {
    for (const search of [
      'foo bar',
      'foo &',
      '(',
      '|',
      ':*',
      '\\',
      "'",
      '!'.repeat(100),
      `${'!'.repeat(60)}a`,
      `${'! '.repeat(60)}a`,
    ]) {
      const { status, json } = await client.get(`/api/ftraw?${parameters({ search })}`)
      expect([search, status, json]).toEqual([search, 400, { detail: 'Invalid search query.', status: 400 }])
    }
    // as many as a header can hold
    expect((await client.get(`/api/ftraw?search=${'('.repeat(15_000)}`)).status).toBe(400)
    expect(
      (await client.get(`/api/ftraw?${parameters({ search: `${'('.repeat(500)}a${')'.repeat(500)}` })}`)).status,
    ).toBe(200)
  })

  it('[C12] never fails on web search', async () => {
    const pieces = [
      '-',
      '"',
      ' or ',
      '(',
      ')',
      '!',
      '&',
      '|',
      ':*',
      '\\',
      "'",
      'a',
      ' ',
      '<->',
      '😀',
      'the',
      '\t',
      '- ',
      '-"" ',
    ]
    let state = 1
    const next = (most: number) => {
      state = (state * 48_271) % 2_147_483_647
      return state % most
    }
    for (let count = 0; count < 300; count++) {
      const some = Array.from({ length: 1 + next(4) }, () => pieces[next(pieces.length)])
      const search = Array.from({ length: 1 + next(100) }, () => some[next(some.length)]).join('')
      const { status } = await client.get(`/api/ft?${parameters({ search })}`)
      expect([search, status]).toEqual([search, 200])
    }
    for (const search of [
      '-'.repeat(5_000),
      `${'- '.repeat(2_000)}a`,
      '"'.repeat(5_000),
      'a or '.repeat(1_000),
      '('.repeat(5_000),
    ]) {
      expect((await client.get(`/api/ft?${parameters({ search })}`)).status).toBe(200)
    }
  })

  it('[B7] refuses NUL', async () => {
    expect((await client.get('/api/ft?search=a%00')).json.errors).toEqual({
      search: ['Null characters are not allowed.'],
    })
    expect((await client.get('/api/ftplain?q=a%00')).json.errors).toEqual({ q: ['Null characters are not allowed.'] })
  })

  it('[C13] finds others beside a row that is too large for a tsvector', async () => {
    await database.knex.raw(
      `insert into books (id, title) select 4000, string_agg('word' || g, ' ') from generate_series(1, 300000) g`,
    )
    const [row] = await database.knex('books').where('id', 4_000).select(database.knex.raw('length(title) as length'))
    expect(row.length).toBeGreaterThan(2_900_000)
    expect(await found('ft?search=fox')).toEqual([6])
    expect(await found('ft?search=word7')).toEqual([4_000])
    expect(await ids('ranked?search=word7')).toEqual([4_000])
    await database.knex('books').where('id', 4_000).delete()
  })

  it('[C13] uses an index on the expression that its description shows', async () => {
    await database.knex.raw(`
      create index books_text on books using gin (to_tsvector('english', left(coalesce(title, '') || ' ' || coalesce(code, ''), 250000)));
      insert into books (id, title) select 15000 + g, 'some filler number ' || g from generate_series(1, 5000) g;
      analyze books;
    `)
    const sent: { sql: string; bindings: unknown[] }[] = []
    const listener = (query: (typeof sent)[number]) => sent.push(query)
    database.knex.on('query', listener)
    await client.get('/api/ft?search=fox')
    database.knex.removeListener('query', listener)
    const list = sent.find(({ sql }) => sql.includes(' @@ '))
    const session = new pg.Client(database.connection)
    await session.connect()
    const plan = await session.query(`explain ${list?.sql}`, list?.bindings)
    await session.end()
    expect(JSON.stringify(plan.rows)).toMatch(/books_text/)
    await database.knex.raw('drop index books_text')
    await database.knex('books').where('id', '>=', 15_000).delete()
  })
})

describe('SearchRankOrderingFilter', () => {
  beforeAll(async () => {
    await database.knex('books').insert([
      { id: 6_001, title: 'pear and other fruit, and much more text about all of it', author_id: 2 },
      { id: 6_002, title: 'pear pear pear', author_id: 1 },
      { id: 6_003, title: 'pear pear', code: 'pear' },
      { id: 6_004, title: 'plum', author_id: 2 },
    ])
  })
  afterAll(async () => {
    await database.knex('books').where('id', '>', 6_000).delete()
  })

  it.each(['ranked', 'rankonly', 'rankednested'])('puts the best match first on %s', async (path) => {
    const { json } = await client.get(`/api/${path}?search=pear`)
    expect(json.count).toBe(3)
    expect(json.results.map(({ id }: { id: number }) => id).at(-1)).toBe(6_001)
    expect(json.results).toHaveLength(3)
  })

  it('matches once beside a FullTextSearchFilter, and by itself when alone', async () => {
    for (const path of ['ranked', 'rankonly']) {
      const texts = await countQueries(database.knex, () => client.get(`/api/${path}?search=pear&page=2&page_size=1`))
      const list = texts.find((text) => text.includes('ts_rank')) as string
      expect(list.match(/ @@ /g)).toHaveLength(1)
      expect(list.match(/ts_rank/g)).toHaveLength(1)
    }
  })

  it('binds in the right order beside other filters', async () => {
    expect(await ids('rankonly?search=pear&author_id=2&title__contains=fruit')).toEqual([6_001])
  })

  it('gives way to an order that the client asks for', async () => {
    expect(await ids('ranked?search=pear&ordering=title')).toEqual([6_001, 6_003, 6_002])
    expect(await ids('ranked?search=pear&ordering=-title')).toEqual([6_002, 6_003, 6_001])
  })

  it('leaves the list in its own order when nothing is searched', async () => {
    expect(await ids('ranked')).toEqual(await ids('books'))
  })

  it('searches and ranks by fields of relations to one object', async () => {
    expect(await found('ftrelated?search=kenya')).toEqual([3, 6, 6_001, 6_004])
    expect(await found('ftrelated?search=kenya+pear')).toEqual([6_001])
    expect((await ids('ftrelated?search=kenya+or+plum'))[0]).toBe(6_004)
  })

  it('pages', async () => {
    const pages = [await ids('ranked?search=pear&page_size=2'), await ids('ranked?search=pear&page_size=2&page=2')]
    expect(pages.flat()).toEqual(await ids('ranked?search=pear'))
  })
})

describe('what a view declares', () => {
  /** What `prepare()` says of a view. */
  async function prepared(view: typeof Books): Promise<string> {
    const router = new APIRouter().register('books', view, 'book')
    return router.prepare().then(
      () => 'fine',
      (error) => {
        expect(error).toBeInstanceOf(ConfigurationError)
        return (error as Error).message
      },
    )
  }

  it('[C15] has a type and a configuration of full-text search that there are', async () => {
    class WrongType extends Ft {
      static override searchType = 'nope'
    }
    expect(() => new APIRouter().register('books', WrongType, 'book')).toThrow(
      'WrongType: searchType "nope" is unknown; set it to one of plain, phrase, raw, websearch',
    )
    class WrongConfig extends Ft {
      static override searchConfig = "klingon'; drop table canary; --"
    }
    expect(await prepared(WrongConfig)).toMatch(
      /^WrongConfig: searchConfig "klingon'; drop table canary; --" is no text search configuration of the database; use one of .*english, /,
    )
    class Qualified extends Ranked {
      static override searchConfig = 'pg_catalog.simple'
    }
    expect(await prepared(Qualified)).toBe('fine')
    class WrongRank extends RankOnly {
      static override searchConfig = 'nope'
    }
    expect(await prepared(WrongRank)).toMatch(/^WrongRank: searchConfig "nope"/)
  })

  it('names columns', async () => {
    class Wrong extends Books {
      static override filtersetFields = ['titel', 'author']
    }
    expect(await prepared(Wrong)).toBe(
      'Wrong: filtersetFields names "titel": Book has neither a column nor a relation "titel"; correct the name\n' +
        'Wrong: filtersetFields names "author": "author" is a relation of Book; name a column behind it, such as author__id, or the foreign key',
    )
    class WrongSearch extends Books {
      static override searchFields = ['^titel', '@n']
    }
    expect(await prepared(WrongSearch)).toMatch(
      /^WrongSearch: searchFields names "titel": .*\nWrongSearch: searchFields names "@n"/,
    )
    class WrongOrdering extends Books {
      static override orderingFields = ['-n', 'author__name', 'title']
    }
    expect(await prepared(WrongOrdering)).toBe(
      'WrongOrdering: orderingFields names "-n", "author__name", which is no column of Book; name its own columns, without "-"',
    )
    class Unordered extends Books {
      static override orderingFields = ['title', 'meta', 'tags', 'place']
    }
    expect(await prepared(Unordered)).toBe(
      'Unordered: orderingFields names "place" of type point, whose values have no order; leave it out',
    )
    class UnorderedView extends Books {
      static override ordering = ['-place']
    }
    expect(await prepared(UnorderedView)).toBe(
      'UnorderedView: ordering names "-place" of type point, whose values have no order; name another column',
    )
    class ManyInText extends Ft {
      static override searchFields = ['title', 'genres__name']
    }
    expect(await prepared(ManyInText)).toMatch(
      /^ManyInText: searchFields names "genres__name", which leads to many objects;/,
    )
  })

  it.each<[string, Partial<typeof Books>, string]>([
    [
      'a filter and the paginator',
      { paginationClass: new PageNumberPagination({ pageQueryParam: 'n' }) },
      '"n" is read by FieldFilter and by PageNumberPagination',
    ],
    [
      'a filter and a cursor',
      { paginationClass: new CursorPagination({ cursorQueryParam: 'n__gt' }) },
      '"n__gt" is read by FieldFilter and by CursorPagination',
    ],
    [
      'a filter and a search',
      { filterBackends: [FieldFilter, FullTextSearchFilter], searchFields: ['title'], searchParam: 'title' },
      '"title" is read by FieldFilter and by FullTextSearchFilter',
    ],
    [
      'a search and an order',
      { filterBackends: [FullTextSearchFilter, OrderingFilter], searchFields: ['title'], searchParam: 'ordering' },
      '"ordering" is read by FullTextSearchFilter and by OrderingFilter',
    ],
    [
      'a filter and the version',
      {
        versioningClass: new QueryParamVersioning({ defaultVersion: '1' }),
        filterBackends: [FullTextSearchFilter],
        searchFields: ['title'],
        searchParam: 'version',
      },
      '"version" is read by FullTextSearchFilter and by QueryParamVersioning',
    ],
    [
      'the paginator twice',
      { paginationClass: new PageNumberPagination({ pageQueryParam: 'p', pageSizeQueryParam: 'p' }) },
      '"p" is read by PageNumberPagination for two purposes',
    ],
  ])('[I23] has one reader for each parameter, not %s', async (_name, statics, message) => {
    class Twice extends Books {}
    Object.assign(Twice, statics)
    expect(await prepared(Twice)).toBe(
      `Twice: the query parameter ${message}; rename it for one, or leave it out of filtersetFields`,
    )
  })

  it('may search and rank by one text, and describe what its own code reads', async () => {
    class Both extends Books {
      static override filterBackends: Filters = [SearchFilter, FullTextSearchFilter, SearchRankOrderingFilter]
      static override searchFields = ['title']
      static override queryParameters = [{ name: 'search', description: 'Mine.', schema: { type: 'string' } }]
    }
    expect(await prepared(Both)).toBe('fine')
  })

  it('is read before the catalogue is needed elsewhere: models far away are known', async () => {
    class Far extends ReadOnlyModelViewSet<Model> {
      static override model = class Other extends Person {}
      static override serializerClass = PersonSerializer
      static override filterBackends = [FieldFilter]
      static override filtersetFields = ['boss__country__region']
    }
    expect(await prepared(Far as never)).toBe('fine')
  })
})

describe('own backends', () => {
  it('are seen by the watch on SQL texts when they paste a value into one', async () => {
    class Careless extends BaseFilter {
      override filterQueryset(query: Parameters<BaseFilter['filterQueryset']>[0], ctx: Context) {
        return query.whereRaw(`title <> '${String(ctx.query['q'])}'`)
      }
    }
    class CarelessBooks extends Books {
      static override filterBackends = [Careless]
    }
    const careless = await serving(new APIRouter().register('careless', CarelessBooks, 'careless').routes())
    const texts = await countQueries(database.knex, () => careless.get('/careless?q=canary1x1z'))
    expect(texts.filter((text) => /canary/.test(text))).not.toEqual([])
    await careless.close()
  })

  it('are chained with the others', async () => {
    class OnlyAda extends BaseFilter {
      override filterQueryset(query: Parameters<BaseFilter['filterQueryset']>[0], _ctx: Context) {
        return whereRaw(query, 'author_id = {idx} or author_id is null', 1)
      }
    }
    class Chained extends Books {
      static override filterBackends = [FieldFilter, OnlyAda, OrderingFilter]
      static override paginationClass = new LimitOffsetPagination()
    }
    const router = new APIRouter().register('chained', Chained, 'chained')
    const chained = await serving(router.routes())
    const { json } = await chained.get('/chained?title__contains=b&ordering=title')
    expect(json.results.map(({ id }: { id: number }) => id)).toEqual([2, 4])
    await chained.close()
  })
})
