/** Model files of `init`. */

import { RELATION_CLASSES } from '../../models/foreign-key-relations.js'
import type { ModelProperty } from '../schema/describe-schema.js'
import type { EnumType } from '../schema/enum-types.js'
import {
  commentText,
  docComment,
  importOf,
  list,
  propertyKey,
  quoted,
  sortImports,
  stringLiteral,
} from '../schema/source-text.js'
import { enumTexts, propertyLine, typeImport } from '../schema/type-text.js'
import { type SourceFile, sourceFile } from './header.js'
import type { Resource, ResourceRelation } from './resource.js'

/** Types that the database has made of lists of strings. */
export function enumsFile(enums: readonly EnumType[]): SourceFile {
  return sourceFile(
    'models/enums.ts',
    `/** Types of the database that are lists of texts. */\n\n${enumTexts(enums).join('\n')}`,
  )
}

export function modelFile(resource: Resource): SourceFile {
  const { model, idColumn, relations } = resource
  const { className, table, fileName } = model
  const about = table.comment ?? `The ${table.kind} ${quoted(table.name)}.`
  const isDefault = idColumn.length === 1 && idColumn[0] === 'id'
  const key =
    idColumn.length === 1
      ? `  static override idColumn = ${stringLiteral(idColumn[0] as string)}\n`
      : `${list('  static override idColumn = ', idColumn.map(stringLiteral), { indent: '  ' })}\n`
  const parts = [
    `  static override tableName = ${stringLiteral(table.tableName)}\n${isDefault || idColumn.length === 0 ? '' : key}`,
    ...(relations.length > 0 ? [mappings(resource)] : []),
    [
      ...model.properties.map((one) => propertyLine(one, { head: 'declare ' })),
      ...model.leftOut.map(({ name, reason }) => `  // ${commentText(`${quoted(name)} is left out: ${reason}`)}\n`),
      ...relations.map(relationLine),
    ].join(''),
  ]
  const unsure =
    model.key.length === 0
      ? `// Nothing tells its rows apart for sure: all columns do so here. Name a key if you know one.\n`
      : ''
  const body = `${unsure}${docComment(about, '')}export class ${className} extends Model {\n${parts.join('\n')}}\n`
  return sourceFile(`models/${fileName}.ts`, `${imports(resource)}\n${body}`)
}

function imports({ model, relations }: Resource): string {
  const found = new Map<string, string>()
  const ours = typeImport(model.properties)
  if (ours !== '') found.set('koa-viewsets', ours)
  const mapped = relations.length > 0 ? ['Model', 'type RelationMappings'] : ['Model']
  found.set('objection', importOf(mapped, 'objection'))
  const enums = [...new Set(model.properties.filter(isEnum).map(enumName))]
  if (enums.length > 0) found.set('./enums.js', importOf(enums, './enums.js', { typeOnly: true }))
  for (const { target } of relations) {
    if (target !== model) found.set(`./${target.fileName}.js`, importOf([target.className], `./${target.fileName}.js`))
  }
  return sortImports(found)
}

function isEnum({ column }: ModelProperty): boolean {
  return column.labels !== undefined
}

/** The name of the type, without what makes a list of it, or allows null. */
function enumName({ type }: ModelProperty): string {
  return /[\p{ID_Start}$_][\p{ID_Continue}$]*/u.exec(type)?.[0] as string
}

function mappings({ model, relations }: Resource): string {
  const lines = relations.map(
    (one) => `    ${propertyKey(one.relation.name)}: ${mapping(model.table.tableName, one)},\n`,
  )
  return `  static override relationMappings = (): RelationMappings => ({\n${lines.join('')}  })\n`
}

function mapping(tableName: string, { relation, target }: ResourceRelation): string {
  const from = joined('        from: ', tableName, relation.own)
  const to = joined('        to: ', target.table.tableName, relation.other)
  const head = `{\n      relation: Model.${RELATION_CLASSES[relation.kind]},\n      modelClass: ${target.className},\n`
  if (relation.kind !== 'many-to-many') {
    return `${head}      join: {\n${from}${to}      },\n    }`
  }
  const { tableName: between } = relation.through
  const through =
    `        through: {\n${joined('          from: ', between, relation.from)}` +
    `${joined('          to: ', between, relation.to)}        },\n`
  return `${head}      join: {\n${from}${through}${to}      },\n    }`
}

/** A line of a join: one column, or a list of several. */
function joined(head: string, table: string, columns: readonly string[]): string {
  const names = columns.map((column) => stringLiteral(`${table}.${column}`))
  if (names.length === 1) return `${head}${names[0]},\n`
  return `${list(head, names, { indent: ' '.repeat(head.search(/\S/)), end: ',' })}\n`
}

function relationLine({ relation, target }: ResourceRelation): string {
  const { kind, name } = relation
  const many = kind === 'has-many' || kind === 'many-to-many'
  const isNullable = kind === 'has-one' || (kind === 'belongs-to' && relation.isNullable)
  return `  declare ${propertyKey(name)}?: ${target.className}${many ? '[]' : isNullable ? ' | null' : ''}\n`
}
