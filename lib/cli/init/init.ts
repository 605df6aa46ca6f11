/** `koa-viewsets init`: an application, made of the tables of a database. */
import { resolve } from 'node:path'
import { type Command, givenText } from '../command.js'
import { SCHEMA_HELP, schemaChoice } from '../row-types.js'
import { type DescribedModel, type DescribedSchema, describeSchema } from '../schema/describe-schema.js'
import { readDatabase } from '../schema/open-database.js'
import { readSchema } from '../schema/read-schema.js'
import { quoted } from '../schema/source-text.js'
import { apiFiles } from './api-file.js'
import type { SourceFile } from './header.js'
import { enumsFile, modelFile } from './model-file.js'
import { describeResources, type Resource } from './resource.js'
import { rulesFile, suggestsRule } from './rules-file.js'
import { serializerFile } from './serializer-file.js'
import { authenticationFile, mainFile } from './start-files.js'
import { viewFile } from './view-file.js'
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
    schema: { type: 'string', multiple: true },
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

interface ApplicationFiles {
  readonly files: readonly SourceFile[]
  /** What clients cannot do, and why: sentences. */
  readonly notes: readonly string[]
}

function applicationFiles({ models, enums }: DescribedSchema): ApplicationFiles {
  const shown = models.filter(({ isJoinTable, properties }) => !isJoinTable && properties.length > 0)
  const resources = describeResources(shown)
  const rules = rulesFile(resources)
  const files = [
    ...(enums.length > 0 ? [enumsFile(enums)] : []),
    ...resources.flatMap((resource) => [modelFile(resource), serializerFile(resource), viewFile(resource)]),
    authenticationFile(),
    ...rules,
    ...apiFiles(resources, { hasRules: rules.length > 0 }),
    mainFile(),
  ]
  return {
    files,
    notes: [...models.filter((model) => !shown.includes(model)).map(joinNote), ...resources.flatMap(notesOf)],
  }
}

function joinNote({ table, isJoinTable }: DescribedModel): string {
  return isJoinTable
    ? `${quoted(table.name)} has no route of its own: it joins two tables, which have relations through it`
    : `${quoted(table.name)} is left out: no column of it can be mapped`
}

function notesOf(resource: Resource): readonly string[] {
  const { model, limit, secrets, powers, demanded, whose } = resource
  const name = quoted(model.table.name)
  const column = whose.tenant ?? whose.owner
  return [
    ...(limit === undefined ? [] : [`${name}: ${limit}`]),
    ...secrets.map((secret) => `the column ${quoted(secret)} of ${name} sounds like a secret: no client sees it`),
    ...powers.map((one) => `the column ${quoted(one)} of ${name} says who may do more: no client writes it`),
    ...(demanded.length > 0
      ? [`${name}: clients cannot create objects, until performCreate() gives ${demanded.map(quoted).join(', ')}`]
      : []),
    ...(suggestsRule(resource)
      ? [
          column === undefined
            ? `${name} are people: any caller changes them, until rules.ts says who may`
            : `the column ${quoted(column)} of ${name} sounds like whose row it is: any caller has it, until rules.ts says who may`,
        ]
      : []),
  ]
}
