/**
 * P15: applications by chance, over three tables one below the other: who sees what, said in every shape of queryset and by
 * rules of rows and fields; who may do what, by permissions made of others; nested routes, method fields, filters, `?fields=`. Each is asked by several
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
import { type Estate, readEstate, SCHEMA } from './support/estate.js'
import { asCaller, bindModels } from './support/estate-views.js'
import { type Answer, expectedAnswers, type Question, textOf } from './support/expected.js'
import { headersOf, pathOf, plant, randomQuestion } from './support/questions.js'
import { Random } from './support/random.js'
import { report, seed, size } from './support/size.js'
import { any, atom } from './support/visibility.js'

const APPLICATIONS = size(2, 600)
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

async function ask(client: Client, question: Question): Promise<TestResponse> {
  const { method, body, match } = question
  const headers = headersOf(question)
  if (match === 'right') {
    const seen = await client.get(pathOf({ ...question, action: 'retrieve', query: {} }), headers)
    if (seen.headers.etag?.startsWith('"')) headers['If-Match'] = seen.headers.etag
  }
  return client.send(method, pathOf(question), body, headers)
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
  const problems = told.map((answer) => answer.check?.(json))
  const right = problems.indexOf(undefined)
  if (right < 0) return { problem: `the body of the ${status} ${problems.join(', or ')}`, after: before }
  return { problem: undefined, after: told[right]?.after?.(json, stored) ?? before }
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
  await plant(random, observer)
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
        estate = await readEstate(observer)
        const judged = judge(question, response, expectedAnswers(question, before), before, estate)
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

/** With the seed of an application that shows it. */
it.each<[string, (application: Application) => Application, from?: number]>([
  ['shows what is archived to all', each(({ condition }) => ({ condition: any(condition, atom('archived')) }))],
  ['asks for no permission', each(() => ({ rules: [] }))],
  ['asks folders for no permission', each(({ level, rules }) => ({ rules: level === 'folders' ? [] : rules }))],
  ['lets who reads a row write it', each(() => ({ writes: {} })), 6],
  ['keeps no field from anybody', each(() => ({ secret: 'none' }))],
  ['lets a written row leave', each(() => ({ mayLeave: true })), 13],
  ['computes a field of columns only', each(({ method }) => ({ method: method === 'none' ? 'none' : 'columns' }))],
])('P15 finds an application that %s', async (_fault, served, from = 1) => {
  let found: string | undefined
  for (let start = from; start <= from + 20 && found === undefined; start++) {
    found = await findProblems({ seed: start, questions: 20, served })
  }
  expect(found).toMatch(/^TRUST_SEED=\d+\n {2}folders: /)
})
