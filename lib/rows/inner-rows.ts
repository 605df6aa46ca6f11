/** Lists inside rows: which relations can be read with their owners by one statement, and in which order. */

import type { Relation } from 'objection'
import { describeModel } from '../models/describe-model.js'
import type { RelationDescription } from '../models/model-description.js'
import { type AnyQueryBuilder, type ModelClass, modelName } from '../models/objection.js'
import { areComparable } from '../queryset/key-rows.js'
import { choosesRows } from '../queryset/reads-whole-rows.js'
import type { RelatedList } from '../queryset/related-lists.js'
import { joinedColumns } from '../queryset/related-rows.js'
import { keyOrder } from '../queryset/total-order.js'
import { type Collector, checkRows, NeedsInstances } from './row-collector.js'
import type { InnerList } from './row-shape.js'

/** The rows that a relation of a table of the plan leads to. @throws NeedsInstances its owners have no columns to know them by */
export function innerRows(relation: RelationDescription, table: number, collector: Collector) {
  const owner = collector.modelOf(table)
  const { columns } = describeModel(owner)
  const keys = relation.ownerProperties.map((property) => {
    const column = columns.get(property)
    if (!column) throw new NeedsInstances(`the relation "${relation.name}" joins by what is no column`)
    return collector.add(table, column)
  })
  return { owner, relation, keys, path: collector.pathTo(table) }
}

/** How a list is ordered and narrowed. @throws NeedsInstances its query does more than to choose rows and to order them */
export function describeList(
  owner: ModelClass,
  relation: RelationDescription,
  shown: RelatedList | undefined,
): Pick<InnerList, 'shown' | 'order' | 'varies'> {
  const { model, narrowed, through, name } = relation
  const { modifiers = [], order = [] } = shown ?? {}
  checkRows(model)
  checkKeys(owner, relation)
  if (through && !through.isPlain) throw new NeedsInstances(`the join table of "${name}" has code of its own`)
  if (narrowed && !choosesRows(model, (owner.getRelation(name) as Relation & Narrowed).modify)) {
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

/** A relation as Objection keeps it; its types leave out what narrows it. */
interface Narrowed {
  readonly modify: (query: AnyQueryBuilder) => unknown
}

function checkKeys(owner: ModelClass, relation: RelationDescription): void {
  const { columns } = describeModel(owner)
  const joined = joinedColumns(relation)
  const { name, ownerProperties } = relation
  if (ownerProperties.every((property, index) => areComparable(columns.get(property), joined[index]))) return
  throw new NeedsInstances(`the relation "${name}" joins text to values that are none, which SQL does not compare`)
}
