/**
 * P15: applications by chance, over three tables one below the other: who sees what, said in every shape of queryset and by
 * rules of rows and fields; who may do what, by permissions made of others; nested routes, method fields, filters, `?fields=`,
 * objects inside of others that are shown, written, and asked for by `?expand=`. Each is asked by several
 * callers for every action, and answers and leaves stored what a model of the rules says, which asks no database. What view
 * sets say besides, of names, marks, pages and envelopes, is drawn apart; then lists are tables and pages in sum, too, writes
 * are sent twice by their keys, and what was recorded is what has changed.
 */
import { configure } from 'koa-viewsets'
import { ensureChangesTable } from 'koa-viewsets/changes'
import { ensureIdempotencyTable } from 'koa-viewsets/idempotency'
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
  withStatics,
} from './support/application.js'
import { CODES_AND_MARKS, type Estate, readEstate, SCHEMA } from './support/estate.js'
import { asCaller, bindModels } from './support/estate-views.js'
import { type Answer, expectedAnswers, type Question, textOf, welcome } from './support/expected.js'
import { askedInside } from './support/nested-questions.js'
import { withNests } from './support/nests.js'
import { askedBeside, headersOf, plant, randomQuestion } from './support/questions.js'
import { Random } from './support/random.js'
import { expectedHistory, misrecorded, type Recorded, recordedAfter } from './support/recorded-changes.js'
import { report, seed, size } from './support/size.js'
import type { Statics } from './support/statics.js'
import {
  expectHistory,
  expectKeptApart,
  expectSameAgain,
  expectSameList,
  expectUnchanged,
  Tags,
  wholeList,
} from './support/told-again.js'
import { any, atom } from './support/visibility.js'
import { Wire } from './support/wire.js'

const APPLICATIONS = size(2, 600)
const WITH_STATICS = size(3, 600)
const QUESTIONS = size(30, 100)
/** Between the streams of chance. */
const BESIDE = 2 ** 20
/** More say nothing new. */
const MOST_FAILURES = 30

let database: TestDatabase
let observer: pg.Client

beforeAll(async () => {
  configure({ secretKey: 'a secret of more than sixteen characters' })
  database = await createDatabase({ schema: `${SCHEMA}${CODES_AND_MARKS}` })
  bindModels(database.knex)
  await ensureIdempotencyTable(database.knex)
  await ensureChangesTable(database.knex)
  observer = new pg.Client(database.direct)
  await observer.connect()
})
afterAll(async () => {
  await observer?.end()
  await database?.drop()
})

interface Asked {
  readonly application: Application
  readonly question: Question
  readonly wire: Wire
  readonly past: readonly Recorded[]
  readonly tags: Tags
}

/** The answer, as the model of the rules knows it, and what is stored by then. */
async function ask(client: Client, asked: Asked): Promise<{ response: TestResponse; stored: Estate }> {
  const { question, wire } = asked
  const { method, match, action, key } = question
  const headers = headersOf(question)
  if (match === 'right' && OF_LIVE.has(action)) {
    const seen = await client.get(wire.objectPath, headers)
    if (seen.headers.etag?.startsWith('"')) headers['If-Match'] = seen.headers.etag
  }
  const response = await client.send(method, wire.path, wire.body, headers)
  if (key !== undefined) await expectSameAgain(client, wire, { question, headers, first: response })
  const stored = await readEstate(observer)
  wire.answeredAt(stored)
  if (method === 'GET' && question.user) expectKeptApart(response)
  asked.tags.check(response, { user: question.user, path: wire.path, method })
  const json = method === 'HEAD' ? undefined : wire.read(response.status, response.json, response.headers)
  const { statics, isPaginated } = question.route.chain.at(-1) as Resource
  if (method !== 'GET' || response.status !== 200 || !statics) return { response: { ...response, json }, stored }
  await expectSameRead(client, asked, { headers, response, stored })
  const isWalked = action === 'list' && isPaginated && statics.pages === 'cursors'
  const told = isWalked ? await wholeList(client, { first: json as never, wire, headers }) : json
  return { response: { ...response, json: told }, stored }
}

interface Read {
  readonly headers: Readonly<Record<string, string>>
  readonly response: TestResponse
  readonly stored: Estate
}

