/** What an answer shows can be sent back, what forms send is understood, and what names two objects is refused. */
import {
  APIRouter,
  BasePermission,
  BulkModelViewSet,
  DateField,
  type DeclaredFields,
  FieldFilter,
  FileUploadField,
  IntegerField,
  JSONParser,
  ModelSerializer,
  NestedSerializer,
  PrimaryKeyRelatedField,
  SerializerField,
  SlugRelatedField,
  StringField,
  URLField,
  ValidationError,
} from 'koa-viewsets'
import { JsonPatchParser } from 'koa-viewsets/patches'
import { Model } from 'objection'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Client, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { connectTo } from '../support/server.js'
import { routerOf, serializerOf, serveRouter, serveViews, tableOf, viewOf } from '../support/views.js'

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

  it('also in a query string, of days and times', async () => {
    await database.knex.raw(
      "insert into odd (day, moment, span, days) values ('infinity', '-infinity', '1 day', '[2024-01-02,infinity)'), ('2024-01-02', '2024-01-02', null, '[2024-01-02,)')",
    )
    for (const query of [
      'day=infinity',
      'moment=-infinity',
      'days=[2024-01-02,infinity)',
      'days__gt=[2024-01-02,2025-01-01)&days__lt=[2024-01-02,)',
    ]) {
      expect((await client.get(`/odd?${query}`)).json).toMatchObject([{ id: 1 }])
    }
    const { rows } = await database.knex.raw("select current_setting('server_version_num')::int as version")
    // intervals have no infinity before PostgreSQL 17
    expect((await client.get('/odd?span=infinity')).status).toBe(rows[0].version < 170_000 ? 400 : 200)
  })

  it.each(['day=now', 'moment__lt=tomorrow', 'large=NaN', 'bare=NaN', 'bare__gt=Infinity', 'flag=on'])(
    '[B5 B6] and no filter takes it: %s',
    async (query) => {
      expect((await client.get(`/odd?${query}`)).status).toBe(400)
    },
  )
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

