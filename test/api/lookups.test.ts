/** Lookups that say what a value is not, what lists and ranges contain, when a day is, and what stands at a key of JSON. */
import { Model } from 'objection'
import { beforeAll, describe, expect, it } from 'vitest'
import { APIRouter, ConfigurationError, FieldFilter, ModelSerializer, ReadOnlyModelViewSet } from '../../lib/index.js'
import { serving } from '../support/client.js'
import { countQueries } from '../support/database.js'
import { Books, client, database, found, parameters, useFilteredBooks, VIEWS } from '../support/filtered-books.js'
import { operationOf } from '../support/operation-of.js'

const NASTY = `a'b"c\\?;--é😀`

class Looked extends Books {
  static override filtersetFields = [
    ...['n', 'title', 'price', 'flag', 'state', 'author_id', 'author__name', 'genres__name'],
    ...['tags', 'sizes', 'states', 'during', 'shown', 'published', 'created', 'printed'],
    ...['ages', 'serials', 'costs', 'weeks'],
    ...['meta', 'meta__colour', 'meta__size__width', `meta__${NASTY}`, 'author__books__meta__colour'],
  ]
}

class InstanceLooked extends Looked {
  override getQueryset() {
    return super.getQueryset().where('books.id', '>', 0)
  }
}

class NativeLooked extends Looked {
  static override useNativeJson = true
}

class StrictLooked extends Looked {
  static override strictParams = true
}

Object.assign(VIEWS, {
  looked: Looked,
  instanceLooked: InstanceLooked,
  nativeLooked: NativeLooked,
  strictLooked: StrictLooked,
})

useFilteredBooks()

beforeAll(async () => {
  await database.knex.raw(
    `
    update books set meta = ?, sizes = '{1,2}', states = '{draft,open}', during = '[2024-01-01,2024-02-01)',
      shown = '{[2024-01-01T00:00Z,2024-01-02T00:00Z),[2024-02-01T00:00Z,)}', printed = '2023-12-31T23:59:59.999999' where id = 1;
    `,
    [JSON.stringify({ colour: 'red', size: { width: 10 }, [NASTY]: 'x' })],
  )
  await database.knex.raw(`
    update books set meta = '{"colour":"blue","size":5}', tags = '{y,z}', sizes = '{2,3}', during = '[2024-02-01,)', printed = '2024-01-01' where id = 2;
    update books set meta = '{"colour":null}', tags = '{}', during = 'empty', created = '2024-12-31T23:30:00-05:00', published = '0044-03-15' where id = 3;
    update books set created = 'infinity', printed = '-infinity', published = 'infinity' where id = 4;
    update books set ages = '[3,8]', serials = '(,9007199254740993]', costs = '[0.5,2.50)', weeks = '{[1,3),[10,)}' where id = 1;
    update books set ages = '[8,)', serials = '[9007199254740993,)', costs = '(2.5,Infinity)', weeks = '{[5,6)}' where id = 2;
    update books set ages = 'empty', serials = '[1,2)', costs = 'empty', weeks = '{}' where id = 3;
    update books set ages = '(,)', costs = '(,-1.25]' where id = 4;
  `)
})

const ALL = [1, 2, 3, 4, 5, 6]

