/** What an answer shows can be sent back, what forms send is understood, and what names two objects is refused. */
import {
  APIRouter,
  BulkModelViewSet,
  FieldFilter,
  ModelSerializer,
  NestedSerializer,
  SlugRelatedField,
  URLField,
} from 'koa-viewsets'
import { Model } from 'objection'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Client, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { connectTo } from '../support/server.js'

const SCHEMA = `
  create type mood as enum ('glad', 'sad');
  create table shelves (id serial primary key, name text not null);
  create table odd (
    id serial primary key, shelf_id int references shelves, title text, link text, site text,
    day date, moment timestamptz, naive timestamp, small real, large float8, bare numeric, price numeric(6,2), bounded float8,
    days daterange, moments tstzrange, sets datemultirange, ages int4range, serials int8range, costs numrange, weeks int4multirange, count int, big int8, flag boolean, uid uuid, span interval,
    clock time, feeling mood, tree jsonb,
    ints int[], texts text[], amounts numeric[], stamps timestamptz[], trees jsonb[], flags boolean[]
  );`

class Shelf extends Model {
  static override tableName = 'shelves'
  static override relationMappings = () => ({
    things: { relation: Model.HasManyRelation, modelClass: Odd, join: { from: 'shelves.id', to: 'odd.shelf_id' } },
  })
}
class Odd extends Model {
  static override tableName = 'odd'
  static override relationMappings = () => ({
    shelf: {
      relation: Model.BelongsToOneRelation,
      modelClass: Shelf,
      join: { from: 'odd.shelf_id', to: 'shelves.id' },
    },
  })
}

class OddSerializer extends ModelSerializer<Odd> {
  static override model = Odd
  static override fields = '__all__'
  static override declaredFields = { site: new URLField({ allowNull: true, required: false }) }
  static override extraKwargs = { bounded: { minValue: 0 }, link: { allowBlank: false } }
}
class OddView extends BulkModelViewSet<Odd> {
  static override model = Odd
  static override serializerClass = OddSerializer
  static override filterBackends = [FieldFilter]
  static override filtersetFields = ['day', 'moment', 'large', 'bare', 'span', 'days', 'flag']
}

class BySlugSerializer extends ModelSerializer<Odd> {
  static override model = Odd
  static override fields = ['id', 'title', 'shelf_id']
  static override declaredFields = {
    shelf_id: new SlugRelatedField({ queryset: Shelf, slugField: 'name', allowNull: true, required: false }),
  }
}
class BySlug extends BulkModelViewSet<Odd> {
  static override model = Odd
  static override serializerClass = BySlugSerializer
}

class ShelfSerializer extends ModelSerializer<Shelf> {
  static override model = Shelf
  static override fields = ['id', 'name', 'things']
  static override declaredFields = {
    things: new NestedSerializer(
      class extends ModelSerializer<Odd> {
        static override schemaName = 'ThingOfShelf'
        static override model = Odd
        static override fields = ['id', 'title']
      },
      { many: true },
    ),
  }
}
class Shelves extends BulkModelViewSet<Shelf> {
  static override model = Shelf
  static override serializerClass = ShelfSerializer
}

let database: TestDatabase
let client: Client

beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  Model.knex(database.knex)
  const api = new APIRouter()
    .register('odd', OddView)
    .register('by-slug', BySlug, 'by-slug')
    .register('shelves', Shelves)
  await api.prepare()
  client = await serving(api.routes())
})
afterAll(async () => {
  await client.close()
  await database.drop()
})
beforeEach(() => database.knex.raw('truncate odd, shelves restart identity cascade'))

const send = (method: string, path: string, body: string, type = 'application/json') =>
  connectTo(client.port).send({ method, path, body, headers: { 'Content-Type': type } })

const form = (method: string, path: string, values: readonly (readonly [string, string])[]) =>
  send(method, path, new URLSearchParams(values as [string, string][]).toString(), 'application/x-www-form-urlencoded')

