/**
 * Rules by chance × callers × data × paths, by three roads: what the API answers and stores; plain SQL of a role under the
 * policies and grants that are printed of the rules; and what @casl/ability says of the rows, evaluated in JavaScript. The
 * API is asked by rules of its router, or by `related` and querysets of its view sets; by HTTP, and as agents ask; with
 * columns as they are called and mapped, in `public` and in another schema.
 */
import { randomBytes } from 'node:crypto'
import { Agent } from 'node:http'
import { Model } from 'objection'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { serve, type TestServer } from '../support/server.js'
import { agentMessage } from './support/agent-messages.js'
import { Random } from './support/random.js'
import { type Application, type Asked, applicationOf, camel, type Kind, SCHEMA, Tools } from './support/roads-api.js'
import { type Answer, type Question, type Result, randomQuestion } from './support/roads-questions.js'
import { afterSteps, type Data, ids, randomData, stateOf, stepsSql, World } from './support/roads-world.js'
import { randomWrite, type Write } from './support/roads-writes.js'
import {
  type Action,
  type Caller,
  NAMES,
  type Node,
  type Rules,
  randomNode,
  type TableName,
  tablesOf,
  Unsaid,
} from './support/row-rules.js'
import { isLong, report, seed, size } from './support/size.js'

const CASES = size(120, 200_000)
const ROLE = `roads_${randomBytes(6).toString('hex')}`
const ACTIONS: readonly Action[] = ['read', 'create', 'update', 'delete']
const random = new Random(seed)
const agent = new Agent({ keepAlive: true })

let database: TestDatabase
let admin: pg.Client
/** The rules of the moment. */
const asked: Asked = { rules: Object.fromEntries(NAMES.map((name) => [name, {}])) as Rules }

beforeAll(async () => {
  database = await createDatabase({ schema: `${SCHEMA}; create schema shop; set search_path to shop; ${SCHEMA}` })
  Model.knex(database.knex)
  admin = new pg.Client(database.direct)
  await admin.connect()
  await admin.query(`create role ${ROLE}; grant usage on schema public, shop to ${ROLE}`)
  // plans of conditions within conditions are costed high, and run for a moment
  await admin.query(
    `do $$ begin execute format('alter database %I set jit = off', current_database()); end $$; set jit = off`,
  )
})
afterAll(async () => {
  agent.destroy()
  await admin.query(`drop owned by ${ROLE}`)
  await admin.query(`drop role ${ROLE}`)
  await admin.end()
  await database.drop()
})

const NOTHING = {
  cases: 0,
  rounds: 0,
  tools: 0,
  roadTwo: 0,
  roadThree: 0,
  silentTwo: 0,
  silentThree: 0,
  notPrinted: 0,
  written: 0,
  refused: 0,
  failed: 0,
}
let counts = { ...NOTHING }
let why: Record<string, number> = {}
let deviations: { readonly path: string; readonly text: string }[] = []

let data: Data
let world: World
let caller: Caller
/** Rules that have no policy. */
let left: readonly string[]

/** An application that is served. */
class Served {
  readonly #application: Application
  readonly #server: TestServer
  readonly #tools: Tools
  readonly kind: Kind

  private constructor(application: Application, server: TestServer) {
    this.#application = application
    this.#server = server
    this.#tools = new Tools(application.api)
    this.kind = application.kind
  }

  static async start(kind: Kind): Promise<Served> {
    const application = applicationOf(kind, asked)
    await application.api.prepare()
    if (application.printer !== application.api) await application.printer.prepare()
    return new Served(application, await serve(application.app))
  }

  policies() {
    return this.#application.printer.policies(ROLE)
  }

  close(): Promise<void> {
    return this.#server.close()
  }

  /** Asks by HTTP, or as an agent does, with names as columns have them. */
  async ask(
    method: string,
    path: string,
    body?: unknown,
    isPlain = false,
  ): Promise<Answer & { readonly text: string }> {
    const given = this.kind.isMapped ? renamed(body, camel) : body
    const { status, json, text } =
      isPlain || random.chance(0.8) ? await this.#byHttp(method, path, given) : await this.#byTool(method, path, given)
    if (status >= 500) counts.failed++
    return { status, text, json: this.kind.isMapped ? renamed(json, snake) : json }
  }

