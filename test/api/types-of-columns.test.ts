/** Every type that PostgreSQL has, as columns of an API: what is stored is what was said, and no filter or order is a 500. */
import {
  ArrayField,
  DateTimeField,
  DecimalField,
  DurationField,
  FieldFilter,
  FloatField,
  MultipleChoiceField,
  OrderingFilter,
  PrimaryKeyRelatedField,
  ReadOnlyField,
  SearchFilter,
  SerializerField,
  SlugRelatedField,
  StringField,
  TimeField,
} from 'koa-viewsets'
import { Model } from 'objection'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeModel, prepareModels } from '../../lib/models/describe-model.js'
import type { Client } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { throughInstances } from '../support/reviewed-books.js'
import { serializerOf, serveViews, tableOf, viewOf } from '../support/views.js'

const IS_LONG = process.env['TRUST'] === 'long'

/** Types with what they cut or round, and the wider type in which what was said and what is shown must be equal. */
const LIMITED: Readonly<Record<string, string>> = {
  '"char"': 'text',
  name: 'text',
  'varchar(3)': 'text',
  'numeric(4,1)': 'numeric',
  real: 'numeric',
  'double precision': 'numeric',
  smallint: 'numeric',
  integer: 'numeric',
  bigint: 'numeric',
  oid: 'numeric',
  xid: 'numeric',
  xid8: 'numeric',
  'time(0)': 'time',
  'timestamp(0)': 'timestamp',
  'timestamptz(3)': 'timestamptz',
  'interval(0)': 'interval',
  'interval second(1)': 'interval',
  'interval day to hour': 'interval',
  'interval year to month': 'interval',
  'interval minute': 'interval',
  'bit(3)': 'varbit',
  'varbit(3)': 'varbit',
  point: 'text',
}
/** Shown in a form of their own. */
const OTHERS = [
  'boolean',
  'uuid',
  'json',
  'jsonb',
  'inet',
  'cidr',
  'macaddr',
  'date',
  'bytea',
  'xml',
  'tsvector',
  'tsquery',
]
const MORE = [
  'box',
  'line',
  'lseg',
  'path',
  'polygon',
  'circle',
  'money',
  'pg_lsn',
  'level',
  'pair',
  'int4range',
  'tsrange',
]
const LONG = [
  'regclass',
  'regtype',
  'jsonpath',
  'macaddr8',
  'timetz',
  'bpchar',
  'text',
  'citext',
  'hstore',
  'ltree',
  'lquery',
  'nummultirange',
  'own_range',
  'aclitem',
  'tid',
  'cid',
]

/** Values at the edges of all types together: each type takes some, and must refuse the others. */
const VALUES: readonly unknown[] = [
  ...[
    '',
    'o',
    'open',
    'ü',
    'abc',
    'abcd',
    'abc   ',
    'x'.repeat(64),
    '-1',
    '4294967295',
    '4294967296',
    '010',
    '0x10',
    '12.3',
  ],
  ...[
    '12.34',
    '16777217',
    '1e-400',
    '12:00:00',
    '12:00:00.5',
    '2024-01-01T00:00:00.4Z',
    '2024-01-01',
    'infinity',
    '101',
    '10',
  ],
  ...[
    'P1DT2H',
    'P1DT2H3M',
    'P1Y2M3D',
    'PT0.5S',
    'PT1.25S',
    'P14M',
    '(1,2)',
    '(0.1,16777217.00000000001)',
    'low',
    '1.005',
    '$2.50',
  ],
  ...[0, 1, -1, 0.1, 1.5, 32_768, 2_147_483_648, 9_007_199_254_740_991, 16_777_217, 3.25, 1e300, true, null],
  ...[[], [1], ['low'], [0.1, 16_777_217], ['open'], ['PT0.5S'], [null]],
]
/** Numbers that JavaScript has not. */
const NUMERALS = ['1e-400', '9007199254740993', '0.1000000000000000055', '1e400', '[1e-400]', '-0']

interface Typed {
  readonly table: string
  readonly type: string
  readonly wide: string | undefined
}

