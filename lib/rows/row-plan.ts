/** A serializer's output compiled for rows of raw text: which columns to select, what to join, how to write (promise E22). */
import { BooleanField } from '../fields/boolean-field.js'
import { ChoiceField } from '../fields/choice-fields.js'
import { DateField, DateTimeField, TimeField } from '../fields/date-time-fields.js'
import { DecimalField } from '../fields/decimal-field.js'
import type { SerializerContext, SerializerField } from '../fields/field.js'
import { FloatField } from '../fields/float-field.js'
import { EmailField, IPAddressField, URLField, UUIDField } from '../fields/formatted-text-fields.js'
import { BigIntegerField, IntegerField } from '../fields/integer-fields.js'
import { JSONField } from '../fields/json-field.js'
import { PrimaryKeyRelatedField, RelatedField, SlugRelatedField } from '../fields/related-field.js'
import { StringField } from '../fields/string-field.js'
import type { ExternalIds } from '../ids/external-ids.js'
import { type Column, describeModel, type RelationDescription } from '../models/describe-model.js'
import { traitsOf } from '../models/model-traits.js'
import { oncePerCatalogue } from '../models/once-per-catalogue.js'
import type { BoundField, SerializerClass } from '../serializers/contract.js'
import { NestedSerializer } from '../serializers/nested-serializer.js'
import { needsObject, serializerPlan } from '../serializers/plan.js'
import { writesByPlan } from '../serializers/writes-by-plan.js'

/** How the raw text of a cell becomes JSON text. */
export type CellKind =
  | 'number'
  | 'bigint'
  | 'float'
  | 'boolean'
  | 'quoted'
  | 'text'
  | 'json'
  | 'datetime'
  | 'time'
  | 'id'
  | 'value'

/** A value that is selected: a column of the model's table or of a table joined to it. */
export interface RowCell {
  /** Where in the row the cell stands. */
  readonly index: number
  readonly kind: CellKind
  readonly column: Column
  /** The field, for cells of kind `value`: it gets what the application's own pg parser makes of the text. */
  readonly field: SerializerField
  /** The ids to write in place of a key, for cells of kind `id`. */
  readonly ids: ExternalIds | undefined
}

/** A member of the JSON object. */
export type RowMember =
  | { readonly name: string; readonly cell: RowCell }
  | { readonly name: string; readonly nested: RowObject }

/** A JSON object: the row itself, or an object joined to it. */
export interface RowObject {
  readonly members: readonly RowMember[]
  /** The cell that is null when there is no such object; undefined for the row itself. */
  readonly key: number | undefined
}

/** A table joined to the list by a foreign key. */
export interface RowJoin {
  /** The position of this table: 0 is the list itself. */
  readonly table: number
  readonly parent: number
  readonly relation: RelationDescription
}

/** A column of one of the tables. */
export interface RowColumn {
  readonly table: number
  readonly column: Column
}

export interface RowPlan {
  /** Some cells are written by code of fields, which may fail. */
  readonly runsFields: boolean
  readonly columns: readonly RowColumn[]
  readonly joins: readonly RowJoin[]
  readonly object: RowObject
}

/** The row plan of a serializer class; undefined where the output needs model instances. */
export const rowPlan = oncePerCatalogue(compile)

/** Collects columns and joins while the output is walked. */
class Collector {
  readonly columns: RowColumn[] = []
  readonly joins: RowJoin[] = []

  add(table: number, column: Column): number {
    const index = this.columns.findIndex((known) => known.table === table && known.column === column)
    if (index >= 0) return index
    return this.columns.push({ table, column }) - 1
  }

  join(parent: number, relation: RelationDescription): number | undefined {
    const known = this.joins.find((join) => join.parent === parent && join.relation === relation)
    if (known) return known.table
    const { columns } = describeModel(relation.model)
    const leadsToOne = relation.relatedProperties.some((name) => columns.get(name)?.unique) || isPrimaryKey(relation)
    const isSimple = relation.kind === 'belongs-to-one' && !relation.narrowed && leadsToOne
    if (!isSimple || !traitsOf(relation.model).plainRows || !traitsOf(relation.model).plainQueries) return undefined
    const table = this.joins.length + 1
    this.joins.push({ table, parent, relation })
    return table
  }
}

function compile(serializer: SerializerClass): RowPlan | undefined {
  const { model } = serializerPlan(serializer)
  if (!model || !traitsOf(model.model).plainRows) return undefined
  const collector = new Collector()
  const members = compileObject(serializer, 0, collector)
  if (!members) return undefined
  const object = { members, key: undefined }
  return { columns: collector.columns, joins: collector.joins, object, runsFields: runsFields(object) }
}

function runsFields({ members }: RowObject): boolean {
  return members.some((member) => ('nested' in member ? runsFields(member.nested) : member.cell.kind === 'value'))
}

function compileObject(serializer: SerializerClass, table: number, collector: Collector): RowMember[] | undefined {
  if (!writesByPlan(serializer.prototype)) return undefined
  const members: RowMember[] = []
  for (const bound of serializerPlan(serializer).readable) {
    const member = compileMember(bound, table, collector)
    if (!member) return undefined
    members.push(member)
  }
  return members
}

