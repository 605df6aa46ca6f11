/** What keeps a process, and what does not (promise I13). */
import { once } from 'node:events'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { startFile, toUrl } from '../support/program.js'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

it.each([
  ['is mounted and listens to nothing', {}],
  ['has answered requests, once its server and its pool are closed', { USED: 'true' }],
])('[I13] an application ends by itself that %s', { timeout: 60_000 }, async (_, env) => {
  // on a slow machine the time to write it has come when the pool is gone
  const NODE_OPTIONS = '--disable-warning=KOA_VIEWSETS_KEY_USAGE'
  const settings = { DATABASE_URL: toUrl(database.connection), NODE_OPTIONS, ...env }
  const program = startFile('test/support/mounted-server.ts', settings)
  const ended = once(program.child, 'exit')
  const isClosed = async () => program.output().includes('all is closed') || program.child.exitCode !== null
  await expect.poll(isClosed, { timeout: 40_000 }).toBe(true)
  // what an interval or a long timeout keeps would be there for minutes
  const timer = setTimeout(() => program.child.kill('SIGKILL'), 10_000)
  expect(await ended).toEqual([0, null])
  clearTimeout(timer)
  expect(program.output()).toBe('all is closed\n')
})