describe('what a caller was shown is unchanged when it comes back', () => {
  const OPEN = { required: false, allowNull: true }
  const storage = {
    save: async () => 'new',
    delete: async () => undefined,
    url: (key: string) => `https://f.example/${key}`,
  }
  class Person extends Model {
    static override tableName = 'persons'
  }
  class Item extends Model {
    static override tableName = 'items'
    static override relationMappings = () => ({
      person: {
        relation: Model.BelongsToOneRelation,
        modelClass: Person,
        join: { from: 'items.person_id', to: 'persons.id' },
      },
      people: {
        relation: Model.ManyToManyRelation,
        modelClass: Person,
        join: {
          from: 'items.id',
          through: { from: 'items_persons.item_id', to: 'items_persons.person_id' },
          to: 'persons.id',
        },
      },
    })
  }
  const active = () => Person.query().where('active', true)
  const byKey = (more: object = {}) =>
    new PrimaryKeyRelatedField({ queryset: active, source: 'person', ...OPEN, ...more })
  const byName = (more: object = {}) =>
    new SlugRelatedField({ queryset: Person, slugField: 'name', source: 'person', ...OPEN, ...more })
  const nested = () => new NestedSerializer(serializerOf(Person, ['id', 'name']), { source: 'person', ...OPEN })

  let rows: TestDatabase
  beforeAll(async () => {
    rows = await createDatabase({
      schema: `
      create table persons (id int primary key, name text, active bool not null);
      create table items (
        id int primary key, title text not null default '', doc jsonb not null, note jsonb, day date, salary int, cover text,
        labels text[] not null default '{}', person_id int references persons, writes int not null default 0
      );
      create table items_persons (item_id int references items, person_id int references persons, primary key (item_id, person_id));
      create function marked() returns trigger language plpgsql as $$ begin new.writes := old.writes + 1; return new; end $$;
      create trigger marked before update on items for each row execute function marked();`,
    })
    for (const model of [Person, Item]) model.knex(rows.knex)
  })
  afterAll(() => rows.drop())
  beforeEach(() =>
    rows.knex.raw(`truncate persons, items, items_persons;
    insert into persons values (1, 'Ada', true), (2, null, true), (3, 'Ben', false), (4, 'Ada', true), (5, 'Cy', true);
    insert into items values (1, ' a ', 'null', 'null', '0044-03-15 BC', 900, 'key', '{}', 3), (2, 'b', '{}', null, '12024-01-01', null, null, '{}', 2);
    insert into items_persons values (1, 1), (1, 3), (2, 2), (2, 3)`),
  )
  const stored = () => rows.knex('items').orderBy('id')
  const links = async (id: number) =>
    rows.knex('items_persons').where('item_id', id).orderBy('person_id').pluck('person_id')

  const FIELDS: Readonly<Record<string, DeclaredFields>> = {
    'a key that may not be chosen': { who: byKey() },
    'a slug that is null or names two': { who: byName() },
    'keys of a list': { who: new PrimaryKeyRelatedField({ queryset: active, many: true, source: 'people' }) },
    'slugs of a list': {
      who: new SlugRelatedField({ queryset: active, slugField: 'name', many: true, source: 'people' }),
    },
    'a nested object': { who: nested() },
    'a key, a slug and an object of one relation': { key: byKey(), name: byName(), who: nested() },
    'a date, a file and JSON': { cover: new FileUploadField({ storage, ...OPEN }) },
    'a length and a validator that came later': {
      title: new StringField({ maxLength: 1 }),
      day: new DateField({
        validators: [
          () => {
            throw new ValidationError('Too old.')
          },
        ],
      }),
    },
  }
  it.each(Object.entries(FIELDS))('%s: by PUT, PATCH, in a list and as a patch', async (_, declared) => {
    const plain = ['id', 'title', 'doc', 'note', 'day'].filter((name) => !(name in declared))
    const { get, send } = await serveViews({
      items: viewOf(Item, serializerOf(Item, [...plain, ...Object.keys(declared)], declared), {
        parserClasses: [JSONParser, JsonPatchParser],
      }),
    })
    const before = [await stored(), await links(1), await links(2)]
    for (const id of [1, 2]) {
      const { json, text } = await get(`/items/${id}`)
      for (const method of ['PUT', 'PATCH']) {
        expect(await send(method, `/items/${id}`, json)).toMatchObject({ status: 200, text })
      }
      const whole = [{ op: 'replace', path: '', value: json }]
      const patch = { 'Content-Type': 'application/json-patch+json' }
      expect(await send('PATCH', `/items/${id}`, whole, patch)).toMatchObject({ status: 200, text })
    }
    const { json, text } = await get('/items')
    expect(await send('PATCH', '/items/bulk', json)).toMatchObject({ status: 200, text })
    expect([await stored(), await links(1), await links(2)]).toEqual(before)
  })

  it('is so for what is masked, by a queryset or a serializer, and what is another is written', async () => {
    const serializer = serializerOf(Item, ['id', 'title', 'salary'])
    class Masked extends viewOf(Item, serializer) {
      override getQueryset() {
        return super.getQueryset().select('items.id', 'items.title', Item.raw('null::int as salary'))
      }
    }
    class Shown extends serializer {
      override toRepresentation(item: Model): unknown {
        return { ...(super.toRepresentation(item) as object), salary: -1 }
      }
    }
    const client = await serveViews({ masked: Masked, shown: viewOf(Item, Shown) })
    for (const path of ['/masked', '/shown']) {
      const { json } = await client.get(`${path}/1`)
      expect((await client.send('PUT', `${path}/1`, { ...json, title: path })).json).toEqual({ ...json, title: path })
      expect((await client.send('PATCH', `${path}/bulk`, [json])).status).toBe(200)
      expect((await stored())[0]).toMatchObject({ title: ' a ', salary: 900 })
    }
    expect((await client.send('PATCH', '/masked/1', { salary: 7 })).status).toBe(200)
    expect((await stored())[0]).toMatchObject({ salary: 7 })
  })

  it('is so where code shows a Date, or a number that JSON has not', async () => {
    await database.knex.raw("insert into odd (moment, large) values ('2024-01-01 10:00:00.123456Z', 'NaN')")
    class Own extends SerializerField {
      override toRepresentation(value: unknown): unknown {
        return value
      }
    }
    const declared = { moment: new Own({ allowNull: true }), large: new Own({ allowNull: true }) }
    const { get, send } = await serveViews({ odd: viewOf(Odd, serializerOf(Odd, ['id', 'title'], declared)) })
    const before = await database.knex('odd').select(database.knex.raw('moment::text, large::text'))
    for (const method of ['PUT', 'PATCH']) {
      const { json } = await get('/odd/1')
      expect(json).toMatchObject({ moment: '2024-01-01T10:00:00.123Z', large: null })
      expect((await send(method, '/odd/1', { ...json, title: method })).json).toEqual({ ...json, title: method })
      expect(await database.knex('odd').select(database.knex.raw('moment::text, large::text'))).toEqual(before)
    }
  })

  it('is not so for another object, which may not have what may not be chosen', async () => {
    const declared = { who: byKey(), people: new PrimaryKeyRelatedField({ queryset: active, many: true }) }
    const { send } = await serveViews({ items: viewOf(Item, serializerOf(Item, ['id', 'who', 'people'], declared)) })
    const refused = { status: 400, json: { errors: { who: ['Invalid pk "3" - object does not exist.'] } } }
    expect(await send('PATCH', '/items/2', { who: 3 })).toMatchObject(refused)
    expect(
      await send('PATCH', '/items/bulk', [
        { id: 1, who: 3 },
        { id: 2, who: 3 },
      ]),
    ).toMatchObject({ status: 400 })
    // a list keeps what it shows, whatever is added to it or taken away
    expect((await send('PATCH', '/items/1', { people: [3, 5] })).status).toBe(200)
    expect(await links(1)).toEqual([3, 5])
    expect((await send('PATCH', '/items/1', { people: [5] })).status).toBe(200)
    expect((await send('PATCH', '/items/1', { who: null })).json).toMatchObject({ who: null })
  })

  it('lets hooks see it, and writes what they make of it', async () => {
    const seen: unknown[] = []
    class Hooked extends Item {
      declare doc: unknown
      declare title: string
      override $beforeUpdate() {
        seen.push({ ...this })
        this.doc = { was: this.doc }
      }
    }
    class Noted extends serializerOf(Hooked, ['id', 'title', 'doc', 'labels', 'day']) {
      override validate(data: Record<string, unknown>) {
        ;(data['labels'] as string[]).push(String(data['title']))
        return { ...data }
      }
    }
    const { get, send } = await serveViews({ items: viewOf(Hooked, Noted) })
    const { json } = await get('/items/2')
    expect((await send('PUT', '/items/2', json)).json).toEqual({ ...json, labels: ['b'], doc: { was: {} } })
    expect(seen).toEqual([{ id: 2, title: 'b', doc: {}, labels: ['b'] }])
    expect((await stored())[1]).toMatchObject({ writes: 1 })
  })

  it('shows hooks what is stored, where the database spells it otherwise, and no day in its place', async () => {
    const seen: object[] = []
    class Seeing extends Odd {
      override $beforeUpdate() {
        seen.push({ ...this })
      }
    }
    class Year extends DateField {
      override toRepresentation() {
        return '2024-01-01'
      }
    }
    const names = ['id', 'title', 'moments', 'amounts', 'stamps', 'moment', 'price']
    const serializer = serializerOf(Seeing, [...names, 'day'], { day: new Year() })
    const client = await serveViews({ odd: viewOf(Seeing, serializer) })
    await database.knex.raw(
      "insert into odd (moments, amounts, stamps, moment, price, day) values ('[2024-01-02,infinity)', '{1.50}', '{2024-01-02}', '2024-01-02', 1.5, '2024-05-06')",
    )
    const { json } = await client.get('/odd/1')
    expect((await client.send('PUT', '/odd/1', { ...json, title: 'x' })).status).toBe(200)
    const { id: _, day: __, ...sent } = json
    expect(seen).toEqual([{ ...sent, title: 'x' }])
  })

  it('keeps from hooks what stands in the place of what is stored', async () => {
    const seen: unknown[] = []
    class Hashed extends Item {
      declare title: string
      override $beforeUpdate() {
        seen.push({ ...this })
        if (this.title !== undefined) this.title = `hash of ${this.title}`
      }
    }
    class Stars extends StringField {
      override toRepresentation() {
        return '***'
      }
    }
    class Zero extends IntegerField {
      override toRepresentation() {
        return 0
      }
    }
    class Masking extends serializerOf(Hashed, ['id', 'title', 'doc', 'note']) {
      override toRepresentation(item: Model): unknown {
        return { ...(super.toRepresentation(item) as object), title: '***', doc: {} }
      }
    }
    class Masked extends viewOf(Hashed, serializerOf(Hashed, ['id', 'title', 'note'])) {
      override getQueryset() {
        return super.getQueryset().select('items.id', 'items.note', Hashed.raw("'***' as title"))
      }
    }
    const client = await serveViews({
      query: Masked,
      whole: viewOf(Hashed, Masking),
      field: viewOf(Hashed, serializerOf(Hashed, ['id', 'title', 'note'], { title: new Stars() })),
      number: viewOf(Hashed, serializerOf(Hashed, ['id', 'salary', 'note'], { salary: new Stars() })),
      zero: viewOf(Hashed, serializerOf(Hashed, ['id', 'salary', 'note'], { salary: new Zero() })),
    })
    const before = (await stored())[0]
    for (const path of ['whole', 'field', 'query', 'number', 'zero']) {
      const { json } = await client.get(`/${path}/1`)
      expect((await client.send('PUT', `/${path}/1`, { ...json, note: path })).json).toEqual({ ...json, note: path })
      expect((await stored())[0]).toMatchObject({ title: before.title, doc: before.doc, note: path })
    }
    expect(seen).toEqual([
      { id: 1, note: 'whole' },
      { id: 1, note: 'field' },
      { id: 1, note: 'query' },
      { id: 1, note: 'number' },
      { id: 1, note: 'zero' },
    ])
  })

  describe('two fields of one column or relation', () => {
    const both = (one: string, other: string) => {
      const message = [`Give either ${one} or ${other}, not both.`]
      return { status: 400, json: { errors: { [one]: message, [other]: message } } }
    }

    it('of which one is as it was shown leave it to the other', async () => {
      const declared = { key: byKey({ queryset: Person }), name: byName(), who: nested() }
      const { get, send } = await serveViews({
        items: viewOf(Item, serializerOf(Item, ['id', 'key', 'name', 'who'], declared)),
      })
      const { json } = await get('/items/1')
      expect((await send('PUT', '/items/1', { ...json, key: 5 })).json).toMatchObject({ key: 5, name: 'Cy' })
      const moved = (await get('/items/1')).json
      expect((await send('PUT', '/items/1', { ...moved, name: 'Ben' })).json).toMatchObject({ key: 3, who: { id: 3 } })
      const renamed = { id: 3, name: 'Benno' }
      expect((await send('PUT', '/items/1', { ...json, who: renamed })).json).toMatchObject({ key: 3, who: renamed })
      expect((await send('PATCH', '/items/1', { key: 3, who: null })).json).toMatchObject({ key: null, who: null })
      expect((await send('PATCH', '/items/1', { key: 5, name: 'Cy' })).json).toMatchObject({ key: 5 })
      expect(await send('PATCH', '/items/1', { key: 4, name: 'Benno' })).toMatchObject(both('key', 'name'))
    })

    it('that contradict each other, or where nothing is stored yet, are refused by both names', async () => {
      const title = new StringField({ source: 'title', required: false, default: 'x' })
      const declared = { key: byKey({ queryset: Person }), name: byName(), heading: title }
      const fields = ['id', 'title', 'doc', 'key', 'name', 'heading']
      const { send } = await serveViews({ items: viewOf(Item, serializerOf(Item, fields, declared)) })
      const made = { id: 9, doc: {}, title: 'a' }
      expect(await send('POST', '/items', { ...made, key: 5, name: 'Ben' })).toMatchObject(both('key', 'name'))
      expect(await send('POST', '/items', { ...made, heading: 'b' })).toMatchObject(both('title', 'heading'))
      expect(await send('POST', '/items', { ...made, key: 5, name: 'Cy' })).toMatchObject({
        status: 201,
        json: { heading: 'a' },
      })
      expect(await send('PATCH', '/items/bulk', [{ id: 9, title: 'c', heading: 'd' }])).toMatchObject({ status: 400 })
      expect((await send('PATCH', '/items/bulk', [{ id: 9, title: 'a', heading: 'd' }])).json).toMatchObject([
        { title: 'd' },
      ])
    })

    it('that are lists of keys and of slugs likewise', async () => {
      const keys = new PrimaryKeyRelatedField({ queryset: Person, many: true, source: 'people', required: false })
      const names = new SlugRelatedField({
        queryset: Person,
        slugField: 'name',
        many: true,
        source: 'people',
        required: false,
      })
      const { get, send } = await serveViews({
        items: viewOf(Item, serializerOf(Item, ['id', 'keys', 'names'], { keys, names })),
      })
      const { json } = await get('/items/2')
      expect(json).toEqual({ id: 2, keys: [2, 3], names: [null, 'Ben'] })
      expect((await send('PUT', '/items/2', { ...json, names: [null, 'Ben', 'Cy'] })).json.keys).toEqual([2, 3, 5])
      expect((await send('PUT', '/items/2', { ...json, keys: [5], names: [null, 'Ben', 'Cy'] })).json.keys).toEqual([5])
      expect(await send('PUT', '/items/2', { keys: [1], names: ['Ben'] })).toMatchObject(both('keys', 'names'))
    })
  })

  it('takes the URL of a stored file whatever its signature, and no other', async () => {
    const signed = { ...storage, url: (key: string) => `https://f.example/${key}?signature=${Math.random()}` }
    const cover = new FileUploadField({ storage: signed, ...OPEN })
    const { get, send } = await serveViews({
      items: viewOf(Item, serializerOf(Item, ['id', 'title', 'cover'], { cover })),
    })
    const { json } = await get('/items/1')
    expect((await send('PUT', '/items/1', { ...json, title: 'x' })).status).toBe(200)
    expect((await stored())[0]).toMatchObject({ title: 'x', cover: 'key' })
    for (const other of ['https://f.example/other?signature=1', 'https://f.example/', 'key']) {
      const errors = { cover: ['No file uploaded.'] }
      expect(await send('PATCH', '/items/1', { cover: other })).toMatchObject({ status: 400, json: { errors } })
    }
  })

  it('warns of a slug that may be null, under a field that clients write', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    class Named extends serializerOf(Item, ['id', 'who'], { who: byName() }) {}
    class Read extends serializerOf(Item, ['id', 'who'], { who: byName({ readOnly: true }) }) {}
    await serveViews({ items: viewOf(Item, Named), read: viewOf(Item, Read) })
    const told = warned.mock.calls.filter(
      ([, options]) => (options as { code?: string }).code === 'KOA_VIEWSETS_NULL_SLUG',
    )
    warned.mockRestore()
    expect(told).toHaveLength(1)
    expect(told[0]?.[0]).toMatch(/^Named: field "who" shows null for an object of Person whose "name" is null/)
  })
})

