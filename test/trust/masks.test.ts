/**
 * Masks of querysets by chance: columns that a query computes × filters, groups, orders, searches, facets,
 * aggregates, pages and expansions × callers. What is hidden is then changed: no answer to who is masked may differ by a bit.
 */
import { Model, type QueryBuilder, raw, ref } from 'objection'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  BulkModelViewSet,
  CursorPagination,
  configure,
  FieldFilter,
  FullTextSearchFilter,
  NestedSerializer,
  OrderingFilter,
  PageNumberPagination,
  SearchFilter,
} from '../../lib/index.js'
import { count, countDistinct, max, min } from '../../lib/views/index.js'
import { type Client, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { routerOf, type SerializerClass, serializerOf, type ViewSetClass } from '../support/views.js'
import { Random } from './support/random.js'
import { report, seed, size } from './support/size.js'

const REQUESTS = size(40, 20_000)
const PEOPLE = 24
/** Columns that masks hide, and what overwrites them. */
const HIDDEN = {
  salary: () => String(random.below(12) * 100),
  email: () => `'${random.pick(['ann', 'bob', 'cyd'])}${random.below(9)}@${random.pick(['x', 'y'])}.org'`,
  born: () => `'19${60 + random.below(30)}-0${1 + random.below(9)}-01'`,
  boss_id: () => String(1 + random.below(PEOPLE)),
  notes: () => `'${random.pick(['likes tea', 'likes coffee', 'left'])}'`,
} as const
const COLUMNS = Object.keys(HIDDEN) as (keyof typeof HIDDEN)[]

const random = new Random(seed)
let database: TestDatabase
let client: Client
/** Whether the caller sees what is masked. */
let isStaff = false
const views = new Map<string, ViewSetClass>()

type Queryset = QueryBuilder<Model>

class Person extends Model {
  static override tableName = 'people'
  static override modifiers = {
    masked: (query: QueryBuilder<Model>) => void query.select('people.*', ...nulls()),
  }
  static override relationMappings = () => ({
    boss: {
      relation: Model.BelongsToOneRelation,
      modelClass: Person,
      modify: (query: QueryBuilder<Model>) => void (isStaff || query.select('people.*', raw('null').as('salary'))),
      join: { from: 'people.boss_id', to: 'people.id' },
    },
    desk: {
      relation: Model.HasOneRelation,
      modelClass: Desk,
      join: { from: 'people.id', to: 'desks.person_id' },
    },
  })
}
class Desk extends Model {
  static override tableName = 'desks'
}

function nulls() {
  return COLUMNS.map((name) => raw('null').as(name))
}

const SHOWN = ['people.id', 'people.name', 'people.team']
/** All of them hide all columns, each in its own way. */
const MASKS: Readonly<Record<string, (query: Queryset) => Queryset>> = {
  explicit: (query) => query.select(...SHOWN, raw('null as salary, null as email, null as born'), ...nulls().slice(3)),
  behindStar: (query) => query.select('people.*', ...nulls()),
  conditions: (query) =>
    query.select(
      ...SHOWN,
      ...COLUMNS.map((name) => raw('case when ? then ?? end as ??', [false, `people.${name}`, name])),
    ),
  aliases: (query) =>
    query.select(
      ...SHOWN,
      ref('people.grade').as('salary'),
      ref('people.team').as('email'),
      'people.hired as born',
      { boss_id: 'people.grade' },
      raw('lower("team")').as('notes'),
    ),
  subQueries: (query) =>
    query.select(...SHOWN, ...COLUMNS.map((name) => Person.query().where('id', 0).select(name).as(name))),
  modified: (query) => query.modify('masked'),
  distinct: (query) => query.distinct(...SHOWN, ...nulls()),
  grouped: (query) =>
    query
      .select(...SHOWN, ...nulls(), raw('count(*)::int as n'))
      .joinRelated('desk')
      .groupBy('people.id'),
  joined: (query) => query.leftJoinRelated('desk').select(...SHOWN, 'desk.place as email', ...nulls()),
  renamed: (query) => query.alias('p').select('p.id', 'p.name', 'p.team', ...nulls()),
  from: (query) => {
    const typed = raw(
      'null::int as salary, null::text as email, null::date as born, null::int as boss_id, null::text as notes',
    )
    return query.from(
      Person.query()
        .select(...SHOWN, 'grade', 'hired', typed)
        .as('people'),
    )
  },
}
const PAGES = [PageNumberPagination, new CursorPagination({ pageSize: 5, ordering: 'salary' }), null]

const Boss = serializerOf(Person, ['id', 'name', 'salary'])
const Shown = serializerOf(Person, ['id', 'name', 'team', ...COLUMNS])
const WithBoss: SerializerClass = serializerOf(Person, ['id', 'name', ...COLUMNS, 'boss'], {
  boss: new NestedSerializer(Boss, { readOnly: true }),
})

function viewOf(mask: string, index: number): ViewSetClass {
  class Masked extends BulkModelViewSet<Model> {
    static override model = Person
    static override serializerClass = index % 2 === 0 ? Shown : WithBoss
    static override paginationClass = PAGES[index % PAGES.length] ?? null
    static override filterBackends = [
      new FieldFilter({ groupParam: 'filter' }),
      SearchFilter,
      new OrderingFilter(),
      FullTextSearchFilter,
    ]
    static override filtersetFields = [...COLUMNS, 'name', 'boss__salary', 'boss__name', 'hired']
    static override searchFields = ['name', 'email', 'notes']
    static override searchParam = 'words'
    static override orderingFields = [...COLUMNS, 'name', 'boss__salary', 'hired']
    static override aggregates = {
      n: count(),
      kinds: countDistinct('email'),
      least: min('salary'),
      most: max('born'),
      above: max('boss__salary'),
    }
    static override groupBy = ['salary', 'email', 'team', 'boss__salary']
    static override facets = ['salary', 'email', 'boss_id']
    static override queryMethod = true
    static override filterRelations = { boss: () => views.get(mask) as never }
    static override expandable = { boss: new NestedSerializer(Boss, { readOnly: true }) }
    override getQueryset(): QueryBuilder<Model> {
      const query = super.getQueryset()
      return isStaff ? query : (MASKS[mask]?.(query) ?? query)
    }
  }
  Object.defineProperty(Masked, 'name', { value: `Masked${mask}` })
  return Masked
}

beforeAll(async () => {
  database = await createDatabase({
    schema: `create table people (
      id int primary key, name text not null, team text, grade int, hired date, salary int, email text, born date,
      boss_id int references people, notes text
    );
    create table desks (id serial primary key, person_id int references people, place text);
    insert into people select n, 'p' || n, 'team ' || n % 3, n % 4, date '2020-01-01' + n, n * 100, 'e' || n, '1970-01-01', 1 + n % 5, 'x'
      from generate_series(1, ${PEOPLE}) n;
    insert into desks (person_id, place) select n, 'room ' || n % 7 from generate_series(1, ${PEOPLE}) n;`,
  })
  Model.knex(database.knex)
  configure({ secretKey: '0123456789abcdef0123456789abcdef' })
  for (const [index, mask] of Object.keys(MASKS).entries()) views.set(mask, viewOf(mask, index))
  const api = routerOf(Object.fromEntries(views))
  await api.prepare()
  client = await serving(api.routes())
})
afterAll(async () => {
  await client?.close()
  await database?.drop()
})

const VALUES: Readonly<Record<string, () => string>> = {
  salary: () => String(random.below(13) * 100),
  email: () => random.pick(['ann', 'ann1@x.org', 'b', 'y.org', '']),
  born: () => `19${60 + random.below(30)}-06-01`,
  boss_id: () => String(random.below(PEOPLE + 2)),
  notes: () => random.pick(['likes tea', 'left', 'tea', 'coffee']),
}
const LOOKUPS = ['', '__gte', '__lt', '__ne', '__in', '__isnull']
const TEXT_LOOKUPS = ['', '__startswith', '__icontains', '__gte', '__isnull', '__regex']

function condition(): readonly [string, string] {
  const name = random.pick([...COLUMNS, 'boss__salary'])
  const column = name === 'boss__salary' ? 'salary' : (name as keyof typeof HIDDEN)
  const lookup = random.pick(column === 'email' || column === 'notes' ? TEXT_LOOKUPS : LOOKUPS)
  const value = lookup === '__isnull' ? random.pick(['true', 'false']) : (VALUES[column] as () => string)()
  return [name + lookup, value]
}

const asked = ([name, value]: readonly [string, string]) => `${name}=${encodeURIComponent(value)}`
const inGroup = ([name, value]: readonly [string, string]) => `${name}=${JSON.stringify(value)}`

function group(): string {
  const [one, other] = [inGroup(condition()), inGroup(condition())]
  return random.pick([`not(${one})`, `or(${one},${other})`, `any(boss,${one})`, `none(boss,or(${one},${other}))`])
}

/** A path, and how it is asked for. */
function request(): { readonly method: string; readonly path: string; readonly body?: unknown } {
  const mask = random.pick(Object.keys(MASKS))
  const parts = random.some(
    [
      asked(condition()),
      `filter=${encodeURIComponent(group())}`,
      `ordering=${random.pick(['', '-'])}${random.pick([...COLUMNS, 'boss__salary'])}`,
      `search=${random.pick(['ann', 'p1', 'tea'])}`,
      `words=${random.pick(['tea', 'left', 'coffee'])}`,
      random.pick(['fields=id,name', 'expand=boss', 'page=2', 'page_size=3']),
    ],
    0.4,
  )
  const kind = random.below(10)
  if (kind === 0) return { method: 'GET', path: `/${mask}/${1 + random.below(PEOPLE)}` }
  if (kind === 1) return { method: 'GET', path: `/${mask}/facets?${parts.slice(0, 2).join('&')}` }
  if (kind === 2) return { method: 'GET', path: `/${mask}/aggregate?${parts.slice(0, 1).join('&')}` }
  if (kind === 3) {
    const group = random.pick(['salary', 'email', 'team', 'boss__salary'])
    return { method: 'GET', path: `/${mask}/aggregate?group_by=${group}&ordering=-n` }
  }
  if (kind === 4) return { method: 'QUERY', path: `/${mask}`, body: { filter: { [condition()[0]]: condition()[1] } } }
  return { method: random.chance(0.1) ? 'HEAD' : 'GET', path: `/${mask}?${parts.join('&')}` }
}

/** All that an answer says, with the pages behind it. */
async function answerOf({ method, path, body }: ReturnType<typeof request>): Promise<string> {
  const answers: string[] = []
  let next: string | null | undefined = path
  while (typeof next === 'string' && answers.length < 8) {
    const { status, text, json, headers } = await client.send(method, next, body)
    answers.push(
      `${status} ${text} ${String(headers['link'])} ${headers['content-length'] ?? ''} ${headers['etag'] ?? ''}`,
    )
    if (status >= 500) throw new Error(`${method} ${next}: ${status} ${text} ${String(client.reported.at(-1))}`)
    next = json?.next === null || json?.next === undefined ? null : String(json.next).replace(/^https?:\/\/[^/]+/, '')
  }
  return answers.join('\n')
}

async function overwrite(): Promise<void> {
  const rows = Array.from({ length: PEOPLE }, (_, id) => `(${id + 1}, ${COLUMNS.map((name) => HIDDEN[name]()).join()})`)
  const set = COLUMNS.map((name) => `${name} = v.${name}${name === 'born' ? '::date' : ''}`).join()
  await database.knex.raw(
    `update people set ${set} from (values ${rows.join()}) as v (id, ${COLUMNS.join()}) where people.id = v.id`.replaceAll(
      '?',
      '\\?',
    ),
  )
}

it(`[C19] what is masked changes no answer, in ${REQUESTS} requests by chance`, { timeout: 3_600_000 }, async () => {
  const told: string[] = []
  let different = 0
  for (let done = 0; done < REQUESTS; done += 50) {
    const requests = Array.from({ length: 50 }, request)
    const before: string[] = []
    const shown: string[] = []
    isStaff = false
    for (const one of requests) before.push(await answerOf(one))
    isStaff = true
    for (const one of requests.slice(0, 10)) shown.push(await answerOf(one))
    await overwrite()
    for (const [index, one] of requests.slice(0, 10).entries()) if ((await answerOf(one)) !== shown[index]) different++
    isStaff = false
    for (const [index, one] of requests.entries()) {
      const after = await answerOf(one)
      if (after !== before[index]) told.push(`${one.method} ${one.path}\n${before[index]}\n${after}`)
    }
  }
  report('C19', { requests: REQUESTS, told: told.length, 'of the unmasked': different })
  expect(told.slice(0, 3).join('\n\n')).toBe('')
  // who sees the columns sees that they have changed
  expect(different).toBeGreaterThan(0)
})
