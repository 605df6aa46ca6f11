/** By which columns the objects of a nested view set belong to those of the view set it is nested in. */
import { ConfigurationError } from '../../kernel/errors.js'
import { oncePer } from '../../kernel/once-per.js'
import { describeModel, oncePerCatalogue } from '../../models/describe-model.js'
import { type Column, relationOfKey } from '../../models/model-description.js'
import { type ModelClass, modelName } from '../../models/objection.js'

/** What a nested view set's class says of the parent of its objects. */
export interface NestedViewClass {
  readonly name: string
  /** The foreign key, or the relation of that key; absent for a view set that narrows its queryset itself. */
  readonly parentLookupField?: string
  modelClass(): ModelClass
}

/** A foreign key, and what it points to. */
export interface ParentKey {
  /** The column of the nested objects. */
  readonly column: Column
  /** The column of the parent objects. */
  readonly related: Column
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
  const wrong = (problem: string) => new ConfigurationError(`${name}: parentLookupField "${field}" ${problem}`)
  const named = model.relations.get(field)
  const property = named?.kind === 'belongs-to-one' ? named.ownerProperties[0] : field
  const column = model.columns.get(property ?? '')
  if (!column) {
    throw wrong(`is no column of ${modelName(model.model)}; name the foreign key to ${parent.tableName}`)
  }
  const relation = named ?? relationOfKey(model, column.property)
  const foreign = model.foreignKeys.get(column.property)
  const leadsElsewhere = relation
    ? relation.model.tableName !== parent.tableName
    : foreign !== undefined && target.table !== undefined && foreign.table !== target.table
  if (leadsElsewhere) throw wrong(`does not lead to ${parent.tableName}, whose objects it is nested in`)
  const own = [...target.columns.values()].find((one) => !relation && one.column === foreign?.column)
  const related = own ?? target.columns.get(relation?.relatedProperties[0] ?? target.primaryKey[0] ?? '')
  if (!related) throw wrong(`leads to no column of ${modelName(parent)}`)
  // nothing else says that the column is a key at all
  if (!relation && !foreign && model.prepared && kindOf(column) !== kindOf(related)) {
    throw wrong(`is of type ${column.type}, and ${related.column} of ${parent.tableName} of type ${related.type}`)
  }
  return { column, related }
}

/** Types that may be compared with each other. */
function kindOf({ type }: Column): string {
  if (/^int[248]$/.test(type)) return 'int'
  return /^(text|varchar|bpchar|citext)$/.test(type) ? 'text' : type
}