function compileMember(bound: BoundField, table: number, collector: Collector): RowMember | undefined {
  const { name, field, method, relation, source } = bound
  if (method !== undefined) return undefined
  if (field instanceof NestedSerializer) {
    const joined = relation && !field.many ? collector.join(table, relation) : undefined
    if (!relation || joined === undefined) return undefined
    const members = compileObject(field.serializerClass, joined, collector)
    const key = describeModel(relation.model).columns.get(relation.relatedProperties[0] as string)
    return members && key && { name, nested: { members, key: collector.add(joined, key) } }
  }
  if (field instanceof RelatedField && relation && needsObject(field, relation)) {
    const joined = field.many ? undefined : collector.join(table, relation)
    const shown = describeModel(relation.model).columns.get(field.shownProperty(relation.model))
    return joined === undefined || !shown ? undefined : makeMember(bound, shown, joined, collector)
  }
  if (source.length > 1) return compilePath(bound, table, collector)
  // a field of the application's gets the related object, and not its key
  if (!(field instanceof RelatedField) && bound.column?.property !== source[0]) return undefined
  return bound.column && makeMember(bound, bound.column, table, collector)
}

/** A dotted source: foreign keys all the way, and a column at its end. */
function compilePath(bound: BoundField, table: number, collector: Collector) {
  const { source, relation } = bound
  let at = table
  let next = relation
  for (const step of source.slice(1)) {
    const joined = next && collector.join(at, next)
    if (!next || joined === undefined) return undefined
    const { columns, relations } = describeModel(next.model)
    const column = columns.get(step)
    if (column) return step === source.at(-1) ? makeMember(bound, column, joined, collector) : undefined
    at = joined
    next = relations.get(step)
  }
  return undefined
}

function makeMember({ name, field, ids }: BoundField, column: Column, table: number, collector: Collector): RowMember {
  const kind = ids ? idKind(ids, column) : cellKind(field, column)
  return { name, cell: { index: collector.add(table, column), kind, column, field, ids } }
}

/** Stored ids are written as they are, and raw ones are the digits themselves. */
function idKind(ids: ExternalIds, column: Column): CellKind {
  if (!ids.stored) return ids.hidesKeys ? 'id' : 'quoted'
  return column.type === 'uuid' ? 'quoted' : 'text'
}

const TEXTS = ['text', 'varchar', 'bpchar', 'citext', 'name']

/** Field classes by the column types whose text they only have to quote, or not even that. */
const KINDS: ReadonlyMap<unknown, Readonly<Record<string, CellKind>>> = new Map<
  unknown,
  Readonly<Record<string, CellKind>>
>([
  [StringField, all(TEXTS, 'text')],
  [EmailField, all(TEXTS, 'text')],
  [URLField, all(TEXTS, 'text')],
  [IPAddressField, { ...all(TEXTS, 'text'), inet: 'text' }],
  [IntegerField, { int2: 'number', int4: 'number' }],
  [BigIntegerField, { int2: 'number', int4: 'number', int8: 'bigint' }],
  [FloatField, { float4: 'float', float8: 'float' }],
  [BooleanField, { bool: 'boolean' }],
  [DecimalField, { numeric: 'quoted' }],
  [UUIDField, { uuid: 'quoted' }],
  [DateField, { date: 'quoted' }],
  [TimeField, { time: 'time' }],
  [JSONField, { json: 'json', jsonb: 'json' }],
])

/** Choices that are stored as what they are: texts as texts, numbers as numbers. */
const CHOICE_KINDS: Readonly<Record<string, Readonly<Record<string, CellKind>>>> = {
  string: all([...TEXTS, 'enum'], 'text'),
  number: { int2: 'number', int4: 'number' },
}

/** Keys of related objects are written after the type of the key. */
const KEY_KINDS: Readonly<Record<string, CellKind>> = {
  ...all(TEXTS, 'text'),
  int2: 'number',
  int4: 'number',
  int8: 'bigint',
  uuid: 'quoted',
}

function cellKind(field: SerializerField, column: Column): CellKind {
  const made: unknown = field.constructor
  if (made === DateTimeField) {
    const { formatStr } = field.options as { formatStr?: string }
    const isIso = formatStr === undefined || formatStr === 'iso'
    return isIso && (column.type === 'timestamptz' || column.type === 'timestamp') ? 'datetime' : 'value'
  }
  if (made === PrimaryKeyRelatedField || made === SlugRelatedField) {
    // of objects that only a request can tell, it is not known whether they have external ids
    const { options } = field as RelatedField
    if (options.queryset !== undefined && !(field as RelatedField).relatedModel()) return 'value'
    return KEY_KINDS[column.type] ?? 'value'
  }
  if (made === ChoiceField) return CHOICE_KINDS[String(field.schema().type)]?.[column.type] ?? 'value'
  return KINDS.get(made)?.[column.type] ?? 'value'
}

/**
 * The columns that a serializer class shows under their own names, as they are: not computed, not formatted, not replaced
 * by what belongs to a key. None where its whole output is the application's own.
 */
export const shownColumns = oncePerCatalogue((serializer: SerializerClass): ReadonlySet<string> => {
  if (!writesByPlan(serializer.prototype)) return new Set()
  const { readable } = serializerPlan(serializer)
  return new Set(readable.filter(showsColumn).map(({ name }) => name))
})

function showsColumn({ name, field, column, relation, ids, method, passesThrough }: BoundField): boolean {
  if (column?.property !== name || method !== undefined) return false
  if (ids) return !ids.hidesKeys
  if (field instanceof NestedSerializer) return false
  if (field instanceof RelatedField && relation && needsObject(field, relation)) return false
  return passesThrough || cellKind(field, column) !== 'value'
}

function all(types: readonly string[], kind: CellKind): Record<string, CellKind> {
  return Object.fromEntries(types.map((type) => [type, kind]))
}

/** What cells of kind `value` need besides their text. */
export interface CellScope {
  readonly context: SerializerContext
  /** The application's own parser for a type. */
  parse(oid: number, text: string): unknown
}

function isPrimaryKey({ model, relatedProperties }: RelationDescription): boolean {
  return describeModel(model).primaryKey.every((property) => relatedProperties.includes(property))
}
