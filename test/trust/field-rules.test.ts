/**
 * Rules of fields by chance: each request is sent twice, to rows that differ only in what its caller may not read. No bit of
 * the answers may differ, nor of what is stored afterwards besides that; what is read and sent back changes nothing; what may
 * not be set stays.
 */
import { Model } from 'objection'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { configure } from '../../lib/index.js'
import { mcp } from '../../lib/mcp/index.js'
import { type Client, serving } from '../support/client.js'
import { undescribed } from '../support/contract.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import {
  type Application,
  ASKED,
  isFixed,
  isHidden,
  otherRows,
  PEOPLE,
  type Row,
  type Rows,
  randomApplication,
  randomRows,
  randomValue,
  SCHEMA,
  TABLES,
  WHO,
  type Who,
} from './support/field-rules.js'
import { Random } from './support/random.js'
import { report, seed, size } from './support/size.js'

const APPLICATIONS = size(2, 400)
const READS = size(12, 60)
const WRITES = size(6, 30)

const random = new Random(seed)
let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  Model.knex(database.knex)
  configure({ secretKey: '0123456789abcdef0123456789abcdef' })
})
afterAll(() => database?.drop())

/** Makes the tables have these rows, and nothing else. */
async function load(rows: Rows): Promise<void> {
  const inserts = TABLES.map(
    (table) =>
      `insert into ${table} select * from json_populate_recordset(null::${table}, '${JSON.stringify(rows[table]).replaceAll("'", "''")}');`,
  )
  await database.knex.raw(
    `delete from desks; delete from people_skills; delete from tasks; delete from people; delete from teams; delete from rooms; delete from skills;
    ${inserts.join('\n')}
    insert into desks select n, n, case n % 2 when 1 then 'window' else 'door' end from generate_series(1, ${PEOPLE}) n;
    insert into people_skills select n, 1 + n % 3 from generate_series(1, ${PEOPLE}) n;
    ${['people', 'teams', 'tasks', 'skills'].map((table) => `alter sequence ${table}_id_seq restart 100;`).join('\n')}`.replaceAll(
      '?',
      '\\?',
    ),
  )
}

/** What is stored. */
async function stored(): Promise<Rows> {
  const parts = [...TABLES, 'people_skills'].map(
    (table) => `'${table}', (select coalesce(json_agg(r order by r::text), '[]') from ${table} r)`,
  )
  const { rows } = await database.knex.raw(`select json_build_object(${parts.join()}) as found`)
  return rows[0].found
}

interface Request {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Columns of a person that the body sets to other values. */
  readonly sets?: readonly string[]
}

const LOOKUPS = [
  '',
  '',
  '__gte',
  '__lt',
  '__ne',
  '__in',
  '__isnull',
  '__range',
  '__icontains',
  '__startswith',
  '__regex',
  '__length',
  '__overlap',
  '__exact',
]

function condition(app: Application, table: keyof typeof ASKED): readonly [string, string] {
  const asked = random.pick(ASKED[table])
  const found = randomValue(random, asked.split('__').at(-1) as string)
  const value = typeof found === 'string' ? found : JSON.stringify(found)
  const lookup = random.pick(LOOKUPS)
  const name = asked.split('__').map(app.named).join('__') + lookup
  return [name, lookup === '__isnull' ? random.pick(['true', 'false']) : lookup === '__range' ? `${value},900` : value]
}
const asked = ([name, value]: readonly [string, string]) => `${name}=${encodeURIComponent(value)}`
const inGroup = ([name, value]: readonly [string, string]) => `${name}=${JSON.stringify(value)}`

const RELATIONS = { people: ['team', 'tasks', 'boss', 'skills'], teams: ['people'], tasks: [], skills: [] } as const
const TARGETS: Readonly<Record<string, keyof typeof ASKED>> = {
  team: 'teams',
  tasks: 'tasks',
  boss: 'people',
  skills: 'skills',
  people: 'people',
}

function group(app: Application, table: keyof typeof ASKED): string {
  const one = inGroup(condition(app, table))
  const relations: readonly string[] = RELATIONS[table]
  if (relations.length === 0 || random.chance(0.3))
    return random.pick([`not(${one})`, `or(${one},${inGroup(condition(app, table))})`])
  const relation = random.pick(relations)
  const inner = inGroup(condition(app, TARGETS[relation] as keyof typeof ASKED))
  return random.pick([
    `any(${relation},${inner})`,
    `none(${relation},${inner})`,
    `count(${relation},${inner})__gte=1`,
    `any(${relation})`,
  ])
}

