/** `koa-viewsets types`: an interface for the rows of each table. */
import { dirname, resolve } from 'node:path'
import { type Command, givenText, UsageError, type Values } from './command.js'
import { type DescribedModel, type DescribedSchema, describeSchema } from './schema/describe-schema.js'
import { labelTypes } from './schema/enum-types.js'
import { readDatabase } from './schema/open-database.js'
import { makeFolder, readOwn, writeOwn } from './schema/own-files.js'
import { readSchema, type SchemaChoice } from './schema/read-schema.js'
import { docComment, importOf, propertyName, quoted, union } from './schema/source-text.js'

const HEADER = '// Written by `npx koa-viewsets types`, which writes this file anew: change nothing here.'

/** Options of what is read, for both commands. */
export const SCHEMA_HELP: Command['help'] = [
  ['--schema <names>', 'the schemas to read, separated by commas (else the first of the search path)'],
  ['--tables <names>', 'tables and views, separated by commas (else all of the schema)'],
]

export const types: Command = {
  summary: 'write the types of rows, from the database of DATABASE_URL',
  help: [
    ['--output <file>', 'the file to write, and to keep current (else stdout)'],
    ['--check', 'write nothing, and fail where the file differs from the database'],
    ...SCHEMA_HELP,
  ],
  options: {
    output: { type: 'string' },
    check: { type: 'boolean' },
    schema: { type: 'string', multiple: true },
    tables: { type: 'string', multiple: true },
  },
  async run(values, { stdout, stderr }) {
    const output = givenText(values, 'output')
    if (values['check'] === true && output === undefined)
      throw new UsageError('--check needs --output, the file to compare')
    const choice = schemaChoice(values)
    const schema = await readDatabase(async (trx) => describeSchema(await readSchema(trx, choice)))
    const text = rowTypes(schema)
    if (output === undefined) {
      stdout.write(text)
      return
    }
    const path = resolve(output)
    const before = await readOwn(path, HEADER)
    if (before === text) {
      stderr.write(`${output} is as the database has it\n`)
      return
    }
    if (values['check'] === true)
      throw new Error(`${output} differs from the database; write it anew by koa-viewsets types`)
    await makeFolder(dirname(path))
    await writeOwn(path, text)
    stderr.write(`${output} written\n`)
  },
}

/** What `--schema` and `--tables` say. @throws {UsageError} one is empty */
export function schemaChoice(values: Values): SchemaChoice {
  const schemas = namesOf(values, 'schema', '--schema is empty')
  return { schemas, tables: namesOf(values, 'tables', '--tables has an empty name') }
}

function namesOf(values: Values, option: string, problem: string): readonly string[] | undefined {
  const given = values[option] as readonly string[] | undefined
  const names = given?.flatMap((text) => text.split(',')).map((name) => name.trim())
  if (names?.includes('')) throw new UsageError(problem)
  return names && [...new Set(names)]
}

/** The source of a module with the types of all rows. */
export function rowTypes({ models, enums }: DescribedSchema): string {
  const properties = models.flatMap((model) => model.properties)
  const imported = [
    ...(properties.some(({ isGenerated }) => isGenerated) ? ['Generated'] : []),
    ...(properties.some(({ type }) => type.includes('Interval')) ? ['Interval'] : []),
  ]
  const head = imported.length > 0 ? importOf(imported, 'koa-viewsets', { typeOnly: true }) : ''
  const parts = [
    ...enums.map((one) => `${union(`export type ${one.name} =`, labelTypes(one))}\n`),
    ...models.map(rowType),
  ]
  return `${HEADER}\n${head}\n${parts.join('\n')}`
}

function rowType({ className, table, properties }: DescribedModel): string {
  const lines = properties.map(({ name, type, isReadonly, isGenerated, comment }) => {
    const described = comment === undefined ? '' : docComment(comment, '  ')
    return `${described}  ${isReadonly ? 'readonly ' : ''}${propertyName(name)}: ${isGenerated ? `Generated<${type}>` : type}\n`
  })
  const about = table.comment ?? `A row of ${quoted(table.name)}.`
  return `${docComment(about, '')}export interface ${className}Row {\n${lines.join('')}}\n`
}