  async #byHttp(method: string, path: string, body: unknown): Promise<Answer & { readonly text: string }> {
    const headers = { 'X-Caller': JSON.stringify(caller) }
    if (body === undefined) return this.#server.send({ method, path, headers, agent })
    const typed = { 'Content-Type': 'application/json', ...headers }
    return this.#server.send({ method, path, headers: typed, body: JSON.stringify(body), agent })
  }

  async #byTool(method: string, path: string, body: unknown): Promise<Answer & { readonly text: string }> {
    counts.tools++
    const params = this.#tools.call(method, path, body)
    const message = agentMessage('2026-07-28', 'tools/call', {
      params,
      headers: { 'X-Caller': JSON.stringify(caller) },
    })
    const { json, text } = await this.#server.send({ method: 'POST', path: '/mcp', agent, ...message })
    const result = json.result as { content: { text: string }[]; isError?: boolean } | undefined
    if (!result) throw new Error(`${JSON.stringify(params)}: ${text}`)
    const said = result.content[0]?.text ?? ''
    const isText = said === '' || said.startsWith('Done')
    const found: unknown = isText ? undefined : JSON.parse(said)
    if (result.isError) return { status: (found as { status: number }).status, json: found, text: said }
    return { status: isText ? 204 : 200, json: found, text: isText ? '' : said }
  }
}

const snake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

function renamed(value: unknown, named: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, named))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [named(name), renamed(item, named)]))
}

function randomRules(hasOnlyReads: boolean): Rules {
  return Object.fromEntries(
    NAMES.map((table) => {
      const isFree = random.chance(table === 'book_genres' ? 0.4 : 0.2) || (hasOnlyReads && table === 'book_genres')
      const wanted = isFree
        ? []
        : ACTIONS.filter((action) => action === 'read' || (!hasOnlyReads && random.chance(0.6)))
      const made = wanted.map((action): [Action, Node] => {
        // what is allowed is worth as much as what is not
        if (action !== 'read' && random.chance(0.4)) return [action, { is: 'all' }]
        const make = () => randomNode(random, table, action === 'read' ? NAMES.indexOf(table) : NAMES.length)
        const node: Node = random.chance(0.6) ? { is: 'or', parts: [make(), make()] } : make()
        const isBranch = random.chance(0.003)
        return [action, isBranch ? { is: 'branch', by: 'isStaff', yes: { is: 'all' }, no: node } : node]
      })
      return [table, Object.fromEntries(made)]
    }),
  ) as unknown as Rules
}

/** What rules say of fields, the same for all callers. */
function randomFields(): Kind['fields'] {
  const some = () =>
    random.pick([{}, { read: false }, { read: false, write: true }, { write: false }, { read: false, mask: 'masked' }])
  return {
    authors: { income: some() },
    books: { cost: some(), isbn: some() },
    reviews: { note: some() },
  }
}

function kinds(): readonly Kind[] {
  return [
    {
      name: 'rules, of which some are of routes by hand',
      schema: 'public',
      isMapped: false,
      by: 'rules',
      hasQuerysets: false,
      isByHand: true,
      fields: randomFields(),
    },
    {
      name: 'rules, mapped, in a schema',
      schema: 'shop',
      isMapped: true,
      by: 'rules',
      hasQuerysets: false,
      fields: {},
    },
    { name: 'related', schema: 'public', isMapped: false, by: 'related', hasQuerysets: true, fields: {} },
    {
      name: 'rules, in a schema',
      schema: 'shop',
      isMapped: false,
      by: 'rules',
      hasQuerysets: false,
      saysOr: true,
      fields: randomFields(),
    },
    {
      name: 'rules, mapped',
      schema: 'public',
      isMapped: true,
      by: 'rules',
      hasQuerysets: true,
      saysOr: true,
      fields: randomFields(),
    },
    {
      name: 'related, mapped, in a schema',
      schema: 'shop',
      isMapped: true,
      by: 'related',
      hasQuerysets: true,
      saysOr: true,
      fields: {},
    },
  ]
}