/** Reads the same in other ways. @throws Error one of them says something else */
async function expectSameRead(client: Client, asked: Asked, { headers, response, stored }: Read): Promise<void> {
  const { application, question, wire, past } = asked
  const { statics } = question.route.chain.at(-1) as Resource
  const { etag: tag } = response.headers
  if (tag !== undefined) await expectUnchanged(client, wire, { headers, tag })
  if (question.action === 'list') {
    await expectSameList(client, wire, { headers, json: response.json, question, estate: stored })
  } else if (statics?.remembers && question.query['deleted'] === undefined) {
    const expected = expectedHistory(application, { question, past }, stored)
    await expectHistory(client, wire, { headers, expected })
  }
}

/** What is wrong with the answer, in words, and what is to be stored after it. */
function judge(question: Question, response: TestResponse, answers: readonly Answer[], before: Estate, stored: Estate) {
  const { status, json, text } = response
  const told = answers.filter((answer) => answer.status === status)
  const statuses = [...new Set(answers.map((answer) => answer.status))].join(' or ')
  if (told.length === 0)
    return { problem: `answered ${status} ${text.slice(0, 300)}, expected ${statuses}`, after: before }
  if (status >= 400) expectRules(response, question.method)
  if (question.method === 'HEAD') return { problem: undefined, after: before }
  const problems = told.map((answer) => answer.check?.(json, stored))
  const right = problems.indexOf(undefined)
  if (right < 0) return { problem: `the body of the ${status} ${problems.join(', or ')}`, after: before }
  return { problem: undefined, after: told[right]?.after?.(json, stored) ?? before }
}

interface Asking {
  readonly seed: number
  readonly questions: number
  /** Holds the answers to the application's document, too: making it takes longer than all the questions. */
  readonly isDescribed?: boolean
  /** Its view sets say more than whose rows they show. */
  readonly hasStatics?: boolean
  /** What is served in place of the application that the model knows: a planted fault. */
  readonly served?: (application: Application) => Application
}

const OF_LIVE: ReadonlySet<string> = new Set(['update', 'partialUpdate', 'destroy', 'bump'])
const seen = new Map<number, number>()

/** Asks an application by chance, and returns what was wrong, in words. */
async function findProblems({ seed: start, questions, isDescribed = false, hasStatics = false, served }: Asking) {
  const random = new Random(start)
  const beside = new Random(start + BESIDE)
  const inside = new Random(start + 2 * BESIDE)
  const plain = randomApplication(random)
  const application = withNests(inside, hasStatics ? withStatics(beside, plain) : plain)
  await observer.query(
    'alter sequence codes restart; alter sequence public_ids restart; truncate koa_viewsets_changes restart identity',
  )
  await plant(random, observer)
  const api = routerOf(served?.(application) ?? application)
  await api.prepare()
  const routes = api.routes()
  // the document knows the fields of one version
  const isOne = application.resources.every(({ statics }) => !statics?.versions)
  const client = await serving(asCaller, isDescribed && isOne ? routes : undescribed(routes))
  const problems: string[] = []
  const past: Recorded[] = []
  const tags = new Tags()
  for (const { name, notes } of await api.explain()) {
    for (const note of notes) if (note.endsWith('without a request')) problems.push(`explain ${name}: ${note}`)
  }
  let estate = await readEstate(observer)
  for (let asked = 0; asked < questions; asked++) {
    const now = estate
    const draw = () => askedInside(inside, askedBeside(beside, randomQuestion(random, application, now), now), now)
    const question = hasStatics && asked % 4 !== 0 ? welcome(draw, now) : draw()
    const { user, method, action } = question
    const wire = new Wire(application, question, estate)
    const by = user ? `person ${user.id}${user.isStaff ? ' of the staff' : ''}` : 'nobody'
    const title = `${method} ${wire.path} ${JSON.stringify(wire.body) ?? ''} (${action}, by ${by})`
    const before = estate
    const problem = await ask(client, { application, question, wire, past, tags }).then(
      async ({ response, stored }) => {
        seen.set(response.status, (seen.get(response.status) ?? 0) + 1)
        estate = stored
        const judged = judge(question, response, expectedAnswers(question, before), before, estate)
        const recorded = await recordedAfter(observer, Number(past.at(-1)?.id ?? 0))
        past.push(...recorded)
        if (judged.problem !== undefined) return judged.problem
        const written = { question, before, after: judged.after }
        if (textOf(estate) === textOf(judged.after)) return misrecorded(application, written, recorded)
        return `it answered ${response.status}, and stored ${textOf(estate)}, expected ${textOf(judged.after)}`
      },
      async (error: unknown) => {
        estate = await readEstate(observer)
        return String(error)
      },
    )
    if (problem !== undefined) problems.push(`${title}: ${problem}`)
  }
  for (const error of client.reported) problems.push(`error event: ${String(error)}`)
  await client.close()
  const told = [`TRUST_SEED=${start}`, describeApplication(application), ...problems.slice(0, 5)]
  return problems.length > 0 ? told.join('\n') : undefined
}

