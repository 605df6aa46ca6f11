/**
 * P16: a request that writes waits for a row that another transaction holds. That one gives the row to somebody else,
 * or takes away what let the caller see it, and commits. The answer is that there is no such object, and nothing of it is
 * written, whatever says who sees what. Where the row stays visible the write goes on with the row as it is then.
 */
import { once } from 'node:events'
import type http from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import Koa from 'koa'
import { APIRouter, NestedRouter } from 'koa-viewsets'
import { rule } from 'koa-viewsets/rules'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { connectTo, type TestRequest, type TestResponse } from '../support/server.js'
import { type Estate, LEVELS, type Level, type Row, readEstate, SCHEMA } from './support/estate.js'
import { asCaller, bindModels, MODELS, rowRules, viewOf } from './support/estate-views.js'
import { Random } from './support/random.js'
import { SHAPES, type Shape } from './support/shapes.js'
import { isLong, report, seed, size } from './support/size.js'
import { all, any, atom, type Condition, describe, holds, not } from './support/visibility.js'

/** What is said of who sees what; each shape says each of it. */
const CONDITIONS: readonly Condition[] = [
  any(atom('owned'), atom('open')),
  all(atom('owned'), not(atom('archived'))),
  atom('granted'),
  any(all(atom('ownerActive'), atom('small')), atom('open')),
  any(atom('parentOpen'), atom('open')),
]

/** How views write. */
const MODES = {
  plain: {},
  'with concurrency': { statics: { concurrency: 'touched' } },
  'without atomic': { statics: { atomic: false } },
  'with hooks': { hooks: true },
  planted: { careless: true },
} as const
type Mode = keyof typeof MODES

/** The rows of one case, all its own. */
interface Case {
  readonly me: number
  readonly other: number
  readonly folder: number
  readonly elsewhere: number
  readonly paper: number
  /** Another paper of the caller's, which nobody takes away. */
  readonly second: number
  readonly remark: number
}

/** What the other transaction does to the rows while it holds the one that the request is about. */
interface Change {
  readonly name: string
  readonly commits: boolean
  sql(held: Level, id: number, rows: Case): string
}

const given = (level: string, id: number, to: number) =>
  `update ${level} set owner_id = ${to}, open = false, archived = true, n = 9 where id = ${id};
   delete from ${level}_grants where row_id = ${id};`

const CHANGES: readonly Change[] = [
  {
    name: 'gives it away',
    commits: true,
    sql: (held, id, { other, folder }) =>
      `${given(held, id, other)} update folders set open = false where id = ${folder};`,
  },
  {
    name: 'changes its owner',
    commits: true,
    sql: (held, id, { other }) => `update ${held} set owner_id = ${other} where id = ${id};`,
  },
  { name: 'archives it', commits: true, sql: (held, id) => `update ${held} set archived = true where id = ${id};` },
  { name: 'takes its grant', commits: true, sql: (held, id) => `delete from ${held}_grants where row_id = ${id};` },
  {
    name: 'retires its owner',
    commits: true,
    sql: (_held, _id, { me }) => `update people set active = false where id = ${me};`,
  },
  {
    name: 'closes the folder',
    commits: true,
    sql: (_held, _id, { folder }) => `update folders set open = false where id = ${folder};`,
  },
  {
    name: 'gives the folder away',
    commits: true,
    sql: (_held, _id, { folder, other }) => given('folders', folder, other),
  },
  {
    name: 'moves it',
    commits: true,
    sql: (_held, _id, { paper, elsewhere }) => `update papers set parent_id = ${elsewhere} where id = ${paper};`,
  },
  { name: 'deletes it', commits: true, sql: (held, id) => `delete from ${held} where id = ${id};` },
  {
    name: 'gives it another key',
    commits: true,
    sql: (held, id) => `update ${held} set id = id + 1000000 where id = ${id};`,
  },
  {
    name: 'changes what nobody looks at',
    commits: true,
    sql: (held, id) => `update ${held} set n = 3 where id = ${id};`,
  },
  {
    name: 'gives it away and thinks better of it',
    commits: false,
    sql: (held, id, { other }) => given(held, id, other),
  },
]

/** A request that writes, the row that it waits for, and what it makes of that. */
interface Writing {
  readonly name: string
  readonly held: Level
  /** The objects on its path before the one that is held. */
  readonly through: readonly Level[]
  /** In a list of objects: at which place the one that is held stands. */
  readonly place?: number
  /** What the labels are afterwards, where the request says so. */
  readonly labels?: readonly number[]
  readonly needsTransaction?: boolean
  request(base: string, rows: Case): TestRequest
  /** The row as it is after the request; undefined where it is gone. */
  written(row: Row, hooks: boolean, rows: Case): Row | undefined
}

