/** The relations between tables, by their foreign keys, in both directions. */
import type { CatalogueConstraint, CatalogueTable } from '../../models/catalogue.js'
import { keyTarget, Names, plural, relationName, singular } from './names.js'
import type { SchemaTable } from './read-schema.js'
import { quoted } from './source-text.js'

/** The table's own columns, and those that they are joined to, each at the same place. */
interface Link {
  readonly name: string
  readonly target: SchemaTable
  readonly own: readonly string[]
  readonly other: readonly string[]
}

export type TableRelation =
  | (Link & { readonly kind: 'belongs-to'; readonly isNullable: boolean })
  | (Link & { readonly kind: 'has-one' | 'has-many' })
  | (Link & {
      readonly kind: 'many-to-many'
      readonly through: SchemaTable
      /** The columns of the table between. */
      readonly from: readonly string[]
      readonly to: readonly string[]
    })

export interface SchemaRelations {
  /** By table; those of join tables, too. */
  readonly of: ReadonlyMap<SchemaTable, readonly TableRelation[]>
  /** Tables that are only two foreign keys. */
  readonly joinTables: ReadonlySet<SchemaTable>
  /** Keys that became no relation, and why: sentences. */
  readonly notes: readonly string[]
}

interface ForeignKey {
  readonly table: SchemaTable
  readonly columns: readonly string[]
  readonly target: SchemaTable
  readonly targetColumns: readonly string[]
}

/** @param reserved names that relations of any table must not have */
export function findRelations(tables: readonly SchemaTable[], reserved: readonly string[]): SchemaRelations {
  const notes: string[] = []
  const byNumber = new Map(tables.map((table) => [table.catalogue.table, table]))
  const keys = tables.flatMap((table) => foreignKeys(table, byNumber, notes))
  const of = new Map(tables.map((table) => [table, [] as TableRelation[]]))
  const names = new Map(
    tables.map((table) => [table, new Names([...reserved, ...table.catalogue.columns.map(({ column }) => column)])]),
  )
  const add = (table: SchemaTable, relation: TableRelation) => of.get(table)?.push(relation)
  const claim = (table: SchemaTable, ...wanted: [string, ...string[]]) => (names.get(table) as Names).claim(...wanted)

  const belonging = new Map<ForeignKey, string>()
  for (const key of keys) {
    const { table, columns, target, targetColumns } = key
    const name = claim(table, ...namesOf(columns, singular(target.name)))
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
      const base = plural(relationName(keyTarget(to.columns[0] as string) ?? singular(to.target.name)))
      const name = claim(from.target, base, `${base}_by_${singular(table.name)}`)
      const link = { name, target: to.target, own: from.targetColumns, other: to.targetColumns }
      add(from.target, { kind: 'many-to-many', ...link, through: table, from: from.columns, to: to.columns })
    }
  }
  return { of, joinTables, notes }
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

function foreignKeys(
  table: SchemaTable,
  byNumber: ReadonlyMap<number, SchemaTable>,
  notes: string[],
): readonly ForeignKey[] {
  // one column by itself leads to one table; it may be a part of other keys
  const seen = new Set<string>()
  return inOrder(table.catalogue).flatMap((constraint) => {
    const where = `the foreign key ${quoted(constraint.name)} of ${quoted(table.name)} is no relation`
    const { columns } = constraint
    const target = byNumber.get(constraint.target?.table ?? 0)
    const targetColumns = constraint.target?.columns ?? []
    if (columns.length === 0 || targetColumns.length !== columns.length || seen.has(columns.join('\0'))) return []
    const problem = !target
      ? 'it leads to a table that is not read'
      : [...columns, ...targetColumns].some((name) => !isJoinable(name))
        ? 'Objection cannot join by the name of its column'
        : undefined
    if (problem !== undefined || !target) {
      notes.push(`${where}: ${problem}`)
      return []
    }
    seen.add(columns.join('\0'))
    return [{ table, columns, target, targetColumns }]
  })
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
  return /^[^.:[\]?*"'\\]+$/.test(column)
}

/** True for a table whose rows say that two others belong together, and nothing else that a client would give. */
function isJoinTable(table: SchemaTable, keys: readonly ForeignKey[]): boolean {
  const own = keys.filter((key) => key.table === table).flatMap((key) => key.columns)
  const { columns, constraints } = table.catalogue
  if (own.length !== 2 || table.kind !== 'table' || constraints.filter(({ kind }) => kind === 'foreign').length !== 2) {
    return false
  }
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
  return columns.some(({ column, notNull }) => column === name && notNull)
}
