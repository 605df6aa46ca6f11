/** A serializer's output compiled for rows of raw text: which columns to select, what to join, how to write (promise E22). */

import { RelatedField } from '../fields/related-field.js'
import { describeModel, oncePerCatalogue } from '../models/describe-model.js'
import type { Column, ModelDescription, RelationDescription } from '../models/model-description.js'
import { traitsOf } from '../models/model-traits.js'
import { type ModelClass, modelName } from '../models/objection.js'
import { areOfOneTable } from '../models/one-table.js'
import { areComparable } from '../queryset/key-rows.js'
import { choosesRows, type Narrowed } from '../queryset/reads-whole-rows.js'
import { RELATED_LIST, type RelatedList } from '../queryset/related-lists.js'
import { joinedColumns } from '../queryset/related-rows.js'
import { keyOrder } from '../queryset/total-order.js'
import type { BoundField, RelationGraph, SerializerClass } from '../serializers/contract.js'
import { NestedSerializer } from '../serializers/nested-serializer.js'
import { serializerPlan } from '../serializers/plan.js'
import { loadedAs, needsObject } from '../serializers/relation-graph.js'
import { writesByPlan } from '../serializers/serializer.js'
import { cellKind, idKind, isBuiltInField } from './cell-kinds.js'
import { Collector, checkRowModel, NeedsInstances } from './row-collector.js'
import type { InnerList, RowMember, RowObject, RowPlan } from './row-shape.js'

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

/** @param graph the relations that are loaded with the objects, where instances of them are shown */
function compile(serializer: SerializerClass, graph = serializerPlan(serializer).relations): RowPlan {
  const { model } = serializerPlan(serializer)
  if (!model) throw new NeedsInstances(`${serializer.name} has no model`)
  const { rowObstacle } = traitsOf(model.model)
  if (rowObstacle !== undefined) throw new NeedsInstances(rowObstacle)
  return compilePlan(model, (collector) => compileObject(serializer, { table: 0, graph, collector }))
}

/**
 * The most columns of a row. PostgreSQL selects 1,664, of which a page has some for its order and its count; a table alone
 * has 1,600 at most.
 */
const MOST_COLUMNS = 1_600

function compilePlan({ model }: ModelDescription, compileMembers: (collector: Collector) => RowMember[]): RowPlan {
  const collector = new Collector(model)
  const object = { members: compileMembers(collector), key: undefined }
  const { columns, joins, lists } = collector
  if (joins.length > 0 && columns.length + lists.length > MOST_COLUMNS)
    throw new NeedsInstances(
      `it shows more than ${MOST_COLUMNS} columns, its own and those of related objects together`,
    )
  const runsFields = hasMember(object, mayFail)
  return {
    model,
    columns,
    joins,
    lists,
    object,
    runsFields,
    insertObstacle: writeObstacle('insert', { model, joins, lists, runsFields }),
    updateObstacle: writeObstacle('update', { model, joins, lists, runsFields }),
    isNative: !hasMember(object, isMadeInCode),
    varies: lists.some(({ content }) => content.varies),
  }
}

/** A statement that writes returns other tables as they were before it. */
function writeObstacle(
  writes: 'insert' | 'update',
  { model, joins, lists, runsFields }: Pick<RowPlan, 'model' | 'joins' | 'lists' | 'runsFields'>,
): string | undefined {
  const { table, isIndirect, triggers } = describeModel(model)
  const related = joins.map(({ relation }) => describeModel(relation.model))
  const mayBeStale =
    isIndirect ||
    triggers.before[writes] ||
    triggers.after[writes] ||
    related.some((one) => one.isView || one.table === table)
  if (related.length > 0 && mayBeStale)
    return 'a trigger, a view or the same table may have a say in what it shows of others'
  if (lists.length > 0) return 'it shows lists, or numbers, of related objects'
  // code of the application may fail on what `?expand=` shows, and then nothing may be stored
  return runsFields ? 'what it shows is written by code of fields' : undefined
}

