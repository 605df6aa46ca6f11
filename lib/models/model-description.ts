/** Types of what is known of a model: its columns, keys and relations. */

import type { Model, QueryContext } from 'objection'
import type { PropertySchema } from '../kernel/json-schema.js'
import type { CatalogueColumn, CatalogueTarget, TableTraits } from './catalogue.js'
import type { ColumnCheck } from './check-constraint.js'
import type { ModelClass, RelationKind } from './objection.js'
import { escaped } from './table-reference.js'

/** The members of `CatalogueColumn` that a `Column` has as they are. */
type StoredColumn = Omit<
  CatalogueColumn,
  'sqlType' | 'oid' | 'notNull' | 'referenced' | 'cascades' | 'generated' | 'makesValues' | 'checks'
>

/** A column of a model, as a serializer sees it: as the catalogue has it, or what is assumed before that was read. */
export interface Column extends StoredColumn {
  /** The name in the model's instances. */
  readonly property: string
  /** The type as SQL writes it, for casts; undefined until the catalogue was read. */
  readonly sqlType: string | undefined
  /** The type's number, by which pg chooses a parser; undefined until the catalogue was read. */
  readonly oid: number | undefined
  readonly nullable: boolean
  /** A create must give it. */
  readonly required: boolean
  /** Filled by the database, never written by a client. */
  readonly auto: boolean
  /** Part of the primary key. */
  readonly primary: boolean
  /** Alone in a unique constraint. */
  readonly unique: boolean
  /** What CHECK constraints of the database ask of its values. */
  readonly checked: readonly ColumnCheck[]
  /** What the model's `jsonSchema` says of it. */
  readonly schema: PropertySchema
}

/** A relation of a model. */
export interface RelationDescription {
  readonly name: string
  readonly kind: RelationKind
  readonly model: ModelClass
  /** The mapping narrows the related objects by a query of its own (`modify`, `filter`). */
  readonly narrowed: boolean
  /** The column that marks rows of the related model as deleted; undefined where deleted rows are gone. */
  readonly deletedBy: string | undefined
  /** True when the relation leads to at most one object. */
  readonly single: boolean
  /** Properties of this model that take part in the join. */
  readonly ownerProperties: readonly string[]
  /** Properties of the related model that take part in the join. */
  readonly relatedProperties: readonly string[]
  /** The join table; undefined where the tables themselves hold the keys. */
  readonly through: JoinTable | undefined
  /** What the mapping adds to related objects before they are inserted; undefined for nothing. */
  readonly beforeInsert: ((row: Model, context: QueryContext) => unknown) | undefined
}

/** The table of a relation that neither of its models holds the key of. */
export interface JoinTable {
  readonly model: ModelClass
  /** Properties of the join table with the key of the relation's own model, in the order of `ownerProperties`. */
  readonly ownerProperties: readonly string[]
  /** Properties of the join table with the key of the related model, in the order of `relatedProperties`. */
  readonly relatedProperties: readonly string[]
  /** The mapping narrows its rows by a query of its own. */
  readonly narrowed: boolean
  /** Rows are links and nothing else: the mapping neither narrows them nor adds to them. */
  readonly isPlain: boolean
  /** The application has no class for it, whose hooks would run. */
  readonly isBare: boolean
  /** What instances of related objects have of their link: the properties, and those of the join table that they are. */
  readonly extras: ReadonlyMap<string, string>
}

/** A foreign key of the database, and the columns that it points to. */
interface ForeignKey {
  /** The table's number. */
  readonly table: number
  readonly column: string
  /** The database refuses keys that lead nowhere. */
  readonly enforced: boolean
}

/** A foreign key of one column or several, which the database checks without asking who may see the row. */
export interface ForeignKeyReference extends Omit<CatalogueTarget, 'reference'> {
  /** The properties, in the order of the columns that they point to. */
  readonly properties: readonly string[]
  /** The table as SQL names it within the search path. */
  readonly target: string
  /** No row has a key that leads nowhere, however old it is, and in whatever partition. */
  readonly validated: boolean
}