const json = (method: string, path: string, body?: unknown): TestRequest => ({
  method,
  path,
  ...(body !== undefined && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
})
const whole = ({ me }: Case) => ({ title: 'written', n: 2, open: false, archived: false, owner_id: me })
const asWhole = (row: Row, rows: Case): Row => ({ ...row, ...whole(rows), parent_id: rows.folder })
const counted = (row: Row, before: number | null, hooks: boolean): Row =>
  hooks ? { ...row, n: (before ?? 0) + 10 } : row
const destroyed = (row: Row, hooks: boolean) => (hooks ? { ...row, archived: true } : undefined)

const WRITINGS: readonly Writing[] = [
  ...[
    { path: (base: string, { paper }: Case) => `${base}-papers/${paper}`, through: [] as Level[], where: '' },
    {
      path: (base: string, { folder, paper }: Case) => `${base}-folders/${folder}/papers/${paper}`,
      through: ['folders'] as Level[],
      where: ' below a folder',
    },
  ].flatMap(({ path, through, where }): Writing[] => [
    {
      name: `PATCH${where}`,
      held: 'papers',
      through,
      request: (base, rows) => json('PATCH', path(base, rows), { title: 'written' }),
      written: (row, hooks) => counted({ ...row, title: 'written' }, row.n, hooks),
    },
    {
      name: `PUT${where}`,
      held: 'papers',
      through,
      request: (base, rows) => json('PUT', path(base, rows), { ...whole(rows), parent_id: rows.folder }),
      written: (row, hooks, rows) => counted(asWhole(row, rows), row.n, hooks),
    },
    {
      name: `DELETE${where}`,
      held: 'papers',
      through,
      request: (base, rows) => json('DELETE', path(base, rows)),
      written: destroyed,
    },
    {
      name: `POST of an action${where}`,
      held: 'papers',
      through,
      needsTransaction: true,
      request: (base, rows) => json('POST', `${path(base, rows)}/bump`),
      written: (row) => ({ ...row, n: (row.n ?? 0) + 1 }),
    },
    {
      name: `PATCH of a many-to-many field${where}`,
      held: 'papers',
      through,
      labels: [2, 3],
      request: (base, rows) => json('PATCH', path(base, rows), { labels: [2, 3] }),
      written: (row, hooks) => counted(row, row.n, hooks),
    },
    {
      name: `PATCH of a foreign key${where}`,
      held: 'papers',
      through,
      request: (base, rows) => json('PATCH', path(base, rows), { owner_id: null }),
      written: (row, hooks) => counted({ ...row, owner_id: null }, row.n, hooks),
    },
    ...[0, 1].flatMap((place): Writing[] => {
      const bulk = (base: string, rows: Case) => path(base, rows).replace(/\d+$/, 'bulk')
      const inOrder = <Item>(held: Item, other: Item) => (place === 0 ? [held, other] : [other, held])
      return [
        {
          name: `PATCH of a list${where}, at place ${place}`,
          held: 'papers',
          through,
          place,
          request: (base, rows) =>
            json(
              'PATCH',
              bulk(base, rows),
              inOrder({ id: rows.paper, title: 'written' }, { id: rows.second, title: 'written' }),
            ),
          written: (row, hooks) => counted({ ...row, title: 'written' }, row.n, hooks),
        },
        {
          name: `DELETE of a list${where}, at place ${place}`,
          held: 'papers',
          through,
          place,
          request: (base, rows) => json('DELETE', bulk(base, rows), inOrder(rows.paper, rows.second)),
          written: destroyed,
        },
      ]
    }),
  ]),
  {
    name: 'PATCH two levels below',
    held: 'remarks',
    through: ['folders', 'papers'],
    request: (base, { folder, paper, remark }) =>
      json('PATCH', `${base}-folders/${folder}/papers/${paper}/remarks/${remark}`, { title: 'written' }),
    written: (row, hooks) => counted({ ...row, title: 'written' }, row.n, hooks),
  },
  {
    name: 'DELETE two levels below',
    held: 'remarks',
    through: ['folders', 'papers'],
    request: (base, { folder, paper, remark }) =>
      json('DELETE', `${base}-folders/${folder}/papers/${paper}/remarks/${remark}`),
    written: destroyed,
  },
  {
    name: 'POST of an action two levels below',
    held: 'remarks',
    through: ['folders', 'papers'],
    needsTransaction: true,
    request: (base, { folder, paper, remark }) =>
      json('POST', `${base}-folders/${folder}/papers/${paper}/remarks/${remark}/bump`),
    written: (row) => ({ ...row, n: (row.n ?? 0) + 1 }),
  },
]

/** How many trials run at once. */
const RUNNERS = 4

let database: TestDatabase
let observer: pg.Pool
let port: number
let server: http.Server
const reported: unknown[] = []
const baseOf = (shape: number, condition: number, mode: Mode) =>
  `/${shape}-${condition}-${Object.keys(MODES).indexOf(mode)}`

beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  bindModels(database.knex)
  observer = new pg.Pool({ ...database.direct, max: RUNNERS })
  // its `end()` returns before its connections have ended, which then hear of the database's end
  observer.on('error', () => {})
  const needed = new Map([...TRIALS, PLANTED].map((trial) => [baseOf(trial.shape, trial.condition, trial.mode), trial]))
  // what rules say of a model holds for the whole of an API
  const apis = [undefined, ...CONDITIONS].map((rules) => ({ rules, api: new APIRouter({ rules: rulesOf(rules) }) }))
  for (const { shape, condition, mode } of needed.values()) {
    const rules = SHAPES[shape]?.isRule ? CONDITIONS[condition] : undefined
    register(apis.find((one) => one.rules === rules)?.api as APIRouter, shape, condition, mode)
  }
  const app = new Koa().use(asCaller)
  for (const { api } of apis) {
    await api.prepare()
    app.use(api.routes())
  }
  app.on('error', (error) => reported.push(error))
  server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ;({ port } = server.address() as AddressInfo)
}, 120_000)
afterAll(async () => {
  server?.closeAllConnections()
  server?.close()
  await observer?.end()
  await database?.drop()
})

