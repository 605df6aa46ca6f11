/** Fields on real columns, over HTTP (wire format, section 6). */
import fc from 'fast-check'
import knex, { type Knex } from 'knex'
import Koa from 'koa'
import { APIRouter, ArrayField, DateField, FieldFilter, ModelSerializer, ModelViewSet, StringField } from 'koa-viewsets'
import { Model } from 'objection'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { anyCharacter } from '../support/any-character.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { serve, type TestServer } from '../support/server.js'
import { isLong, seed, size } from '../trust/support/size.js'

const schema = `
  create extension citext;
  create type mood as enum ('sad', 'ok', 'very "happy"');
  create domain positive as int check (abs(value) = value and value <> 0);
  create domain short_text as varchar(5) not null;
  create table kinds (
    id bigint generated always as identity primary key,
    small smallint, n int, big bigint, serial_no serial,
    price numeric(6,2), whole numeric(5,0), amount numeric, coarse numeric(3,-2),
    single real, double double precision, flag boolean,
    txt text, vc varchar(5), ch char(5), ci citext,
    mood mood, positive positive, short short_text default 'abc',
    day date, at timestamptz, local timestamp, tod time, span interval,
    uid uuid, ip inet, bytes bytea, js json, jb jsonb, net cidr,
    ints int[], texts text[], moods mood[], prices numeric(6,2)[], amounts numeric[], cis citext[], times timestamptz[], days date[],
    uids uuid[], flags boolean[], bigs bigint[], jbs jsonb[], byteses bytea[], spans interval[],
    twice bigint generated always as (n::bigint * 2) stored,
    spot point, area circle, spots point[], areas circle[],
    to_second timestamptz(0), to_tenth time(1), whole_span interval(0), sql_name name, seconds timestamp(0)[],
    clock timetz, clocks timetz[], clock_to_tenth timetz(1),
    slot tstzrange, slots tstzmultirange, slot_list tstzrange[], local_slot tsrange, away daterange, aways datemultirange,
    made timestamptz not null default '2020-01-01T00:00:00.000001Z'
  )`

class Kind extends Model {
  static override tableName = 'kinds'
}
class KindSerializer extends ModelSerializer<Kind> {
  static override model = Kind
  static override fields = '__all__'
}

/** Points in time without an offset. */
class DaySerializer extends ModelSerializer<Kind> {
  static override model = Kind
  static override fields: string[] = []
  static override declaredFields = {
    at: new DateField(),
    times: new ArrayField({ child: new DateField() }),
    minute: new StringField({ source: 'at', readOnly: true }),
  }
}

let database: TestDatabase
const servers: TestServer[] = []
const pools: Knex[] = []

/** The API on connections of a time zone of their own. */
async function open(timezone: string): Promise<TestServer> {
  const db = knex({
    client: 'pg',
    connection: { ...database.connection } as Knex.PgConnectionConfig,
    pool: {
      min: 0,
      max: 4,
      afterCreate: (
        client: { query(sql: string, done: (error: unknown) => void): void },
        done: (error: unknown) => void,
      ) => client.query(`set timezone to '${timezone}'`, done),
    },
  })
  pools.push(db)
  const Bound = Kind.bindKnex(db)
  class Kinds extends ModelViewSet<Kind> {
    static override model = Bound
    static override filterBackends = [FieldFilter]
    static override filtersetFields = ['slot', 'slots', 'clock', 'away']
    static override serializerClass = Object.assign(class extends KindSerializer {}, { model: Bound })
  }
  class Days extends ModelViewSet<Kind> {
    static override model = Bound
    static override serializerClass = Object.assign(class extends DaySerializer {}, { model: Bound })
  }
  const api = new APIRouter({ prefix: '/api' }).register('kinds', Kinds).register('days', Days, 'days')
  await api.prepare()
  const server = await serve(new Koa().use(api.routes()))
  servers.push(server)
  return server
}

let server: TestServer
beforeAll(async () => {
  database = await createDatabase({ schema })
  server = await open('UTC')
})
afterAll(async () => {
  for (const each of servers) await each.close()
  for (const pool of pools) await pool.destroy()
  await database.drop()
})

