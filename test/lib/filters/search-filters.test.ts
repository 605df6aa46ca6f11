import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PathStart } from '../../../lib/filters/field-path.js'
import { addCondition, type BaseFilter, type FilterSettings } from '../../../lib/filters/filter.js'
import { FullTextSearchFilter, OrderingFilter, SearchFilter, SearchRankOrderingFilter } from '../../../lib/index.js'
import { ValidationError } from '../../../lib/kernel/errors.js'
import { conditionKey } from '../../../lib/queryset/condition-key.js'
import { describeModel, prepareModels } from '../../../lib/tools/index.js'
import type { TestDatabase } from '../../support/database.js'
import { Book, Country, createBooks, Genre, Person } from './books.js'

let database: TestDatabase
beforeAll(async () => {
  database = await createBooks()
  await prepareModels([Book, Person, Country, Genre])
})
afterAll(() => database.drop())

function viewOf(declared: Partial<FilterSettings>): FilterSettings {
  return {
    name: 'BookViewSet',
    model: describeModel(Book),
    filtersetFields: [],
    searchFields: [],
    orderingFields: [],
    searchConfig: 'english',
    searchType: 'websearch',
    searchParam: 'search',
    backends: [],
    ...declared,
  }
}

function compile(filter: BaseFilter, query: Record<string, string>, view: FilterSettings) {
  const part = filter.read(query, view)
  if (!part) throw new Error('nothing is asked for')
  const builder = Book.query().select('id')
  addCondition(builder, part)
  const key = part.where && conditionKey([part.where(PathStart.of(builder))])
  const { sql, bindings } = builder.toKnexQuery().toSQL().toNative()
  return { part, key, sql, bindings }
}

const searchFields = ['title', '^isbn', '=code', '$n', 'author__country__name', '=genres__name', '$author__name']

describe('SearchFilter', () => {
  const filter = new SearchFilter()

  it.each(['a', 'a b', '"a b" c% (', 'c++ a.b', '(a+)+ x y', `${'z '.repeat(32)}`])(
    'binds the values of %j in order',
    (search) => {
      const view = viewOf({
        searchFields: search.includes('(') && !search.includes(')') ? ['title', '=code'] : searchFields,
      })
      const { key, sql, bindings } = compile(filter, { search }, view)
      expect(bindings).toEqual(key?.values)
      expect(bindings.length % view.searchFields.length).toBe(0)
      expect(sql.match(/\$\d+/g)).toHaveLength(bindings.length)
    },
  )

  it('has one text for searches of as many terms, and expressions at the same places', () => {
    const view = viewOf({ searchFields: ['title', '$isbn'] })
    const [one, other, literal, more] = ['a b', 'c. d?', 'c++ d', 'a b c'].map((search) =>
      compile(filter, { search }, view),
    )
    const [term, plain] = ['(?? ilike ? or ?? ~* ?)', '(?? ilike ? or ?? ilike ?)']
    expect(one?.key?.text).toBe(`|${term} and ${term}|books.title|books.isbn|books.title|books.isbn`)
    expect([other?.key?.text, other?.sql]).toEqual([one?.key?.text, one?.sql])
    expect(literal?.key?.text.startsWith(`|${plain} and ${term}|`)).toBe(true)
    expect(more?.key?.text.startsWith(`|${term} and ${term} and ${term}|`)).toBe(true)
  })

  it('is guarded only where it sends an expression', () => {
    const view = viewOf({ searchFields: ['title', '$isbn'] })
    expect(filter.read({ search: 'a' }, view)?.guarded).toBe(1_000)
    expect(filter.read({ search: 'c++' }, view)).toMatchObject({ guarded: undefined })
    expect(new SearchFilter({ statementTimeout: 10 }).read({ search: 'a' }, view)?.guarded).toBe(10)
    expect(filter.read({ search: 'a' }, viewOf({ searchFields: ['title'] }))).toMatchObject({ guarded: undefined })
  })

  it('takes its limits as options', () => {
    const view = viewOf({ searchFields: ['title', '$isbn'] })
    const small = new SearchFilter({ maxTerms: 1, maxTermLength: 4, maxPatternLength: 2 })
    expect(compile(small, { search: 'abcdef' }, view).bindings).toEqual(['%abcd%', 'ab'])
    expect(() => small.read({ search: 'a b' }, view)).toThrow('Validation failed')
  })

  it('does nothing without fields or terms', () => {
    expect(filter.read({ search: 'a' }, viewOf({}))).toBeNull()
    expect(filter.read({ search: ' "" ' }, viewOf({ searchFields }))).toBeNull()
    expect(filter.read({}, viewOf({ searchFields }))).toBeNull()
    expect(filter.parameters(viewOf({}))).toEqual([])
    expect(filter.parameters(viewOf({ searchFields }))).toMatchObject([{ name: 'search', schema: { type: 'string' } }])
  })
})