describe('a stored key __proto__', () => {
  const HOSTILE = '{"a": [{"__proto__": {"admin": true}}], "b": {"constructor": {"prototype": 1e2}}}'
  const FORBIDDEN = ['The keys "__proto__", and "constructor" with a "prototype", are not allowed.']

  class Named extends serializerOf(Odd, ['id', 'title', 'tree', 'trees']) {}
  const ofShelf = new NestedSerializer(Named, { many: true })
  const views = (statics: object = {}) => ({
    odd: viewOf(Odd, Named, statics),
    shelves: viewOf(Shelf, serializerOf(Shelf, ['id', 'name', 'things'], { things: ofShelf })),
    shown: viewOf(Odd, Object.assign(serializerOf(Odd, ['id', 'title', 'tree']), { readOnlyFields: ['tree'] })),
  })
  const bodyOf = async (served: Client, path: string) => (await connectTo(served.port).send({ path })).text
  const put = (served: Client, method: string, path: string, body: string) =>
    connectTo(served.port).send({ method, path, body, headers: { 'Content-Type': 'application/json' } })
  const rows = async () => (await database.knex.raw('select row_to_json(o)::text as row from odd o order by id')).rows

  beforeEach(() =>
    database.knex.raw(`
      insert into shelves (name) values ('s');
      insert into odd (shelf_id, title, tree, trees)
      values (1, 'one', '${HOSTILE}', array['${HOSTILE}'::jsonb, '1']), (1, 'two', '{"a":1}', '{}')`),
  )
  afterEach(() => {
    expect(Object.keys(Object.prototype)).toEqual([])
    expect({}).not.toHaveProperty('admin')
  })

  it('is sent back with what was read, wherever it is shown, and the rest is written', async () => {
    const served = await serveViews(views())
    const before = await rows()
    for (const path of ['/odd/1', '/shelves/1', '/shown/1']) {
      const text = await bodyOf(served, path)
      for (const method of ['PUT', 'PATCH']) {
        const sent = await put(served, method, path, text)
        expect([path, method, sent.status, sent.text]).toEqual([path, method, 200, text])
      }
      expect((await put(served, 'PATCH', path.replace('1', 'bulk'), `[${text}]`)).status).toBe(200)
    }
    expect(await rows()).toEqual(before)
    const renamed = (await bodyOf(served, '/odd/1')).replace('"one"', '"uno"')
    expect(await put(served, 'PUT', '/odd/1', renamed)).toMatchObject({ status: 200, text: renamed })
    const relaxed = JSON.parse(await bodyOf(served, '/shelves/1')) as { things: unknown[] }
    relaxed.things.reverse()
    expect((await put(served, 'PUT', '/shelves/1', JSON.stringify(relaxed))).status).toBe(200)
  })

  it('is refused in what is stored nowhere, and where the application reads bodies itself', async () => {
    const served = await serveViews(views())
    const before = await rows()
    const tree = `{"tree":${HOSTILE}}`
    const named = { tree: FORBIDDEN }
    const whole = { non_field_errors: FORBIDDEN }
    const cases: readonly (readonly [string, string, string, object])[] = [
      ['POST', '/odd', tree, whole],
      ['POST', '/odd/bulk', `[${tree}]`, whole],
      ['PATCH', '/odd/2', tree, named],
      ['PATCH', '/odd/1', `{"tree":{"a":[{"__proto__":{"admin":false}}]}}`, named],
      ['PATCH', '/odd/1', `{"trees":[{"__proto__":1}]}`, { trees: FORBIDDEN }],
      ['PATCH', '/odd/1', `{"title":{"__proto__":1}}`, whole],
      ['PATCH', '/odd/1', `{"__proto__":${HOSTILE}}`, whole],
      ['PATCH', '/odd/1', `{"nothing":${HOSTILE}}`, whole],
      ['PATCH', '/odd/bulk', `[{"id":2,"tree":${HOSTILE}}]`, { 0: named }],
      ['PATCH', '/odd/bulk', `[{"id":1,"tree":${HOSTILE},"__proto__":{}}]`, whole],
      ['PATCH', '/shelves/1', `{"things":[{"id":1},{"id":2,"tree":${HOSTILE}}]}`, { things: { 1: named } }],
      ['PATCH', '/shelves/1', `{"things":[{"title":"x","tree":${HOSTILE}}]}`, { things: { 0: named } }],
      ['PATCH', '/shelves/1', `{"things":[{"id":1,"__proto__":{}}]}`, whole],
    ]
    for (const [method, path, body, errors] of cases) {
      const { status, json } = await put(served, method, path, body)
      expect([body, status, json.errors]).toEqual([body, 400, errors])
    }
    expect(await rows()).toEqual(before)
    const Own = class extends (views().odd as new () => object) {
      async partialUpdate() {
        return (this as unknown as { body: { data: unknown } }).body.data
      }
    }
    class Guard extends BasePermission {
      override hasObjectPermission() {
        return true
      }
    }
    class Hooked extends views().odd {
      override async performUpdate(serializer: any) {
        return serializer.save()
      }
    }
    class Choosing extends views().odd {
      override async getObject() {
        return super.getObject()
      }
    }
    const guarded = views({ permissionClasses: [Guard] }).odd
    const own = await serveViews({ odd: Own as never, hooked: Hooked, choosing: Choosing, guarded })
    for (const path of ['odd', 'hooked', 'choosing', 'guarded']) {
      expect([path, (await put(own, 'PATCH', `/${path}/1`, tree)).json.errors]).toEqual([path, whole])
    }
    expect((await put(own, 'PATCH', '/hooked/bulk', `[{"id":1,"tree":${HOSTILE}}]`)).json.errors).toEqual(whole)
  })

  it('is sent back inside an envelope, and refused beside it', async () => {
    const served = await serveViews(views({ envelope: { object: 'thing', list: 'things' } }))
    const text = await bodyOf(served, '/odd/1')
    expect(await put(served, 'PUT', '/odd/1', text)).toMatchObject({ status: 200, text })
    const beside = `${text.slice(0, -1)},"more":${HOSTILE}}`
    expect((await put(served, 'PUT', '/odd/1', beside)).json.errors).toEqual({ non_field_errors: FORBIDDEN })
  })
})

