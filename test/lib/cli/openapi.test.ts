import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../../../lib/cli/run-command.js'
import { createFolder } from '../../support/files.js'
import { startProgram } from '../../support/program.js'

const library = fileURLToPath(new URL('../../../lib/index.ts', import.meta.url))

/** A module with an API that needs no database. */
const module = (exported: string) => `
  import { APIRouter, ViewSet } from ${JSON.stringify(library)}
  class Clock extends ViewSet { list() { return Date.now() } }
  ${exported}
`
const make = "const make = () => new APIRouter({ prefix: '/api' }).register('clock', Clock, 'clock')"

async function run(...args: string[]) {
  const written = { stdout: '', stderr: '' }
  const output = (name: keyof typeof written) => ({ write: (text: string) => (written[name] += text) })
  const code = await runCommand(['openapi', ...args], { stdout: output('stdout'), stderr: output('stderr') })
  return { code, ...written }
}

function file(source: string): string {
  return join(createFolder({ 'api.ts': source }), 'api.ts')
}

describe('koa-viewsets openapi', () => {
  it('writes the document of the router that a module exports', async () => {
    const { code, stdout, stderr } = await run(file(module(`${make}; export const api = make()`)))
    expect([code, stderr]).toEqual([0, ''])
    const document = JSON.parse(stdout)
    expect(document).toMatchObject({ openapi: '3.1.0', info: { title: 'API', version: '1.0.0' } })
    expect(Object.keys(document.paths)).toContain('/api/clock')
    expect(stdout).toMatch(/^\{\n {2}"openapi": .*\}\n$/s)
  })

  it.each([
    'export default make()',
    'export default make',
    'export const router = make()',
    'export const createApi = async () => make()',
    'export const other = 1; export const api = make()',
    'export default { listen() {} }; export const api = make()',
    'export default { api: make() }',
    "export default () => { throw new Error('no API') }; export const api = make()",
  ])('finds it in %s', async (exported) => {
    expect((await run(file(module(`${make}; ${exported}`)))).code).toBe(0)
  })

  it.each([
    'exports.api = make()',
    'exports.default = make()',
    'module.exports = make()',
    'module.exports = make',
    'module.exports = { app: {}, createApi: async () => make() }',
    "Object.defineProperty(exports, '__esModule', { value: true }); exports.api = make()",
  ])('finds it in a CommonJS module with %s', async (exported) => {
    const plain = "const make = () => ({ prepare: async () => {}, getSchema: () => ({ openapi: '3.1.0' }) })"
    const path = join(createFolder({ 'api.cjs': `${plain}; ${exported}` }), 'api.cjs')
    expect(JSON.parse((await run(path)).stdout)).toEqual({ openapi: '3.1.0' })
  })

  it('takes the name of an export of a CommonJS module', async () => {
    const api = "{ prepare: async () => {}, getSchema: () => ({ openapi: '3.1.0' }) }"
    const path = join(createFolder({ 'api.cjs': `module.exports = Object.assign({}, { mine: ${api} })` }), 'api.cjs')
    expect(JSON.parse((await run(path, '--export', 'mine')).stdout)).toEqual({ openapi: '3.1.0' })
  })

  it('takes the name of the export, and what the head of the document says', async () => {
    const path = file(module(`${make}; export const api = 1; export const mine = make()`))
    const options = ['--title', 'Clocks', '--api-version', '2.0', '--description', 'Time.', '--license', 'MIT']
    const { stdout } = await run(path, '--export', 'mine', '--unprepared', ...options)
    expect(JSON.parse(stdout).info).toEqual({
      title: 'Clocks',
      version: '2.0',
      description: 'Time.',
      license: { name: 'MIT', identifier: 'MIT' },
    })
  })

  it('writes a file', async () => {
    const path = file(module(`${make}; export default make`))
    const output = join(createFolder(), 'new/openapi.json')
    expect(await run(path, '--output', output)).toEqual({ code: 0, stdout: '', stderr: `${output} written\n` })
    expect(readFileSync(output, 'utf8')).toBe((await run(path)).stdout)
  })

  it.each([
    ['export const other = 1', 'exports no default, api, router, createApi; it exports other: name one by --export'],
    ['', 'exports no default, api, router, createApi; it exports nothing: name one by --export'],
    [
      'export const api = 1; export const mine = 2',
      'its export "api" is no APIRouter, and no function that returns one; it exports api, mine: name one by --export',
    ],
    [
      'export default () => ({})',
      'its export "default" is no APIRouter, and no function that returns one; it exports default: name one by --export',
    ],
    [
      'export default { listen() {} }',
      'its export "default" is no APIRouter, and no function that returns one; it exports default: name one by --export',
    ],
  ])('fails where there is none: %s', async (exported, message) => {
    const { code, stdout, stderr } = await run(file(module(exported)))
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain(message)
  })

  it('fails where the database is needed and away, and says what to do', async () => {
    const away = "export const api = { prepare: () => Promise.reject(new Error('no database')), getSchema: () => ({}) }"
    const { code, stderr } = await run(file(away))
    expect(code).toBe(1)
    expect(stderr).toContain('DATABASE_URL is not set')
    expect(stderr).toMatch(/no database\nkoa-viewsets openapi: The types of columns .* --unprepared does without\n/)
    expect((await run(file(away), '--unprepared')).stdout).toBe('{}\n')
  })

  it.each([
    [[], 'name one module'],
    [['a.js', 'b.js'], 'name one module'],
    [['a.js', '--export', ''], '--export is empty'],
    [['a.js', '--exports', 'x'], "Unknown option '--exports'"],
  ])('called with %j is a wrong call', async (args, message) => {
    const { code, stdout, stderr } = await run(...args)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr.startsWith(`koa-viewsets openapi: ${message}`)).toBe(true)
    expect(stderr).toContain('Usage: koa-viewsets openapi <module> [options]\n')
  })

  it('fails for a module that is not there', async () => {
    const { code, stderr } = await run('no/such/module.js')
    expect(code).toBe(1)
    expect(stderr).toContain('no/such/module.js')
  })

  it('ends, whatever the module holds open', { timeout: 60_000 }, async () => {
    const path = file(module(`${make}; setInterval(() => {}, 1_000); export default make`))
    const args = ['--import', 'tsx', 'lib/cli/main.ts', 'openapi', path]
    const program = startProgram({ command: process.execPath, args, env: {} })
    expect(await new Promise((resolve) => program.child.on('close', resolve))).toBe(0)
    expect(program.output()).toContain('"/api/clock"')
  })
})