const rulesOf = (condition: Condition | undefined) =>
  condition ? LEVELS.map((level) => rule(MODELS[level], rowRules({ level, condition }))) : []

function register(api: APIRouter, shapeIndex: number, conditionIndex: number, mode: Mode): void {
  const shape = SHAPES[shapeIndex] as Shape
  const condition = CONDITIONS[conditionIndex] as Condition
  const base = baseOf(shapeIndex, conditionIndex, mode).slice(1)
  const view = (level: Level) => viewOf({ level, shape, condition, mayLeave: true, ...MODES[mode] })
  const papers = view('papers')
  api.register(`${base}-papers`, papers, `${base}-papers`)
  api.register(`${base}-folders`, view('folders'), `${base}-folders`)
  const below = new NestedRouter(api, `${base}-folders`, { lookup: 'folder_id' })
  below.register('papers', papers, `${base}-folder-papers`)
  new NestedRouter(below, 'papers', { lookup: 'paper_id' }).register('remarks', view('remarks'), `${base}-remarks`)
}

/** Rows that the caller sees, whatever is asked of them. */
async function plantCase(): Promise<Case> {
  const { rows } = await observer.query<Case>(`
    with me as (insert into people (name) values ('me') returning id),
      other as (insert into people (name) values ('other') returning id),
      root as (insert into folders (title, open) values ('root', true) returning id),
      folder as (insert into folders (parent_id, owner_id, n, title) select root.id, me.id, 1, 'folder' from root, me returning id),
      elsewhere as (insert into folders (parent_id, owner_id, n, title) select root.id, other.id, 1, 'elsewhere' from root, other returning id),
      paper as (insert into papers (parent_id, owner_id, n, title) select folder.id, me.id, 1, 'paper' from folder, me returning id),
      second as (insert into papers (parent_id, owner_id, n, title, open) select folder.id, me.id, 1, 'second', true from folder, me returning id),
      remark as (insert into remarks (parent_id, owner_id, n, title, open) select paper.id, me.id, 1, 'remark', true from paper, me returning id)
    select me.id as me, other.id as other, folder.id as folder, elsewhere.id as elsewhere, paper.id as paper,
      second.id as second, remark.id as remark
    from me, other, folder, elsewhere, paper, second, remark`)
  const planted = rows[0] as Case
  const { me, folder, paper, second, remark } = planted
  await observer.query(`
    insert into folders_grants values (${folder}, ${me});
    insert into papers_grants values (${paper}, ${me}), (${second}, ${me});
    insert into remarks_grants values (${remark}, ${me});
    insert into papers_labels values (${paper}, 1), (${paper}, 2);
    update folders set open = true where id = ${folder};`)
  return planted
}

