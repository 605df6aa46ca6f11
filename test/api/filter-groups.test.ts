/** Groups of filters: what they show, what they refuse and where, and what they may cost. */
import { describe, expect, it } from 'vitest'
import {
  APIRouter,
  ConfigurationError,
  FieldFilter,
  type Filters,
  OrderingFilter,
  SearchFilter,
} from '../../lib/index.js'
import { codesOf } from '../../lib/kernel/given-codes.js'
import { hostileValues } from '../lib/filters/books.js'
import { countQueries, poolMode } from '../support/database.js'
import { Books, client, database, found, parameters, useFilteredBooks, VIEWS } from '../support/filtered-books.js'
import { operationOf } from '../support/operation-of.js'
import { size } from '../trust/support/size.js'

class Grouped extends Books {
  static override filterBackends: Filters = [new FieldFilter({ groupParam: 'filter' }), SearchFilter, OrderingFilter]
  static override filtersetFields = [
    ...['title', 'n', 'price', 'flag', 'created', 'tags', 'author__name', 'genres__name', 'shownGenres__name'],
  ]
}

class InstanceGrouped extends Grouped {
  override getQueryset() {
    return super.getQueryset().where('books.id', '>', 0).orWhere('books.id', '<', 0)
  }
}

class StrictGrouped extends Grouped {
  static override strictParams = true
}

class Small extends Grouped {
  static override filterBackends: Filters = [
    new FieldFilter({ groupParam: 'where', maxGroupDepth: 1, maxGroupConditions: 2 }),
  ]
}

Object.assign(VIEWS, { grouped: Grouped, instanceGrouped: InstanceGrouped, strictGrouped: StrictGrouped, small: Small })

useFilteredBooks()

const ALL = [1, 2, 3, 4, 5, 6]
const group = (text: string, more = {}) => parameters({ filter: text, ...more })

async function refused(text: string, path = 'grouped', parameter = 'filter'): Promise<string[]> {
  const { status, json } = await client.get(`/api/${path}?${parameters({ [parameter]: text })}`)
  expect([text.slice(0, 80), status, Object.keys(json.errors ?? {})]).toEqual([text.slice(0, 80), 400, [parameter]])
  return json.errors[parameter]
}

describe.each(['grouped', 'instanceGrouped'])('groups of %s', (path) => {
  it.each([
    ['n=2', [2]],
    ['or(n=2,n=3)', [2, 3]],
    ['and(n__gte=2,n__lt=5)', [2, 3]],
    ['not(n=2)', [1, 3, 4, 5, 6]],
    ['not(n__gt=2)', [1, 2, 4]],
    ['not(not(n__gt=2))', [3, 5, 6]],
    ['or(n__gt=2,not(n__gt=2))', ALL],
    ['and(n__gt=2,not(n__gt=2))', []],
    ['not(and(n__gt=1,price__gt=1))', [1, 3, 4, 5, 6]],
    ['not(or(n=1,price=2.5))', [3, 4, 5, 6]],
    ['or(and(price__gte=2,title__icontains="b"),not(author__name=Ada))', [2, 3, 4, 5, 6]],
    ['not(genres__name=novel)', [2, 4, 5]],
    ['and(genres__name=novel,genres__name=poem)', [1, 6]],
    ['not(shownGenres__name=essay)', ALL],
    ['or(author__name__isnull=true,genres__name__isnull=true)', [4, 5]],
    ['not(author__name__ne=Ada)', [1, 2]],
    ['  or( n=2 , n=3 )  ', [2, 3]],
    ['or(n__in="1,2",n=5)', [1, 2, 5]],
    ['n__range="2,3"', [2, 3]],
    ['title="The lazy dog and the Quick fox"', [6]],
    ["title=O'Reilly", []],
    ['title="O\'Reilly Media"', [5]],
    ['title=a\\b', [3]],
    ['title="a\\\\b"', [3]],
    ['title="a\\"b"', []],
    ['title=', []],
    ['title=""', []],
    ['title=a=b', []],
    ['title=100%', [1]],
    ['or(created="2024-02-01T00:00:00Z",tags__contains=x)', [1, 2]],
    ['n__in=', []],
    ['not(n__in="")', ALL],
  ])('answers %s', async (text, expected) => {
    expect([text, await found(`${path}?${group(text)}`)]).toEqual([text, expected])
  })

  it('must hold beside the other parameters', async () => {
    expect(await found(`${path}?${group('or(n=2,n=3,n=5)', { n__gt: '2', search: 'b' })}`)).toEqual([3])
    expect(await found(`${path}?filter=n=1&filter=n=2`)).toEqual([2])
    expect(await found(`${path}?filter=or(n=1,n=2)&ordering=-n`)).toEqual([1, 2])
  })

  it('show no row twice, and are counted', async () => {
    const { json } = await client.get(`/api/${path}?${group('or(genres__name=novel,genres__name=poem,n=1)')}`)
    expect(json).toMatchObject({ count: 3, results: { length: 3 } })
  })
})