it.each([
  [APPLICATIONS, 'applications by chance do as a model of the rules says', false],
  [WITH_STATICS, 'applications of other names, marks, pages and envelopes do as it says', true],
] as const)(`P15 %i %s`, { timeout: 7_200_000 }, async (applications, what, hasStatics) => {
  seen.clear()
  const failures: string[] = []
  for (let index = 0; index < applications && failures.length < MOST_FAILURES; index++) {
    const isDescribed = index % 8 === 0
    const problems = await findProblems({ seed: seed + index, questions: QUESTIONS, isDescribed, hasStatics })
    if (problems !== undefined) failures.push(problems)
  }
  const statuses = [...seen].sort(([one], [other]) => one - other).map(([status, count]) => `${status}:${count}`)
  report(`P15 ${what}`, { seed, applications, statuses: statuses.join(' ') })
  expect(failures).toEqual([])
})

const each = (change: (resource: Resource) => Partial<Resource>) => (application: Application) => {
  const changed = new Map(application.resources.map((resource) => [resource, { ...resource, ...change(resource) }]))
  return { ...application, resources: [...changed.values()] }
}

/** With the seed of an application that shows it. */
it.each<[string, (application: Application) => Application, from?: number]>([
  ['shows what is archived to all', each(({ condition }) => ({ condition: any(condition, atom('archived')) })), 2],
  ['asks for no permission', each(() => ({ rules: [] }))],
  ['asks folders for no permission', each(({ level, rules }) => ({ rules: level === 'folders' ? [] : rules }))],
  ['lets who reads a row write it', each(() => ({ writes: {} })), 10],
  ['keeps no field from anybody', each(() => ({ secret: 'none' }))],
  ['lets a written row leave', each(() => ({ mayLeave: true })), 25],
  ['computes a field of columns only', each(({ method }) => ({ method: method === 'none' ? 'none' : 'columns' })), 3],
  ['shows inside of objects what their own view set hides', (application) => ({ ...application, isRelated: false }), 1],
])('P15 finds an application that %s', async (_fault, served, from = 1) => {
  let found: string | undefined
  for (let start = from; start <= from + 20 && found === undefined; start++) {
    found = await findProblems({ seed: start, questions: 20, served })
  }
  expect(found).toMatch(/^TRUST_SEED=\d+\n {2}folders: /)
})

const eachSays = (change: (statics: Statics) => Partial<Statics>) =>
  each(({ statics }) => ({ statics: { ...(statics as Statics), ...change(statics as Statics) } }))

it.each<[string, (application: Application) => Application, from?: number]>([
  ['deletes what it is to mark', eachSays(({ deletes }) => (deletes === 'marks' ? { deletes: 'removes' } : {})), 2],
  ['records no change', eachSays(() => ({ records: false, remembers: false }))],
  ['names objects by their keys', eachSays(() => ({ lookup: 'id' })), 2],
  ['does twice what has a key', eachSays(() => ({ isIdempotent: false })), 2],
])('P15 finds one of such names and marks that %s', async (_fault, served, from = 1) => {
  let found: string | undefined
  for (let start = from; start <= from + 20 && found === undefined; start++) {
    found = await findProblems({ seed: start, questions: 20, served, hasStatics: true })
  }
  expect(found).toMatch(/^TRUST_SEED=\d+\n {2}folders: /)
})