const NAMES = [...Object.keys(LIMITED), ...OTHERS, ...MORE, ...(IS_LONG ? LONG : [])]
const TYPED: readonly Typed[] = NAMES.flatMap((type, index) => {
  const wide = LIMITED[type]
  const own = { table: `t${index}`, type, wide }
  const array = { table: `a${index}`, type: `${type}[]`, wide: wide && `${wide}[]` }
  if (!IS_LONG) return [own, ...(wide === undefined ? [] : [array])]
  const ofDomain = { table: `b${index}`, type: `dom${index}[]`, wide: wide && `${wide}[]` }
  return [own, array, { table: `d${index}`, type: `dom${index}`, wide }, ofDomain]
})

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({
    schema: `
      create extension citext; create extension hstore; create extension ltree;
      create type level as enum ('low', 'high'); create type pair as (a int, b json);
      create type own_range as range (subtype = real);
      ${NAMES.map((type, index) => `create domain dom${index} as ${type};`).join('\n')}
      ${TYPED.map(({ table, type }) => `create table ${table} (id int generated always as identity primary key, v ${type});`).join('\n')}`,
  })
  Model.knex(database.knex)
})
afterAll(() => database.drop())

async function serveTypes(): Promise<Client> {
  const views = await Promise.all(
    TYPED.map(async ({ table }) => {
      const Row = tableOf(table)
      await prepareModels([Row])
      const isOrdered = describeModel(Row).columns.get('v')?.isOrdered === true
      const view = viewOf(Row, serializerOf(Row, ['id', 'v']), {
        filterBackends: [FieldFilter, OrderingFilter],
        filtersetFields: ['v'],
        orderingFields: isOrdered ? ['v', 'id'] : ['id'],
      })
      return [table, view] as const
    }),
  )
  return serveViews(Object.fromEntries(views))
}

it('[B5] stores what was said, or refuses it', { timeout: 600_000 }, async () => {
  const client = await serveTypes()
  const wrong: unknown[] = []
  let stored = 0
  const said = [...VALUES.map((value) => JSON.stringify(value)), ...NUMERALS]
  const storeAll = async ({ table, type, wide }: Typed, index: number): Promise<void> => {
    for (const [at, text] of said.entries()) {
      // in the short run, lists for arrays, and half of the others for others
      const isOfArray = text.startsWith('[')
      if (!IS_LONG && (isOfArray !== type.endsWith('[]') || (!isOfArray && (at + (index >> 1)) % 2 > 0))) continue
      const answer = await post(client.port, `/${table}`, `{"v":${text}}`)
      if (answer.status >= 500) wrong.push([type, text, answer.status])
      if (answer.status !== 201 || wide === undefined || text === 'null') continue
      stored++
      const shown = /"v":(.*)\}$/s.exec(answer.text)?.[1] as string
      if (!(await isEqual(text, shown, wide))) wrong.push([type, text, shown])
      const { id } = JSON.parse(answer.text)
      const again = await (await fetch(`http://127.0.0.1:${client.port}/${table}/${id}`)).text()
      if (again !== answer.text) wrong.push([type, text, again])
    }
  }
  await Promise.all(TYPED.filter(({ wide }) => IS_LONG || wide !== undefined).map(storeAll))
  expect(wrong).toEqual([])
  expect(stored).toBeGreaterThan(100)
  expect(client.reported).toEqual([])
})

it('[C1] answers each filter and order of each type', { timeout: 600_000 }, async () => {
  const client = await serveTypes()
  const wrong: unknown[] = []
  const lookups = ['exact', 'ne', 'iexact', 'gt', 'lte', 'in', 'nin', 'range', 'contains', 'icontains', 'istartswith']
  const all = [
    ...lookups,
    'overlap',
    'contained_by',
    'isnull',
    ...(IS_LONG ? ['gte', 'lt', 'startswith', 'endswith', 'iendswith', 'year', 'month', 'day'] : []),
  ]
  const values = [
    'low',
    '1',
    '0.5,2',
    '2024-01-01',
    '[1,2)',
    '(1,2)',
    'true',
    'P1D',
    ...(IS_LONG
      ? ['', '1', '0.5', '2024-01-01', '[1,2)', '(1,2)', 'true', 'P1D', '\\', '{', '"', '1e999', '::1', 'a=>b']
      : []),
  ]
  const askAll = async ({ table, type }: Typed, index: number): Promise<void> => {
    for (const [place, lookup] of all.entries()) {
      for (const [at, value] of values.entries()) {
        // in the short run, each type meets one value at each lookup, and all of them at some
        if (!IS_LONG && (at + index + place) % values.length > 0) continue
        const { status } = await client.get(`/${table}?v__${lookup}=${encodeURIComponent(value)}`)
        if (status >= 500) wrong.push([type, lookup, value, status])
      }
    }
    for (const order of ['v', '-v', '-id']) {
      const { status } = await client.get(`/${table}?ordering=${order}`)
      if (status >= 500) wrong.push([type, order, status])
    }
  }
  await Promise.all(TYPED.map(askAll))
  expect(wrong).toEqual([])
  expect(client.reported).toEqual([])
})

