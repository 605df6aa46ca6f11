/**
 * P15: applications by chance, over three tables one below the other: who sees what, said in every shape of queryset; who may
 * do what, by permissions made of others; nested routes, method fields, filters, `?fields=`. Each is asked by several
 * callers for every action, and answers and leaves stored what a model of the rules says, which asks no database.
 */
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Client, expectRules, serving } from '../support/client.js'
import { undescribed } from '../support/contract.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import type { TestResponse } from '../support/server.js'
import {
  type Application,
  describeApplication,
  type Resource,
  randomApplication,
  routerOf,
} from './support/application.js'
import { type Estate, LEVELS, type Level, parentOf, readEstate, SCHEMA } from './support/estate.js'
import { asCaller, bindModels } from './support/estate-views.js'
import { type Action, type Answer, expectedAnswers, type Question, textOf } from './support/expected.js'
import { Random } from './support/random.js'
import type { User } from './support/rules.js'
import { report, seed, size } from './support/size.js'
import { any, atom } from './support/visibility.js'

const APPLICATIONS = size(6, 600)
const QUESTIONS = size(30, 100)
/** More say nothing new. */
const MOST_FAILURES = 30

let database: TestDatabase
let observer: pg.Client

beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  bindModels(database.knex)
  observer = new pg.Client(database.direct)
  await observer.connect()
})
afterAll(async () => {
  await observer?.end()
  await database?.drop()
})

const PEOPLE = 4
const CALLERS: readonly (User | null)[] = [
  null,
  { id: 1, isStaff: false },
  { id: 2, isStaff: false },
  { id: 3, isStaff: true },
]
const ROWS: Readonly<Record<Level, number>> = { folders: 5, papers: 7, remarks: 7 }

/** Random rows in all tables. */
async function plant(random: Random): Promise<void> {
  const person = () => random.pick(['null', '1', '1', '2', '3', '4'])
  const rowOf = (level: Level) => (_: unknown, index: number) => {
    const parents = level === 'folders' ? index : ROWS[parentOf(level)]
    const parent = parents === 0 || random.chance(0.1) ? 'null' : 1 + random.below(parents)
    const n = random.pick(['null', '1', '3', '7'])
    const title = `'${level} ${random.pick(['a', 'b', 'c'])}'`
    return `(${parent}, ${person()}, ${random.chance(0.5)}, ${random.chance(0.3)}, ${n}, ${title})`
  }
  const links = (table: string, count: number, others: number) => {
    const pairs = new Set(
      Array.from({ length: count }, () => `(${1 + random.below(count)}, ${1 + random.below(others)})`),
    )
    return `insert into ${table} values ${[...pairs].join(', ')};`
  }
  await observer.query(`
    delete from people; delete from folders; delete from papers; delete from remarks;
    ${[...LEVELS, 'people'].map((table) => `alter sequence ${table}_id_seq restart;`).join('')}
    insert into people (name, active) values ${Array.from({ length: PEOPLE }, (_, index) => `('person ${index + 1}', ${random.chance(0.6)})`).join(', ')};
    ${LEVELS.map((level) => {
      const rows = Array.from({ length: ROWS[level] }, rowOf(level))
      return `insert into ${level} (parent_id, owner_id, open, archived, n, title) values ${rows.join(', ')};
        ${links(`${level}_grants`, ROWS[level], PEOPLE)}`
    }).join('')}
    ${links('papers_labels', ROWS.papers, 3)}`)
}

const ACTIONS: Readonly<Record<Action, string>> = {
  list: 'GET',
  retrieve: 'GET',
  create: 'POST',
  update: 'PUT',
  partialUpdate: 'PATCH',
  destroy: 'DELETE',
  bulkCreate: 'POST',
  bulkUpdate: 'PATCH',
  bulkDestroy: 'DELETE',
  bump: 'POST',
  metadata: 'OPTIONS',
}
const NAMES = Object.keys(ACTIONS) as Action[]
/** Those that take away what others could be asked about come less often. */
const OFTEN: readonly Action[] = [
  ...NAMES,
  'list',
  'list',
  'retrieve',
  'retrieve',
  'update',
  'partialUpdate',
  'bump',
  'create',
]
const OF_OBJECT: ReadonlySet<Action> = new Set(['retrieve', 'update', 'partialUpdate', 'destroy', 'bump'])

