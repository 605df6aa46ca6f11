/** `koa-viewsets init`: an application, made of the tables of a database. */
import { dirname, join, resolve } from 'node:path'
import { type Command, givenText } from '../command.js'
import { chosenSchema, SCHEMA_HELP, SCHEMA_OPTIONS } from '../row-types.js'
import type { DescribedModel, DescribedSchema } from '../schema/describe-schema.js'
import { checkFolder, hasHeader, makeFolder, readPlain, writeOwn } from '../schema/own-files.js'
import { quoted } from '../schema/source-text.js'
import { apiFiles } from './api-file.js'
import { HEADER, type SourceFile } from './header.js'
import { enumsFile, modelFile } from './model-file.js'
import { describeResources, type Resource } from './resource.js'
import { rulesFile, serializerFile, suggestsRule, viewFile } from './resource-files.js'
import { authenticationFile, mainFile } from './start-files.js'

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
    ...SCHEMA_OPTIONS,
    force: { type: 'boolean' },
    'dry-run': { type: 'boolean' },
  },
  async run(values, { stdout, stderr }) {
    const out = givenText(values, 'out') ?? 'src'
    const isDry = values['dry-run'] === true
    const schema = await chosenSchema(values)
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
  const resources = describeResources(models.filter(({ isJoinTable }) => !isJoinTable))
  const shown = new Set(resources.map(({ model }) => model))
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
    notes: [...models.filter((model) => !shown.has(model)).map(leftOutNote), ...resources.flatMap(notesOf)],
  }
}

function leftOutNote({ table, isJoinTable, properties }: DescribedModel): string {
  const name = quoted(table.name)
  if (isJoinTable) return `${name} has no route of its own: it joins two tables, which have relations through it`
  return properties.length === 0
    ? `${name} is left out: no column of it can be mapped`
    : `${name} is left out: all of its columns sound like secrets`
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

interface PlannedFile {
  readonly path: string
  readonly text: string
  readonly state: 'new' | 'rewrite' | 'kept'
}

interface FilePlan {
  readonly files: readonly PlannedFile[]
}

/**
 * Looks at what there is.
 * @param options.force whether files that carry the header are written anew; others are kept
 * @throws Error a file exists, or a part of the path is a link
 */
async function planFiles(
  folder: string,
  files: readonly SourceFile[],
  { force }: { readonly force: boolean },
): Promise<FilePlan> {
  const planned: PlannedFile[] = []
  const existing: string[] = []
  for (const folderOfFile of new Set(files.map(({ path }) => join(folder, dirname(path)))))
    await checkFolder(folderOfFile)
  for (const file of files) {
    const path = join(folder, file.path)
    const before = await readPlain(path)
    if (before !== undefined && !force) existing.push(path)
    const state = before === undefined ? 'new' : hasHeader(before, HEADER) ? 'rewrite' : 'kept'
    planned.push({ path, text: file.text, state })
  }
  if (existing.length === 0) return { files: planned }
  throw new Error(
    [
      ...existing.map((path) => `${path} exists`),
      'nothing is written; --force writes files anew that still begin with the line of this command, --out names another folder',
    ].join('\n'),
  )
}

/** @throws Error a file or folder cannot be written */
async function writePlan({ files }: FilePlan): Promise<void> {
  for (const { path, text, state } of files) {
    if (state === 'kept') continue
    await makeFolder(dirname(path))
    await writeOwn(path, text)
  }
}