describe.each(['looked', 'instanceLooked', 'nativeLooked'])('lookups of %s', (path) => {
  it.each([
    ['n__ne=2', [1, 3, 4, 5, 6]],
    ['n__nin=1,2', [3, 4, 5, 6]],
    ['n__nin=', ALL],
    ['n__nin=99', ALL],
    ['title__ne=axb', [1, 2, 3, 5, 6]],
    ['price__ne=1.25', [2, 3, 4, 5, 6]],
    ['price__ne=5', ALL],
    ['flag__ne=true', [2, 3, 4, 5, 6]],
    ['state__ne=open', [1, 3, 4, 5, 6]],
    ['state__nin=open,done', [1, 4, 5, 6]],
    ['author_id__ne=1', [3, 4, 5, 6]],
    ['author__name__ne=Ada', [3, 4, 5, 6]],
    ['author__name__nin=Ada,Ben', [4, 5]],
    // not one of its genres is that one
    ['genres__name__ne=novel', [2, 4, 5]],
    ['genres__name__nin=novel,essay', [4, 5]],
    ['n__ne=2&n__ne=3', [1, 2, 4, 5, 6]],
    ['n__ne=2&title__ne=axb', [1, 3, 5, 6]],

    ['tags__contains=y', [1, 2]],
    ['tags__contains=x,y', [1]],
    ['tags__contains=', [1, 2, 3]],
    ['tags__overlap=x,z', [1, 2]],
    ['tags__overlap=', []],
    ['tags__contained_by=x,y,w', [1, 3]],
    ['tags__contained_by=', [3]],
    ['tags__contains=%7By%7D', []],
    ['tags__contains=NULL', []],
    ['sizes__contains=2', [1, 2]],
    ['sizes__contains=2,3', [2]],
    ['states__overlap=open,done', [1]],

    ['during__contains=2024-01-31', [1]],
    ['during__contains=2024-02-01', [2]],
    ['during__contains=[2024-01-05,2024-01-07]', [1]],
    ['during__contains=[2024-01-05,2024-03-01]', []],
    ['during__contains=empty', [1, 2, 3]],
    ['during__overlap=[2024-01-31,2024-02-02)', [1, 2]],
    ['during__overlap=(,2024-01-31]', [1]],
    ['during__contained_by=[2023-01-01,2025-01-01)', [1, 3]],
    ['during__contained_by=2024-01-01', [3]],
    ['shown__contains=2024-01-01T12:00:00Z', [1]],
    ['shown__contains=2024-01-02T00:00:00Z', []],
    ['shown__contains=[2024-02-01T00:00:00Z,)', [1]],
    ['shown__contains={[2024-01-01T00:00:00Z,2024-01-01T01:00:00Z),[2024-03-01T00:00:00Z,)}', [1]],
    ['shown__overlap=2024-05-01T00:00:00%2B02:00', [1]],
    ['during__icontains=2024-02', [1, 2]],

    ['ages=[3,9)', [1]],
    ['ages__ne=(2,8]', [2, 3, 4, 5, 6]],
    ['ages__gte=[8,)', [2]],
    ['ages__contains=8', [1, 2, 4]],
    ['ages__contains=9', [2, 4]],
    ['ages__contains=[3,5]', [1, 4]],
    ['ages__contains=(,3]', [4]],
    ['ages__contains=(,)', [4]],
    ['ages__contains=empty', [1, 2, 3, 4]],
    ['ages__contains=2147483647', [2, 4]],
    ['ages__contains=-2147483648', [4]],
    ['ages__overlap=(,3)', [4]],
    ['ages__overlap=(,3]', [1, 4]],
    ['ages__overlap=empty', []],
    ['ages__overlap=8', [1, 2, 4]],
    ['ages__contained_by=[0,100]', [1, 3]],
    ['ages__contained_by=[0,)', [1, 2, 3]],
    ['ages__contained_by=(,)', [1, 2, 3, 4]],
    ['ages__contained_by=8', [3]],
    ['ages__contained_by=empty', [3]],
    ['ages__isnull=true', [5, 6]],
    ['ages__icontains=3,9', [1]],
    ['serials__contains=9007199254740993', [1, 2]],
    ['serials__contains=9007199254740994', [2]],
    ['serials__contains=9223372036854775807', [2]],
    ['serials__contains=-9223372036854775808', [1]],
    ['serials__contained_by=[1,1]', [3]],
    ['serials__overlap=[9007199254740994,9007199254740995]', [2]],
    ['costs__contains=0.50', [1]],
    ['costs__contains=2.5', []],
    ['costs__contains=[0.6,0.7]', [1]],
    ['costs__contains=[2.51,1000000000000000000000.5]', [2]],
    ['costs__overlap=[2.4999999999999999999,2.50000000000000000001]', [1, 2]],
    ['costs__overlap=-1.25', [4]],
    ['costs__contained_by=(,2.5)', [1, 3, 4]],
    ['costs=[0.5,2.5)', [1]],
    ['weeks__contains=1', [1]],
    ['weeks__contains={[1,2],[11,12]}', [1]],
    ['weeks__contains=3', []],
    ['weeks__overlap=[3,6)', [2]],
    ['weeks__overlap=2147483647', [1]],
    ['weeks__contained_by={[5,5],[7,7]}', [2, 3]],

    ['published__year=2024', [1, 2]],
    ['published__year=44', [3]],
    ['published__month=1', [1]],
    ['published__day=31', [1]],
    ['created__year=2024', [1, 2]],
    ['created__year=2025', [3]],
    ['created__month=1', [1, 3]],
    ['created__day=1', [2, 3]],
    ['printed__year=2023', [1]],
    ['printed__year=2024', [2]],
    ['printed__month=12', [1]],
    ['printed__day=1', [2]],
    ['printed__year=9999', []],

    ['meta__colour=red', [1]],
    ['meta__colour__ne=red', [2, 3, 4, 5, 6]],
    ['meta__colour__in=red,blue', [1, 2]],
    ['meta__colour__nin=red,blue', [3, 4, 5, 6]],
    ['meta__colour__isnull=true', [3, 4, 5, 6]],
    ['meta__colour__isnull=false', [1, 2]],
    ['meta__colour__icontains=E', [1, 2]],
    ['meta__colour__iexact=RED', [1]],
    ['meta__size__width=10', [1]],
    ['meta__size__width__isnull=false', [1]],
    ['author__books__meta__colour=blue', [1, 2]],
    ['author__books__meta__colour__ne=blue', [3, 4, 5, 6]],
    ['author__books__meta__colour__isnull=true', [3, 4, 5, 6]],
    ['meta__isnull=true', [4, 5, 6]],
  ])('answers ?%s', async (query, expected) => {
    expect(await found(`${path}?${query}`)).toEqual(expected)
  })

  it('finds keys whose names are no words', async () => {
    expect(await found(`${path}?${parameters({ [`meta__${NASTY}`]: 'x' })}`)).toEqual([1])
    expect(await found(`${path}?${parameters({ [`meta__${NASTY}__ne`]: 'x' })}`)).toEqual([2, 3, 4, 5, 6])
  })

  it('shows by ne and nin exactly what exact and in do not', async () => {
    for (const [name, value] of [
      ['n', '3'],
      ['price', '2.5'],
      ['author__name', 'Ben'],
      ['genres__name', 'poem'],
      ['meta__colour', 'blue'],
    ]) {
      for (const [one, other] of [
        ['exact', 'ne'],
        ['in', 'nin'],
      ]) {
        const rows = await found(`${path}?${name}__${one}=${value}`)
        expect(await found(`${path}?${name}__${other}=${value}`)).toEqual(ALL.filter((id) => !rows.includes(id)))
      }
    }
  })

  it('[R2 B7] refuses what is no value, with the name of the parameter', async () => {
    const wrong: Record<string, readonly string[]> = {
      n__ne: ['', 'x', '2147483648'],
      n__nin: ['1,,2', 'a', Array(1_001).fill('1').join()],
      price__ne: ['1e400'],
      tags__contains: ['x,,y', ',', 'a\0', Array(1_001).fill('x').join()],
      sizes__overlap: ['x', '1.5', '{1}', '99999999999'],
      states__contains: ['closed'],
      during__contains: ['', 'x', '2024-02-30', '[2024-01-01', '2024-01-01,2024-01-02', '[a,b]', '{}'],
      during__overlap: ['now', '[2024-01-01T00:00:00Z,)'],
      shown__contains: ['', '2024-01-01', '{x}', '{[2024-01-01T00:00:00Z,)', '{{}}'],
      ages__contains: [
        '',
        'x',
        '1.5',
        '2147483648',
        '[1,2',
        '[1,x)',
        '[1, 2)',
        '[1,2147483647]',
        '(2147483647,)',
        '{1}',
        '[,99999999999)',
      ],
      ages__overlap: ['NaN', 'infinity', '[now,)'],
      ages: ['1', '[a,b)'],
      serials__contains: ['9223372036854775808', '1e3', '[,9223372036854775807]', '[1.0,)'],
      costs__contained_by: ['', 'NaN', 'Infinity', '[1,Infinity)', '1e5', '1,5', '[.5,1)', '[1,2,3)'],
      weeks__contains: ['x', '{[1,x)}', '{1}', '{[1,2147483647]}'],
      published__year: ['', '0', '10000', '-1', '2024.0', 'x', '２０２４'],
      created__month: ['0', '13', '1e0'],
      created__day: ['0', '32'],
      meta__colour: ['a\0'],
      meta__colour__in: ['a,,b'],
      meta__colour__isnull: ['1'],
    }
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) {
        const { status, json } = await client.get(`/api/${path}?${parameters({ [name]: value })}`)
        expect([name, value.slice(0, 20), status, json.errors]).toEqual([
          name,
          value.slice(0, 20),
          400,
          { [name]: [expect.any(String)] },
        ])
      }
    }
  })

  it('[C2] has none where they mean nothing', async () => {
    for (const name of [
      ...['n__year', 'title__overlap', 'tags__exact', 'tags__in', 'tags__icontains', 'published__contained_by'],
      ...['meta__colour__gt', 'meta__colour__range', 'meta__ne', 'during__nin', 'ages__range', 'created__hour'],
    ]) {
      const { status, json } = await client.get(`/api/${path}?${name}=1`)
      expect([name, status, Object.keys(json.errors)]).toEqual([name, 400, [name]])
    }
  })

  it('[C1] knows no keys of JSON but those that are declared', async () => {
    const plain = (await client.get(`/api/${path}`)).text
    for (const name of ['secret__a', 'author__meta__a']) {
      expect((await client.get(`/api/${path}?${name}=red`)).text).toBe(plain)
    }
    // a key of a declared column would be a lookup of it
    expect((await client.get(`/api/${path}?meta__weight=1`)).status).toBe(400)
  })
})