async function post(port: number, path: string, body: string): Promise<{ status: number; text: string }> {
  const headers = { 'Content-Type': 'application/json' }
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body })
  return { status: answer.status, text: await answer.text() }
}

/** Whether two values of JSON are one value of a wide type; numbers are compared with all their digits. */
async function isEqual(said: string, shown: string, wide: string): Promise<boolean> {
  if (said === shown) return true
  const sql = wide.endsWith('[]')
    ? `select array(select x::${wide.slice(0, -2)} from json_array_elements_text(?::json) x) = array(select x::${wide.slice(0, -2)} from json_array_elements_text(?::json) x) as same`
    : `select (json_build_array(?::json)->>0)::${wide} = (json_build_array(?::json)->>0)::${wide} as same`
  try {
    const { rows } = (await database.knex.raw(sql, [said, shown])) as { rows: [{ same: boolean }] }
    return rows[0].same
  } catch {
    return false
  }
}

it('shows items of domains as items of their types', async () => {
  const TYPES: readonly (readonly [type: string, value: string, shown: unknown])[] = [
    ['bool', 't', true],
    ['jsonb', '[1]', [1]],
    ['json', '{"a":1}', { a: 1 }],
    ['int', '1', 1],
    ['int8', '9007199254740993', undefined],
    ['numeric(6,2)', '1.5', '1.50'],
    ['date', '2024-01-01', '2024-01-01'],
    ['timestamptz', '2024-01-01 10:00:00+00', '2024-01-01T10:00:00Z'],
    ['bytea', '\\x01', '\\x01'],
  ]
  const columns = TYPES.map((_, index) => `p${index} item${index}[], q${index} inner${index}[]`).join()
  await database.knex.raw(
    `${TYPES.map(([type], n) => `create domain item${n} as ${type}; create domain inner${n} as item${n};`).join('')}
     create table items_of_domains (id int generated always as identity primary key, ${columns});
     insert into items_of_domains default values;
     update items_of_domains set ${TYPES.map(([, value], n) => `p${n} = array['${value}', null]::item${n}[], q${n} = array['${value}']::inner${n}[]`).join()}`,
  )
  const Row = tableOf('items_of_domains')
  const client = await serveViews({ rows: viewOf(Row, serializerOf(Row, '__all__' as never)) })
  const { id, ...shown } = (await client.get('/rows/1')).json
  for (const [index, [type, , value]] of TYPES.entries()) {
    if (value === undefined) continue
    expect([type, shown[`p${index}`], shown[`q${index}`]]).toEqual([type, [value, null], [value]])
  }
  const again = await client.send('POST', '/rows', shown)
  expect([again.status, again.json]).toEqual([201, { id: id + 1, ...shown }])
})

it('shows choices of a list of an enum, of a domain or of an extension as a list', async () => {
  await database.knex.raw(
    `create type mark as enum ('sad', 'a,b'); create domain word as text;
     create table chosen_values (id int generated always as identity primary key, marks mark[], words word[], names citext[])`,
  )
  const Chosen = tableOf('chosen_values')
  const several = (...choices: string[]) => new MultipleChoiceField({ choices })
  const declared = { marks: several('sad', 'a,b'), words: several('x', 'null'), names: several('X', 'y z') }
  const serializer = serializerOf(Chosen, ['id'], declared)
  const client = await serveViews({
    rows: viewOf(Chosen, serializer),
    instances: viewOf(Chosen, throughInstances(serializer)),
  })
  const given = { marks: ['a,b', 'sad'], words: ['null', 'x'], names: ['y z'] }
  expect((await client.send('POST', '/rows', given)).json).toEqual({ id: 1, ...given })
  for (const road of ['/rows', '/instances']) {
    expect((await client.get(road)).json).toEqual([{ id: 1, ...given }])
    expect((await client.send('PUT', `${road}/1`, given)).json).toEqual({ id: 1, ...given })
  }
})

