/**
 * Random aggregates, groups, orders, pages and facets that random view sets declare, under random filters, show what plain SQL
 * shows, which is written here from docs/reference/aggregates.md alone, with joins where the package has none.
 */
import { Model } from 'objection'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  APIRouter,
  FieldFilter,
  LimitOffsetPagination,
  ModelSerializer,
  PageNumberPagination,
  ReadOnlyModelViewSet,
} from '../../lib/index.js'
import { type Aggregate, avg, count, countDistinct, max, min, sum } from '../../lib/views/index.js'
import { type Client, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { Random } from './support/random.js'
import { report, seed, size } from './support/size.js'

const WORLDS = size(2, 60)
const REQUESTS = size(80, 6_000)
const ROWS = 70

const random = new Random(seed)

/** A column as clients name it, its SQL with a joined author `a` and the author's town `t`, and how its text is shown. */
interface Field {
  readonly name: string
  readonly sql: string
  readonly show: Show
  /** Texts of filters, and the condition that each is. */
  readonly filters?: readonly (readonly [suffix: string, text: string, sql: string])[]
}

type Show = keyof typeof SHOWS

/** From PostgreSQL's text. Columns are selected as text by SQL that says the form, so that no driver has a say. */
const SHOWS = {
  int: { sql: (value: string) => `(${value})::text`, json: (text: string) => Number(text) },
  big: {
    sql: (value: string) => `(${value})::text`,
    json: (text: string) => (text.replace('-', '').length < 16 ? Number(text) : exact(text)),
  },
  text: { sql: (value: string) => `(${value})::text`, json: (text: string) => text },
  float: {
    sql: (value: string) => `(${value})::text`,
    json: (text: string) => (Number.isFinite(Number(text)) ? Number(text) : text),
  },
  bool: { sql: (value: string) => `(${value})::text`, json: (text: string) => text === 'true' },
  moment: {
    sql: (value: string) =>
      `case when isfinite(${value}) then to_json((${value}) at time zone 'UTC') #>> '{}' || 'Z' else (${value})::text end`,
    json: (text: string) => text,
  },
  clock: {
    sql: (value: string) =>
      `case when isfinite(${value}) then to_json(${value}) #>> '{}' || 'Z' else (${value})::text end`,
    json: (text: string) => text,
  },
} as const

function exact(text: string): number | string {
  return Number.isSafeInteger(Number(text)) ? Number(text) : text
}

const DAYS = ['2023-12-31', '2024-01-01', '2024-01-31', '2024-02-29', '1999-06-15']
const MOMENTS = [
  '2023-12-31T23:59:59.999999Z',
  '2024-01-01T00:30:00+02:00',
  '2024-02-29T12:00:00Z',
  '2024-03-01T00:00:00-11:00',
  'infinity',
  '-infinity',
]
const KINDS = ['b', 'a', 'c']
const NAMES = ['Ada', 'ben', 'Cleo', "O'Neil", '']

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`

const FIELDS: readonly Field[] = [
  {
    name: 'n',
    sql: 'o.n',
    show: 'int',
    filters: [
      ['', '3', 'o.n = 3'],
      ['__gte', '0', 'o.n >= 0'],
      ['__lt', '2', 'o.n < 2'],
      ['__ne', '1', 'o.n is distinct from 1'],
      ['__in', '1,2,3', 'o.n in (1, 2, 3)'],
      ['__isnull', 'true', 'o.n is null'],
    ],
  },
  {
    name: 'kind',
    sql: 'o.kind',
    show: 'text',
    filters: [
      ['', 'a', "o.kind = 'a'"],
      ['__nin', 'a,b', "(o.kind is null or o.kind not in ('a', 'b'))"],
      ['__isnull', 'false', 'o.kind is not null'],
    ],
  },
  { name: 'flag', sql: 'o.flag', show: 'bool', filters: [['', 'true', 'o.flag']] },
  { name: 'price', sql: 'o.price', show: 'text', filters: [['__gt', '1.5', 'o.price > 1.5']] },
  { name: 'uid', sql: 'o.uid', show: 'text' },
  {
    name: 'day',
    sql: 'o.day',
    show: 'text',
    filters: [
      ['__year', '2024', "o.day between '2024-01-01' and '2024-12-31'"],
      ['__month', '1', 'extract(month from o.day) = 1'],
    ],
  },
  {
    name: 'at',
    sql: 'o.at',
    show: 'moment',
    filters: [['__lt', '2024-01-01T00:00:00Z', "o.at < '2024-01-01T00:00:00Z'"]],
  },
  { name: 'local', sql: 'o.local', show: 'clock' },
  { name: 'author_id', sql: 'o.author_id', show: 'int', filters: [['', '2', 'o.author_id = 2']] },
  {
    name: 'author__name',
    sql: 'a.name',
    show: 'text',
    filters: [
      ['', 'Ada', "a.name = 'Ada'"],
      ['__icontains', 'E', "a.name ilike '%e%'"],
    ],
  },
  { name: 'author__town__name', sql: 't.name', show: 'text' },
  ...['year', 'month', 'day'].flatMap((period): Field[] => [
    { name: `day__${period}`, sql: `date_trunc('${period}', o.day::timestamp)::date`, show: 'text' },
    { name: `at__${period}`, sql: `date_trunc('${period}', o.at, 'UTC')`, show: 'text' },
    { name: `local__${period}`, sql: `date_trunc('${period}', o.local)::date`, show: 'text' },
  ]),
]

/** A period of a point in time begins at one in UTC; its day is that of UTC, too. */
function sqlOf({ name, sql }: Field): string {
  return name.startsWith('at__') ? `(${sql} at time zone 'UTC')::date` : sql
}

/** The columns that a name is of: those which filters of it would narrow. */
const columnOf = ({ name }: Field) => name.replace(/^(day|at|local)__(?:year|month|day)$/, '$1')

/** What may be computed, its SQL, and how that is shown. */
interface Computed {
  readonly declared: Aggregate
  readonly sql: string
  readonly show: Show
}

const COMPUTED: readonly Computed[] = [
  { declared: count(), sql: 'count(*)', show: 'int' },
  { declared: sum('n'), sql: 'sum(o.n)', show: 'big' },
  { declared: avg('n'), sql: 'avg(o.n)', show: 'text' },
  { declared: sum('big'), sql: 'sum(o.big)', show: 'big' },
  { declared: avg('big'), sql: 'avg(o.big)', show: 'text' },
  { declared: max('big'), sql: 'max(o.big)', show: 'big' },
  { declared: sum('price'), sql: 'sum(o.price)', show: 'text' },
  { declared: avg('price'), sql: 'avg(o.price)', show: 'text' },
  { declared: min('price'), sql: 'min(o.price)', show: 'text' },
  { declared: max('score'), sql: 'max(o.score)', show: 'float' },
  { declared: sum('halves'), sql: 'sum(o.halves)', show: 'float' },
  { declared: avg('halves'), sql: 'avg(o.halves)', show: 'float' },
  { declared: min('kind'), sql: 'min(o.kind)', show: 'text' },
  { declared: max('day'), sql: 'max(o.day)', show: 'text' },
  { declared: min('at'), sql: 'min(o.at)', show: 'moment' },
  { declared: max('local'), sql: 'max(o.local)', show: 'clock' },
  { declared: max('author__name'), sql: 'max(a.name)', show: 'text' },
  { declared: sum('author__age'), sql: 'sum(a.age)', show: 'big' },
  { declared: countDistinct('author_id'), sql: 'count(distinct o.author_id)', show: 'int' },
  { declared: countDistinct('author__town__name'), sql: 'count(distinct t.name)', show: 'int' },
  { declared: countDistinct('at'), sql: 'count(distinct o.at)', show: 'int' },
]

const FROM = 'from orders o left join authors a on a.id = o.author_id left join towns t on t.id = a.town_id'

class Town extends Model {
  static override tableName = 'towns'
}
class Author extends Model {
  static override tableName = 'authors'
  static override relationMappings = () => ({
    town: { relation: Model.BelongsToOneRelation, modelClass: Town, join: { from: 'authors.town_id', to: 'towns.id' } },
  })
}
class Order extends Model {
  static override tableName = 'orders'
  static override relationMappings = () => ({
    author: {
      relation: Model.BelongsToOneRelation,
      modelClass: Author,
      join: { from: 'orders.author_id', to: 'authors.id' },
    },
  })
}
class OrderSerializer extends ModelSerializer<Order> {
  static override model = Order
  static override fields = ['id', 'n']
}

/** A view set that declares some of it. */
interface World {
  readonly path: string
  readonly computed: ReadonlyMap<string, Computed>
  readonly groups: readonly Field[]
  readonly facets: readonly Field[]
  readonly most: number
  readonly page: 'all' | 'number' | 'offset'
  /** What its own queryset adds. */
  readonly own: string
}

let database: TestDatabase
let client: Client
let worlds: readonly World[]

const PAGES = {
  all: null,
  number: new PageNumberPagination({ pageSize: 4 }),
  offset: new LimitOffsetPagination({ defaultLimit: 4 }),
} as const

function world(index: number): [World, typeof ReadOnlyModelViewSet<Order>] {
  const computed = new Map(random.some(COMPUTED).map((one, at) => [`c${at}`, one]))
  if (computed.size === 0) computed.set('c', COMPUTED[0] as Computed)
  const groups = random.some(FIELDS)
  const facets = random.some(FIELDS)
  const described: World = {
    path: `w${index}`,
    computed,
    groups,
    facets: facets.length > 0 ? facets : [FIELDS[0] as Field],
    most: 1 + random.below(6),
    page: random.pick(['all', 'number', 'offset'] as const),
    own: random.pick(['', '', 'o.n > 0 or o.kind is null']),
  }
  class View extends ReadOnlyModelViewSet<Order> {
    static override model = Order
    static override serializerClass = OrderSerializer
    static override filterBackends = [FieldFilter]
    static override filtersetFields = FIELDS.filter(({ filters }) => filters).map(({ name }) => name)
    static override paginationClass = PAGES[described.page]
    static override aggregates = Object.fromEntries([...computed].map(([name, { declared }]) => [name, declared]))
    static override groupBy = groups.map(({ name }) => name)
    static override facets = described.facets.map(({ name }) => name)
    static override maxFacetValues = described.most

    override getQueryset() {
      const query = super.getQueryset()
      return described.own === '' ? query : query.where('orders.n', '>', 0).orWhereNull('orders.kind')
    }
  }
  return [described, View]
}

/** A filter of a request: its parameter, and what it means. */
interface Filter {
  readonly column: string
  readonly name: string
  readonly text: string
  readonly sql: string
}

function someFilters(): readonly Filter[] {
  const filtered = FIELDS.filter(({ filters }) => filters)
  const found = Array.from({ length: random.below(4) }, (): Filter => {
    const field = random.pick(filtered)
    const [suffix, text, sql] = random.pick(field.filters as NonNullable<Field['filters']>)
    return { column: field.name, name: field.name + suffix, text, sql }
  })
  return [...new Map(found.map((filter) => [filter.name, filter])).values()]
}

function where({ own }: World, filters: readonly Filter[]): string {
  const conditions = [...(own === '' ? [] : [own]), ...filters.map(({ sql }) => sql)].map((sql) => `(${sql})`)
  return conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`
}