describe('a key as it is shown', () => {
  const KEYS: readonly (readonly [type: string, stored: string, spellings?: readonly unknown[]])[] = [
    ['date', '0044-03-15 BC'],
    ['date', '5874897-12-31'],
    ['date', 'infinity'],
    ['timestamptz', '0044-03-15 10:00:00.5+00 BC', ['0044-03-15T10:00:00.5+00:00 BC']],
    ['timestamp', '294276-12-31 23:59:59.999999', ['294276-12-31T23:59:59.999999']],
    ['timestamptz', '-infinity'],
    ['numeric', 'NaN'],
    ['numeric(10,2)', '1.5', ['1.50', '1.5', '1.500']],
    ['numeric(3,0)', '-12', ['-12', '-12.0']],
    ['char(5)', 'ab', ['ab   ', 'ab', 'ab        ']],
    ['bool', 't', [true]],
    ['interval', '1 day', ['P1D']],
    ['bytea', '\\x2f2e', ['\\x2f2e']],
    ['citext', 'Ab', ['Ab', 'aB']],
  ]

  it('names its object in paths, bulk requests, relations, lists of them, and filters', async () => {
    await database.knex.raw('create extension if not exists citext')
    const views: Record<string, ReturnType<typeof viewOf>> = {}
    for (const [index, [type, stored]] of KEYS.entries()) {
      await database.knex.raw(
        `create table keyed${index} (k ${type} primary key, n int not null default 0);
         create table links${index} (id int primary key, k ${type} references keyed${index});
         create table joins${index} (link int references links${index}, k ${type} references keyed${index}, primary key (link, k));
         insert into keyed${index} values ('${stored}'); insert into links${index} values (1, null)`,
      )
      const Keyed = tableOf(`keyed${index}`, { idColumn: 'k' })
      const through = { from: `joins${index}.link`, to: `joins${index}.k` }
      const join = { from: `links${index}.id`, through, to: `keyed${index}.k` }
      const Link = tableOf(`links${index}`, {
        relationMappings: () => ({ all: { relation: Model.ManyToManyRelation, modelClass: Keyed, join } }),
      })
      views[`keyed${index}`] = viewOf(Keyed, serializerOf(Keyed, ['k', 'n']), {
        filterBackends: [FieldFilter],
        filtersetFields: ['k'],
      })
      const keys = { queryset: Keyed, allowNull: true, required: false }
      views[`links${index}`] = viewOf(
        Link,
        serializerOf(Link, ['id', 'k', 'all'], {
          k: new PrimaryKeyRelatedField(keys),
          all: new PrimaryKeyRelatedField({ queryset: Keyed, many: true, required: false }),
        }),
      )
    }
    const api = routerOf(views)
    const client = await serveRouter(api)
    for (const [index, [type, stored, spellings]] of KEYS.entries()) {
      const [keyed, links] = [`/keyed${index}`, `/links${index}`]
      const { k } = (await client.get(keyed)).json[0]
      expect([type, k]).toEqual([type, spellings?.[0] ?? stored])
      for (const spelling of spellings ?? [stored]) {
        const told = `${type} ${String(spelling)}`
        const url = api.url(`keyed${index}-retrieve`, { id: spelling })
        expect([told, (await client.get(url)).json]).toEqual([told, { k, n: 0 }])
        const bulk = await client.send('PATCH', `${keyed}/bulk`, [{ k: spelling, n: 0 }])
        expect([told, bulk.json]).toEqual([told, [{ k, n: 0 }]])
        await client.send('PATCH', `${links}/1`, { k: null, all: [] })
        const link = await client.send('PATCH', `${links}/1`, { k: spelling, all: [spelling] })
        expect([told, link.json]).toEqual([told, { id: 1, k, all: [k] }])
        await database.knex.raw(`delete from joins${index}; update links${index} set k = null`)
        const links2 = await client.send('PATCH', `${links}/bulk`, [{ id: 1, k: spelling }])
        expect([told, links2.json]).toEqual([told, [{ id: 1, k, all: [] }]])
        await database.knex.raw(`update links${index} set k = null`)
        const body = new URLSearchParams({ k: String(spelling) }).toString()
        const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
        const links3 = await connectTo(client.port).send({ method: 'PATCH', path: `${links}/1`, body, headers })
        expect([told, links3.json]).toEqual([told, { id: 1, k, all: [] }])
      }
      // no filter takes what is no number
      if (stored !== 'NaN') {
        const query = encodeURIComponent(String(k).trimEnd())
        for (const name of ['k', 'k__in']) expect((await client.get(`${keyed}?${name}=${query}`)).json).toHaveLength(1)
      }
    }
  })

  it.each(['99999-02-30', '0000-01-01 BC', '5874898-01-01', '4714-11-23 BC', '0044-3-15 BC', '2024-01-01 BC '])(
    'is none where there is no such day: %s',
    async (day) => {
      await database.knex.raw('create table if not exists days (day date primary key)')
      const Day = tableOf('days', { idColumn: 'day' })
      const filters = { filterBackends: [FieldFilter], filtersetFields: ['day'] }
      const client = await serveViews({ days: viewOf(Day, serializerOf(Day, ['day']), filters) })
      expect((await client.get(`/days?day=${encodeURIComponent(day)}`)).status).toBe(400)
      expect((await client.get(`/days/${encodeURIComponent(day)}`)).status).toBe(404)
      expect(client.reported).toEqual([])
    },
  )
})