describe('full-text search', () => {
  const filters = { match: new FullTextSearchFilter(), rank: new SearchRankOrderingFilter() }

  it.each(['plain', 'phrase', 'raw', 'websearch'])('binds the values of a %s search in order', (searchType) => {
    const view = viewOf({ searchType, searchFields: ['title', 'n', 'author__name', '^isbn'], searchConfig: 'simple' })
    for (const filter of Object.values(filters)) {
      const { part, key, sql, bindings } = compile(filter, { search: 'a' }, view)
      expect(bindings.slice(0, 3)).toEqual(key?.values)
      expect(sql).not.toMatch(/simple/)
      expect(part.guarded).toBe(5_000)
    }
    expect(compile(filters.rank, { search: 'a' }, view).bindings).toEqual([
      'simple',
      'simple',
      'a',
      'simple',
      'simple',
      'a',
    ])
  })

  it('only ranks beside a filter that matches, and only matches when an order is asked for', () => {
    const backends = [filters.match, filters.rank, new OrderingFilter()]
    const view = viewOf({ searchFields: ['title'], orderingFields: ['title'], backends })
    expect(compile(filters.rank, { search: 'a' }, view).sql).toMatch(/from "books" order by ts_rank\(.*\) desc$/)
    expect(compile(filters.rank, { search: 'a', ordering: 'n' }, view).sql).toMatch(/ order by ts_rank/)
    expect(compile(filters.rank, { search: 'a', ordering: '-title' }, view).sql).toBe('select "id" from "books"')
  })

  it('has no parameter without fields', () => {
    expect(filters.match.parameters(viewOf({}))).toEqual([])
    expect(filters.match.read({ search: 'a' }, viewOf({}))).toBeNull()
    expect(filters.rank.parameters(viewOf({}))).toEqual([])
  })

  it('describes its parameter', () => {
    const view = viewOf({ searchFields: ['title'], searchParam: 'q' })
    for (const filter of Object.values(filters)) expect(filter.parameters(view)).toMatchObject([{ name: 'q' }])
    expect(filters.rank.parameters({ ...view, backends: [filters.match, filters.rank] })).toEqual([])
  })
})

describe('OrderingFilter', () => {
  it('describes its parameter', () => {
    expect(new OrderingFilter().parameters(viewOf({ orderingFields: ['title', 'n'] }))).toEqual([
      {
        name: 'ordering',
        description: 'Fields to order by; a hyphen turns the order.',
        schema: { type: 'array', items: { type: 'string', enum: ['title', '-title', 'n', '-n'] } },
        explode: false,
        ignoresUnknown: true,
      },
    ])
    expect(new OrderingFilter().parameters(viewOf({}))).toEqual([])
  })

  it('gives one object for one text, to each view its own, and refuses too many terms each time', () => {
    const [one, other] = [viewOf({ orderingFields: ['title', 'n'] }), viewOf({ orderingFields: ['n'] })]
    const filter = new OrderingFilter({ maxTerms: 2 })
    const asked = filter.ordering({ ordering: '-n, title,' }, one)
    expect(asked).toEqual([
      { property: 'n', descending: true },
      { property: 'title', descending: false },
    ])
    expect(filter.ordering({ ordering: '-n, title,' }, one)).toBe(asked)
    expect(filter.ordering({ ordering: 'title,-n' }, one)).toEqual([asked?.[1], asked?.[0]])
    expect(filter.ordering({ ordering: '-n, title,' }, other)).toEqual([asked?.[0]])
    for (let again = 0; again < 2; again++) {
      expect(filter.ordering({ ordering: 'nothing' }, one)).toBeNull()
      expect(() => filter.ordering({ ordering: 'n,title,n' }, one)).toThrow(ValidationError)
      expect(new OrderingFilter().ordering({ ordering: 'n,title,n' }, one)).toHaveLength(2)
    }
  })

  it('keeps a bounded number of what clients have asked for', () => {
    const view = viewOf({ orderingFields: ['title', 'n'] })
    const filter = new OrderingFilter()
    const asked = filter.ordering({ ordering: 'n' }, view)
    for (let spaces = 1; spaces < 64; spaces++) filter.ordering({ ordering: `${' '.repeat(spaces)}n` }, view)
    expect(filter.ordering({ ordering: 'n' }, view)).toBe(asked)
    filter.ordering({ ordering: 'title' }, view)
    expect(filter.ordering({ ordering: 'n' }, view)).not.toBe(asked)
    const long = `${' '.repeat(128)}n`
    expect(filter.ordering({ ordering: long }, view)).not.toBe(filter.ordering({ ordering: long }, view))
  })
})
