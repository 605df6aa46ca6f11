import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { runCommand } from '../../../lib/cli/run-command.js'
import { createFolder } from '../../support/files.js'

const library = fileURLToPath(new URL('../../../lib/index.ts', import.meta.url))
/** A module with an API that needs no database. */
const source = `
  import { APIRouter, IsAuthenticated, ViewSet } from ${JSON.stringify(library)}
  class Clock extends ViewSet {
    static permissionClasses = [IsAuthenticated]
    list() { return Date.now() }
  }
  export const api = new APIRouter({ prefix: '/api' }).register('clock', Clock, 'clock')
`
const CLOCK = `GET /api/clock  (clock-list)
  view         Clock.list
  policies     IsAuthenticated
  answer       JSONRenderer
  note         answered by Clock.list()
`

async function run(...args: string[]) {
  const written = { stdout: '', stderr: '' }
  const output = (name: keyof typeof written) => ({ write: (text: string) => (written[name] += text) })
  const file = join(createFolder({ 'api.ts': source }), 'api.ts')
  const code = await runCommand(['explain', file, ...args], { stdout: output('stdout'), stderr: output('stderr') })
  return { code, ...written }
}

it('tells of all routes of a module, or of one', async () => {
  const all = await run()
  expect(all).toMatchObject({ code: 0, stderr: '' })
  expect(all.stdout).toMatch(/^GET \/api /)
  expect(all.stdout.endsWith(`\n${CLOCK}`)).toBe(true)
  expect(await run('--route', 'clock-list')).toEqual({ code: 0, stdout: CLOCK, stderr: '' })
  expect(await run('--route', 'clock')).toEqual({ code: 0, stdout: CLOCK, stderr: '' })
})

it('writes JSON', async () => {
  const { code, stdout } = await run('--json', '--route', 'clock')
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject([{ name: 'clock-list', policies: { permissions: ['IsAuthenticated'] } }])
})

it('refuses what it cannot do', async () => {
  expect(await run('--route', 'clocks')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no route or basename "clocks"; did you mean "clock"?'),
  })
  expect(await run('--route', '')).toMatchObject({ code: 2 })
  expect(await run('other.js')).toMatchObject({ code: 2, stderr: expect.stringContaining('name one module') })
})