describe('new lookups', () => {
  it('are among those of strictParams', async () => {
    const query = 'n__ne=9&tags__contains=y&created__year=2024&meta__colour__ne=red'
    expect(await found(`strictLooked?${query}`)).toEqual([2])
    const { status, json } = await client.get('/api/strictLooked?nope=1')
    expect(status).toBe(400)
    expect(json.errors.nope[0]).toMatch(/^Unknown parameter\. Use n, title, .* and \d+ more\.$/)
    for (const name of [
      'n__ne',
      'n__nin',
      'tags__overlap',
      'during__contained_by',
      'ages__contains',
      'created__day',
      'meta__colour',
    ]) {
      const { json: near } = await client.get(`/api/strictLooked?${name}x=1`)
      expect(JSON.stringify(near.errors)).toContain(name)
    }
  })

  it('[C3 R3] send values apart from the SQL, a list as one', async () => {
    const query =
      'n__nin=1,2,3&tags__overlap=canary,y&created__year=2024&meta__colour__ne=canary&meta__colour__in=canary,b' +
      '&ages__overlap=[77701,77702]&costs__contains=77703.5'
    const [text] = await countQueries(database.knex, () => client.get(`/api/looked?${query}`))
    expect(text).not.toMatch(/canary|2024|777/)
    expect(text).toContain(`("books"."meta" ->> 'colour') = $`)
    // and the limit
    expect(new Set(text?.match(/\$\d+/g)).size).toBe(2 * 8 + 1)
  })

  it('are described', async () => {
    const api = new APIRouter().register('books', Looked, 'book')
    await api.prepare()
    const list = operationOf(api.getSchema(), '/books')
    const described = new Map(list?.parameters?.map((parameter) => [parameter.name, parameter]))
    expect(described.get('n__ne')).toMatchObject({ description: 'n is not this value, or has none.' })
    expect(described.get('tags__contains')).toMatchObject({
      schema: { type: 'array', items: { type: 'string' }, maxItems: 1_000 },
      explode: false,
    })
    expect(described.get('during__contains')).toMatchObject({ schema: { type: 'string' } })
    expect(described.get('ages__overlap')).toMatchObject({ schema: { type: 'string' } })
    const format = String(described.get('ages')?.schema['pattern'])
    expect(['[1,5)', '(,5]', 'empty', '1', '[1,'].map((text) => new RegExp(format, 'u').test(text))).toEqual([
      ...[true, true, true],
      ...[false, false],
    ])
    expect(described.has('ages__in')).toBe(false)
    expect(described.get('created__year')).toMatchObject({ schema: { type: 'integer', minimum: 1, maximum: 9_999 } })
    expect(described.get('meta__colour__ne')).toMatchObject({ schema: { type: 'string' } })
    expect(described.has('meta__colour__gt')).toBe(false)
  })

  it('lead to keys of JSON only where a filter reads them', async () => {
    class Searched extends Books {
      static override searchFields = ['meta__colour']
    }
    class Wrong extends Books {
      static override filtersetFields = ['meta__', 'title__colour', 'meta__a__']
    }
    for (const [view, wrong] of [
      [Searched, /^Searched: searchFields names "meta__colour"/],
      [Wrong, /^Wrong: filtersetFields names "meta__".*\n.*"title__colour".*\n.*"meta__a__"/],
    ] as const) {
      const prepared = new APIRouter().register('books', view, 'book').prepare()
      await expect(prepared).rejects.toThrow(ConfigurationError)
      await expect(new APIRouter().register('books', view, 'book').prepare()).rejects.toThrow(wrong)
    }
  })

  it('take a column before a key of JSON, and a key before a lookup of its column', async () => {
    await database.knex.raw(`
      create table odd (id int primary key, meta jsonb, meta__colour text);
      insert into odd values (1, '{"colour":"red","isnull":"true"}', 'blue');
    `)
    class Odd extends Model {
      static override tableName = 'odd'
    }
    Odd.knex(database.knex)
    class OddSerializer extends ModelSerializer<Odd> {
      static override model = Odd
      static override fields = ['id']
    }
    class Odds extends ReadOnlyModelViewSet<Odd> {
      static override model = Odd
      static override serializerClass = OddSerializer
      static override filterBackends = [FieldFilter]
      static override filtersetFields = ['meta', 'meta__colour', 'meta__isnull']
    }
    const api = new APIRouter().register('odd', Odds, 'odd')
    await api.prepare()
    const odd = await serving(api.routes())
    const asked = async (query: string) => (await odd.get(`/odd?${query}`)).json.length
    expect(await Promise.all(['meta__colour=blue', 'meta__colour=red'].map(asked))).toEqual([1, 0])
    expect(await asked('meta__isnull=true')).toBe(1)
    expect((await odd.get('/odd?meta__isnull=other')).json).toEqual([])
    await odd.close()
  })
})