async function removeCase({ me, other, folder, elsewhere }: Case): Promise<void> {
  await observer.query(`
    delete from folders where id in (select parent_id from folders where id in (${folder}, ${elsewhere}));
    delete from people where id in (${me}, ${other})`)
}

interface Trial {
  readonly shape: number
  readonly condition: number
  readonly mode: Mode
  readonly writing: Writing
  readonly change: Change
}

const idOf = (level: Level, { folder, paper, remark }: Case) =>
  ({ folders: folder, papers: paper, remarks: remark })[level]

/** Whether the caller may see a row of the held level, and all that is on the path to it. */
function isSeen(trial: Trial, rows: Case, estate: Estate, id = idOf(trial.writing.held, rows)): boolean {
  const path = [
    ...trial.writing.through.map((level) => ({ level, id: idOf(level, rows) })),
    { level: trial.writing.held, id },
  ]
  return isPathSeen(trial, rows, estate, path)
}

interface Step {
  readonly level: Level
  readonly id: number
}

function isPathSeen({ shape, condition }: Trial, { me }: Case, estate: Estate, path: readonly Step[]): boolean {
  const effective = (SHAPES[shape] as Shape).sees(CONDITIONS[condition] as Condition)
  return path.every(({ level, id }, index) => {
    const row = estate.rows[level].get(id)
    const before = path[index - 1]
    return (
      row !== undefined &&
      (before === undefined || row.parent_id === before.id) &&
      holds(effective, row, { level, caller: me }, estate) === true
    )
  })
}

/** What of the case's rows is stored: all columns, and the labels. */
function stored({ folder, paper, second, remark }: Case, { rows: { folders, papers, remarks }, labels }: Estate) {
  const moved = (map: ReadonlyMap<number, Row>, id: number) => map.get(id) ?? map.get(id + 1_000_000)
  const kept = moved(papers, paper)
  return {
    folders: moved(folders, folder),
    papers: kept,
    second: moved(papers, second),
    remarks: moved(remarks, remark),
    labels: [1, 2, 3].filter((label) => labels.has(`${kept?.id} ${label}`)),
  }
}

/** Runs a trial, and returns what was wrong; null where the caller does not see the row in the first place. */
async function run(trial: Trial, holder: pg.Client, pid: number): Promise<readonly string[] | null> {
  const { shape, condition, mode, writing, change } = trial
  const rows = await plantCase()
  try {
    if (!isSeen(trial, rows, await readEstate(observer))) return null
    const id = idOf(writing.held, rows)
    await holder.query(`begin; update ${writing.held} set title = title where id = ${id}`)
    const sent = connectTo(port).send(asking(writing.request(baseOf(shape, condition, mode), rows), rows.me))
    const early = await firstOf(sent, pid)
    if (early) {
      await holder.query('rollback')
      return [`it did not wait for the row: ${early.status} ${early.text}`]
    }
    if (!change.commits) await holder.query('savepoint before')
    await holder.query(change.sql(writing.held, id, rows))
    if (!change.commits) await holder.query('rollback to before')
    const between = await readEstate(holder)
    await holder.query(change.commits ? 'commit' : 'rollback')
    return judge(trial, { rows, between, answer: await sent, after: await readEstate(observer) })
  } finally {
    await holder.query('rollback')
    await removeCase(rows)
  }
}

const asking = (request: TestRequest, me: number): TestRequest => ({
  ...request,
  headers: { ...request.headers, 'X-User': String(me) },
})

/** The answer, if it comes before a statement waits for the transaction of that process. */
async function firstOf(sent: Promise<TestResponse>, pid: number): Promise<TestResponse | undefined> {
  let answer: TestResponse | undefined
  void sent.then((response) => (answer = response))
  for (;;) {
    const { rows } = await observer.query(
      'select from pg_stat_activity where $1 = any (pg_blocking_pids(pid)) limit 1',
      [pid],
    )
    if (answer) return answer
    if (rows.length > 0) return undefined
    await sleep(1)
  }
}

interface Outcome {
  readonly rows: Case
  /** What was stored when the request could go on. */
  readonly between: Estate
  readonly answer: TestResponse
  readonly after: Estate
}