const send = (method: string, path: string, body?: unknown, to = server) =>
  to.send({
    method,
    path: `/api/kinds${path}`,
    ...(body === undefined ? {} : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
  })
async function created(body: object): Promise<Record<string, any>> {
  const answer = await send('POST', '', body)
  expect([answer.status, answer.json?.errors]).toEqual([201, undefined])
  return answer.json as Record<string, any>
}

/** What is sent, and what is shown where that is another text. */
const VALUES: Readonly<Record<string, readonly [sent: unknown, shown?: unknown][]>> = {
  small: [[-32768], [32767], [0]],
  n: [[2147483647], [-2147483648]],
  big: [[9007199254740991], ['9007199254740992'], ['-9223372036854775808'], ['12', 12], ['9007199254740993']],
  price: [['12.50'], [12.5, '12.50'], ['-9999.99'], [0, '0.00'], ['0012.5', '12.50']],
  whole: [['12345'], [-1, '-1']],
  amount: [
    ['1.500'],
    ['123456789012345678901234567890.000000001'],
    [0.1, '0.1'],
    ['-0', '0'],
    [1e21, '1000000000000000000000'],
  ],
  coarse: [['12300'], ['0']],
  single: [[0.1], [-1.5e30], [0]],
  double: [[0.1], [5e-324], [1.7976931348623157e308], [-0, 0]],
  flag: [[true], [false]],
  txt: [[''], ['ünï \u{1f600} "\\\'\n'], [' x ']],
  vc: [['12345'], ['\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}']],
  ch: [['ab', 'ab   '], ['abcde']],
  ci: [['MiXed']],
  mood: [['sad'], ['very "happy"']],
  positive: [[1]],
  short: [['xyz']],
  day: [['2024-02-29'], ['0001-01-01'], ['9999-12-31']],
  at: [
    ['2026-03-28T15:30:00.1234Z'],
    ['2026-03-28T15:30:00.100000+05:30', '2026-03-28T10:00:00.1Z'],
    ['2026-03-28T15:30:00', '2026-03-28T15:30:00Z'],
    ['1969-12-31T23:59:59.999999Z'],
  ],
  local: [['2026-03-29T02:30:00.000001Z'], ['2026-03-28T15:30:00+02:00', '2026-03-28T13:30:00Z']],
  tod: [['15:30:00.5'], ['15:30', '15:30:00'], ['23:59:59.999999'], ['24:00:00']],
  span: [['P1DT2H'], ['P1Y2M3DT4H5M6.789S'], ['PT90M', 'PT1H30M'], ['P-1DT-0.000001S'], ['PT0S'], ['P2W', 'P14D']],
  uid: [['A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11']],
  ip: [['192.168.0.1'], ['10.0.0.0/8'], ['2001:db8::1']],
  net: [['10.0.0.0/8']],
  bytes: [['\\x'], ['\\x00FF', '\\x00ff']],
  js: [[{ a: [1, null, { b: 'x' }] }], [[1, 'a']], ['text'], [5], [false], [{}]],
  jb: [
    [{ a: [1, null, { b: 'x' }] }],
    [[1, 'a']],
    [['a']],
    ['text'],
    ['"5"'],
    ['null'],
    [5],
    [false],
    [[]],
    [{ constructor: 'x' }],
  ],
  ints: [[[1, null, -2]], [[]]],
  texts: [[['a', null, 'b,"c"\\', '', 'NULL', ' ', '{}', '\u{1f600}']], [[]]],
  moods: [[['sad', null, 'very "happy"']], [[]]],
  prices: [[['12.50', null, '0.10']], [[]]],
  amounts: [[['1.500', null, '123456789012345678901234567890.000000001']]],
  cis: [[['A', null, 'NULL', 'x y', '"']]],
  times: [[['2026-03-28T15:30:00.123456Z', null]]],
  days: [[['2024-02-29', null]]],
  uids: [[['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11']]],
  flags: [[[true, null, false]]],
  bigs: [[[1, '9007199254740993', null]]],
  jbs: [[[{ a: 1 }, null, 'x', [1, 2], 5, true]]],
  byteses: [[['\\x00ff', null]]],
  spans: [[['P1DT2H', null]]],
  to_second: [['2026-03-28T15:30:00Z'], ['2026-03-28T15:30:00.000Z', '2026-03-28T15:30:00Z']],
  to_tenth: [['23:59:59.9'], ['15:30:00.50', '15:30:00.5']],
  whole_span: [['P1DT2S']],
  sql_name: [['x'.repeat(63)], [`${'ü'.repeat(31)}x`]],
  seconds: [[['2026-03-28T15:30:00Z', null]]],
  clock: [
    ['15:30:00.5+02'],
    ['15:30Z', '15:30:00+00'],
    ['15:30:00+05:30'],
    ['15:30:00.000001-08:00', '15:30:00.000001-08'],
    ['24:00:00+00'],
    ['15:30:00-15:59:59'],
  ],
  clocks: [[['15:30:00.5+02', null, '00:00:00+00']]],
  clock_to_tenth: [['15:30:00.50Z', '15:30:00.5+00']],
  slot: [
    ['[2026-03-28T15:30:00Z,2026-03-29T15:30:00.5Z)'],
    ['["2026-03-28T15:30:00+02:00","2026-03-28T16:30:00"]', '[2026-03-28T13:30:00Z,2026-03-28T16:30:00Z]'],
    ['(,2026-03-28T15:30:00.000001Z]'],
    ['[,)', '(,)'],
    ['empty'],
  ],
  slots: [
    ['{[2026-03-28T15:30:00Z,2026-03-29T15:30:00Z),(2026-04-01T00:00:00Z,)}'],
    ['{}'],
    ['{empty,[2026-03-28T15:30:00+02:00,)}', '{[2026-03-28T13:30:00Z,)}'],
  ],
  slot_list: [[['[2026-03-28T15:30:00Z,)', null, 'empty']]],
  local_slot: [['[2026-03-28T15:30:00+02:00,)', '[2026-03-28T13:30:00Z,)']],
  away: [['[2026-03-28,2026-04-01]', '[2026-03-28,2026-04-02)'], ['(,2026-04-01)'], ['empty']],
  aways: [['{[2026-03-28,2026-04-01)}']],
}
const CASES = Object.entries(VALUES).flatMap(([name, pairs]) =>
  pairs.map(([sent, shown = sent]) => ({ name, sent, shown })),
)

describe('a column of each type', () => {
  it.each(CASES)('$name takes $sent', async ({ name, sent, shown }) => {
    const made = await created({ [name]: sent })
    expect(made[name]).toEqual(shown)
    const read = await send('GET', `/${made['id']}`)
    expect(read.json).toEqual(made)
    const blank = await created({})
    const patched = await send('PATCH', `/${blank['id']}`, { [name]: sent })
    expect(patched.json[name]).toEqual(shown)
    expect(await send('GET', `/${blank['id']}`)).toMatchObject({ json: patched.json })
    const list = (await send('GET', '')).json as Record<string, unknown>[]
    expect(list.find(({ id }) => id === made['id'])).toEqual(made)
  })

  it.each(Object.keys(VALUES).filter((name) => name !== 'short'))('%s takes null', async (name) => {
    const made = await created({ [name]: null })
    expect(made[name]).toBeNull()
  })

  it('that the database fills in is read-only', async () => {
    const made = await created({ id: 5000, serial_no: 5000, twice: 5000, n: 4 })
    expect(made).toMatchObject({ twice: 8 })
    expect([made['id'], made['serial_no']]).not.toContain(5000)
  })

  it('keeps its default when it is not sent, and a domain says whether it may be null', async () => {
    expect(await created({})).toMatchObject({ made: '2020-01-01T00:00:00.000001Z', short: 'abc' })
    const refused = await send('POST', '', { short: null, made: null })
    expect(refused.json.errors).toEqual({
      short: ['This field may not be null.'],
      made: ['This field may not be null.'],
    })
  })
})

/** Never stored, never a 5xx. */
const REFUSED: Readonly<Record<string, readonly unknown[]>> = {
  small: [32768, -32769, 1.5, '1'],
  n: [2147483648, 1.5, '1'],
  big: [2 ** 53, '9223372036854775808', '9'.repeat(400), '1.0', '0x1', ' 1', '', 1.5],
  price: ['nan', 'Infinity', 123456.78, 1.239, '1e3', '', ' 1', '1,5', '10000', '.5', '5.'],
  whole: ['1.5', 123456],
  amount: ['nan', '1e400', `1${'0'.repeat(131_072)}`, 0.1234567890123456],
  coarse: ['100000', '99999', '12345', 1.25, 50],
  single: [1e39, 1e-60, 'nan', '1'],
  double: ['nan', '1'],
  flag: ['true', 0, 1, 'banana'],
  txt: ['a\u0000b', 'x\ud800y'],
  vc: ['123456', 'a\u0000b'],
  ch: ['123456'],
  mood: ['glad', 'SAD', 0],
  short: ['123456'],
  day: [
    '2024-02-30',
    'now',
    'Infinity',
    'epoch',
    'today',
    '2024-2-3',
    '20240203',
    '2024-02-03T00:00:00Z',
    '10000-01-01',
    '0000-01-01',
  ],
  at: [
    'now',
    'Infinity',
    '2024-02-30T00:00:00Z',
    '2024-01-01',
    '2024-01-01 00:00:00',
    '2024-01-01T25:00:00Z',
    '2024-01-01T00:00:60Z',
    '2024-01-01T00:00:00.1234567Z',
    '9999-12-31T23:59:59-01:00',
  ],
  local: ['now', '-Infinity'],
  tod: ['24:00:01', '24:00:00.000001', '24:01', '15', 'now', '15:30:00Z', 'allballs'],
  span: ['1 day', 'P', 'PT', 'P1.5D', `P${'9'.repeat(20)}D`, 'P99999999999Y'],
  uid: ['x', 'a0eebc999c0b4ef8bb6d6bb9bd380a11', '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'],
  ip: ['1.2.3', '1.2.3.4/33', 'fe80::1%eth0', '::g'],
  net: ['x', '10.0.0.1/33'],
  bytes: ['00', '\\x0', '\\xzz'],
  js: ['a\u0000b', { 'a\u0000': 1 }, ['x\ud800'], { '\udc00': 1 }],
  jb: ['a\u0000b', { 'a\u0000': 1 }, ['x\ud800'], { '\udc00': 1 }],
  ints: [[1.5], ['1'], [[1], 2], 1],
  texts: [[1], ['a\u0000'], 'a'],
  moods: [['glad'], 'sad'],
  prices: [['1.239'], [['1.239']]],
  times: [['now']],
  bigs: [[2 ** 53]],
  jbs: [['\u0000'], {}],
  to_second: ['2026-03-28T15:30:00.6Z', '2026-03-28T15:30:00.000001Z'],
  to_tenth: ['23:59:59.99'],
  whole_span: ['PT1.6S', 'PT-0.1S'],
  sql_name: ['x'.repeat(64), 'ü'.repeat(32)],
  seconds: [['2026-03-28T15:30:00Z', '2026-03-28T15:30:00.5Z']],
  clock: ['now', 'allballs', '12:00:00', '12:00', '12:00:00 Europe/Berlin', '25:00:00Z', '12:00:00+16', 1, ''],
  clocks: [['now'], ['12:00:00']],
  clock_to_tenth: ['15:30:00.55Z'],
  slot: [
    ...['[now,infinity)', '[now,)', '(epoch,)', 'now', '', ' empty', '[empty,)', '["",)'],
    ...['[2026-03-28,)', '[2026-03-28 15:30:00+00,)', '[2026-02-30T00:00:00Z,)', '[,)[,)', '{[,)}', '[,', 1],
  ],
  slots: ['[,)', '{[now,)}', '{[,),}', '{(,),now}', '{[2026-03-28T15:30:00Z,tomorrow)}'],
  slot_list: [['[today,)'], ['now'], '[,)'],
  local_slot: ['[now,)'],
  away: ['[today,)', '[2026-02-30,)', '[2026-03-28T00:00:00Z,)'],
  aways: ['{[yesterday,)}', '[2026-03-28,)'],
}

describe('[B3 B5 B6 B7 B8] a value that the column cannot hold', () => {
  it('[R10] is told of for a hundred items of a list', async () => {
    const answer = await send('POST', '', { texts: Array.from({ length: 1_000 }).fill(1) })
    expect(answer.status).toBe(400)
    expect(Object.keys(answer.json.errors.texts)).toHaveLength(100)
    expect(answer.text.length).toBeLessThan(5000)
  })

  it.each(Object.entries(REFUSED))('is 400 for %s', async (name, values) => {
    const made = await created({})
    for (const value of values) {
      for (const [method, path] of [
        ['POST', ''],
        ['PATCH', `/${made['id']}`],
      ] as const) {
        // a lone surrogate is sent as the escape that it is in JSON
        const answer = await send(method, path, { [name]: value })
        expect([JSON.stringify(value).slice(0, 50), answer.status, Object.keys(answer.json.errors ?? {})]).toEqual([
          JSON.stringify(value).slice(0, 50),
          400,
          [name],
        ])
      }
    }
    expect((await send('GET', `/${made['id']}`)).json).toEqual(made)
  })

  it('is 400 where only the database knows', async () => {
    const refused: readonly (readonly [body: object, errors: object])[] = [
      // the domain that it names is that of one column
      [{ positive: 0 }, { positive: ['Invalid value.'] }],
      [{ net: '10.0.0.1/8' }, { non_field_errors: ['Invalid value.'] }],
    ]
    for (const [body, errors] of refused) {
      const answer = await send('POST', '', body)
      expect([answer.status, answer.json.errors]).toEqual([400, errors])
    }
  })

  it('[B5] is 400 as a number too large for any JSON number', async () => {
    const answer = await server.send({
      path: '/api/kinds',
      headers: { 'Content-Type': 'application/json' },
      body: '{"price":1e400,"double":1e400,"n":1e400,"jb":[1e1001]}',
    })
    expect([answer.status, Object.keys(answer.json.errors)]).toEqual([400, ['n', 'price', 'double', 'jb']])
  })
})

describe('[B13] a wrong JSON type', () => {
  const TYPES = { object: { a: 1 }, list: ['a'], text: 'no such value \u{1f600}', number: 1.25, true: true, empty: {} }
  const TAKEN: Readonly<Record<string, readonly string[]>> = {
    txt: ['text'],
    ci: ['text'],
    amount: ['number'],
    price: ['number'],
    single: ['number'],
    double: ['number'],
    flag: ['true'],
    js: Object.keys(TYPES),
    jb: Object.keys(TYPES),
    texts: ['list'],
    cis: ['list'],
    jbs: ['list'],
    sql_name: ['text'],
  }

  it.each(Object.keys(VALUES))('is 400 for %s', async (name) => {
    for (const [type, value] of Object.entries(TYPES)) {
      const answer = await send('POST', '', { [name]: value })
      expect([type, answer.status]).toEqual([type, TAKEN[name]?.includes(type) ? 201 : 400])
      if (answer.status === 400) expect(Object.keys(answer.json.errors)).toEqual([name])
    }
  })
})

/** Random values by column, of all that it holds. */
const text = (options: object = {}) =>
  fc.string({ unit: anyCharacter, ...options }).map((value) => value.toWellFormed().replaceAll('\0', ''))
/** Without what no column takes: NUL, halves of pairs, and a name that is refused (B7, B8, A4). */
const storable = (value: unknown): unknown => {
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\0', '')
  if (Array.isArray(value)) return value.map(storable)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, one]) => [storable(key), storable(one)] as const)
  return Object.fromEntries(entries.filter(([key]) => key !== '__proto__'))
}
const json = fc.jsonValue({ maxDepth: 3 }).map(storable)
const instant = fc
  .date({ min: new Date('1900-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
  .chain((date) =>
    fc
      .integer({ min: 0, max: 999 })
      .map((micros) => date.toISOString().replace('Z', `${String(micros).padStart(3, '0')}Z`)),
  )
const optional = (value: fc.Arbitrary<unknown>) => fc.option(value, { freq: 6 })
const list = (value: fc.Arbitrary<unknown>) => fc.array(optional(value), { maxLength: 4 })
const day = instant.map((value) => value.slice(0, 10))
const cents = fc.integer({ min: -999999, max: 999999 }).map((value) => (value / 100).toFixed(2))
const big = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)
const bytes = fc.uint8Array({ maxLength: 8 }).map((value) => `\\x${Buffer.from(value).toString('hex')}`)
const interval = fc
  .tuple(fc.integer({ min: -999, max: 999 }), fc.integer({ min: -99, max: 99 }), fc.integer({ min: -1e12, max: 1e12 }))
  .map(
    ([months, days, micros]) =>
      `P${months}M${days}DT${micros < 0 ? '-' : ''}${Math.trunc(Math.abs(micros) / 1e6)}.${String(Math.abs(micros) % 1e6).padStart(6, '0')}S`,
  )
const clock = fc
  .tuple(instant, fc.constantFrom('Z', '+02', '-08', '+05:30', '-00:30', '+15:59'))
  .map(([value, offset]) => `${value.slice(11, -1)}${offset}`)
const span = fc
  .tuple(fc.constantFrom('[', '('), fc.uniqueArray(instant, { minLength: 2, maxLength: 2 }), fc.constantFrom(']', ')'))
  .map(([open, ends, close]) => `${open}${ends.toSorted().join()}${close}`)
const B17_ROWS = size(40, 3_000)
const ROW = fc
  .record({
    small: fc.integer({ min: -32768, max: 32767 }),
    n: fc.integer({ min: -(2 ** 30), max: 2 ** 30 - 1 }),
    big,
    price: cents,
    whole: fc.integer({ min: -99999, max: 99999 }).map(String),
    amount: fc.tuple(big, fc.nat()).map(([whole, fraction]) => `${whole}.${fraction}`),
    coarse: fc.integer({ min: -999, max: 999 }).map((value) => `${value * 100}`),
    // digits that a float4 shows again
    single: fc.float({ noNaN: true, noDefaultInfinity: true, min: 2 ** -120 }).map((one) => Number(one.toPrecision(6))),
    double: fc.double({ noNaN: true, noDefaultInfinity: true }),
    flag: fc.boolean(),
    txt: text(),
    vc: text({ maxLength: 5 }),
    ch: text({ maxLength: 5 }),
    ci: text(),
    mood: fc.constantFrom('sad', 'ok', 'very "happy"'),
    positive: fc.integer({ min: 1, max: 9 }),
    day,
    at: instant,
    local: instant,
    tod: instant.map((value) => value.slice(11, -1)),
    clock,
    clocks: list(clock),
    slot: span,
    slot_list: list(span),
    slots: fc.array(span, { maxLength: 4 }).map((spans) => `{${spans.join()}}`),
    span: interval,
    uid: fc.uuid(),
    ip: fc.ipV4(),
    bytes,
    js: json,
    jb: json,
    ints: list(fc.integer({ min: -9, max: 9 })),
    texts: list(text()),
    moods: list(fc.constantFrom('sad', 'very "happy"')),
    prices: list(cents),
    amounts: list(cents),
    cis: list(text()),
    times: list(instant),
    days: list(day),
    uids: list(fc.uuid()),
    flags: list(fc.boolean()),
    bigs: list(big),
    jbs: list(json),
    byteses: list(bytes),
    spans: list(interval),
  })
  .chain((row) => fc.subarray(Object.entries(row), { minLength: 30 }).map((columns) => Object.fromEntries(columns)))

it(`[B17] what is read may be sent back: every column stays as it was, of ${B17_ROWS} random rows`, {
  timeout: 120_000,
}, async () => {
  const before = () =>
    database.knex.raw('select k::text as row from kinds k where id = ?', [id]).then(({ rows }) => rows[0].row as string)
  let id = 0
  for (const row of fc.sample(ROW, { numRuns: B17_ROWS, seed: isLong ? seed : 20260328 })) {
    const made = await created(row)
    id = made['id'] as number
    const stored = await before()
    const read = await send('GET', `/${id}`)
    expect(read.json).toEqual(made)
    const put = await send('PUT', `/${id}`, read.json)
    expect([put.status, put.json?.errors]).toEqual([200, undefined])
    expect(await before()).toBe(stored)
    expect(put.json).toEqual(read.json)
  }
})

it('[B17] points and circles, which pg reads as objects, are shown as text', async () => {
  const shapes = [
    { spot: '(1,2)', area: '<(1,2),3>', spots: ['(1,2)', null, '(3,4.5)'], areas: ['<(1,2),3>', null] },
    { spot: '(-0,1e+21)', area: '<(0.1,-2),0>', spots: [], areas: null },
    { spot: '(Infinity,NaN)', area: null, spots: null, areas: [] },
  ]
  for (const shape of shapes) {
    const made = await created(shape)
    expect(made).toMatchObject(shape)
    const path = `/${made['id']}`
    expect((await send('GET', path)).json).toEqual(made)
    expect((await send('GET', '')).json).toContainEqual(made)
    expect((await send('PATCH', path, { spot: shape.spot })).json).toEqual(made)
    expect((await send('PUT', path, made)).json).toEqual(made)
    const { rows } = await database.knex.raw('select spot::text, area::text from kinds where id = ?', [made['id']])
    expect(rows).toEqual([{ spot: shape.spot, area: shape.area }])
  }
})

describe('ranges of times', () => {
  it('[B15] show ends beyond those that a client may send as a timestamptz does', async () => {
    const { id } = await created({})
    await database.knex.raw(`update kinds set slot = '["0044-03-15 00:00:00+00 BC",infinity)' where id = ?`, [id])
    for (const zone of ['UTC', 'Asia/Kolkata']) {
      const { json } = await send('GET', `/${id}`, undefined, await open(zone))
      expect(json.slot).toBe('[0044-03-15T00:00:00+00:00 BC,infinity)')
    }
  })

  it('are found by their value, in any notation and time zone', async () => {
    const { id } = await created({
      slot: '[2031-03-28T15:30:00Z,2031-03-29T15:30:00Z)',
      slots: '{[2031-03-28T15:30:00Z,)}',
      clock: '03:31:00+02',
      away: '[2031-03-28,2031-04-02)',
    })
    const other = await open('Asia/Kolkata')
    for (const query of [
      'slot=[2031-03-28T17:30:00%2B02:00,2031-03-29T15:30:00)',
      'slots={[2031-03-28T15:30:00Z,)}',
      'clock=03:31%2B02:00',
      'away=[2031-03-28,2031-04-01]',
    ]) {
      expect([query, (await send('GET', `?${query}`, undefined, other)).json]).toMatchObject([query, [{ id }]])
    }
    expect((await send('GET', '?slot=[now,)')).status).toBe(400)
    // several are parted by commas, which ranges have themselves
    for (const name of ['slot__in', 'slots__range']) {
      expect((await send('GET', `?${name}=[2031-03-28T15:30:00Z,)`)).text).toContain('gt, gte')
    }
  })
})

describe('[B15] dates and times', () => {
  const own = process.env['TZ']
  afterEach(() => {
    if (own === undefined) delete process.env['TZ']
    else process.env['TZ'] = own
  })

  const stored = {
    at: '2026-03-28T15:30:00.1234Z',
    local: '2026-03-29T02:30:00.000001Z',
    day: '2024-02-29',
    tod: '02:30:00.5',
    clock: '02:30:00.5-03:30',
    slot: '[1969-12-31T23:59:59.999999Z,2026-03-28T15:30:00.1234Z)',
    slots: '{(,2026-03-28T15:30:00Z),[2026-03-29T02:30:00Z,)}',
    slot_list: ['[2026-03-29T02:30:00Z,)', null],
    local_slot: '[2026-03-29T02:30:00.000001Z,)',
    times: ['1969-12-31T23:59:59.999999Z', null],
    days: ['0001-01-01', '9999-12-31'],
  }

  it.each(['UTC', 'Asia/Kolkata', 'America/New_York', 'Europe/Berlin'])(
    'are the same bytes with the database in %s',
    async (zone) => {
      const other = await open(zone)
      const made = await created(stored)
      expect(made).toMatchObject(stored)
      const [read, put] = [await send('GET', `/${made['id']}`), await send('PUT', `/${made['id']}`, made, other)]
      expect((await send('GET', `/${made['id']}`, undefined, other)).text).toBe(read.text)
      expect(put.text).toBe(read.text)
      expect((await send('POST', '', stored, other)).json).toMatchObject(stored)
    },
  )

  it.each(['UTC', 'Asia/Kolkata', 'America/New_York', 'Europe/Berlin'])(
    'are days of UTC where a field says no more, with the database in %s',
    async (zone) => {
      const other = await open(zone)
      const body = { at: '2026-03-28', times: ['2026-03-29'] }
      const { status, json } = await other.send({
        method: 'POST',
        path: '/api/days',
        body: JSON.stringify(body),
        headers: { 'Content-Type': 'application/json' },
      })
      expect([status, json]).toEqual([201, { ...body, minute: '2026-03-28T00:00:00Z' }])
    },
  )

  it.each(['UTC', 'Asia/Kolkata', 'America/New_York', 'Europe/Berlin'])(
    'are the same bytes with the process in %s',
    async (zone) => {
      process.env['TZ'] = zone
      expect(new Date(2026, 0, 1).getTimezoneOffset() === 0).toBe(zone === 'UTC')
      const made = await created(stored)
      expect(made).toMatchObject(stored)
      const [read, list] = [await send('GET', `/${made['id']}`), await send('GET', '')]
      expect(read.json).toEqual(made)
      expect(list.json).toContainEqual(made)
      expect((await send('PUT', `/${made['id']}`, made)).text).toBe(read.text)
    },
  )
})