/** A request by chance. Most of what it names is there. */
function randomQuestion(random: Random, { routes }: Application, estate: Estate): Question {
  const route = random.pick(routes)
  const own = route.chain.at(-1) as Resource
  const action = random.pick(OFTEN.filter((name) => own.isAtomic || name !== 'bump'))
  const ids = randomIds(random, route.chain, estate)
  const isObject = OF_OBJECT.has(action) || (action === 'metadata' && random.chance(0.5))
  return {
    route,
    action,
    method: ACTIONS[action] === 'GET' && random.chance(0.1) ? 'HEAD' : ACTIONS[action],
    user: random.pick(CALLERS),
    ids: isObject ? ids : ids.slice(0, -1),
    body: randomBody(random, own, action, estate),
    query: randomQuery(random, own, action),
    mismatched: random.chance(0.05) && ['update', 'partialUpdate', 'destroy', 'bump'].includes(action),
  }
}

function randomIds(random: Random, chain: readonly Resource[], estate: Estate): number[] {
  const anyId = (level: Level) => random.pick([...estate.rows[level].keys(), 999])
  const ids: number[] = []
  for (const { level } of chain.toReversed()) {
    const below = chain[chain.length - ids.length]
    const child = below && ids[0] !== undefined ? estate.rows[below.level].get(ids[0]) : undefined
    const isRight = child?.parent_id != null && !random.chance(0.1)
    ids.unshift(isRight ? child.parent_id : anyId(level))
  }
  return ids
}

function randomQuery(random: Random, own: Resource, action: Action): Record<string, string> {
  const shown = ['parent_id', 'title', 'n', 'owner_id', ...(own.method === 'none' ? [] : ['byline', 'byline'])]
  return {
    ...(action !== 'destroy' &&
    action !== 'bulkDestroy' &&
    action !== 'metadata' &&
    action !== 'bump' &&
    random.chance(0.25)
      ? { fields: ['id', ...new Set(random.some(shown))].join(',') }
      : {}),
    ...(action === 'list' && random.chance(0.2) && { n__gte: '3' }),
    ...(action === 'list' && own.isPaginated && random.chance(0.4) && { page: String(1 + random.below(3)) }),
  }
}

function randomItem(random: Random, { level }: Resource, isWhole: boolean, estate: Estate): Record<string, unknown> {
  const folder = random.pick([null, ...estate.rows[parentOf(level)].keys(), ...(random.chance(0.1) ? [999] : [])])
  const all = {
    title: `written ${random.below(100)}`,
    n: random.chance(0.04) ? 'x' : random.pick([null, 2, 6]),
    open: random.chance(0.5),
    archived: random.chance(0.3),
    owner_id: random.chance(0.03) ? 999 : random.pick([null, 1, 2, 3]),
    parent_id: folder,
    ...(level === 'papers' && { labels: random.some([1, 2, 3], 0.3) }),
  }
  const names = Object.keys(all).filter((name) => isWhole || random.chance(name === 'parent_id' ? 0.1 : 0.4))
  const kept = random.chance(0.04) ? names.filter((name) => name !== 'title') : names
  return Object.fromEntries(kept.map((name) => [name, all[name as keyof typeof all]]))
}

function randomBody(random: Random, own: Resource, action: Action, estate: Estate): unknown {
  const item = (isWhole: boolean) => randomItem(random, own, isWhole, estate)
  const few = 1 + random.below(3)
  const ids = Array.from({ length: few }, () => random.pick([...estate.rows[own.level].keys(), 999]))
  switch (action) {
    case 'create':
    case 'update':
      return item(true)
    case 'partialUpdate':
      return item(false)
    case 'bulkCreate':
      return Array.from({ length: few }, () => item(true))
    case 'bulkUpdate':
      return ids.map((id) => ({ id, ...item(false) }))
    case 'bulkDestroy':
      return ids
    default:
      return undefined
  }
}

/** The path of a question, with its query. */
function pathOf({ route, ids, action, query }: Question): string {
  const isObject = ids.length === route.chain.length
  const path = route.path.replace(/\{(\d)\}/g, (_, index: string) => String(ids[Number(index)]))
  const end = action.startsWith('bulk') ? '/bulk' : action === 'bump' ? '/bump' : ''
  const asked = new URLSearchParams(query).toString()
  return `${path}${isObject ? `/${ids.at(-1)}` : ''}${end}${asked && `?${asked}`}`
}

function ask(client: Client, question: Question): Promise<TestResponse> {
  const { user, mismatched, method, body } = question
  return client.send(method, pathOf(question), body, {
    ...(user && { 'X-User': `${user.id}${user.isStaff ? ' staff' : ''}` }),
    ...(mismatched && { 'If-Match': '"0000000000000000-0000000000000000"' }),
  })
}

