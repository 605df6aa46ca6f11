/**
 * For test files that share a process: each finds it as the first one did. What can be put back is put back behind a file,
 * modules of tests and examples are loaded anew, and a file that leaves a server listening fails. What the package keeps for
 * a process stays: files that look at that are in `.config/alone-tests.ts`.
 */
import { Model } from 'objection'
import { beforeAll, vi } from 'vitest'
import { configure } from '../../lib/kernel/settings.js'

const environment = { ...process.env }
const folder = process.cwd()
const listening = servers()

// what the first of these returns runs behind all that the file has for its end
beforeAll(() => async () => {
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name]
  Object.assign(process.env, environment)
  if (process.cwd() !== folder) process.chdir(folder)
  configure({})
  Model.knex(undefined as never)
  vi.resetModules()
  await noneLeft()
})

function servers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length
}

/** Closing takes some turns of the event loop. */
async function noneLeft(): Promise<void> {
  for (let turn = 0; turn < 100 && servers() > listening; turn++) await new Promise((resolve) => setImmediate(resolve))
  const left = servers() - listening
  if (left > 0) throw new Error(`${left} servers listen still: close them in afterAll(), or by onTestFinished()`)
}