describe('what is no group', () => {
  it.each([
    ['', 1, 'Expected a condition such as name=value, or and(…), or(…), not(…).'],
    ['or()', 4, 'Expected a condition such as name=value, or and(…), or(…), not(…).'],
    ['or(n=1,)', 8, 'Expected a condition such as name=value, or and(…), or(…), not(…).'],
    ['(n=1)', 1, 'Expected a condition such as name=value, or and(…), or(…), not(…).'],
    ['"n"=1', 1, 'Expected a condition such as name=value, or and(…), or(…), not(…).'],
    ['n', 2, 'Expected "=" behind a name.'],
    ['or (n=1)', 3, 'Expected "=" behind a name.'],
    ['OR(n=1)', 3, 'Expected "=" behind a name.'],
    ['xor(n=1)', 4, 'Expected "=" behind a name.'],
    ['n =1', 2, 'Expected "=" behind a name.'],
    ['or(n=1', 7, 'Expected "," or ")".'],
    ['or(n=1 2)', 8, 'Expected "," or ")".'],
    ['or(title="a"b)', 13, 'Expected "," or ")".'],
    ['not(n=1,n=2)', 8, 'Expected ")".'],
    ['n=1)', 4, 'Expected nothing more.'],
    ['n=1,n=2', 4, 'Expected nothing more.'],
    ['title=a b', 9, 'Expected nothing more.'],
    ['title=f(x)', 8, 'Put a value that holds ( into quotation marks.'],
    ['title=a"b"', 8, 'Put a value that holds " into quotation marks.'],
    ['or(title="a,n=1)', 10, 'The quotation mark is not closed.'],
    ['title="\\n"', 8, 'Write \\\\ for \\ in quotation marks, and \\" for ".'],
    ['title="a\\', 9, 'Write \\\\ for \\ in quotation marks, and \\" for ".'],
    ['n=x', 3, 'A valid integer is required.'],
    ['or(title="😀",n=x)', 16, 'A valid integer is required.'],
    ['or(n=1,n__range=1)', 17, 'Give two values, separated by a comma.'],
    ['n__isnull=1', 11, 'Must be true or false.'],
    ['title="\0"', 7, 'Null characters are not allowed.'],
    [`n__in="${Array(1_001).fill('1').join()}"`, 7, 'Give at most 1000 values.'],
  ])('%j is 400 at its place', async (text, at, message) => {
    expect(await refused(text)).toEqual([`Character ${at}: ${message}`])
  })

  it('has one code', async () => {
    expect(codesOf(await refused('or(n=x,secret=1)'))).toEqual(['filter_group', 'filter_group'])
  })

  it('is told of all its names and values at once, beside the other parameters, before the database is asked', async () => {
    const texts = await countQueries(database.knex, async () => {
      const fields = Grouped.filtersetFields.join(', ')
      expect(await refused('or(n=x,secret=a,not(n__foo=1),and(nope=1,flag=2))')).toEqual([
        'Character 6: A valid integer is required.',
        'Character 8: Unknown field.',
        expect.stringMatching(/^Character 21: Unknown lookup\. Use one of: exact, ne, /),
        'Character 35: Unknown field.',
        'Character 47: Must be a valid boolean.',
      ])
      expect(await refused('secret=1')).toEqual([`Character 1: Unknown field. Use one of: ${fields}.`])
      const { json } = await client.get(`/api/grouped?${group('n=x', { price: 'y', n__nope: '1' })}`)
      expect(Object.keys(json.errors)).toEqual(['price', 'n__nope', 'filter'])
    })
    expect(texts).toEqual([])
  })

  it('[C1] names nothing but declared fields, at any depth', async () => {
    for (const name of [
      'secret',
      'secret__startswith',
      'author__password_hash',
      'author',
      'id',
      '__proto__',
      'books.n',
      '*',
    ]) {
      for (const text of [`${name}=a`, `not(${name}=a)`, `or(n=1,and(n=2,not(${name}=a)))`]) {
        expect((await refused(text))[0]).toMatch(/^Character \d+: Unknown field\./)
      }
    }
  })

  it('[C8] is too deep, too long or has too many conditions', async () => {
    const deep = (levels: number) => `${'not('.repeat(levels)}n=1${')'.repeat(levels)}`
    expect(await found(`grouped?${group(deep(5))}`)).toEqual([2, 3, 4, 5, 6])
    expect(await refused(deep(6))).toEqual(['Character 21: Give at most 5 groups in each other.'])
    expect(await refused('not('.repeat(2_048))).toEqual(['Character 21: Give at most 5 groups in each other.'])
    const many = (count: number) => `or(${Array.from({ length: count }, (_, index) => `n=${index}`).join()})`
    expect(await found(`grouped?${group(many(50))}`)).toEqual([1, 2, 3, 5, 6])
    expect(await refused(many(51))).toEqual([expect.stringMatching(/^Character \d+: Give at most 50 conditions\.$/)])
    expect(await found(`grouped?${group(`title="${'a'.repeat(8_192 - 8)}"`)}`)).toEqual([])
    expect(await refused(`title="${'a'.repeat(8_193 - 8)}"`)).toEqual(['Give at most 8192 characters.'])
    const sought = (count: number) =>
      `or(${Array(count)
        .fill(`title__icontains=${'a'.repeat(100)}`)
        .join()})`
    expect(await found(`grouped?${group(sought(10))}`)).toEqual([])
    expect(await refused(sought(12))).toEqual([
      'Character 1201: Give at most 1000 characters to look for within texts.',
    ])
    expect(await refused('('.repeat(4_000))).toHaveLength(1)
    expect(await refused('"'.repeat(4_000))).toHaveLength(1)
    expect(await refused(`title="${'\\"'.repeat(1_500)}`)).toEqual(['Character 7: The quotation mark is not closed.'])
  })

  it('goes by the options of its filter', async () => {
    expect(await found(`small?${parameters({ where: 'or(n=1,n=2)' })}`)).toEqual([1, 2])
    expect(await refused('or(n=1,n=2,n=3)', 'small', 'where')).toEqual(['Character 12: Give at most 2 conditions.'])
    expect(await refused('not(not(n=1))', 'small', 'where')).toEqual([
      'Character 5: Give at most 1 groups in each other.',
    ])
    expect(await found('small?filter=x')).toEqual(ALL)
  })
})

