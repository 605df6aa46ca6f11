/** The relations between tables, by their foreign keys, in both directions. */

import { propertyProblem } from './build-model.js'
import type { CatalogueConstraint, CatalogueTable } from './catalogue.js'
import { keyTarget, Names, plural, relationName, singular } from './relation-names.js'
import type { SchemaTable } from './schema-tables.js'

/** The table's own columns, and those that they are joined to, each at the same place. */
interface Link {
  readonly name: string
  readonly target: SchemaTable
  readonly own: readonly string[]
  readonly other: readonly string[]
}

export type FoundRelation =
  | (Link & { readonly kind: 'belongs-to'; readonly isNullable: boolean })
  | (Link & { readonly kind: 'has-one' | 'has-many' })
  | (Link & {
      readonly kind: 'many-to-many'
      readonly through: SchemaTable
      /** The columns of the table between. */
      readonly from: readonly string[]
      readonly to: readonly string[]
    })

/** Objection's classes of relations. */
export const RELATION_CLASSES = {
  'belongs-to': 'BelongsToOneRelation',
  'has-one': 'HasOneRelation',
  'has-many': 'HasManyRelation',
  'many-to-many': 'ManyToManyRelation',
} as const

export interface SchemaRelations {
  /** By table; those of join tables, too. */
  readonly of: ReadonlyMap<SchemaTable, readonly FoundRelation[]>
  /** Tables that are only two foreign keys. */
  readonly joinTables: ReadonlySet<SchemaTable>
  /** Foreign keys that became no relation. */
  readonly leftOut: readonly LeftOutKey[]
}

/** A foreign key that became no relation, and why. */
interface LeftOutKey {
  readonly name: string
  readonly table: string
  readonly problem: string
}

interface ForeignKey {
  readonly table: SchemaTable
  readonly columns: readonly string[]
  readonly target: SchemaTable
  readonly targetColumns: readonly string[]
}

/** What names must fit beside, and how they are written. */
export interface NamingOptions {
  /** Names that relations of a table must not have, beside members of all objects. @default those of its columns */
  readonly takenOf?: (table: SchemaTable) => Iterable<string>
  /** A name of a relation of a table as its model writes names. @default as the database does */
  readonly spell?: (table: SchemaTable, name: string) => string
}

/** Names that no relation has, as models or all objects have them. */
const MEMBERS = [
  ...['constructor', 'prototype', '__proto__', 'toJSON', 'toString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf'],
  ...['propertyIsEnumerable', 'toLocaleString', 'QueryBuilderType', 'then', 'length'],
]

/**
 * The relations between tables, with names for them: that of a foreign key (`author_id` → `author`), and on the other side
 * that of the table whose it is (`books`), by the relation's where there are several (`books_by_editor`). Names that columns
 * have are left to them.
 */
export function findRelations(
  tables: readonly SchemaTable[],
  { takenOf = columnNames, spell = (_table, name) => name }: NamingOptions = {},
): SchemaRelations {
  const leftOut: LeftOutKey[] = []
  const byNumber = new Map(tables.map((table) => [table.catalogue.table, table]))
  const keys = tables.flatMap((table) => foreignKeys(table, byNumber, leftOut))
  const of = new Map(tables.map((table) => [table, [] as FoundRelation[]]))
  const names = new Map(tables.map((table) => [table, new Names([...MEMBERS, ...takenOf(table)])]))
  const add = (table: SchemaTable, relation: FoundRelation) => of.get(table)?.push(relation)
  const claim = (table: SchemaTable, ...[best, ...others]: [string, ...string[]]) =>
    (names.get(table) as Names).claim(spell(table, best), ...others.map((name) => spell(table, name)))

  const belonging = new Map<ForeignKey, string>()
  for (const key of keys) {
    const { table, columns, target, targetColumns } = key
    const name = claim(table, ...namesOf(nativeNames(table, columns), singular(target.name)))
    belonging.set(key, name)
    const isNullable = !columns.every((column) => isNotNull(table.catalogue, column))
    add(table, { kind: 'belongs-to', name, target, own: columns, other: targetColumns, isNullable })
  }
  const joinTables = new Set(tables.filter((table) => isJoinTable(table, keys)))
  for (const key of keys.filter(({ table }) => !joinTables.has(table))) {
    const { table, columns, target, targetColumns } = key
    const isOne = isUnique(table.catalogue, columns)
    const one = singular(table.name)
    const base = isOne ? one : plural(one)
    const full = `${base}_by_${belonging.get(key)}`
    const isAlone =
      table !== target && keys.filter((other) => other.table === table && other.target === target).length === 1
    const name = isAlone ? claim(target, base, full) : claim(target, full)
    add(target, { kind: isOne ? 'has-one' : 'has-many', name, target: table, own: targetColumns, other: columns })
  }
  for (const table of joinTables) {
    const [first, second] = keys.filter((key) => key.table === table) as [ForeignKey, ForeignKey]
    for (const [from, to] of [
      [first, second],
      [second, first],
    ] as const) {
      const base = plural(
        relationName(keyTarget(nativeNames(table, to.columns)[0] as string) ?? singular(to.target.name)),
      )
      const name = claim(from.target, base, `${base}_by_${singular(table.name)}`)
      const link = { name, target: to.target, own: from.targetColumns, other: to.targetColumns }
      add(from.target, { kind: 'many-to-many', ...link, through: table, from: from.columns, to: to.columns })
    }
  }
  return { of, joinTables, leftOut }
}

