/** What the models of a schema are called and hold: names, properties, keys, relations. */

import { propertyProblem } from '../../models/build-model.js'
import type { CatalogueColumn } from '../../models/catalogue.js'
import { type FoundRelation, findRelations } from '../../models/foreign-key-relations.js'
import { parsedType } from '../../models/parsed-types.js'
import { Names } from '../../models/relation-names.js'
import { type SchemaTable, shortestKey } from '../../models/schema-tables.js'
import { type EnumType, EnumTypes } from './enum-types.js'
import { classNames, classNamesOf, fileName, routeName } from './names.js'
import type { DatabaseSchema } from './read-schema.js'
import { quoted } from './source-text.js'

export interface ModelProperty {
  readonly name: string
  readonly type: string
  /** Filled by the database and never written by clients. */
  readonly isReadonly: boolean
  /** Filled by the database where a client gives nothing. */
  readonly isGenerated: boolean
  readonly comment: string | undefined
  readonly column: CatalogueColumn
}

export interface LeftOutColumn {
  readonly name: string
  readonly reason: string
}

export interface DescribedModel {
  readonly table: SchemaTable
  readonly className: string
  /** Without folder and ending. */
  readonly fileName: string
  /** The path of the list, and the name of its routes. */
  readonly route: string
  readonly properties: readonly ModelProperty[]
  readonly leftOut: readonly LeftOutColumn[]
  readonly relations: readonly FoundRelation[]
  /** It only says which rows of two other tables belong together. */
  readonly isJoinTable: boolean
  /** The columns that distinguish rows; none where nothing does. */
  readonly key: readonly string[]
}

export interface DescribedSchema {
  readonly models: readonly DescribedModel[]
  readonly enums: readonly EnumType[]
  /** What could not be mapped: sentences. */
  readonly notes: readonly string[]
}

export function describeSchema({ tables, notes }: DatabaseSchema): DescribedSchema {
  const told = [...notes]
  const classes = classNames()
  const enums = new EnumTypes(classes)
  const files = new Names()
  const routes = new Names()
  const relations = findRelations(tables)
  const hasSchemas = new Set(tables.map(({ schema }) => schema)).size > 1
  // classes first: a type of the database makes way for them
  const named = tables.map((table) => {
    const wanted = classNamesOf(table.name, hasSchemas ? table.schema : undefined)
    const className = classes.claim(...wanted)
    if (className !== wanted[0]) {
      const name = hasSchemas ? `${table.schema}.${table.name}` : table.name
      told.push(`${quoted(name)} is the class ${className}: ${wanted[0]} is taken`)
    }
    const full = `${table.schema}_${table.name}`
    const file = files.claim(fileName(table.name), ...(hasSchemas ? [fileName(full)] : []))
    const route = routes.claim(routeName(table.name), ...(hasSchemas ? [routeName(full)] : []))
    return { table, className, fileName: file, route }
  })
  const models = named.map((names): DescribedModel => {
    const { table } = names
    const { columns } = table.catalogue
    const leftOut = columns.flatMap(({ column }) => {
      const reason = propertyProblem(column)
      return reason === undefined ? [] : [{ name: column, reason }]
    })
    const isLeftOut = (column: string) => leftOut.some((one) => one.name === column)
    const key = shortestKey(table).some(isLeftOut) ? [] : shortestKey(table)
    const properties = columns
      .filter(({ column }) => !isLeftOut(column))
      .map((column) => propertyOf(table, column, key, enums))
    told.push(
      ...leftOut.map((one) => `the column ${quoted(one.name)} of ${quoted(table.name)} is left out: ${one.reason}`),
    )
    told.push(...foreignTypes(table, properties))
    return {
      ...names,
      properties,
      leftOut,
      relations: relations.of.get(table) ?? [],
      isJoinTable: relations.joinTables.has(table),
      key,
    }
  })
  const leftOut = relations.leftOut.map(
    ({ name, table, problem }) => `the foreign key ${quoted(name)} of ${quoted(table)} is no relation: ${problem}`,
  )
  return { models, enums: enums.all, notes: [...told, ...leftOut] }
}

function propertyOf(
  table: SchemaTable,
  column: CatalogueColumn,
  key: readonly string[],
  enums: EnumTypes,
): ModelProperty {
  const isKey = key.length === 1 && key[0] === column.column
  const type = columnType(column, enums)
  const isReadonly = column.generated || (isKey && column.makesValues)
  return {
    name: column.column,
    type,
    isReadonly,
    // what is unknown may be left out anyway
    isGenerated: !isReadonly && column.hasDefault && type !== 'unknown',
    comment: table.comments.get(column.nativeName),
    column,
  }
}

function foreignTypes(table: SchemaTable, properties: readonly ModelProperty[]): readonly string[] {
  return properties
    .filter(({ column }) => isForeignType(column))
    .map(
      ({ name, column }) =>
        `the column ${quoted(name)} of ${quoted(table.name)} is of type ${quoted(column.sqlType)}: it is taken and shown as PostgreSQL writes it`,
    )
}

/** Types that are strings to pg, too, and nothing else. */
const TEXTS = new Set(
  [
    'text varchar bpchar char name citext uuid numeric money time timetz xml enum inet cidr macaddr macaddr8',
    'bit varbit tsvector tsquery int4range int8range numrange daterange tsrange tstzrange int4multirange',
    'int8multirange nummultirange datemultirange tsmultirange tstzmultirange line lseg box path polygon',
    'pg_lsn ltree lquery jsonpath',
  ].flatMap((line) => line.split(' ')),
)

/** The type of a column's values. */
function columnType(column: CatalogueColumn, enums: EnumTypes): string {
  const { type, element, dimensions, holdsNull } = column
  const item = typeOf(element ?? type, column, enums)
  // PostgreSQL takes a null in any array
  const list = item === 'unknown' ? 'unknown[]' : `(${item} | null)[]`
  const whole = type === 'array' ? list + '[]'.repeat(dimensions - 1) : item
  return !holdsNull || whole === 'unknown' ? whole : `${whole} | null`
}

function typeOf(type: string, column: CatalogueColumn, enums: EnumTypes): string {
  if (type === 'enum') return enums.nameOf(column)
  // pg makes a number of it, and JSON shows a string
  return type === 'oid' ? 'string' : parsedType(type)
}

/** True for a type of which we know nothing, but that PostgreSQL writes it as a string. */
function isForeignType({ type, element }: CatalogueColumn): boolean {
  const name = element ?? type
  return !TEXTS.has(name) && (parsedType(name) === 'string' || name === 'oid' || name === 'point' || name === 'circle')
}