describe('keys that SQL and JavaScript compare in different ways', () => {
  const PAIRS: readonly (readonly [type: string, one: string, other: string, third: string, isSame: boolean])[] = [
    ['citext', 'ΟΔΟΣ', 'ΟΔΟς', 'x', false],
    ['char(3)', 'a', 'a\t', 'x', false],
    ['bytea', '\\xff', '\\xfe', '\\x00', false],
    ['text', 'a', 'A', 'x', false],
    ['citext', 'de', 'DE', 'x', true],
    ['text collate ci', 'de', 'DE', 'x', true],
    ['interval', 'P1M', 'P30D', 'P1D', true],
    ['numeric', '1.5', '1.500', '2', true],
    ['int4range', '[1,5)', '[1,4]', 'empty', true],
    ['inet', '10.0.0.1', '10.0.0.1/32', '::1', true],
  ]
  const optional = { required: false } as const

  beforeAll(() =>
    database.knex.raw(`
      create extension if not exists citext;
      create collation ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
      create function count_writes() returns trigger language plpgsql as $$ begin
        new.writes = old.writes + 1; return new; end $$;`),
  )

  it.each(PAIRS)('of %s: %s and %s', async (type, one, other, third, isSame) => {
    const literal = (key: string) => `'${key}'`
    await database.knex.raw(`
      drop table if exists notes, places;
      create table places (id int primary key, key ${type} unique not null, slug text unique, hidden bool not null default false);
      create table notes (id int primary key, place ${type} references places (key) on update cascade, writes int not null default 0);
      insert into places values (1, ${literal(one)}, 'one'), (3, ${literal(third)}, 'third');
      ${isSame ? '' : `insert into places values (2, ${literal(other)}, 'other');`}
      insert into notes values (1, ${literal(one)}), (2, ${literal(one)});
      create trigger counting before update on notes for each row execute function count_writes();`)
    const Place = tableOf('places')
    const relation = { relation: Model.BelongsToOneRelation, modelClass: Place }
    const relationMappings = { of: { ...relation, join: { from: 'notes.place', to: 'places.key' } } }
    const Note = tableOf('notes', { relationMappings })
    class ByKey extends PrimaryKeyRelatedField {
      protected override keyProperty() {
        return 'key'
      }
    }
    const open = () => Place.query().where('hidden', false)
    const Keyed = serializerOf(Note, ['id', 'place'], { place: new ByKey({ queryset: open }) })
    const Both = serializerOf(Note, ['id', 'place', 'slug'], {
      place: new ByKey({ queryset: open, ...optional }),
      slug: new SlugRelatedField({ queryset: open, slugField: 'slug', source: 'place', ...optional }),
    })
    const Beside = serializerOf(Note, ['id', 'place', 'of'], {
      place: new ByKey({ queryset: open, ...optional }),
      of: new NestedSerializer(serializerOf(Place, ['key', 'slug']), optional),
    })
    const { send, get } = await serveViews({
      keyed: viewOf(Note, Keyed),
      both: viewOf(Note, Both),
      beside: viewOf(Note, Beside),
    })
    const held = async (id: number) => {
      const { rows } = await database.knex.raw(
        'select slug, writes from notes join places on place = key where notes.id = ?',
        [id],
      )
      return rows[0] as object
    }
    // an object that is hidden by now is named as it was shown, or in any spelling that is the same
    await database.knex.raw(`update places set hidden = true where slug = 'one'`)
    const shown = (await get('/keyed/1')).json
    expect((await send('PUT', '/keyed/1', shown)).status).toBe(200)
    expect(await held(1)).toEqual({ slug: 'one', writes: 0 })
    expect((await send('PATCH', '/keyed/1', { place: other })).status).toBe(200)
    expect((await send('PATCH', '/keyed/bulk', [{ id: 2, place: other }])).status).toBe(200)
    for (const id of [1, 2]) expect(await held(id)).toEqual({ slug: isSame ? 'one' : 'other', writes: isSame ? 0 : 1 })
    await database.knex.raw(`update places set hidden = false`)
    const bodies = [
      [{ place: other, slug: 'one' }, isSame],
      [{ place: one, slug: 'one' }, true],
      [{ place: third, slug: 'one' }, true],
    ] as const
    for (const [body, isTaken] of bodies) {
      await database.knex.raw(`update notes set place = ${literal(third)}`)
      const { status } = await send('PATCH', '/both/1', body)
      expect([body, status]).toEqual([body, isTaken ? 200 : 400])
      expect(await held(1)).toMatchObject({ slug: isTaken ? 'one' : 'third' })
    }
    await database.knex.raw(`update notes set place = ${literal(one)}`)
    const beside = { place: other, of: { slug: 'new' } }
    expect((await send('PATCH', '/beside/1', beside)).status).toBe(isSame ? 200 : 400)
    expect(await held(1)).toMatchObject({ slug: isSame ? 'new' : 'one' })
  })
})