/** What is wrong with the answer, in words, and what is to be stored after it. */
function judge(question: Question, response: TestResponse, answers: readonly Answer[], estate: Estate) {
  const { status, json, text } = response
  const told = answers.filter((answer) => answer.status === status)
  const statuses = [...new Set(answers.map((answer) => answer.status))].join(' or ')
  if (told.length === 0)
    return { problem: `answered ${status} ${text.slice(0, 300)}, expected ${statuses}`, after: estate }
  if (status >= 400) expectRules(response, question.method)
  if (question.method === 'HEAD') return { problem: undefined, after: estate }
  const problems = told.map((answer) => answer.check?.(json))
  const right = problems.indexOf(undefined)
  if (right < 0) return { problem: `the body of the ${status} ${problems.join(', or ')}`, after: estate }
  return { problem: undefined, after: told[right]?.after?.(json) ?? estate }
}

interface Asking {
  readonly seed: number
  readonly questions: number
  /** Holds the answers to the application's document, too: making it takes longer than all the questions. */
  readonly isDescribed?: boolean
  /** What is served in place of the application that the model knows: a planted fault. */
  readonly served?: (application: Application) => Application
}

const seen = new Map<number, number>()

/** Asks an application by chance, and returns what was wrong, in words. */
async function findProblems({ seed: start, questions, isDescribed = false, served = (same) => same }: Asking) {
  const random = new Random(start)
  const application = randomApplication(random)
  await plant(random)
  const api = routerOf(served(application))
  await api.prepare()
  const routes = api.routes()
  const client = await serving(asCaller, isDescribed ? routes : undescribed(routes))
  const problems: string[] = []
  for (const { name, notes } of await api.explain()) {
    for (const note of notes) if (note.endsWith('without a request')) problems.push(`explain ${name}: ${note}`)
  }
  let estate = await readEstate(observer)
  for (let asked = 0; asked < questions; asked++) {
    const question = randomQuestion(random, application, estate)
    const { user, method, body, action } = question
    const by = user ? `person ${user.id}${user.isStaff ? ' of the staff' : ''}` : 'nobody'
    const title = `${method} ${pathOf(question)} ${JSON.stringify(body) ?? ''} (${action}, by ${by})`
    const before = estate
    const problem = await ask(client, question).then(
      async (response) => {
        seen.set(response.status, (seen.get(response.status) ?? 0) + 1)
        const judged = judge(question, response, expectedAnswers(question, before), before)
        estate = await readEstate(observer)
        if (judged.problem !== undefined || textOf(estate) === textOf(judged.after)) return judged.problem
        return `it answered ${response.status}, and stored ${textOf(estate)}, expected ${textOf(judged.after)}`
      },
      (error: unknown) => String(error),
    )
    if (problem !== undefined) problems.push(`${title}: ${problem}`)
  }
  for (const error of client.reported) problems.push(`error event: ${String(error)}`)
  await client.close()
  const told = [`TRUST_SEED=${start}`, describeApplication(application), ...problems.slice(0, 5)]
  return problems.length > 0 ? told.join('\n') : undefined
}

it(`P15 ${APPLICATIONS} applications by chance do as a model of the rules says`, { timeout: 7_200_000 }, async () => {
  const failures: string[] = []
  for (let index = 0; index < APPLICATIONS && failures.length < MOST_FAILURES; index++) {
    const problems = await findProblems({ seed: seed + index, questions: QUESTIONS, isDescribed: index % 8 === 0 })
    if (problems !== undefined) failures.push(problems)
  }
  const statuses = [...seen].sort(([one], [other]) => one - other).map(([status, count]) => `${status}:${count}`)
  report('P15 applications', { seed, applications: APPLICATIONS, statuses: statuses.join(' ') })
  expect(failures).toEqual([])
})

const each = (change: (resource: Resource) => Partial<Resource>) => (application: Application) => {
  const changed = new Map(application.resources.map((resource) => [resource, { ...resource, ...change(resource) }]))
  return { ...application, resources: [...changed.values()] }
}

it.each<[string, (application: Application) => Application]>([
  ['shows what is archived to all', each(({ condition }) => ({ condition: any(condition, atom('archived')) }))],
  ['asks for no permission', each(() => ({ rules: [] }))],
  ['asks folders for no permission', each(({ level, rules }) => ({ rules: level === 'folders' ? [] : rules }))],
  ['computes a field of columns only', each(({ method }) => ({ method: method === 'none' ? 'none' : 'columns' }))],
])('P15 finds an application that %s', async (_fault, served) => {
  let found: string | undefined
  for (let start = 1; start <= 20 && found === undefined; start++) {
    found = await findProblems({ seed: start, questions: 20, served })
  }
  expect(found).toMatch(/^TRUST_SEED=\d+\n {2}folders: /)
})
