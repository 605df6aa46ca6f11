/** Serializer files of `init`. */
import { commentText, docComment, importOf, list, literal, quoted, sortImports } from '../schema/source-text.js'
import { type SourceFile, sourceFile } from './header.js'
import type { Resource } from './resource.js'

export function serializerFile({ model, fields, secrets, powers }: Resource): SourceFile {
  const { className, fileName, table } = model
  const imports = sortImports(
    new Map([
      ['koa-viewsets', importOf(['modelSerializer'], 'koa-viewsets')],
      ['../models', importOf([className], `../models/${fileName}.js`)],
    ]),
  )
  const names = list(
    '  fields: ',
    fields.map(({ name }) => literal(name)),
    { indent: '  ', end: ',' },
  )
  const left = secrets.map(
    (name) =>
      `  // ${commentText(`${quoted(name)} sounds like a secret, and is left out: add it if clients may see it`)}\n`,
  )
  const kept = powers.length > 0 ? list('  readOnlyFields: ', powers.map(literal), { indent: '  ', end: ',' }) : ''
  const told = powers.map(
    (name) => `  // ${commentText(`${quoted(name)} says who may do more: no client writes it`)}\n`,
  )
  const body =
    `${docComment(`What clients see of ${quoted(table.name)}, and write.`, '')}` +
    `export class ${className}Serializer extends modelSerializer(${className}, {\n${names}\n${left.join('')}${told.join('')}${kept && `${kept}\n`}}) {}\n`
  return sourceFile(`serializers/${fileName}.ts`, `${imports}\n${body}`)
}