it('[B15 E22] shows a value in one form: at the end of a path, and by fields that say nothing of it', async () => {
  const STORED: readonly (readonly [type: string, text: string])[] = [
    ['int8', '5'],
    ['float8', 'NaN'],
    ['float4[]', '{Infinity}'],
    ['numeric[]', '{1.50}'],
    ['date', 'infinity'],
    ['date[]', '{2024-01-01,-infinity}'],
    ['timestamptz', '2024-01-01 10:00:00.123456+00'],
    ['timestamptz[]', '{2024-01-01 10:00:00.123456+00}'],
    ['tstzrange', '[2024-01-01,infinity)'],
    ['time', '10:00:00.50'],
    ['interval', '1 day 02:00'],
    ['interval[]', '{1 day}'],
    ['bytea', '\\x00ff'],
    ['point', '(1,2)'],
    ['level[]', '{low}'],
    ['jsonb', '{"a": 1.10}'],
  ]
  const names = STORED.map((_, index) => `c${index}`)
  await database.knex.raw(
    `create table shown_values (id int primary key, ${STORED.map(([type], index) => `c${index} ${type}`).join()});
     create table showing_values (id int primary key, value_id int references shown_values);
     insert into shown_values values (1, ${STORED.map(([, text]) => `'${text}'`).join()}); insert into showing_values values (1, 1)`,
  )
  const Value = tableOf('shown_values')
  class Hooked extends Value {
    override $afterFind() {
      Object.assign(this, { noted: true })
    }
  }
  const join = { from: 'showing_values.value_id', to: 'shown_values.id' }
  const relationMappings = { value: { relation: Model.BelongsToOneRelation, modelClass: Value, join } }
  const Showing = tableOf('showing_values', { relationMappings })
  const each = (make: (name: string) => SerializerField) =>
    Object.fromEntries(names.map((name) => [name, make(name)] as const))
  const plain = each(() => new SerializerField({ readOnly: true }))
  const client = await serveViews({
    own: viewOf(Value, serializerOf(Value, names)),
    plain: viewOf(Value, serializerOf(Value, [], plain)),
    read: viewOf(
      Value,
      serializerOf(
        Value,
        [],
        each(() => new ReadOnlyField()),
      ),
    ),
    instances: viewOf(Value, throughInstances(serializerOf(Value, [], plain))),
    hooked: viewOf(Hooked, serializerOf(Hooked, [], plain)),
    path: viewOf(
      Showing,
      serializerOf(
        Showing,
        [],
        each((name) => new ReadOnlyField({ source: `value.${name}` })),
      ),
    ),
  })
  // the document says nothing of NaN
  const read = async (path: string) => (await fetch(`http://127.0.0.1:${client.port}${path}`)).json()
  const json = await read('/own/1')
  expect(json).toMatchObject({ c1: 'NaN', c4: 'infinity', c10: 'P1DT2H', c12: '\\x00ff', c14: ['low'] })
  for (const road of ['plain', 'read', 'instances', 'hooked', 'path']) {
    expect([road, await read(`/${road}/1`)]).toEqual([road, json])
    expect([road, await read(`/${road}`)]).toEqual([road, [json]])
  }
})

it('shows by a StringField the text that the column has, and a number as a text', async () => {
  await database.knex.raw(
    `create table text_values (id int primary key, span interval, bytes bytea, place point, period tstzrange, day date, count int, label text);
     insert into text_values values (1, '1 day 02:00', '\\x00ff', '(1,2)', '[2024-01-01,)', 'infinity', 7, 'x')`,
  )
  const Value = tableOf('text_values')
  class Hooked extends Value {
    override $afterFind() {
      Object.assign(this, { noted: true })
    }
  }
  const json = { span: 'P1DT2H', bytes: '\\x00ff', place: '(1,2)', period: '[2024-01-01T00:00:00Z,)', day: 'infinity' }
  const shown = { id: 1, ...json, count: '7', label: 'x' }
  const declared = Object.fromEntries(
    Object.keys(shown).flatMap((name) => (name === 'id' ? [] : [[name, new StringField({ allowNull: true })]])),
  )
  const serializer = serializerOf(Value, ['id'], declared)
  const client = await serveViews({
    rows: viewOf(Value, serializer),
    instances: viewOf(Value, throughInstances(serializer)),
    hooked: viewOf(Hooked, serializerOf(Hooked, ['id'], declared)),
  })
  for (const road of ['/rows', '/instances', '/hooked']) {
    expect((await client.get(road)).json).toEqual([shown])
    expect((await client.send('PUT', `${road}/1`, shown)).json).toEqual(shown)
  }
  const { id: _, ...made } = (await client.send('POST', '/rows', { ...shown, id: 2 })).json
  expect(made).toEqual({ ...json, count: '7', label: 'x' })
})