/** What was wrong, in words. */
function judge(trial: Trial, { rows, between, answer, after }: Outcome): readonly string[] {
  const { writing, mode } = trial
  const problems: string[] = []
  const refusal = refusalOf(trial, rows, between) ?? denialOf(trial, rows, between)
  const isDelete = writing.request('', rows).method === 'DELETE'
  const expected = refusal ?? { status: isDelete && writing.place === undefined ? 204 : 200 }
  // of a list that goes with its folder either may be said
  const isTold = refusal?.texts?.includes(answer.text) ?? answer.status === expected.status
  if (!isTold) {
    problems.push(
      `answered ${answer.status} ${answer.text}, expected ${expected.status} ${refusal?.texts?.join(' or ') ?? ''}`,
    )
  }
  const was = stored(rows, between)
  const expectedRows = refusal ? was : afterWriting(trial, rows, was, mode === 'with hooks')
  const is = stored(rows, after)
  for (const [name, value] of Object.entries(is)) {
    const [told, meant] = [value, expectedRows[name as keyof typeof is]].map((part) => JSON.stringify(part))
    if (told !== meant) problems.push(`${name} stored as ${told}, expected ${meant}`)
  }
  return problems
}

const NOT_FOUND = '{"detail":"Not found","status":404}'

interface Refusal {
  readonly status: number
  /** What may be said; anything where it is left out. */
  readonly texts?: readonly string[]
}

/** How the request is refused because of the objects that it leads to, if it is. */
function refusalOf(trial: Trial, rows: Case, between: Estate): Refusal | undefined {
  const { writing } = trial
  if (writing.place === undefined) return isSeen(trial, rows, between) ? undefined : { status: 404, texts: [NOT_FOUND] }
  const path = writing.through.map((level) => ({ level, id: idOf(level, rows) }))
  const isPath = isPathSeen(trial, rows, between, path)
  const listed = writing.place === 0 ? [rows.paper, rows.second] : [rows.second, rows.paper]
  const lost = listed.flatMap((id, place) =>
    isSeen(trial, rows, between, id) ? [] : [[place, { id: [`Invalid pk "${id}" - object does not exist.`] }]],
  )
  if (lost.length === 0) return undefined
  const text = JSON.stringify({ detail: 'Validation failed', status: 400, errors: Object.fromEntries(lost) as object })
  return isPath ? { status: 400, texts: [text] } : { status: 404, texts: [text, NOT_FOUND] }
}

/** How a rule refuses what the request would make of the rows. What code of the application writes is its own. */
function denialOf(trial: Trial, rows: Case, between: Estate): Refusal | undefined {
  const { shape, condition, writing, mode } = trial
  const { method, path } = writing.request('', rows)
  if (!SHAPES[shape]?.isRule || method === 'DELETE' || path?.endsWith('/bump')) return undefined
  const sees = (level: Level, row: Row | undefined, estate: Estate) =>
    row && holds(CONDITIONS[condition] as Condition, row, { level, caller: rows.me }, estate) === true
  const was = stored(rows, between)
  const isMoved = method === 'PUT' && writing.through.length === 0 && was.papers?.parent_id !== rows.folder
  if (isMoved && !sees('folders', was.folders, between)) return { status: 400 }
  const is = afterWriting(trial, rows, was, mode === 'with hooks')
  const written: [Level, Row | undefined][] = [[writing.held, is[writing.held]]]
  if (writing.place !== undefined) written.push(['papers', is.second])
  return written.every(([level, row]) => sees(level, row, between)) ? undefined : { status: 403 }
}

/** The rows as the request leaves them. */
function afterWriting({ writing }: Trial, rows: Case, was: ReturnType<typeof stored>, hooks: boolean): typeof was {
  const write = (row: Row | undefined) => (row ? writing.written(row, hooks, rows) : undefined)
  const papers = writing.held === 'papers' ? write(was.papers) : was.papers
  return {
    ...was,
    papers,
    second: writing.place === undefined ? was.second : write(was.second),
    remarks: writing.held === 'remarks' ? write(was.remarks) : papers && was.remarks,
    labels: papers ? [...(writing.labels ?? was.labels)] : [],
  }
}

const modes = (Object.keys(MODES) as Mode[]).filter((mode) => mode !== 'planted')

/** Every shape with a sixth of the ways to write, others for its neighbours; the rest in turn. */
function chosen(): Trial[] {
  const at = <Item>(items: readonly Item[], index: number): Item => items[index % items.length] as Item
  const pairs = SHAPES.flatMap((_, shape) => WRITINGS.map((writing, index) => ({ shape, writing, index })))
  return pairs
    .filter(({ shape, index }) => (shape + index) % 6 === 0)
    .map(({ shape, writing }, turn) => ({
      shape,
      writing,
      condition: (turn * 3) % CONDITIONS.length,
      mode: at(modes, turn + shape),
      change: at(CHANGES, turn * 5),
    }))
}