function orderOf(app: Application, table: keyof typeof ASKED): string {
  const name = random.pick(['id', ...ASKED[table]])
  return `ordering=${random.pick(['', '-'])}${name.split('__').map(app.named).join('__')}`
}

function randomRead(app: Application): Request {
  const view = random.pick([...app.views, 'people', 'people'])
  const table = (['native', 'cursor'].includes(view) ? 'people' : view) as keyof typeof ASKED
  const parts = random.some(
    [
      asked(condition(app, table)),
      `filter=${encodeURIComponent(group(app, table))}`,
      orderOf(app, table),
      `search=${random.pick(['ann', 'tea', 'win', 'p1', 'x'])}`,
      `words=${random.pick(['ann', 'tea', 'win', 'x'])}`,
      random.pick([
        `fields=id,${random.pick([...app.taken.keys(), 'budget', 'hours'])}`,
        'expand=team',
        'expand=*',
        'expand=boss,tasks',
        'expand=taskCount',
        'page=2',
        'page_size=2',
      ]),
    ],
    0.35,
  )
  const headers = random.chance(0.2) ? { Prefer: 'handling=strict' } : {}
  const query = parts.join('&')
  const kind = random.below(14)
  if (kind <= 1) {
    const one = parts.filter((part) => /^(?:fields|expand)/.test(part))
    return { method: 'GET', path: `/${view}/${1 + random.below(4)}?${one.join('&')}`, headers }
  }
  if (kind === 2)
    return { method: 'GET', path: `/${view}/facets?${query}${random.chance(0.3) ? '&facet=salary' : ''}`, headers }
  if (kind === 3)
    return {
      method: 'GET',
      path: `/${view}/aggregate?${parts.slice(0, 1).join('&')}${random.chance(0.3) ? '&aggregate=least' : ''}`,
      headers,
    }
  if (kind === 4) {
    const by = random.pick([
      'salary',
      'team__budget',
      app.named('team_id'),
      'motto',
      'hours',
      'person__salary',
      'level',
      app.named('full_name'),
    ])
    return {
      method: 'GET',
      path: `/${view}/aggregate?group_by=${by}&ordering=${random.pick(['-n', by, '-least'])}`,
      headers,
    }
  }
  if (kind === 5) {
    const [name, value] = condition(app, table)
    return {
      method: 'QUERY',
      path: `/${view}`,
      body: { filter: { [name]: value }, ...(random.chance(0.3) && { fields: ['id', 'salary'] }) },
      headers,
    }
  }
  if (kind === 6) return { method: 'OPTIONS', path: random.pick([`/${view}`, `/${view}/1`]) }
  if (kind === 7)
    return {
      method: 'GET',
      path: `/${view}?${query}`,
      headers: { Accept: random.pick(['text/csv', 'application/x-ndjson']) },
    }
  if (kind === 8) {
    const [name, value] = condition(app, table)
    const call = random.pick([
      { method: 'tools/list', params: {} },
      { method: 'tools/call', params: { name: `${view}_list`, arguments: { [name]: value } } },
      { method: 'tools/call', params: { name: `${view}_retrieve`, arguments: { id: 1 } } },
      { method: 'tools/call', params: { name: `${view}_partial_update`, arguments: { id: 1, body: randomBody(app) } } },
    ])
    return {
      method: 'POST',
      path: '/mcp',
      body: { jsonrpc: '2.0', id: 1, ...call },
      headers: { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-11-25' },
    }
  }
  return { method: random.chance(0.1) ? 'HEAD' : 'GET', path: `/${view}?${query}`, headers }
}

function randomBody(app: Application, share = 0.3): Record<string, unknown> {
  const names = random.some([...app.taken.keys()], share)
  return Object.fromEntries(names.map((name) => [name, app.taken.get(name)?.value()]))
}
const setBy = (app: Application, body: object) =>
  Object.keys(body).flatMap((name) => app.taken.get(name)?.columns ?? [])

function randomWrite(app: Application): Request {
  const id = 1 + random.below(4)
  const body = randomBody(app)
  const kind = random.below(12)
  if (kind === 0) return { method: 'PUT', path: `/people/${id}`, body: randomBody(app, 0.8) }
  if (kind === 1) return { method: 'POST', path: '/people', body: randomBody(app, 0.5) }
  if (kind === 2)
    return { method: 'PATCH', path: '/people/bulk', body: [1, 2].map((one) => ({ id: one, ...randomBody(app) })) }
  if (kind === 3) return { method: 'POST', path: '/people/bulk', body: [randomBody(app), randomBody(app)] }
  if (kind === 4) {
    const [one = 'email', other = 'salary'] = random.shuffled([...app.taken.keys(), 'salary', 'email', 'kind'])
    const op = random.pick([
      { op: 'replace', path: `/${one}`, value: app.taken.get(one)?.value() ?? 1 },
      { op: 'test', path: `/${one}`, value: app.taken.get(one)?.value() ?? 1 },
      { op: 'copy', from: `/${one}`, path: `/${other}` },
      { op: 'move', from: `/${one}`, path: `/${other}` },
      { op: 'remove', path: `/${one}` },
      { op: 'replace', path: '/team/budget', value: 7 },
      { op: 'test', path: '/team/budget', value: 100 },
    ])
    return {
      method: 'PATCH',
      path: `/people/${id}`,
      body: [op],
      headers: { 'Content-Type': 'application/json-patch+json' },
    }
  }
  if (kind === 5)
    return { method: 'PATCH', path: `/people/${id}`, body, headers: { 'Content-Type': 'application/merge-patch+json' } }
  if (kind === 6) {
    const member = random.pick([{ id: 1 + random.below(4) }, {}])
    const people = [
      { ...member, ...random.pick([{ salary: 5 }, { email: 'q' }, { [app.named('full_name')]: 'q' }, { born: null }]) },
    ]
    return {
      method: random.pick(['PATCH', 'PUT', 'POST']),
      path: `/teams${random.chance(0.8) ? '/1' : ''}`,
      body: { name: 'q', people, ...random.pick([{}, { budget: 3 }, { motto: 'win' }]) },
    }
  }
  if (kind === 7)
    return {
      method: 'PATCH',
      path: '/tasks/1',
      body: random.pick([{ hours: 3 }, { secret: 'tea' }, { person: 2 }, { title: 'q', person: null }]),
    }
  if (kind === 8) return { method: 'DELETE', path: random.pick([`/people/${id}`, '/tasks/1', '/teams/1']) }
  if (kind === 9) {
    const [name] = random.shuffled([...app.taken.keys()])
    const one = { [name as string]: app.taken.get(name as string)?.value() }
    return { method: 'PATCH', path: `/people/${id}`, body: one, sets: setBy(app, one) }
  }
  return { method: 'PATCH', path: `/people/${id}`, body }
}

const told: string[] = []
const counts = { applications: 0, reads: 0, writes: 0, 'sent back': 0, refused: 0, ok: 0 }
let client: Client
let app: Application

async function send(who: Who, { method, path, body, headers }: Request) {
  const answer = await client.send(method, path, body, { ...WHO[who], ...headers })
  if (answer.status >= 500)
    tell(
      `${who} ${method} ${path} ${JSON.stringify(body)}: ${answer.status} ${String((client.reported.at(-1) as Error)?.stack)}`,
    )
  return answer
}
function tell(text: string): void {
  told.push(`${app.text}\n${text}`)
}
/** All that an answer says, with the pages behind it. */
async function answerOf(who: Who, request: Request): Promise<string> {
  const answers: string[] = []
  let next: string | undefined = request.path
  while (next !== undefined && answers.length < 5) {
    const { status, text, json, headers } = await send(who, { ...request, path: next })
    const isRead = ['GET', 'HEAD', 'QUERY'].includes(request.method)
    answers.push(
      [status, text, headers['link'], headers['content-length'], isRead && headers['etag'], headers['location']].join(
        ' | ',
      ),
    )
    next = typeof json?.next === 'string' ? json.next.replace(/^https?:\/\/[^/]+/, '') : undefined
  }
  return answers.join('\n')
}

/** What is stored, without what the caller may not read. */
function shownOf(who: Who, rows: Rows): string {
  return JSON.stringify(rows, (key, value) =>
    value && TABLES.includes(key as never)
      ? (value as Row[])
          .map((row) =>
            Object.fromEntries(
              Object.entries(row).filter(([column]) => !isHidden(app.rules, who, { table: key as never, column, row })),
            ),
          )
          .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
      : value,
  )
}

async function compareReads(who: Who, one: Rows, other: Rows): Promise<void> {
  const requests = Array.from({ length: READS }, () => randomRead(app))
  const answers: string[][] = []
  for (const rows of [one, other]) {
    await load(rows)
    const found: string[] = []
    for (const request of requests) {
      found.push(await answerOf(who, request))
      if (request.path === '/mcp') await load(rows)
    }
    answers.push(found)
  }
  for (const [index, request] of requests.entries()) {
    counts.reads++
    if (answers[0]?.[index]?.startsWith('200')) counts.ok++
    if (answers[0]?.[index] !== answers[1]?.[index])
      tell(`${who} ${JSON.stringify(request)}\n${answers[0]?.[index]}\n${answers[1]?.[index]}`)
  }
}

async function compareWrites(who: Who, one: Rows, other: Rows): Promise<void> {
  for (let index = 0; index < WRITES; index++) {
    const request = randomWrite(app)
    counts.writes++
    const found: string[] = []
    for (const rows of [one, other]) {
      await load(rows)
      const id = Number(request.path.split('/')[2])
      const row = rows.people.find((person) => person['id'] === id) as Row
      const shown = request.sets && (await client.get(`/people/${id}`, WHO[who])).json
      const answer = await answerOf(who, request)
      const after = await stored()
      found.push(`${answer}\n${shownOf(who, after)}`)
      if (answer.startsWith('403')) counts.refused++
      if (!answer.startsWith('2') && JSON.stringify(after) !== JSON.stringify(await afterNothing(rows)))
        tell(`${who} ${JSON.stringify(request)} ${answer}: wrote`)
      const set = Object.entries(request.body ?? {})[0]
      if (request.sets?.some((column) => isFixed(app.rules, who, { table: 'people', column, row }))) {
        const [name, value] = set as [string, unknown]
        const isSame = Object.hasOwn(shown, name) && isShown(shown[name], value)
        if (!isSame && !answer.startsWith('403')) tell(`${who} ${JSON.stringify(request)} may not be set: ${answer}`)
      }
    }
    if (found[0] !== found[1]) tell(`${who} ${JSON.stringify(request)}\n${found[0]}\n${found[1]}`)
  }
}
/** True for a value that is what was shown, or the key of what was. */
function isShown(shown: unknown, value: unknown): boolean {
  return JSON.stringify(shown) === JSON.stringify(value) || (shown as Row | null)?.['id'] === value
}
const loaded = new WeakMap<Rows, Rows>()
async function afterNothing(rows: Rows): Promise<Rows> {
  let known = loaded.get(rows)
  if (!known) {
    await load(rows)
    known = await stored()
    loaded.set(rows, known)
  }
  return known
}

async function sendBack(who: Who, rows: Rows): Promise<void> {
  await load(rows)
  const before = JSON.stringify(await stored())
  for (const path of ['/people', '/teams', '/tasks', '/skills', '/native']) {
    const id = 1 + random.below(3)
    const shown = await send(who, { method: 'GET', path: `${path}/${id}` })
    if (shown.status !== 200) {
      tell(`${who} GET ${path}/${id} ${shown.status} ${shown.text}`)
      continue
    }
    for (const [method, to, body] of [
      ['PATCH', `${path}/${id}`, shown.json],
      ['PUT', `${path}/${id}`, shown.json],
      ['PATCH', `${path}/bulk`, [shown.json]],
    ] as const) {
      counts['sent back']++
      const answer = await send(who, { method, path: to, body })
      const same = JSON.stringify(answer.json) === JSON.stringify(to.endsWith('bulk') ? [shown.json] : shown.json)
      if (answer.status !== 200 || !same) tell(`${who} ${method} ${to} ${shown.text}: ${answer.status} ${answer.text}`)
      if (JSON.stringify(await stored()) !== before) {
        tell(`${who} ${method} ${to} ${shown.text} changed ${before}\n${JSON.stringify(await stored())}`)
        await load(rows)
      }
    }
  }
}

it(`tells no caller of what it may not read, in ${APPLICATIONS} applications by chance`, {
  timeout: 36_000_000,
}, async () => {
  for (let done = 0; done < APPLICATIONS && told.length < 40; done++) {
    app = randomApplication(random)
    counts.applications++
    await app.api.prepare()
    client = await serving(
      undescribed(mcp(app.api, { tools: app.views.map((view) => `${view}:*`) }) as never),
      app.api.routes(),
    )
    for (const who of ['ada', random.pick(['nobody', 'hr'])] as Who[]) {
      const one = randomRows(random)
      const other = otherRows(random, app.rules, who, one)
      await compareReads(who, one, other)
      await compareWrites(who, one, other)
      await sendBack(who, one)
    }
    await client.close()
  }
  report('rules of fields', { ...counts, told: told.length, seed })
  expect(told.slice(0, Number(process.env['SHOW'] ?? 3)).join('\n\n')).toBe('')
})
