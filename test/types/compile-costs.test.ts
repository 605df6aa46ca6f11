/** What checked declarations and a client cost the compiler grows with the number of resources, and not faster. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, it } from 'vitest'
import { type CompileCost, type Compiler, compilers, measure, writeTypedApp } from '../support/compile-costs.js'
import { createFolder } from '../support/files.js'
import { typedApp } from '../support/typed-app.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const [compiler] = compilers() as [Compiler]
/** Instantiations that one more resource and its use by a client may cost. */
const MOST = 6_000
let declarations: string

beforeAll(async () => {
  declarations = createFolder()
  const build = ['-p', join(ROOT, '.config/tsconfig.build.json'), '--outDir', declarations]
  await promisify(execFile)(process.execPath, [compiler.args[0] as string, ...build])
})

it.each([
  ['neighbours', { hub: false }],
  ['neighbours and a hub', { hub: true }],
] as const)('of %s', { timeout: 60_000 }, async (_relations, { hub }) => {
  const costs: CompileCost[] = []
  for (const resources of [8, 16, 32]) {
    const folder = createFolder()
    writeTypedApp(folder, typedApp({ resources, form: 'factories', client: true, hub }), declarations)
    costs.push(await measure(folder, compiler))
  }
  expect(growth(costs.map(({ instantiations }) => instantiations)).each).toBeLessThan(MOST)
  for (const name of ['instantiations', 'types'] as const) {
    expect([name, growth(costs.map((cost) => cost[name])).factor]).toEqual([name, expect.closeTo(1, 1)])
  }
})

/** What one more resource costs, from 16 to 32 of them, and that in proportion to what it costs from 8 to 16. */
function growth([few = 0, some = 0, many = 0]: readonly number[]): { each: number; factor: number } {
  const each = (many - some) / 16
  return { each, factor: each / ((some - few) / 8) }
}
