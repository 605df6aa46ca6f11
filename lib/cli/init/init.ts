/** `koa-viewsets init`: an application, made of the tables of a database. */
import { resolve } from 'node:path'
import { type Command, givenText } from '../command.js'
import { SCHEMA_HELP, schemaChoice } from '../row-types.js'
import { describeSchema } from '../schema/describe-schema.js'
import { readDatabase } from '../schema/open-database.js'
import { readSchema } from '../schema/read-schema.js'
import { applicationFiles } from './application-files.js'
import { planFiles, writePlan } from './write-files.js'

export const init: Command = {
  summary: 'write models, serializers, view sets and a router, from the database of DATABASE_URL',
  help: [
    ['--out <folder>', 'the folder to write (else src)'],
    ...SCHEMA_HELP,
    ['--force', 'write files anew that exist and still begin with the line of this command'],
    ['--dry-run', 'write nothing, and tell what would be'],
  ],
  options: {
    out: { type: 'string' },
    schema: { type: 'string' },
    tables: { type: 'string', multiple: true },
    force: { type: 'boolean' },
    'dry-run': { type: 'boolean' },
  },
  async run(values, { stdout, stderr }) {
    const out = givenText(values, 'out') ?? 'src'
    const choice = schemaChoice(values)
    const isDry = values['dry-run'] === true
    const schema = await readDatabase(async (trx) => describeSchema(await readSchema(trx, choice)))
    const { files, notes } = applicationFiles(schema)
    const plan = await planFiles(resolve(out), files, { force: values['force'] === true })
    if (!isDry) await writePlan(plan)
    for (const { path, state } of plan.files)
      stdout.write(`${isDry ? STATES[state].dry : STATES[state].done} ${path}\n`)
    for (const note of [...schema.notes, ...notes]) stderr.write(`note: ${note}\n`)
    if (!isDry) stdout.write(nextSteps(out))
  },
}

const STATES = {
  new: { dry: 'would write', done: 'written   ' },
  rewrite: { dry: 'would rewrite', done: 'rewritten ' },
  kept: { dry: 'would keep', done: 'kept      ' },
} as const

function nextSteps(out: string): string {
  return (
    `\nNext: npm install koa-viewsets koa objection knex pg, and say in ${out}/authentication.ts who may use\n` +
    `the API, as all of it is for authenticated callers. Then: npx tsx ${out}/main.ts, with DATABASE_URL and "type": "module".\n`
  )
}
