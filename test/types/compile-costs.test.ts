/** What checked declarations and a client cost the compiler grows with the number of resources, and not faster. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, it } from 'vitest'
import { type Compiler, compilers, measure, writeTypedApp } from '../support/compile-costs.js'
import { createFolder } from '../support/files.js'
import { typedApp } from '../support/typed-app.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const [compiler] = compilers() as [Compiler]
let declarations: string

beforeAll(async () => {
  declarations = createFolder()
  const build = ['-p', join(ROOT, '.config/tsconfig.build.json'), '--emitDeclarationOnly', '--outDir', declarations]
  await promisify(execFile)(process.execPath, [compiler.args[0] as string, ...build])
})

it.each([
  ['neighbours', { hub: false, most: 11_000 }],
  ['neighbours and a hub', { hub: true, most: 12_000 }],
] as const)('of %s', { timeout: 60_000 }, async (_relations, { hub, most }) => {
  const counts: number[] = []
  for (const resources of [8, 16, 32]) {
    const folder = createFolder()
    writeTypedApp(folder, typedApp({ resources, form: 'factories', client: true, hub }), declarations)
    counts.push((await measure(folder, compiler)).instantiations)
  }
  const [few = 0, some = 0, many = 0] = counts
  const [first, second] = [(some - few) / 8, (many - some) / 16]
  expect(second).toBeLessThan(most)
  expect(second / first).toBeLessThan(1.1)
})
