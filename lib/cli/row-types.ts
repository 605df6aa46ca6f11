/** `koa-viewsets types`: an interface for the rows of each table. */
import { dirname, resolve } from 'node:path'
import { type Command, givenNames, givenText, UsageError, type Values } from './command.js'
import { type DescribedModel, type DescribedSchema, describeSchema } from './schema/describe-schema.js'
import { readDatabase } from './schema/open-database.js'
import { makeFolder, readOwn, writeOwn } from './schema/own-files.js'
import { readSchema } from './schema/read-schema.js'
import { docComment, quoted } from './schema/source-text.js'
import { enumTexts, propertyLine, typeImport } from './schema/type-text.js'

const HEADER = '// Written by `npx koa-viewsets types`, which writes this file anew: change nothing here.'

/** Options of what is read, for both commands. */
export const SCHEMA_HELP: Command['help'] = [
  ['--schema <names>', 'the schemas to read, separated by commas (else the first of the search path)'],
  ['--tables <names>', 'tables and views, separated by commas (else all of the schema)'],
]
export const SCHEMA_OPTIONS: Command['options'] = {
  schema: { type: 'string', multiple: true },
  tables: { type: 'string', multiple: true },
}

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
    ...SCHEMA_OPTIONS,
  },
  async run(values, { stdout, stderr }) {
    const output = givenText(values, 'output')
    if (values['check'] === true && output === undefined)
      throw new UsageError('--check needs --output, the file to compare')
    const text = rowTypes(await chosenSchema(values))
    if (output === undefined) {
      stdout.write(text)
      return
    }
    const path = resolve(output)
    const before = await readOwn(path, HEADER)
    if (before !== undefined && withoutReturns(before) === withoutReturns(text)) {
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

/** git may have checked the file out with line ends of Windows. */
function withoutReturns(text: string): string {
  return text.replaceAll('\r\n', '\n')
}

/** What `--schema` and `--tables` choose of the database, described. @throws {UsageError} a name is empty */
export async function chosenSchema(values: Values): Promise<DescribedSchema> {
  const choice = { schemas: givenNames(values, 'schema'), tables: givenNames(values, 'tables') }
  return readDatabase(async (trx) => describeSchema(await readSchema(trx, choice)))
}

/** The source of a module with the types of all rows. */
export function rowTypes({ models, enums }: DescribedSchema): string {
  const head = typeImport(models.flatMap((model) => model.properties))
  return `${HEADER}\n${head}\n${[...enumTexts(enums), ...models.map(rowType)].join('\n')}`
}

function rowType({ className, table, properties }: DescribedModel): string {
  const lines = properties.map((one) => propertyLine(one))
  const about = table.comment ?? `A row of ${quoted(table.name)}.`
  return `${docComment(about, '')}export interface ${className}Row {\n${lines.join('')}}\n`
}