function hasMember({ members }: RowObject, isWanted: (member: RowMember) => boolean): boolean {
  return members.some((member) => ('nested' in member ? hasMember(member.nested, isWanted) : isWanted(member)))
}

function mayFail(member: RowMember): boolean {
  return 'cell' in member && member.cell.kind === 'value' && !isBuiltInField(member.cell.field)
}

/** True for a cell that PostgreSQL cannot write. */
function isMadeInCode(member: RowMember): boolean {
  return 'cell' in member && (member.cell.kind === 'value' || member.cell.kind === 'id')
}

/** Place of an object in the plan. */
interface Place {
  readonly table: number
  readonly graph: RelationGraph
  readonly collector: Collector
}

function compileObject(serializer: SerializerClass, place: Place): RowMember[] {
  if (!writesByPlan(serializer.prototype)) {
    throw new NeedsInstances(`${serializer.name} writes objects in its own way (toRepresentation or data)`)
  }
  return serializerPlan(serializer).readable.map((bound) => {
    try {
      return compileMember(bound, place)
    } catch (error) {
      if (!(error instanceof NeedsInstances)) throw error
      throw new NeedsInstances(`${serializer.name}.${bound.name}: ${error.message}`)
    }
  })
}

function compileMember(bound: BoundField, place: Place): RowMember {
  const { name, field, method, relation, source, counted, access } = bound
  const { table, collector } = place
  if (access && access.read !== 'all') throw new NeedsInstances('rules say of which rows it is shown, or mask it')
  if (counted) {
    const content = { kind: 'count', varies: true, ...innerRows(counted, table, collector) } as const
    return { name, list: collector.addList(content) }
  }
  if (method !== undefined) throw new NeedsInstances(`it is computed by ${method}()`)
  if (field instanceof NestedSerializer) {
    if (!relation) throw new NeedsInstances('it shows what is no relation of the model')
    if (field.many && !relation.single) return compileList(bound, relation, place)
    if (field.many) throw new NeedsInstances(`it shows a list, and the relation "${relation.name}" leads to one object`)
    const joined = collector.join(table, relation)
    const graph = place.graph[relation.name] ?? {}
    const members = compileObject(field.serializerClass, { table: joined, graph, collector })
    const key = describeModel(relation.model).columns.get(relation.relatedProperties[0] as string)
    if (!key) throw new NeedsInstances(`the relation "${relation.name}" joins by what is no column`)
    return { name, nested: { members, key: collector.add(joined, key) } }
  }
  if (field instanceof RelatedField && relation && needsObject(field, relation)) {
    if (field.compositeOf(relation.model)) throw new NeedsInstances('it shows a key of several columns')
    if (!relation.single) return compileList(bound, relation, place)
    if (field.many) throw new NeedsInstances(`it shows a list, and the relation "${relation.name}" leads to one object`)
    const joined = collector.join(table, relation)
    return makeMember(bound, shownColumn(field, relation), joined, collector)
  }
  if (source.length > 1) return compilePath(bound, table, collector)
  const { column } = bound
  // a field of the application's gets the related object, and not its key
  const isColumn = field instanceof RelatedField || column?.property === source[0]
  if (!column || !isColumn) throw new NeedsInstances('it shows what is no column')
  return makeMember(bound, column, table, collector)
}

function compileList(bound: BoundField, relation: RelationDescription, place: Place): RowMember {
  const { name, field } = bound
  const { table, collector } = place
  const graph = place.graph[loadedAs(bound) as string] ?? {}
  const isFlat = !(field instanceof NestedSerializer)
  const plan = isFlat
    ? compilePlan(describeModel(relation.model), (inner) => [
        makeMember(bound, shownColumn(field as RelatedField, relation), 0, inner),
      ])
    : compile(field.serializerClass, graph)
  if (!plan.isNative) throw new NeedsInstances('it shows a list with values that PostgreSQL does not write as JSON')
  if (!isFlat && !areOfOneTable(serializerPlan(field.serializerClass).model?.model, relation.model)) {
    throw new NeedsInstances(`it shows objects of "${relation.name}" by a serializer of another model`)
  }
  // fields of one relation share its objects, and so their order
  const inner = innerRows(relation, table, collector)
  const description = describeList(inner.owner, relation, graph[RELATED_LIST])
  const varies = description.varies || plan.varies
  return { name, list: collector.addList({ kind: 'list', ...inner, ...description, varies, plan, isFlat }) }
}