function randomCaller(): Caller {
  if (random.chance(0.1)) return { user: undefined, region: undefined }
  const maybe = <T>(value: T) => (random.chance(0.15) ? undefined : value)
  return {
    user: {
      id: maybe(1 + random.below(4)),
      tenant: random.chance(0.05) ? null : maybe(1 + random.below(3)),
      name: maybe(random.pick(['a', 'b', 'c'])),
      isStaff: maybe(random.chance(0.5)),
      teams: maybe(random.some([1, 2, 3, 4])),
      team: maybe({ id: 1 + random.below(4) }),
    },
    region: maybe(random.pick(['a', 'b', 'c'])),
  }
}

/** What the caller's values are to policies. */
function settings(): string {
  const { user, region } = caller
  const { id, tenant, name, isStaff, teams, team } = user ?? {}
  const all = {
    user_id: id,
    user_tenant: tenant,
    user_name: name,
    user_isStaff: isStaff,
    user_teams: teams,
    user_team_id: team?.id,
    region,
  }
  const calls = Object.entries(all).map(([key, value]) => {
    const text =
      value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)
    return `set_config('app.${key}', '${text}', true)`
  })
  return `select ${calls.join(', ')}, set_config('role', '${ROLE}', true)`
}

const ROWS_SQL = `select ${NAMES.map((name) => `(select coalesce(json_agg(x), '[]') from (select * from ${name} order by 1, 2) x) as ${name}`).join(', ')}`

/** What replaces all rows. */
function storeSql(rows: Data): string {
  const inserts = NAMES.map(
    (name) =>
      `insert into ${name} select * from json_populate_recordset(null::${name}, '${JSON.stringify(rows[name])}')`,
  )
  const gone = [...NAMES].reverse().map((name) => `delete from ${name}`)
  return [...gone, ...inserts].join(';')
}

/** Sends statements at once; rows of the last that has some. */
async function rowsOf(sql: string): Promise<Record<string, unknown>> {
  const results = (await admin.query(sql)) as unknown as readonly pg.QueryResult[]
  return results.findLast(({ rows }) => rows.length > 0)?.rows[0] as Record<string, unknown>
}

/** Why the second road cannot say what the caller may do; undefined where it can. */
function silence(tables: readonly TableName[], changed: readonly TableName[]): string | undefined {
  if (left.length > 0) return 'a rule that only JavaScript decides'
  if (caller.user?.tenant === null) return 'a value that is null'
  for (const table of tables) {
    for (const node of Object.values(asked.rules[table])) {
      // a policy looks at other rows as they were before the statement
      if (tablesOf(node, table, asked.rules).some((other) => changed.includes(other)))
        return 'a rule about rows that are written'
    }
  }
  return undefined
}

function note(reason: string) {
  why[reason] = (why[reason] ?? 0) + 1
}

function compare(
  served: Served,
  path: string,
  ours: Result,
  others: { readonly two?: Result; readonly three?: Result },
  what?: unknown,
) {
  counts.cases++
  for (const [road, other] of Object.entries(others)) {
    if (other === undefined) continue
    counts[road === 'two' ? 'roadTwo' : 'roadThree']++
    if (JSON.stringify(ours) !== JSON.stringify(other)) {
      const { rules } = asked
      deviations.push({
        path,
        text: JSON.stringify({ path, what, road, ours, other, kind: served.kind, caller, rules, data, seed }, null, 1),
      })
    }
  }
}

/** The keys of the rows that the caller sees, as far as the third road can say. */
function keysSeen(table: TableName): readonly number[] {
  try {
    return ids(world.seen(table))
  } catch (error) {
    if (error instanceof Unsaid) return []
    throw error
  }
}

function byCasl<T>(ask: () => T): T | undefined {
  try {
    return ask()
  } catch (error) {
    if (!(error instanceof Unsaid)) throw error
    counts.silentThree++
    note(`casl: ${error.message}`)
    return undefined
  }
}

