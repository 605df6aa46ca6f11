/** Searches: by words, by regular expressions, by full text, and in the order of their rank. */
import { Model } from 'objection'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  APIRouter,
  BaseFilter,
  CSVRenderer,
  type FilterSettings,
  FullTextSearchFilter,
  JSONRenderer,
  ModelSerializer,
  ModelViewSet,
  modelSerializer,
  modelViewSet,
  SearchFilter,
  SearchRankOrderingFilter,
  ServerCursorPagination,
  StreamMixin,
  table,
} from '../../lib/index.js'
import { serveApp, serving } from '../support/client.js'
import { countQueries } from '../support/database.js'
import { Books, client, database, Ft, found, ids, parameters, useFilteredBooks } from '../support/filtered-books.js'

useFilteredBooks()

describe('SearchFilter', () => {
  it('reads the parameter of searchParam, of which its errors tell', async () => {
    expect(await found('named?q=lazy')).toEqual([6])
    expect(await found('named?search=lazy')).toEqual([1, 2, 3, 4, 5, 6])
    const refused = await client.get(`/api/named?${parameters({ q: 'a '.repeat(33) })}`)
    expect(refused.json).toMatchObject({ status: 400, errors: { q: ['Give at most 32 terms.'] } })
  })

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

  it('[C8 R10] takes 32 terms, and refuses 4,000 without asking the database', async () => {
    expect((await client.get(`/api/books?search=${Array(32).fill('a').join('+')}`)).status).toBe(200)
    const texts = await countQueries(database.knex, async () => {
      const { status, json } = await client.get(`/api/books?search=${Array(4_000).fill('a').join('+')}`)
      expect([status, json.errors]).toEqual([400, { search: ['Give at most 32 terms.'] }])
    })
    expect(texts).toEqual([])
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
    class Patients extends StreamMixin(ModelViewSet<Patient>) {
      static override rendererClasses = [JSONRenderer, CSVRenderer]
      static override model = Patient
      static override serializerClass = PatientSerializer
      static override filterBackends = [new SearchFilter({ statementTimeout: 50 })]
      static override searchFields = ['$title']
    }
    class Held extends Patients {
      static override paginationClass = new ServerCursorPagination({ maxPerUser: 2 })
    }
    await database.knex.raw(
      'create view patients as select id, title from books where (select pg_sleep(5) where books.id > 0) is not null',
    )
    Patient.knex(database.knex)
    const router = new APIRouter().register('patients', Patients, 'patients').register('held', Held, 'held')
    await router.prepare()
    const patients = await serving(router.routes())
    for (const path of ['patients', 'patients.csv', 'held']) {
      const { status, json } = await patients.get(`/${path}?search=a.b`)
      expect([path, status, json.errors]).toEqual([
        path,
        400,
        { search: ['This pattern takes longer than 0.05 seconds: make it simpler.'] },
      ])
    }
    expect(patients.reported).toEqual([])
    expect(database.knex.client.pool.numUsed()).toBe(0)
    await patients.close()
  })

  it('cuts an expression at 100 characters', async () => {
    await database.knex('books').insert({ id: 1_002, title: 'y'.repeat(100) })
    expect(await found(`patterns?search=${'y'.repeat(100)}(`)).toEqual([1_002])
    await database.knex('books').where('id', 1_002).delete()
  })

  it('[R4] runs by one statement that only reads, with a bound on time', async () => {
    for (const [path, sql] of [
      ['patterns?search=a.b', / ~\* /],
      ['ft?search=dog', / @@ /],
    ] as const) {
      const texts = await countQueries(database.knex, () => client.get(`/api/${path}`))
      expect(texts).toEqual([expect.stringMatching(sql)])
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

  it('answers 40 patterns before long, beside another client who is served', async () => {
    await database.knex.raw(
      `insert into books (id, title) select 2000 + g, repeat('abc aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ', 100) || g from generate_series(1, 50) g`,
    )
    expect(PATTERNS.length).toBeGreaterThanOrEqual(40)
    for (const search of PATTERNS) {
      const start = performance.now()
      const [pattern, other] = await Promise.all([
        client.get(`/api/patterns?${parameters({ search: `"${search}"` })}`),
        client.get('/api/books/1'),
      ])
      expect([search, [200, 400].includes(pattern.status), other.status]).toEqual([search, true, 200])
      // a second is its statement's bound, which PostgreSQL may not look at while it compiles a pattern
      expect([search, performance.now() - start < 20_000]).toEqual([search, true])
    }
    await database.knex('books').where('id', '>', 2_000).delete()
  }, 60_000)

  it('answers 503 when the time is up', async () => {
    class Slow extends BaseFilter {
      override read(_: unknown, _settings: FilterSettings) {
        return { guarded: 50, where: () => ({ sql: 'pg_sleep(5) is not null', bindings: [] }) }
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

  it('[C12] takes as much as a URL holds, and refuses more of a body without asking the database', async () => {
    class Asked extends Ft {
      static override queryMethod = true
    }
    const router = new APIRouter().register('asked', Asked, 'asked')
    const asked = await serving(router.routes())
    expect((await asked.send('QUERY', '/asked', { search: 'a-b-'.repeat(4_096) })).status).toBe(200)
    const texts = await countQueries(database.knex, async () => {
      const { status, json } = await asked.send('QUERY', '/asked', { search: `${'a-b-'.repeat(4_096)}c` })
      expect([status, json.errors]).toEqual([400, { search: ['Give at most 16384 characters.'] }])
    })
    await asked.close()
    expect(texts).toEqual([])
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

describe('a column of type tsvector', () => {
  it.each([
    ['words', 'dogs', [1]],
    // a position, and a weight
    ['words', '2', []],
    ['words', 'a', []],
    ['words', '"lazy dog"', [1]],
    ['words', 'fox -lazy', [2]],
    ['both', 'dogs or inbox', [1, 2]],
    ['both', '2', []],
    ['both', '-fox', [3]],
  ] as const)('is searched as it is: %s for %j', async (path, search, expected) => {
    await database.knex.raw(`
      create table if not exists papers (id int primary key, note text, words tsvector);
      insert into papers values
        (1, null, setweight(to_tsvector('english', 'a lazy dog and a fox'), 'A')),
        (2, 'inbox', to_tsvector('english', 'foxes')), (3, null, null) on conflict do nothing`)
    const Paper = table('papers')
    Paper.knex(database.knex)
    const viewOf = (searchFields: string[]) =>
      modelViewSet(Paper, {
        serializerClass: modelSerializer(Paper, { fields: ['id'] }),
        filterBackends: [FullTextSearchFilter, SearchRankOrderingFilter],
        searchFields,
      })
    const api = new APIRouter()
      .register('words', viewOf(['words']), 'words')
      .register('both', viewOf(['note', 'words']), 'both')
    await api.prepare()
    const { get } = await serveApp(api.routes())
    const texts = await countQueries(database.knex, async () => {
      const { json } = await get(`/${path}?${parameters({ search })}`)
      expect(json.map(({ id }: { id: number }) => id).sort()).toEqual(expected)
    })
    // what an index on the column serves
    if (path === 'words') expect(texts.join()).toContain('where "papers"."words" @@ ')
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

  it('leaves distinct rows in the order of the view', async () => {
    class TitleSerializer extends ModelSerializer {
      static override model = Books.model
      static override fields = ['id', 'title']
    }
    class Distinct extends ModelViewSet {
      static override model = Books.model
      static override serializerClass = TitleSerializer
      static override filterBackends = [FullTextSearchFilter, SearchRankOrderingFilter]
      static override searchFields = ['title']
      override getQueryset() {
        return super.getQueryset().distinct('books.id', 'books.title')
      }
    }
    const router = new APIRouter().register('distinct', Distinct, 'distinct')
    const distinct = await serving(router.routes())
    const { status, json } = await distinct.get('/distinct?search=pear')
    await distinct.close()
    expect({ status, json }).toMatchObject({ status: 200, json: [{ id: 6_001 }, { id: 6_002 }, { id: 6_003 }] })
  })

  it('pages', async () => {
    const pages = [await ids('ranked?search=pear&page_size=2'), await ids('ranked?search=pear&page_size=2&page=2')]
    expect(pages.flat()).toEqual(await ids('ranked?search=pear'))
  })
})
