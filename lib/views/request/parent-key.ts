/** By which columns the objects of a nested view set belong to those of the view set it is nested in. */

import { ConfigurationError } from '../../kernel/errors.js'
import { didYouMean } from '../../kernel/near-miss.js'
import { oncePer } from '../../kernel/once-per.js'
import { describeModel, oncePerCatalogue } from '../../models/describe-model.js'
import { isKeptAlone } from '../../models/kept-key.js'
import { type Column, type ModelDescription, relationOfKey } from '../../models/model-description.js'
import { type ModelClass, modelName } from '../../models/objection.js'
import { areOfOneTable } from '../../models/one-table.js'
import type { GenericViewClass } from '../generic-view-class.js'

/** What a nested view set's class says of the parent of its objects. */
export type NestedViewClass = Pick<GenericViewClass, 'name' | 'parentLookupField' | 'modelClass'>

/** A foreign key, and what it points to: each column has its counterpart at the same place. */
export interface ParentKey {
  /** The columns of the nested objects. */
  readonly columns: readonly Column[]
  /** The columns of the parent objects. */
  readonly related: readonly Column[]
  /** A foreign key of the database says that there is a parent, and all who see the objects see it. */
  readonly isKept: boolean
}

const keysOf = oncePer((view: NestedViewClass) => oncePerCatalogue((parent: ModelClass) => findKey(view, parent)))

/**
 * The key by which objects of one view set belong to objects of another.
 * @throws {ConfigurationError} there is no such column, or it points elsewhere
 */
export function parentKeyOf(view: NestedViewClass, parent: ModelClass): ParentKey {
  return keysOf(view)(parent)
}

function findKey(view: NestedViewClass, parent: ModelClass): ParentKey {
  const { name, parentLookupField: field = '' } = view
  const model = describeModel(view.modelClass())
  const target = describeModel(parent)
  const keyOf = (columns: readonly Column[], related: readonly Column[]): ParentKey => ({
    columns,
    related,
    isKept: !target.secured && isKeptAlone(model, { properties: names(columns), target, related: names(related) }),
  })
  const wrong = (problem: string) => new ConfigurationError(`${name}: parentLookupField "${field}" ${problem}`)
  const named = model.relations.get(field)
  if (named?.kind === 'belongs-to-one' && named.ownerProperties.length > 1) {
    if (!areOfOneTable(named.model, parent)) throw wrong(leadsAway(parent))
    const columns = named.ownerProperties.map((name) => model.columns.get(name))
    const related = named.relatedProperties.map((name) => target.columns.get(name))
    if (isWhole(columns) && isWhole(related)) return keyOf(columns, related)
    throw wrong(`leads to no columns of ${modelName(parent)}`)
  }
  const property = named?.kind === 'belongs-to-one' ? named.ownerProperties[0] : field
  const column = model.columns.get(property ?? '')
  if (!column) {
    throw wrong(
      `is no column of ${modelName(model.model)}${didYouMean(field, [...model.columns.keys(), ...model.relations.keys()]) || `; name the foreign key to ${parent.tableName}`}`,
    )
  }
  const relation = named ?? relationOfKey(model, column.property, (one) => areOfOneTable(one.model, parent))
  const foreign = keyTo(target, model, column) ?? model.foreignKeys.get(column.property)
  const leadsElsewhere = relation
    ? !areOfOneTable(relation.model, parent)
    : foreign !== undefined && target.table !== undefined && foreign.table !== target.table
  if (leadsElsewhere) throw wrong(leadsAway(parent))
  const own = [...target.columns.values()].find((one) => !relation && one.column === foreign?.column)
  const related = own ?? target.columns.get(relation?.relatedProperties[0] ?? target.primaryKey[0] ?? '')
  if (!related) throw wrong(`leads to no column of ${modelName(parent)}`)
  if (target.prepared && !target.isView && target.primaryKey.length > 1 && related.primary && !related.unique) {
    throw wrong(
      `leads to one of the columns that are the key of ${modelName(parent)} together; name the relation that has all of them`,
    )
  }
  // nothing else says that the column is a key at all
  if (!relation && !foreign && model.prepared && kindOf(column) !== kindOf(related)) {
    throw wrong(`is of type ${column.type}, and ${related.column} of ${parent.tableName} of type ${related.type}`)
  }
  return keyOf([column], [related])
}

/** The foreign key that leads there, of several of one column. */
function keyTo({ table: target }: ModelDescription, { references }: ModelDescription, { property }: Column) {
  const key = references.find(({ table, properties: [first, ...rest] }) => {
    return table === target && first === property && rest.length === 0
  })
  return key && { table: key.table, column: key.columns[0] }
}

function names(columns: readonly Column[]): string[] {
  return columns.map(({ property }) => property)
}

function leadsAway({ tableName }: ModelClass): string {
  return `does not lead to ${tableName}, whose objects it is nested in`
}

function isWhole(columns: readonly (Column | undefined)[]): columns is readonly Column[] {
  return !columns.includes(undefined)
}

/** Types that may be compared with each other. */
function kindOf({ type }: Column): string {
  if (/^int[248]$/.test(type)) return 'int'
  return /^(text|varchar|bpchar|citext)$/.test(type) ? 'text' : type
}