function shownColumn(field: RelatedField, relation: RelationDescription): Column {
  const shown = describeModel(relation.model).columns.get(field.shownProperty(relation.model))
  if (!shown) throw new NeedsInstances('it shows what is no column of the related object')
  return shown
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

function makeMember(bound: BoundField, column: Column, table: number, collector: Collector): RowMember {
  const { name, writer: field, ids } = bound
  const isOwn = field instanceof RelatedField && field.hasOwnOutput
  const kind = isOwn ? 'value' : ids ? idKind(ids, column) : cellKind(field, column)
  return { name, cell: { index: collector.add(table, column), kind, column, field, ids } }
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

function showsColumn({ name, field, writer, column, relation, ids, method, passesThrough }: BoundField): boolean {
  if (column?.property !== name || method !== undefined) return false
  if (ids) return !ids.hidesKeys
  if (field instanceof NestedSerializer) return false
  if (field instanceof RelatedField && relation && needsObject(field, relation)) return false
  return passesThrough || cellKind(writer, column) !== 'value'
}

/** The rows that a relation of a table of the plan leads to. @throws NeedsInstances its owners have no columns to know them by */
function innerRows(relation: RelationDescription, table: number, collector: Collector) {
  const owner = collector.modelOf(table)
  const { columns } = describeModel(owner)
  checkKeys(owner, relation)
  const keys = relation.ownerProperties.map((property) => {
    const column = columns.get(property)
    if (!column) throw new NeedsInstances(`the relation "${relation.name}" joins by what is no column`)
    return collector.add(table, column)
  })
  return { owner, relation, keys, path: collector.pathTo(table) }
}

/** Order and conditions of a list. @throws NeedsInstances its query does more than to choose rows and to order them */
function describeList(
  owner: ModelClass,
  relation: RelationDescription,
  shown: RelatedList | undefined,
): Pick<InnerList, 'shown' | 'order' | 'varies'> {
  const { model, narrowed, through, name } = relation
  const { modifiers = [], order = [] } = shown ?? {}
  checkRowModel(model)
  if (through && !through.isPlain) throw new NeedsInstances(`the join table of "${name}" has code of its own`)
  if (narrowed && !choosesRows(model, (owner.getRelation(name) as Narrowed).modify)) {
    throw new NeedsInstances(`the relation "${name}" does more than to choose and order rows`)
  }
  for (const modifier of modifiers) {
    if (choosesRows(model, modifier)) continue
    throw new NeedsInstances(
      `the modifier "${modifier}" of ${modelName(model)} does more than to choose and order rows`,
    )
  }
  const description = describeModel(model)
  const total = order.length > 0 ? order : keyOrder(description)
  if (!total.every(({ property }) => description.columns.has(property))) {
    throw new NeedsInstances(`${modelName(model)} has no primary key to order a list by`)
  }
  const varies = narrowed || modifiers.length > 0
  const isOwn = total.every(({ related }) => !related) && !(varies && order.length === 0)
  return { shown, order: isOwn ? total : undefined, varies }
}

function checkKeys(owner: ModelClass, relation: RelationDescription): void {
  const { columns } = describeModel(owner)
  const joined = joinedColumns(relation)
  const { name, ownerProperties } = relation
  if (ownerProperties.every((property, index) => areComparable(columns.get(property), joined[index]))) return
  throw new NeedsInstances(`the relation "${name}" joins text to values that are none, which SQL does not compare`)
}
