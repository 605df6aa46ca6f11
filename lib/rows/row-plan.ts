/** A serializer's output compiled for rows of raw text: which columns to select, what to join, how to write (promise E22). */

import { BigIntegerField } from '../fields/big-integer-field.js'
import { BooleanField } from '../fields/boolean-field.js'
import { ChoiceField } from '../fields/choice-field.js'
import { DateField } from '../fields/date-field.js'
import { DateTimeField } from '../fields/date-time-field.js'
import { DecimalField } from '../fields/decimal-field.js'
import { EmailField, URLField } from '../fields/email-and-url-fields.js'
import type { SerializerContext, SerializerField } from '../fields/field.js'
import { FloatField } from '../fields/float-field.js'
import { IntegerField } from '../fields/integer-field.js'
import { IPAddressField } from '../fields/ip-address-field.js'
import { JSONField } from '../fields/json-field.js'
import { PrimaryKeyRelatedField } from '../fields/primary-key-related-field.js'
import { RelatedField } from '../fields/related-field.js'
import { SlugRelatedField } from '../fields/slug-related-field.js'
import { StringField } from '../fields/string-field.js'
import { TimeField } from '../fields/time-fields.js'
import { UUIDField } from '../fields/uuid-field.js'
import type { ExternalIds } from '../ids/external-ids.js'
import { describeModel, oncePerCatalogue } from '../models/describe-model.js'
import type { Column, RelationDescription } from '../models/model-description.js'
import { traitsOf } from '../models/model-traits.js'
import { modelName } from '../models/objection.js'
import type { BoundField, SerializerClass } from '../serializers/contract.js'
import { NestedSerializer } from '../serializers/nested-serializer.js'
import { serializerPlan } from '../serializers/plan.js'
import { needsObject } from '../serializers/relation-graph.js'
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
  /** The cell's index in the row. */
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

/** A row plan, or why the output needs model instances: a sentence for `explain()`. */
export type RowDecision =
  | { readonly plan: RowPlan; readonly because: undefined }
  | { readonly plan: undefined; readonly because: string }

/** Decides whether objects of a serializer class are written from rows. */
export const decideRows: (serializer: SerializerClass) => RowDecision = oncePerCatalogue((serializer) => {
  try {
    return { plan: compile(serializer), because: undefined }
  } catch (error) {
    if (error instanceof NeedsInstances) return { plan: undefined, because: error.message }
    throw error
  }
})

/** The row plan of a serializer class; undefined where the output needs model instances. */
export function rowPlan(serializer: SerializerClass): RowPlan | undefined {
  return decideRows(serializer).plan
}

/** Ends the compiling of a plan: rows do not hold all that is shown. */
class NeedsInstances extends Error {}

/** Collects columns and joins while the output is walked. */
class Collector {
  readonly columns: RowColumn[] = []
  readonly joins: RowJoin[] = []

  add(table: number, column: Column): number {
    const index = this.columns.findIndex((known) => known.table === table && known.column === column)
    if (index >= 0) return index
    return this.columns.push({ table, column }) - 1
  }

  /** The table of related objects. @throws NeedsInstances a join could give more than one row, or others */
  join(parent: number, relation: RelationDescription): number {
    const known = this.joins.find((join) => join.parent === parent && join.relation === relation)
    if (known) return known.table
    const { name, model, kind, narrowed, relatedProperties } = relation
    const { columns } = describeModel(model)
    if (kind !== 'belongs-to-one') throw new NeedsInstances(`the relation "${name}" is no foreign key`)
    if (narrowed) throw new NeedsInstances(`the relation "${name}" is narrowed by a query of its own`)
    const leadsToOne = relatedProperties.some((property) => columns.get(property)?.unique) || isPrimaryKey(relation)
    if (!leadsToOne) throw new NeedsInstances(`the relation "${name}" may lead to several objects`)
    const { rowObstacle, plainQueries } = traitsOf(model)
    if (rowObstacle !== undefined) throw new NeedsInstances(rowObstacle)
    if (!plainQueries) throw new NeedsInstances(`${modelName(model)} has a query() or a QueryBuilder of its own`)
    const table = this.joins.length + 1
    this.joins.push({ table, parent, relation })
    return table
  }
}

