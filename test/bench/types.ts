/**
 * What the types of an application cost the compiler: `npm run bench:types`. Prints a table of instantiations and seconds of
 * the processor for applications of 50, 100 and 200 resources, by factories and as classes with statics, with a client and without.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type CompileCost, type Compiler, compilers, measure, writeTypedApp } from '../support/compile-costs.js'
import { type TypedAppOptions, typedApp } from '../support/typed-app.js'
import { median } from './statistics.js'
import { markdownTable } from './table.js'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '1' }, resources: { type: 'string', default: '50,100,200' } },
})
const rounds = Number(values.rounds)
const sizes = values.resources.split(',').map(Number)

const FORMS: readonly (readonly [label: string, options: Omit<TypedAppOptions, 'resources'>])[] = [
  ['statics', { form: 'statics' }],
  ['factories', { form: 'factories' }],
  ['factories and client', { form: 'factories', client: true }],
  ['factories and client, around a hub', { form: 'factories', client: true, hub: true }],
]

const declarations = fileURLToPath(new URL('../../dist', import.meta.url))
const rows: string[][] = []
for (const [label, options] of FORMS) {
  for (const resources of sizes) {
    const folder = mkdtempSync(join(tmpdir(), 'kv-types-'))
    try {
      writeTypedApp(folder, typedApp({ ...options, resources }), declarations)
      for (const compiler of compilers())
        rows.push([compiler.name, label, String(resources), ...(await figures(folder, compiler))])
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
rows.sort(([a = ''], [b = '']) => b.localeCompare(a))
console.log(markdownTable(['compiler', 'form', 'resources', 'instantiations', 'types', 'CPU, s', 'memory, MB'], rows))

async function figures(folder: string, compiler: Compiler): Promise<string[]> {
  const costs: CompileCost[] = []
  for (let round = 0; round < rounds; round++) costs.push(await measure(folder, compiler))
  const { instantiations, types, memory } = costs[0] as CompileCost
  return [
    instantiations.toLocaleString('en'),
    types.toLocaleString('en'),
    median(costs.map(({ seconds }) => seconds)).toFixed(2),
    String(memory),
  ]
}