async function ask(served: Served, question: Question): Promise<void> {
  const silent = silence([], [])
  let two: Result
  if (silent === undefined) {
    const sent = (await admin.query(`begin; ${settings()}; ${question.sql}; rollback`)) as unknown as pg.QueryResult[]
    two = (sent[2] as pg.QueryResult<{ found: Result }>).rows[0]?.found
  } else {
    counts.silentTwo++
    note(silent)
  }
  const ours = await question.ours((path) => served.ask('GET', path, undefined, question.isPlain))
  compare(served, question.path, ours, { two, three: byCasl(() => question.casl(world)) })
}

async function write(served: Served, { path, send, steps, changed }: Write): Promise<void> {
  const tables = steps.flatMap(({ table, ifSeen = [] }) => [table, ...ifSeen.map(([of]) => of)])
  const silent = silence(tables, changed)
  let two: string | undefined
  if (silent === undefined) {
    const rows = await rowsOf(
      `begin; ${settings()}; select attempt($steps$${stepsSql(steps)}$steps$); reset role; ${ROWS_SQL}; rollback`,
    )
    two = stateOf(rows as Data)
  } else {
    counts.silentTwo++
    note(silent)
  }
  const { status, text } = await served.ask(...send)
  const after = stateOf((await rowsOf(`begin; ${ROWS_SQL}; commit`)) as Data)
  if (after !== stateOf(data)) await admin.query(storeSql(data))
  const three = byCasl(() => stateOf(afterSteps(world, steps) ?? data))
  compare(served, path, after, { two, three }, { send, status, text: text.slice(0, 300) })
  counts[status < 300 ? 'written' : 'refused']++
}

/** @param enough deviations to stop at */
async function walk(all: readonly Kind[], cases: number, enough: number): Promise<void> {
  counts = { ...NOTHING }
  why = {}
  deviations = []
  for (const [index, kind] of all.entries()) {
    const served = await Served.start(kind)
    await admin.query(
      `set search_path to ${kind.schema}; revoke all on all tables in schema public, shop from ${ROLE};
       grant select, insert, update, delete on all tables in schema public, shop to ${ROLE}`,
    )
    try {
      while (counts.cases < (cases * (index + 1)) / all.length && deviations.length < enough) await round(served)
    } finally {
      await served.close()
    }
  }
}

/** Asks by rules of the moment. */
async function round(served: Served): Promise<void> {
  asked.rules = randomRules(served.kind.by === 'related')
  data = randomData(random)
  const printed = await served.policies()
  // what depends on values is of grants, and is compared by questions of its own
  left = printed.left
  counts.rounds++
  // rows are replaced all the time
  if (counts.rounds % 20 === 0) await admin.query('vacuum')
  if (left.length > 0) counts.notPrinted++
  await admin.query(`${printed.sql}; ${storeSql(data)}`)
  for (let index = 0; index < (isLong ? 6 : 4); index++) {
    caller = randomCaller()
    world = new World(data, caller, { rules: asked.rules, fields: served.kind.fields })
    for (let count = 0; count < 9; count++) await ask(served, randomQuestion(random, data))
    for (let count = 0; count < 5; count++) await write(served, randomWrite(random, data, keysSeen))
  }
}

it(`${CASES} cases differ on none of three roads`, { timeout: 3_600_000 }, async () => {
  await walk(kinds(), CASES, 5)
  report('three roads', { ...counts, ...why, deviations: deviations.length })
  expect(deviations.map(({ text }) => text)).toEqual([])
  expect(counts.failed).toBe(0)
  expect(counts.written).toBeGreaterThan(CASES / 50)
})

it('finds what is shown, counted, linked and changed where view sets narrow their own querysets only', async () => {
  await walk(
    [{ name: 'querysets', schema: 'public', isMapped: false, by: 'querysets', hasQuerysets: true, fields: {} }],
    150,
    30,
  )
  const found = [...new Set(deviations.map(({ path }) => path))]
  report('three roads, without rules', { ...counts, deviations: deviations.length })
  expect(found.some((path) => /nested|expand|filter|search|__name/.test(path))).toBe(true)
  expect(found.some((path) => /^(?:POST|PATCH|move|link|nested a)/.test(path))).toBe(true)
})