it('shows what code of the model has made of a value as it is, by fields that say nothing of it', async () => {
  await database.knex.raw(
    `create table made_values (id int primary key, price numeric(6,2), count int, day date, at timestamptz, span interval, token uuid);
     insert into made_values values (1, 12.5, 3, 'infinity', now(), '1 hour', gen_random_uuid())`,
  )
  const texts = { at: '2024-01-02 03:04', span: '2 hours', token: 'User-1' }
  class Made extends Model {
    static override tableName = 'made_values'
    declare price: unknown
    declare count: unknown
    override $parseDatabaseJson(json: Record<string, unknown>) {
      return { ...json, ...texts, price: Number(json['price']), count: `${Number(json['count'])} pieces` }
    }
  }
  for (const make of [() => new ReadOnlyField(), () => new SerializerField({ readOnly: true })]) {
    const names = ['price', 'count', 'day', ...Object.keys(texts)]
    const declared = Object.fromEntries(names.map((name) => [name, make()]))
    const client = await serveViews({ made: viewOf(Made, serializerOf(Made, [], declared)) })
    const answer = await fetch(`http://127.0.0.1:${client.port}/made/1`)
    expect(await answer.json()).toEqual({ price: 12.5, count: '3 pieces', day: 'infinity', ...texts })
  }
})

it('finds an address by its text as it is shown, which has a mask only where it is part of the value', async () => {
  await database.knex.raw(`
    create table hosts (id int primary key, address inet);
    insert into hosts values (1, '10.0.0.1'), (2, '10.0.0.1/8'), (3, '::1'), (4, null)`)
  const Host = tableOf('hosts')
  const statics = {
    filterBackends: [FieldFilter, SearchFilter],
    filtersetFields: ['address'],
    searchFields: ['=address'],
  }
  const { get } = await serveViews({ hosts: viewOf(Host, serializerOf(Host, ['id', 'address']), statics) })
  const found = async (query: string) => ((await get(`/hosts?${query}`)).json as any[]).map(({ id }) => id)
  expect(await found('address__iexact=10.0.0.1')).toEqual([1])
  expect(await found('address__iexact=10.0.0.1/8')).toEqual([2])
  expect(await found('address__endswith=.1')).toEqual([1])
  expect(await found('address__endswith=1')).toEqual([1, 3])
  expect(await found('search=::1')).toEqual([3])
})

it('names a key of bytes in an error as it is shown', async () => {
  await database.knex.raw(`
    create table blocks (hash bytea primary key, label bytea not null unique);
    create table votes (id int generated always as identity primary key, hash bytea references blocks)`)
  const Block = tableOf('blocks', { idColumn: 'hash' })
  const join = { from: 'votes.hash', to: 'blocks.hash' }
  const relationMappings = { block: { relation: Model.BelongsToOneRelation, modelClass: Block, join } }
  const Vote = tableOf('votes', { relationMappings })
  const by = (block: PrimaryKeyRelatedField | SlugRelatedField) =>
    viewOf(Vote, serializerOf(Vote, ['id', 'block'], { block }))
  const { send } = await serveViews({
    trusted: by(new PrimaryKeyRelatedField({ queryset: Block })),
    asked: by(new PrimaryKeyRelatedField({ queryset: () => Block.query().whereNotNull('hash') })),
    labels: by(new SlugRelatedField({ queryset: Block, slugField: 'label' })),
    values: viewOf(tableOf('votes'), serializerOf(tableOf('votes'), ['id', 'hash'])),
  })
  const wrong = 'Invalid pk "\\\\xdead" - object does not exist.'
  for (const [path, name, message] of [
    ['trusted', 'block', wrong],
    ['asked', 'block', wrong],
    ['labels', 'block', 'Object with slug "\\\\xdead" does not exist.'],
    ['values', 'hash', wrong],
  ] as const) {
    const item = { [name]: '\\xdead' }
    const errors = { [name]: [message] }
    expect((await send('POST', `/${path}`, item)).json.errors).toEqual(errors)
    expect((await send('POST', `/${path}/bulk`, [item])).json.errors).toEqual({ 0: errors })
  }
})