function queryText(filters: readonly Filter[], others: Readonly<Record<string, string>>): string {
  return String(
    new URLSearchParams({ ...Object.fromEntries(filters.map(({ name, text }) => [name, text])), ...others }),
  )
}

function shown(text: string | null, show: Show): unknown {
  return text === null ? null : SHOWS[show].json(text)
}

async function rowsOf(sql: string): Promise<(string | null)[][]> {
  const { rows } = await database.knex.raw(sql)
  return rows.map((row: Record<string, string | null>) => Object.values(row))
}

/** Some of a list in a random order, at least one. */
function shuffled<T>(all: readonly T[]): readonly T[] {
  const found = random.some(all)
  const some = found.length === 0 ? [random.pick(all)] : found
  return random.shuffled(some)
}

interface Asked {
  readonly path: string
  readonly expected: unknown
}

async function aggregated(own: World): Promise<Asked> {
  const filters = someFilters()
  const names = random.chance(0.3) ? [...own.computed.keys()] : shuffled([...own.computed.keys()])
  const asksAll = names.length === own.computed.size && names.join() === [...own.computed.keys()].join()
  const computed = names.map((name) => ({ name, ...(own.computed.get(name) as Computed) }))
  const groups = own.groups.length > 0 && random.chance(0.75) ? shuffled(own.groups).slice(0, 3) : []
  const parameters = {
    ...(!(asksAll && random.chance(0.5)) && { aggregate: names.join() }),
    ...(groups.length > 0 && { group_by: groups.map(({ name }) => name).join() }),
  }
  const columns = [
    ...groups.map((field) => ({ name: field.name, sql: sqlOf(field), show: field.show })),
    ...computed.map(({ name, sql, show }) => ({ name, sql, show })),
  ]
  const select = columns.map(({ sql, show }, index) => `${SHOWS[show].sql(sql)} as c${index}`).join(', ')
  if (groups.length === 0) {
    const [row] = await rowsOf(`select ${select} ${FROM}${where(own, filters)}`)
    const entries = columns.map(({ name, show }, index) => [name, shown(row?.[index] ?? null, show)])
    return { path: `${own.path}/aggregate?${queryText(filters, parameters)}`, expected: Object.fromEntries(entries) }
  }
  const order = random.chance(0.5) ? shuffled(columns).slice(0, 2) : []
  const terms = order.map(({ name, sql }) => ({ name, sql, descending: random.chance(0.5) }))
  const sorted = [
    ...terms.map(({ sql, descending }) => `${sql}${descending ? ' desc nulls first' : ' asc nulls last'}`),
    ...groups.map((field) => `${sqlOf(field)} asc nulls last`),
  ]
  const all = await rowsOf(
    `select ${select} ${FROM}${where(own, filters)} group by ${groups.map(sqlOf).join(', ')} order by ${sorted.join(', ')}`,
  )
  const results = all.map((row) =>
    Object.fromEntries(columns.map(({ name, show }, index) => [name, shown(row[index] ?? null, show)])),
  )
  const ordering = terms.map(({ name, descending }) => `${descending ? '-' : ''}${name}`).join()
  const base = { ...parameters, ...(ordering !== '' && { ordering }) }
  if (own.page === 'all') return { path: `${own.path}/aggregate?${queryText(filters, base)}`, expected: results }
  const start = 4 * random.below(Math.max(1, Math.ceil(all.length / 4)))
  const place: Record<string, string> =
    own.page === 'number' ? { page: String(1 + start / 4) } : { offset: String(start) }
  return {
    path: `${own.path}/aggregate?${queryText(filters, { ...base, ...place })}`,
    expected: { count: all.length, results: results.slice(start, start + 4) },
  }
}