describe('the parameter of groups', () => {
  it('is there only where it is asked for', async () => {
    expect(await found('books?filter=nonsense')).toEqual(ALL)
    expect((await client.get('/api/strict?filter=n=1')).json.errors).toHaveProperty('filter')
    expect(await found('strictGrouped?filter=n=1')).toEqual([1])
    expect((await client.get('/api/strictGrouped?filte=1')).json.errors).toEqual({
      filte: ['Unknown parameter; did you mean "filter"?'],
    })
  })

  it('is one that no column, order or page is read from', async () => {
    for (const [groupParam, message] of [
      ['n', 'FieldFilter for two purposes'],
      ['ordering', 'FieldFilter and by OrderingFilter'],
      ['page', 'FieldFilter and by PageNumberPagination'],
    ] as const) {
      class Twice extends Grouped {
        static override filterBackends: Filters = [new FieldFilter({ groupParam }), OrderingFilter]
      }
      const prepared = new APIRouter().register('books', Twice, 'book').prepare()
      await expect(prepared).rejects.toThrow(`the query parameter "${groupParam}" is read by ${message}`)
    }
    expect(() => new FieldFilter({ groupParam: '' })).toThrow(ConfigurationError)
    expect(() => new FieldFilter({ maxGroupDepth: 0 })).toThrow(ConfigurationError)
    expect(() => new FieldFilter({ maxGroupConditions: 1.5 })).toThrow(ConfigurationError)
  })

  it('is described, and stands among the parameters that are explained', async () => {
    const api = new APIRouter().register('books', Grouped, 'book')
    await api.prepare()
    const parameter = operationOf(api.getSchema(), '/books').parameters?.find(({ name }) => name === 'filter')
    expect(parameter).toMatchObject({ in: 'query', schema: { type: 'string', maxLength: 8_192 } })
    expect(JSON.stringify(await api.explain('book-list'))).toContain('"filter"')
  })
})

describe('the SQL of groups', () => {
  it(`[C3] binds what it compares with: ${size(40, 200)} payloads, in quotation marks and without them`, async () => {
    const statuses = new Set<number>()
    const texts = await countQueries(database.knex, async () => {
      for (const { value } of hostileValues()) {
        const quoted = `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
        for (const text of [
          `or(title=${quoted},not(author__name__icontains=${quoted}))`,
          `not(title__in=${quoted})`,
          `title=${value}`,
          value,
          `${value}=1`,
          `or(${value},n=1)`,
        ]) {
          statuses.add((await client.get(`/api/grouped?${group(text)}`)).status)
        }
      }
    })
    expect(statuses).toEqual(new Set([200, 400]))
    expect(texts.length).toBeGreaterThan(size(60, 300))
    expect(texts.filter((text) => /canary/.test(text))).toEqual([])
    expect(new Set(texts).size).toBeLessThan(10)
    expect(await database.knex('canary').count()).toEqual([{ count: '1' }])
  }, 60_000)

  // names are switched off behind a pooler by transaction
  it.skipIf(poolMode() === 'transaction')(
    '[I21] is neither prepared nor kept: clients cannot fill what is kept',
    async () => {
      const prepared = async () =>
        (await database.knex.raw<{ rows: { n: number }[] }>('select count(*)::int n from pg_prepared_statements'))
          .rows[0]?.n
      const before = await prepared()
      for (let shape = 0; shape < size(100, 600); shape++) {
        const bits = Array.from({ length: 10 }, (_, bit) => (shape & (1 << bit) ? 'n=1' : 'not(n=1)'))
        expect((await client.get(`/api/grouped?${group(`or(${bits.join()})`)}`)).status).toBe(200)
      }
      expect(await prepared()).toBe(before)
      // a list without a group is still prepared
      for (let turn = 0; turn < 20; turn++) expect(await found('grouped?n__gt=2&title__icontains=a')).toEqual([3, 5, 6])
      expect(await prepared()).toBeGreaterThan(before as number)
    },
    60_000,
  )
})
