/** Two processes that count together (promises H1 and H2). The trust suite tries each store more often. */
import { Agent } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DatabaseThrottle } from '../../lib/throttling/index.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { findFreePort, type Program, startFile, toUrl, untilAnswer } from '../support/program.js'
import { findRedis, startRedis, type TestRedis, warnWithoutRedis } from '../support/redis.js'
import { connectTo } from '../support/server.js'
import { report, size } from '../trust/support/size.js'

const ROUNDS = size(1, 200)
const EACH = 400

let database: TestDatabase
let redis: TestRedis | undefined
const redisProgram = findRedis()
if (!redisProgram) warnWithoutRedis()

beforeAll(async () => {
  database = await createDatabase()
  await DatabaseThrottle.ensureTable(database.knex)
  if (redisProgram) redis = await startRedis(redisProgram)
})
afterAll(async () => {
  await database.drop()
  await redis?.remove()
})

describe.each([
  ['PostgreSQL', true, 100],
  ['Redis', redisProgram !== undefined, 100],
  // each process for itself
  ['memory', true, 200],
])(`[P4 H1 H2] two processes that count in %s, ${EACH} requests at once to each`, (store, isThere, expected) => {
  const programs: { program: Program; port: number }[] = []
  const agent = new Agent({ keepAlive: true })

  beforeAll(async () => {
    if (!isThere) return
    const env = { STORE: store, DATABASE_URL: toUrl(database.connection), REDIS_PATH: redis?.path ?? '' }
    for (let index = 0; index < 2; index += 1) {
      const port = await findFreePort()
      programs.push({ program: startFile('test/support/throttled-server.ts', { ...env, PORT: String(port) }), port })
    }
    await Promise.all(programs.map(({ program, port }) => untilAnswer(program, port, '/ready')))
  })
  afterAll(async () => {
    agent.destroy()
    for (const { program } of programs) await program.stop()
  })

  it.skipIf(!isThere)(
    `admit exactly ${expected} with a limit of 100, in each of ${ROUNDS} rounds`,
    async () => {
      const admitted: number[] = []
      for (let round = 0; round < ROUNDS; round += 1) {
        const headers = { 'X-User': `${store} ${round}` }
        const answers = await Promise.all(
          Array.from({ length: EACH }, () =>
            programs.map(({ port }) => connectTo(port).send({ headers, agent })),
          ).flat(),
        )
        admitted.push(answers.filter(({ status }) => status === 200).length)
        for (const { status, headers } of answers) {
          if (status === 200) continue
          expect(status).toBe(429)
          expect(headers['retry-after']).toMatch(/^[1-9][0-9]{4}$/)
        }
      }
      report('P4 throttles', { store, rounds: ROUNDS, admitted: [...new Set(admitted)].join(' or ') })
      // no store was replaced by the memory of its process
      expect(programs.map(({ program }) => program.output())).toEqual(['', ''])
      expect(admitted).toEqual(Array.from({ length: ROUNDS }, () => expected))
    },
    30_000 + ROUNDS * 10_000,
  )
})