/** All there are. */
function everything(): Trial[] {
  return SHAPES.flatMap((_, shape) =>
    CONDITIONS.flatMap((_condition, condition) =>
      modes.flatMap((mode) =>
        WRITINGS.flatMap((writing) => CHANGES.map((change): Trial => ({ shape, condition, mode, writing, change }))),
      ),
    ),
  )
}

const TRIALS = (isLong ? new Random(seed).shuffled(everything()).slice(0, size(0, 20_000)) : chosen()).filter(
  ({ mode, writing }) => mode !== 'without atomic' || !writing.needsTransaction,
)

/** A client that holds rows, and the process that others wait for. */
async function holding(work: (holder: pg.Client, pid: number) => Promise<void>): Promise<void> {
  const holder = new pg.Client(database.direct)
  await holder.connect()
  const { rows } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid')
  await work(holder, rows[0]?.pid as number)
  await holder.end()
}

const titleOf = ({ shape, condition, mode, writing, change }: Trial) =>
  [SHAPES[shape]?.name, describe(CONDITIONS[condition] as Condition), mode, writing.name, change.name].join(' | ')

/** An action that does not hold what it has read. */
const PLANTED: Trial = {
  shape: 0,
  condition: 0,
  mode: 'planted',
  writing: WRITINGS.find(({ name }) => name === 'POST of an action') as Writing,
  change: CHANGES.find(({ name }) => name === 'changes its owner') as Change,
}

it('P16 finds a write that did not hold its row', async () => {
  await holding(async (holder, pid) => {
    const problems = await run(PLANTED, holder, pid)
    expect(problems).toMatchObject(
      [/^answered 200 .*, expected 404/, /^papers stored as/].map((text) => expect.stringMatching(text)),
    )
  })
})

it('P16 a write that waited for a row does not touch it where the row has left the caller', {
  timeout: 3_600_000,
}, async () => {
  const failures: string[] = []
  const figures = { races: 0, 'not to be seen': 0 }
  const queue = TRIALS.values()
  const runAll = async (holder: pg.Client, pid: number) => {
    for (const trial of queue) {
      const problems = await run(trial, holder, pid).catch((error: unknown) => [String(error)])
      figures[problems === null ? 'not to be seen' : 'races']++
      for (const problem of problems ?? []) failures.push(`${titleOf(trial)}: ${problem}`)
    }
  }
  await Promise.all(Array.from({ length: RUNNERS }, () => holding(runAll)))
  report('P16 hand-over', { seed, ...figures })
  expect(failures).toEqual([])
  expect(reported).toEqual([])
})

it('P16 a write does not wait for a row that its caller does not see', { timeout: 3_600_000 }, async () => {
  const failures: string[] = []
  const trials = TRIALS.filter(({ change }) => change.commits)
  const figures = { writes: 0, 'still to be seen': 0 }
  await holding(async (holder, pid) => {
    for (const trial of trials) {
      const problems = await runUnseen(trial, holder, pid).catch((error: unknown) => [String(error)])
      figures[problems === null ? 'still to be seen' : 'writes']++
      for (const problem of problems ?? []) failures.push(`${titleOf(trial)}: ${problem}`)
    }
  })
  report('P16 unseen rows', figures)
  expect(failures).toEqual([])
})

/** The change is there before the request, and another transaction holds the row. Null where the caller still sees it. */
async function runUnseen(trial: Trial, holder: pg.Client, pid: number): Promise<readonly string[] | null> {
  const { shape, condition, mode, writing, change } = trial
  const rows = await plantCase()
  try {
    const id = idOf(writing.held, rows)
    await holder.query(change.sql(writing.held, id, rows))
    const between = await readEstate(observer)
    if (isSeen(trial, rows, between)) return null
    await holder.query(`begin; select from ${writing.held} where id = ${id} for update`)
    const sent = connectTo(port).send(asking(writing.request(baseOf(shape, condition, mode), rows), rows.me))
    const early = await firstOf(sent, pid)
    await holder.query('rollback')
    const problems = judge(trial, { rows, between, answer: await sent, after: await readEstate(observer) })
    return early ? problems : [`it waited for the row, then ${(await sent).status}`, ...problems]
  } finally {
    await holder.query('rollback')
    await removeCase(rows)
  }
}