/** Values of a column as PostgreSQL has them, and as they are shown. */
const SPECIAL: readonly (readonly [column: string, sql: string, shown: unknown])[] = [
  ['day', "'infinity'", 'infinity'],
  ['day', "'-infinity'", '-infinity'],
  ['moment', "'infinity'", 'infinity'],
  ['naive', "'-infinity'", '-infinity'],
  ['small', "'NaN'", 'NaN'],
  ['large', "'Infinity'", 'Infinity'],
  ['large', "'-Infinity'", '-Infinity'],
  ['bare', "'NaN'", 'NaN'],
  ['bare', "'-Infinity'", '-Infinity'],
  ['price', "'NaN'", 'NaN'],
  ['days', "'[-infinity,2024-01-02)'", '[-infinity,2024-01-02)'],
  ['moments', "'[2024-01-02 00:00:00Z,infinity]'", '[2024-01-02T00:00:00Z,infinity]'],
  ['sets', "'{[2024-01-02,infinity)}'", '{[2024-01-02,infinity)}'],
  ['ages', "'[-2147483648,2147483647)'", '[-2147483648,2147483647)'],
  ['ages', "'(1,2)'", 'empty'],
  ['serials', "'(,9223372036854775806]'", '(,9223372036854775807)'],
  ['costs', "'[-Infinity,0.50]'", '[-Infinity,0.50]'],
  ['costs', "'(1,NaN]'", '(1,NaN]'],
  ['weeks', "'{[1,2],[4,)}'", '{[1,3),[4,)}'],
  [
    'ints',
    'array[[1,2],[3,null]]',
    [
      [1, 2],
      [3, null],
    ],
  ],
  ['ints', 'array[[[1]],[[2]]]', [[[1]], [[2]]]],
  [
    'texts',
    "array[['a','{'],['NULL',null]]",
    [
      ['a', '{'],
      ['NULL', null],
    ],
  ],
  ['amounts', "array[[1.50,'NaN']]", [['1.50', 'NaN']]],
  [
    'stamps',
    "array[['infinity'::timestamptz,'2024-01-02 03:04:05.000006Z']]",
    [['infinity', '2024-01-02T03:04:05.000006Z']],
  ],
  ['flags', 'array[[true],[false]]', [[true], [false]]],
]

describe('what is shown can be sent back', () => {
  it.each(SPECIAL)('as the %s %s', async (column, sql, shown) => {
    await database.knex.raw(`insert into odd (${column}) values (${sql})`)
    const read = await connectTo(client.port).send({ path: '/odd/1' })
    expect(read.json[column]).toEqual(shown)
    expect(await send('PUT', '/odd/1', read.text)).toMatchObject({ status: 200, text: read.text })
    const created = await send('POST', '/odd', JSON.stringify({ [column]: shown }))
    expect([created.status, created.json[column]]).toEqual([201, shown])
    const { rows } = await database.knex.raw(
      `select count(distinct ${column}::text) as kinds, count(${column}) as all from odd`,
    )
    expect(rows).toEqual([{ kinds: '1', all: '2' }])
  })

  it('also from a form', async () => {
    const values = SPECIAL.filter(([, , shown]) => typeof shown === 'string')
    for (const [column, , shown] of values) {
      const created = await form('POST', '/odd', [[column, shown as string]])
      expect([created.status, created.json[column]]).toEqual([201, shown])
    }
  })

  it.each([
    ['price', 'Infinity', 'A valid number is required.'],
    ['bounded', 'NaN', 'A valid number is required.'],
    ['bounded', 'Infinity', 'A valid number is required.'],
    ['large', 'nan', 'A valid number is required.'],
    ['large', '1', 'A valid number is required.'],
    ['day', 'now', 'Use the format YYYY-MM-DD.'],
    ['day', 'Infinity', 'Use the format YYYY-MM-DD.'],
    ['count', 'NaN', 'A valid integer is required.'],
  ])('but not what the column %s cannot show: %s', async (column, value, message) => {
    const { json } = await client.send('POST', '/odd', { [column]: value })
    expect(json.errors).toEqual({ [column]: [message] })
  })

  it.each([
    [[[1], [2, 3]], 'Lists in a list must have the same number of items, and at least one.'],
    [[[], []], 'Lists in a list must have the same number of items, and at least one.'],
    [
      [
        [1, [2]],
        [3, 4],
      ],
      'Lists in a list must be of the same kind.',
    ],
    [[[[[[[[1]]]]]]], 'Use at most 6 levels of lists.'],
    [[[1], 2], { 0: ['A valid integer is required.'] }],
    [
      [
        [1, 'x'],
        [2, 3],
      ],
      { 0: { 1: ['A valid integer is required.'] } },
    ],
  ])('and no list of lists that PostgreSQL could not hold: %j', async (ints, message) => {
    const { json } = await client.send('POST', '/odd', { ints })
    expect(json.errors).toEqual({ ints: typeof message === 'string' ? [message] : message })
  })

  it.each([
    'day=infinity',
    'moment__lt=infinity',
    'large=NaN',
    'bare=NaN',
    'bare__gt=Infinity',
    'span=infinity',
    'flag=on',
  ])('[B5 B6] and no filter takes it: %s', async (query) => {
    expect((await client.get(`/odd?${query}`)).status).toBe(400)
  })
})