describe('[B5] a field that the serializer declares', () => {
  const loose = { required: false, allowNull: true } as const
  const dates = () => new DateTimeField(loose)
  const texts = () => new StringField(loose)

  it.each<readonly [type: string, field: () => SerializerField, refused: unknown, taken: unknown, message: unknown]>([
    ['numeric(6,2)', () => new DecimalField({ ...loose, minValue: 0 }), '1.005', '1.50', /2 decimal places/],
    ['numeric(6,2)', () => new FloatField(loose), 1e-7, 1.5, /2 decimal places/],
    ['numeric(3,-2)', () => new DecimalField(loose), '150', '100', /a multiple of 100/],
    [
      'numeric(6,2)[]',
      () => new ArrayField({ ...loose, child: new DecimalField() }),
      ['1', '1.005'],
      ['1.50'],
      /2 dec/,
    ],
    ['timestamptz(3)', dates, '2024-01-01T10:00:00.1234Z', '2024-01-01T10:00:00.123Z', /3 decimal places/],
    ['timestamp(0)', dates, '2024-01-01T10:00:00.6Z', '2024-01-01T10:00:00Z', /0 decimal places/],
    ['date', dates, '2024-01-01T10:00:00Z', '2024-01-01T00:00:00Z', /smaller than one day/],
    ['time(0)', () => new TimeField(loose), '10:00:00.6', '10:00:00', /0 decimal places/],
    ['interval(0)', () => new DurationField(loose), 'PT0.6S', 'PT1S', /0 decimal places/],
    ['interval day to hour', () => new DurationField(loose), 'P1DT2H3M', 'P1DT2H', /smaller than one hour/],
    ['real', () => new FloatField(loose), 16_777_217, 0.1, /no more digits than are stored/],
    ['double precision', () => new DecimalField(loose), '0.1000000000000000055', '0.1', /no more digits/],
    ['varchar(3)', texts, 'abc ', 'abc', /no more than 3 characters/],
    ['char(3)', texts, 'abc ', 'abc', /no more than 3 characters/],
    ['name', texts, 'é'.repeat(40), 'é', /no more than 63 bytes/],
    ['xml', texts, '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', '<a/>', /Entities are not allowed/],
    ['pair', texts, '(1,1e9999)', '(1,)', /exponents/],
  ])('lets a column %s store no other value', async (type, field, refused, taken, message) => {
    await database.knex.raw(
      `drop table if exists declared; create table declared (id int generated always as identity primary key, v ${type})`,
    )
    const Row = tableOf('declared')
    const rounding = class extends serializerOf(Row, ['id'], { v: field() }) {
      validateV() {
        return taken
      }
    }
    const client = await serveViews({
      plain: viewOf(Row, serializerOf(Row, ['id'], { v: field() })),
      hooked: viewOf(Row, rounding),
    })
    const { status, json } = await client.send('POST', '/plain', { v: refused })
    expect([status, JSON.stringify(json.errors?.v)]).toEqual([400, expect.stringMatching(message as RegExp)])
    expect((await client.send('POST', '/plain', { v: taken })).json).toEqual({ id: 1, v: taken })
    // what code of the application makes of it is its own
    expect((await client.send('POST', '/hooked', { v: refused })).json).toEqual({ id: 2, v: taken })
  })

  it('leaves texts that are too long to code that makes hashes of them, and to PostgreSQL', async () => {
    await database.knex.raw(
      'drop table if exists declared; create table declared (id int generated always as identity primary key, v char(4))',
    )
    class Hashing extends tableOf('declared') {
      declare v: string
      override $beforeInsert() {
        this.v = `#${this.v.length}`
      }
    }
    const serializer = (model: typeof Model) => serializerOf(model, ['id'], { v: new StringField() })
    const client = await serveViews({
      hashing: viewOf(Hashing, serializer(Hashing)),
      plain: viewOf(tableOf('declared'), serializer(tableOf('declared'))),
    })
    const v = 'a passphrase'
    expect((await client.send('POST', '/hashing', { v })).json).toEqual({ id: 1, v: '#12 ' })
    expect((await client.send('POST', '/plain', { v })).status).toBe(400)
  })
})