function compile(serializer: SerializerClass): RowPlan {
  const { model } = serializerPlan(serializer)
  if (!model) throw new NeedsInstances(`${serializer.name} has no model`)
  const { rowObstacle } = traitsOf(model.model)
  if (rowObstacle !== undefined) throw new NeedsInstances(rowObstacle)
  const collector = new Collector()
  const object = { members: compileObject(serializer, 0, collector), key: undefined }
  return { columns: collector.columns, joins: collector.joins, object, runsFields: runsFields(object) }
}

function runsFields({ members }: RowObject): boolean {
  return members.some((member) => ('nested' in member ? runsFields(member.nested) : member.cell.kind === 'value'))
}

function compileObject(serializer: SerializerClass, table: number, collector: Collector): RowMember[] {
  if (!writesByPlan(serializer.prototype)) {
    throw new NeedsInstances(`${serializer.name} writes objects in its own way (toRepresentation or data)`)
  }
  return serializerPlan(serializer).readable.map((bound) => {
    try {
      return compileMember(bound, table, collector)
    } catch (error) {
      if (!(error instanceof NeedsInstances)) throw error
      throw new NeedsInstances(`${serializer.name}.${bound.name}: ${error.message}`)
    }
  })
}

function compileMember(bound: BoundField, table: number, collector: Collector): RowMember {
  const { name, field, method, relation, source, counted } = bound
  if (counted) throw new NeedsInstances(`it counts the objects of "${counted.name}"`)
  if (method !== undefined) throw new NeedsInstances(`it is computed by ${method}()`)
  if (field instanceof NestedSerializer) {
    if (field.many) throw new NeedsInstances('it shows several related objects')
    if (!relation) throw new NeedsInstances('it shows what is no relation of the model')
    const joined = collector.join(table, relation)
    const members = compileObject(field.serializerClass, joined, collector)
    const key = describeModel(relation.model).columns.get(relation.relatedProperties[0] as string)
    if (!key) throw new NeedsInstances(`the relation "${relation.name}" joins by what is no column`)
    return { name, nested: { members, key: collector.add(joined, key) } }
  }
  if (field instanceof RelatedField && relation && needsObject(field, relation)) {
    if (field.many) throw new NeedsInstances('it shows several related objects')
    if (field.compositeOf(relation.model)) throw new NeedsInstances('it shows a key of several columns')
    const joined = collector.join(table, relation)
    const shown = describeModel(relation.model).columns.get(field.shownProperty(relation.model))
    if (!shown) throw new NeedsInstances('it shows what is no column of the related object')
    return makeMember(bound, shown, joined, collector)
  }
  if (source.length > 1) return compilePath(bound, table, collector)
  const { column } = bound
  // a field of the application's gets the related object, and not its key
  const isColumn = field instanceof RelatedField || column?.property === source[0]
  if (!column || !isColumn) throw new NeedsInstances('it shows what is no column')
  return makeMember(bound, column, table, collector)
}

/** A dotted source: foreign keys all the way, and a column at its end. */
function compilePath(bound: BoundField, table: number, collector: Collector): RowMember {
  const { source, relation } = bound
  let at = table
  let next = relation
  for (const step of source.slice(1)) {
    if (!next) break
    const joined = collector.join(at, next)
    const { columns, relations } = describeModel(next.model)
    const column = columns.get(step)
    if (column && step === source.at(-1)) return makeMember(bound, column, joined, collector)
    if (column) break
    at = joined
    next = relations.get(step)
  }
  throw new NeedsInstances(`its source "${source.join('.')}" ends in no column`)
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

/** Choices that are stored as what they are: strings as strings, numbers as numbers. */
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