/**
 * What the relation of a foreign key may be called, the best first: `author_id` and `authorid` → `author`, `reports_to` →
 * `reports_to_employee`, `artist` → `artist_row`, `type` of an artist → `artist_type`.
 */
function namesOf(columns: readonly string[], target: string): [string, ...string[]] {
  const [column = '', ...others] = columns
  if (others.length > 0) return [relationName(target), relationName(`${target}_by_${columns.join('_')}`)]
  const base = keyTarget(column)
  const own = relationName(base ?? column)
  const long = own === target || own.endsWith(`_${target}`) ? `${own}_row` : `${own}_${target}`
  if (base === undefined) return target.endsWith(`_${own}`) ? [target, long] : [long]
  return [own, long, `${relationName(column)}_${target}`]
}

function columnNames({ catalogue }: SchemaTable): readonly string[] {
  return catalogue.columns.map(({ column }) => column)
}

/** Names are made of those of the database, whatever mappers of knex make of them. */
function nativeNames({ catalogue }: SchemaTable, names: readonly string[]): readonly string[] {
  return names.map((name) => catalogue.columns.find(({ column }) => column === name)?.nativeName ?? name)
}

function foreignKeys(
  table: SchemaTable,
  byNumber: ReadonlyMap<number, SchemaTable>,
  leftOut: LeftOutKey[],
): readonly ForeignKey[] {
  // one column by itself leads to one table; it may be a part of other keys
  const seen = new Set<string>()
  return inOrder(table.catalogue).flatMap((constraint) => {
    const { columns } = constraint
    const target = byNumber.get(constraint.target?.table ?? 0)
    const targetColumns = constraint.target?.columns ?? []
    if (columns.length === 0 || targetColumns.length !== columns.length || seen.has(columns.join('\0'))) return []
    const problem = problemOf(constraint, target)
    if (problem !== undefined) leftOut.push({ name: constraint.name, table: table.name, problem })
    if (problem !== undefined || !target) return []
    seen.add(columns.join('\0'))
    return [{ table, columns, target, targetColumns }]
  })
}

/** Why a foreign key is no relation; undefined for one that is. */
function problemOf(
  { columns, target: ends }: CatalogueConstraint,
  target: SchemaTable | undefined,
): string | undefined {
  if (!target || !ends) return 'it leads to a table that is not read'
  if (ends.period) return 'it is about a span of time, which rows cover together'
  return [...columns, ...ends.columns].every(isJoinable) ? undefined : 'Objection cannot join by the name of its column'
}

/** The foreign keys of a table, in the order of its columns. */
function inOrder({ columns, constraints }: CatalogueTable): readonly CatalogueConstraint[] {
  const at = (name: string | undefined) => columns.findIndex(({ column }) => column === name)
  return constraints
    .filter(({ kind }) => kind === 'foreign')
    .sort((a, b) => at(a.columns[0]) - at(b.columns[0]) || (a.name < b.name ? -1 : 1))
}

/** Objection reads dots, colons and brackets of what it joins by. */
function isJoinable(column: string): boolean {
  return /^[^.:[\]?*"'\\]+$/.test(column) && propertyProblem(column) === undefined
}

/** True for a table whose rows say that two others belong together, and nothing else that a client would give. */
function isJoinTable(table: SchemaTable, keys: readonly ForeignKey[]): boolean {
  const ownKeys = keys.filter((key) => key.table === table)
  const own = ownKeys.flatMap((key) => key.columns)
  const { columns, constraints } = table.catalogue
  const foreign = constraints.filter(({ kind }) => kind === 'foreign')
  if (table.kind !== 'table' || [ownKeys, own, foreign].some(({ length }) => length !== 2)) return false
  const isPair = constraints.some(
    ({ kind, columns: unique }) => (kind === 'primary' || kind === 'unique') && sameNames(unique, own),
  )
  const primary = constraints.find(({ kind }) => kind === 'primary')
  // one with a key of its own is named by it, as other tables are
  if (!isPair || (primary && !sameNames(primary.columns, own))) return false
  return columns.every(({ column, hasDefault, generated }) => own.includes(column) || hasDefault || generated)
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name) => b.includes(name))
}

function isUnique({ constraints }: CatalogueTable, own: readonly string[]): boolean {
  return constraints.some(
    ({ kind, columns }) => (kind === 'primary' || kind === 'unique') && columns.every((column) => own.includes(column)),
  )
}

function isNotNull({ columns }: CatalogueTable, name: string): boolean {
  return columns.some(({ column, holdsNull }) => column === name && !holdsNull)
}