async function faceted(own: World): Promise<Asked> {
  const filters = someFilters()
  const facets = random.chance(0.3) ? own.facets : shuffled(own.facets)
  const entries: [string, unknown][] = []
  for (const field of facets) {
    const others = filters.filter(({ column }) => column !== columnOf(field))
    const value = sqlOf(field)
    const found = await rowsOf(
      `select ${SHOWS[field.show].sql(value)} as v, count(*)::text as c ${FROM}${where(own, others)} group by ${value} order by count(*) desc, ${value} asc nulls last`,
    )
    const values = found
      .slice(0, own.most)
      .map(([text, many]) => ({ value: shown(text ?? null, field.show), count: Number(many) }))
    entries.push([field.name, { values, has_more: found.length > own.most }])
  }
  const asked = facets === own.facets ? {} : { facet: facets.map(({ name }) => name).join() }
  return { path: `${own.path}/facets?${queryText(filters, asked)}`, expected: Object.fromEntries(entries) }
}

const orNull = <T>(values: readonly T[], write: (value: T) => string): string =>
  random.chance(0.25) ? 'null' : write(random.pick(values))

function orderRow(): string {
  return `(${[
    orNull([-3, 0, 1, 2, 3, 2_147_483_647], String),
    orNull(['9223372036854775807', '-9223372036854775808', '5', '12'], String),
    orNull(['1.25', '2.50', '-0.75', '9999.99'], String),
    orNull(["'NaN'", "'Infinity'", '1.5', '-2', '1e300'], String),
    // sums of these are the same in every order
    orNull(['0.5', '-1.25', '3'], String),
    orNull(KINDS, quoted),
    orNull(['true', 'false'], String),
    orNull(['7f1d0f1e-3f53-4c3b-9c3a-6a7a2a0f5f01', '00000000-0000-4000-8000-000000000000'], quoted),
    orNull(DAYS, quoted),
    orNull(MOMENTS, quoted),
    orNull(['2024-01-31 23:59:59.5', '1999-12-31 00:00:00', 'infinity'], quoted),
    orNull([1, 2, 3, 4, 5], String),
  ].join(', ')})`
}

