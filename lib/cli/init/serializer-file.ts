/** Serializer files of `init`. */
import {
  commentText,
  docComment,
  importOf,
  list,
  literal,
  propertyName,
  quoted,
  sortImports,
} from '../schema/source-text.js'
import { type SourceFile, sourceFile } from './header.js'
import type { Resource } from './resource.js'

export function serializerFile(resource: Resource): SourceFile {
  const { model, fields, secrets, powers } = resource
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
    `export class ${className}Serializer extends modelSerializer(${className}, {\n${names}\n${left.join('')}${told.join('')}${kept && `${kept}\n`}${shownObjects(resource)}}) {}\n`
  return sourceFile(`serializers/${fileName}.ts`, `${imports}\n${body}`)
}

/** How to show objects in place of keys: as a comment, since classes that import each other need an order. */
function shownObjects({ model, fields, powers, relations }: Resource): string {
  const isWritten = (name: string) => fields.some((one) => one.name === name) && !powers.includes(name)
  const lines = relations.flatMap(({ relation, target }) => {
    const [column = '', ...others] = relation.own
    const [key, ...keys] = target.key
    const isKey = keys.length === 0 && others.length === 0 && relation.other[0] === key
    if (relation.kind !== 'belongs-to' || target === model || !isKey || !isWritten(column)) return []
    const { className } = target
    const field = `new PrimaryKeyRelatedField({ queryset: ${className}, shownBy: ${className}Serializer })`
    return [`  //   ${commentText(`${propertyName(relation.name)}: ${field},`)}\n`]
  })
  if (lines.length === 0) return ''
  return `  // These take keys and show objects, in place of the foreign keys above:\n  // declaredFields: {\n${lines.join('')}  // },\n`
}