describe('a form', () => {
  const NULLABLE = [
    'day',
    'moment',
    'count',
    'big',
    'large',
    'bare',
    'flag',
    'uid',
    'span',
    'clock',
    'feeling',
    'tree',
    'days',
    'shelf_id',
    'site',
    'link',
  ]

  it('has an empty text for null, where that is no value of the field', async () => {
    await client.send('POST', '/shelves', { name: 'one', things: [] })
    const full = {
      shelf_id: 1,
      day: '2024-01-02',
      count: 3,
      large: 1.5,
      flag: true,
      site: 'https://a.example',
      link: 'x',
    }
    await client.send('POST', '/odd', { ...full, title: 'full', feeling: 'sad', tree: {} })
    for (const method of ['PATCH', 'PUT']) {
      const { json, status } = await form(method, '/odd/1', [
        ...NULLABLE.map((name) => [name, ''] as const),
        ['title', ''],
      ])
      expect(status).toBe(200)
      for (const name of NULLABLE) expect([name, json[name]]).toEqual([name, null])
      expect(json).toMatchObject({ title: '' })
    }
    const bySlug = await form('POST', '/by-slug', [['shelf_id', '']])
    expect(bySlug.json).toMatchObject({ shelf_id: null })
  })

  it.each([
    ['on', true],
    ['1', true],
    ['yes', true],
    ['t', true],
    ['TRUE', true],
    ['Y', true],
    ['off', false],
    ['0', false],
    ['no', false],
    ['f', false],
    ['False', false],
    ['N', false],
  ])('has %s for a boolean', async (word, value) => {
    const { json } = await form('POST', '/odd', [
      ['flag', word],
      ['flags', word],
      ['flags', 'true'],
    ])
    expect(json).toMatchObject({ flag: value, flags: [value, true] })
    expect((await client.send('POST', '/odd', { flag: word })).json.errors).toEqual({
      flag: ['Must be a valid boolean.'],
    })
  })

  it('has no other words for a boolean', async () => {
    for (const word of ['2', 'ja', 'onn', 'null', ' on'])
      expect((await form('POST', '/odd', [['flag', word]])).json.errors).toEqual({ flag: ['Must be a valid boolean.'] })
  })
})

describe('what names two objects', () => {
  it('is refused as a slug, and the others are taken', async () => {
    await database.knex('shelves').insert([{ name: 'twin' }, { name: 'one' }, { name: 'twin' }])
    const refused = await client.send('POST', '/by-slug', { shelf_id: 'twin' })
    expect(refused.json).toMatchObject({
      status: 400,
      errors: { shelf_id: ['"twin" is the name of more than one object.'] },
    })
    expect((await client.send('POST', '/by-slug', { shelf_id: 'one' })).status).toBe(201)
    const bulk = await client.send('POST', '/by-slug/bulk', [{ shelf_id: 'one' }, { shelf_id: 'twin' }])
    expect(Object.keys(bulk.json.errors)).toEqual(['1'])
    expect(await database.knex('odd').select('shelf_id')).toEqual([{ shelf_id: 2 }])
  })

  it('is refused as the same id twice in a nested list', async () => {
    await client.send('POST', '/shelves', { name: 'a', things: [{ title: 'x' }, { title: 'y' }] })
    const things = [
      { id: 1, title: 'first' },
      { id: 2, title: 'other' },
      { id: '1', title: 'second' },
    ]
    for (const [method, path, body] of [
      ['PATCH', '/shelves/1', { things }],
      ['PUT', '/shelves/1', { name: 'b', things }],
    ] as const) {
      const { json } = await client.send(method, path, body)
      expect(json.errors).toEqual({ things: { 2: { id: ['Invalid pk "1" - listed more than once.'] } } })
    }
    expect(await database.knex('odd').orderBy('id').pluck('title')).toEqual(['x', 'y'])
    expect((await client.send('PATCH', '/shelves/1', { things: things.slice(0, 2) })).status).toBe(200)
  })
})

it.each(['HTTP://example.com/A', 'HttpS://example.com'])('takes the URL %s as it was sent', async (site) => {
  expect((await client.send('POST', '/odd', { site })).json).toMatchObject({ site })
})
