/** Applications of the trust suite's generator, by seeds that stay: who sees what in every shape of queryset, and who may do what. */
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { serving } from '../support/client.js'
import { undescribed } from '../support/contract.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { describeApplication, randomApplication, routerOf } from '../trust/support/application.js'
import { readEstate, SCHEMA } from '../trust/support/estate.js'
import { asCaller, bindModels } from '../trust/support/estate-views.js'
import { welcome } from '../trust/support/expected.js'
import { headersOf, pathOf, plant, randomQuestion } from '../trust/support/questions.js'
import { Random } from '../trust/support/random.js'
import { expectRecorded, othersIn, Recording } from './support/recording.js'

const SEEDS = Array.from({ length: 30 }, (_, index) => ({ start: index + 1, name: String(index + 1).padStart(2, '0') }))
const QUESTIONS = 12
const SAME = ['view', 'body', 'answer', 'filters', 'parameters']

/** In place of the clock, from which versions of rows are made. */
const CLOCK = `
  create sequence ticks;
  create function tick() returns timestamptz language sql as
    $$ select timestamptz '2026-01-01T00:00:00Z' + nextval('ticks') * interval '1 second' $$;`

let database: TestDatabase
let observer: pg.Client

beforeAll(async () => {
  database = await createDatabase({ schema: `${CLOCK}${SCHEMA.replaceAll('clock_timestamp()', 'tick()')}` })
  bindModels(database.knex)
  observer = new pg.Client(database.direct)
  await observer.connect()
})
afterAll(async () => {
  await observer?.end()
  await database?.drop()
})

it.each(SEEDS)('does in application $name as recorded', async ({ start, name }) => {
  const random = new Random(start)
  const application = randomApplication(random)
  await observer.query('alter sequence ticks restart')
  await plant(random, observer)
  const api = routerOf(application)
  await api.prepare()
  const client = await serving(asCaller, undescribed(api.routes()))
  const recording = await Recording.of({
    api,
    port: client.port,
    about: describeApplication(application),
    without: SAME,
  })
  for (let asked = 0; asked < QUESTIONS; asked++) {
    const estate = await readEstate(observer)
    const draw = () => randomQuestion(random, application, estate)
    const question = asked % 4 === 0 ? draw() : welcome(draw, estate)
    await recording.send(question.method, pathOf(question), question.body, headersOf(question))
  }
  await client.close()
  expect(client.reported).toEqual([])
  await expectRecorded('generator', name, recording.text())
})

it('has no other file', () =>
  expect(
    othersIn(
      'generator',
      SEEDS.map(({ name }) => name),
    ),
  ).toEqual([]))