/** A model as the database and its `jsonSchema` describe it; its table takes all writes before the catalogue was read. */
export interface ModelDescription extends TableTraits {
  /** The class. */
  readonly model: ModelClass
  /** The table's name in the database, without its schema. */
  readonly nativeName: string
  /** The names in the database of its partitions, and of the tables that inherit from it. */
  readonly partitions: ReadonlySet<string>
  /** The columns, by the name that instances have them under. */
  readonly columns: ReadonlyMap<string, Column>
  /** The columns that `__all__` stands for: those of the `jsonSchema` if it names any, else all. */
  readonly declared: readonly string[]
  /** The properties of the primary key; empty where there is none. */
  readonly primaryKey: readonly string[]
  /** The relations, by name. */
  readonly relations: ReadonlyMap<string, RelationDescription>
  /** Properties of a named constraint or unique index, those of partitions included. */
  readonly constraints: ReadonlyMap<string, readonly string[]>
  /** Properties that alone are a foreign key of the database, and where it points. */
  readonly foreignKeys: ReadonlyMap<string, ForeignKey>
  /** The foreign keys that the database checks. */
  readonly references: readonly ForeignKeyReference[]
  /** Properties that foreign keys of the database point to. */
  readonly referenced: ReadonlySet<string>
  /** Those whose change the database passes on to what points to them (`ON UPDATE CASCADE` and the like). */
  readonly cascading: ReadonlySet<string>
  /** The table's number in the database; undefined until the catalogue was read. */
  readonly table: number | undefined
  /** Properties that together are unique, one list for each constraint or index that says so. */
  readonly uniqueKeys: readonly (readonly string[])[]
  /** Those of the table's unique keys that ON CONFLICT may name. */
  readonly arbiters: readonly (readonly string[])[]
  /** Properties that together are unique among the rows for which a condition holds (partial unique indexes). */
  readonly partialKeys: readonly { readonly properties: readonly string[]; readonly condition: string }[]
  /** True once the catalogue was read. */
  readonly prepared: boolean
}

/** SQL with `??` for the column's name where values are compared: PostgreSQL compares an enum, and no domain over one. */
export function comparedSql({ type, isDomain, sqlType }: Pick<Column, 'type' | 'isDomain' | 'sqlType'>): string {
  return type === 'enum' && isDomain && sqlType !== undefined ? `??::${escaped(sqlType)}` : '??'
}

/** SQL behind a column's name that asks for no value, or for one: a row of a composite type `is null` where all its members are. */
export function nullTest({ type }: Pick<Column, 'type'>, isValue = false): string {
  const not = isValue ? '' : 'not '
  if (type === 'composite') return `is ${not}distinct from null`
  return isValue ? 'is not null' : 'is null'
}

/** True where the catalogue says that no two rows have the same values of these columns; true before it was read. */
export function tellsApart(model: ModelDescription, properties: readonly string[]): boolean {
  const { uniqueKeys, isPartitioned, columns, prepared } = model
  if (!prepared || uniqueKeys.some((key) => key.every((property) => properties.includes(property)))) return true
  // what a sequence or the like fills in is unique over all partitions, though PostgreSQL cannot say so
  const isPart = uniqueKeys.some((key) => properties.every((property) => key.includes(property)))
  return isPartitioned && isPart && properties.every((property) => columns.get(property)?.hasDefault === true)
}

/**
 * The same, of rows too that have no value in one of these columns: a unique key may have several. What a materialised view
 * says of its rows is believed, of which no column is declared to have a value in all.
 */
export function tellsAllApart(model: ModelDescription, properties: readonly string[]): boolean {
  const { uniqueKeys, isView, columns } = model
  const keys = uniqueKeys.filter((key) => key.every((property) => properties.includes(property)))
  const isWhole = keys.length === 0 || keys.some((key) => !key.some((property) => columns.get(property)?.holdsNull))
  return tellsApart(model, properties) && (isView || isWhole)
}

/** The columns of the primary key, as far as the table has them. */
export function keyColumns({ columns, primaryKey }: Pick<ModelDescription, 'columns' | 'primaryKey'>): Column[] {
  return primaryKey.flatMap((property) => columns.get(property) ?? [])
}

/**
 * The relation whose foreign key alone is this property.
 * @param isMeant which of several, that lead to several tables @default the first
 */
export function relationOfKey(
  model: ModelDescription,
  property: string,
  isMeant: (relation: RelationDescription) => boolean = () => true,
): RelationDescription | undefined {
  const relations = [...model.relations.values()].filter(
    ({ kind, ownerProperties: [first, ...others] }) =>
      kind === 'belongs-to-one' && first === property && others.length === 0,
  )
  return relations.find(isMeant) ?? relations[0]
}