beforeAll(async () => {
  database = await createDatabase({
    schema: `
      create table towns (id int primary key, name text);
      create table authors (id int primary key, name text, age int, town_id int references towns);
      create table orders (
        id int generated by default as identity primary key, n int, big bigint, price numeric(8,2), score float8, halves float8,
        kind text, flag boolean, uid uuid, day date, at timestamptz, local timestamp, author_id int references authors
      );`,
  })
  await database.knex.raw(`insert into towns values (1, 'Bonn'), (2, 'Aachen'), (3, null)`)
  await database.knex.raw(
    `insert into authors values ${NAMES.map((name, at) => `(${at + 1}, ${quoted(name)}, ${at === 2 ? 'null' : 20 + at}, ${at === 4 ? 'null' : (at % 3) + 1})`).join(', ')}`,
  )
  const rows = Array.from({ length: ROWS }, orderRow)
  await database.knex.raw(
    `insert into orders (n, big, price, score, halves, kind, flag, uid, day, at, local, author_id) values ${rows.join(', ')}`,
  )
  for (const model of [Town, Author, Order]) model.knex(database.knex)
  const router = new APIRouter({ prefix: '/api' })
  worlds = Array.from({ length: WORLDS }, (_, index) => {
    const [described, view] = world(index)
    router.register(described.path, view, described.path)
    return described
  })
  await router.prepare()
  client = await serving(router.routes())
}, 60_000)
afterAll(async () => {
  await client?.close()
  await database?.drop()
})

describe('[C18] random requests', () => {
  it.each([
    ['aggregates', aggregated, Math.ceil((REQUESTS * 2) / 3)],
    ['facets', faceted, Math.ceil(REQUESTS / 3)],
  ] as const)('for %s show what plain SQL shows', { timeout: 900_000 }, async (name, make, requests) => {
    let groups = 0
    for (let done = 0; done < requests; done++) {
      const { path, expected } = await make(random.pick(worlds))
      // the document says of floats that they are numbers, so NaN is read past the checks of answers
      const answer = await fetch(`http://127.0.0.1:${client.port}/api/${path}`)
      const body: any = await answer.json()
      const seen = body.results === undefined ? body : { count: body.count, results: body.results }
      expect({ seed, path, status: answer.status, seen }).toEqual({ seed, path, status: 200, seen: expected })
      groups += (Array.isArray(seen) ? seen : (seen.results ?? Object.keys(seen))).length
    }
    expect(client.reported).toEqual([])
    expect(groups).toBeGreaterThan(requests)
    report(`C18 ${name}`, { requests, 'view sets': worlds.length, 'groups or members': groups, deviations: 0 })
  })
})
