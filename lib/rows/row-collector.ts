/** Collects what a row plan selects, and refuses what rows do not hold. */

import { describeModel } from '../models/describe-model.js'
import { type Column, type RelationDescription, tellsApart } from '../models/model-description.js'
import { traitsOf } from '../models/model-traits.js'
import { type ModelClass, modelName } from '../models/objection.js'
import type { InnerCount, InnerList, ListCell, RowColumn, RowJoin } from './row-shape.js'

/** Ends the compiling of a plan: rows do not hold all that is shown. */
export class NeedsInstances extends Error {}

/** Collects columns and joins while the output is walked. */
export class Collector {
  readonly columns: RowColumn[] = []
  readonly joins: RowJoin[] = []
  readonly #root: ModelClass
  readonly #lists: { index: number; content: InnerList | InnerCount }[] = []

  constructor(root: ModelClass) {
    this.#root = root
  }

  /** The cells of lists and numbers, which have their places behind the columns once these are known. */
  get lists(): readonly ListCell[] {
    for (const [index, list] of this.#lists.entries()) list.index = this.columns.length + index
    return this.#lists
  }

  add(table: number, column: Column): number {
    const index = this.columns.findIndex((known) => known.table === table && known.column === column)
    if (index >= 0) return index
    return this.columns.push({ table, column }) - 1
  }

  addList(content: InnerList | InnerCount): ListCell {
    const list = { index: 0, content }
    this.#lists.push(list)
    return list
  }

  modelOf(table: number): ModelClass {
    return this.joins.find((join) => join.table === table)?.relation.model ?? this.#root
  }

  /** The relations that lead to a table. */
  pathTo(table: number): readonly string[] {
    const join = this.joins.find((one) => one.table === table)
    return join ? [...this.pathTo(join.parent), join.relation.name] : []
  }

  /** The table of related objects. @throws NeedsInstances a join could give more than one row, or others */
  join(parent: number, relation: RelationDescription): number {
    const known = this.joins.find((join) => join.parent === parent && join.relation === relation)
    if (known) return known.table
    const { name, model, kind, narrowed, relatedProperties } = relation
    const related = describeModel(model)
    if (kind !== 'belongs-to-one')
      throw new NeedsInstances(`the relation "${name}" is no foreign key (BelongsToOneRelation)`)
    if (narrowed) throw new NeedsInstances(`the relation "${name}" is narrowed by a query of its own`)
    const isKey = relatedProperties.some((property) => related.columns.get(property)?.unique) || isPrimaryKey(relation)
    // of a view, and of tables with heirs, the model alone says that its key is one
    if (!isKey || !tellsApart(related, relatedProperties))
      throw new NeedsInstances(`the relation "${name}" may lead to several objects`)
    checkRowModel(model)
    const table = this.joins.length + 1
    this.joins.push({ table, parent, relation })
    return table
  }
}

/** @throws NeedsInstances code of the application's has a part in what is found */
export function checkRowModel(model: ModelClass): void {
  const { rowObstacle, plainQueries } = traitsOf(model)
  if (rowObstacle !== undefined) throw new NeedsInstances(rowObstacle)
  if (!plainQueries) throw new NeedsInstances(`${modelName(model)} has a query() or a QueryBuilder of its own`)
}

function isPrimaryKey({ model, relatedProperties }: RelationDescription): boolean {
  return describeModel(model).primaryKey.every((property) => relatedProperties.includes(property))
}
