/** Which columns of a foreign key a relation may write: those of several columns may be part of other keys, too. */

import { referenceTo } from '../fields/object-key.js'
import { describeModel } from '../models/describe-model.js'
import { exactAt } from '../models/exact-types.js'
import type { Column, ModelDescription, RelationDescription } from '../models/model-description.js'
import type { ModelClass } from '../models/objection.js'
import type { AnySerializer } from './contract.js'

/** A foreign key of a serializer's model, and the model that it leads to. */
export interface KeyColumns {
  readonly properties: readonly string[]
  readonly related: ModelClass
}

/**
 * The columns of a foreign key that are no other key's, and that the serializer's input may set, by property. A key of one
 * column is the relation's as a whole.
 */
export function ownColumns({ plan, forced }: AnySerializer, key: KeyColumns): readonly string[] {
  const { model, fields } = plan
  if (!model || key.properties.length === 1) return key.properties
  const taken = takenBy(model, key)
  return key.properties.filter((property) => {
    const bound = fields.filter(({ column }) => column?.property === property)
    const isReadOnly = bound.length > 0 && !bound.some(({ writable }) => writable)
    return !(isReadOnly || model.columns.get(property)?.auto || taken.has(property) || forced?.has(property))
  })
}

/** One end of a foreign key. */
interface KeyEnd {
  readonly columns: ReadonlyMap<string, Column> | undefined
  readonly properties: readonly string[]
}

/**
 * What a foreign key of an object's is given to lead to it, by property; undefined where its column can hold no such key. What
 * the database computes is not given.
 */
export function keyTo(object: object, own: KeyEnd, key: KeyEnd): Record<string, unknown> {
  return Object.fromEntries(
    key.properties.flatMap((property, index) => {
      const from = own.properties[index] as string
      const column = key.columns?.get(property)
      if (column?.isComputed) return []
      return [[property, referenceTo(own.columns?.get(from), column, exactAt(object, from))]]
    }),
  )
}

/** True for related objects whose foreign key the database computes as a whole: no object can be made for a row. */
export function isKeyComputed({ kind, model, through, relatedProperties }: RelationDescription): boolean {
  if (kind === 'belongs-to-one' || through) return false
  const { columns } = describeModel(model)
  return relatedProperties.every((property) => columns.get(property)?.isComputed)
}

/** Those of them that may hold null: what lets go of a related object clears these. */
export function clearedColumns(serializer: AnySerializer, key: KeyColumns): readonly string[] {
  const columns = serializer.plan.model?.columns
  return ownColumns(serializer, key).filter((property) => columns?.get(property)?.holdsNull !== false)
}

/** The columns of the primary key and of foreign keys that lead elsewhere. */
function takenBy(model: ModelDescription, { properties, related }: KeyColumns): ReadonlySet<string> {
  const table = describeModel(related).table
  const declared = [...model.relations.values()].filter(({ kind }) => kind === 'belongs-to-one')
  const keys = [
    ...model.references,
    ...declared.map((one) => ({ properties: one.ownerProperties, table: describeModel(one.model).table })),
  ]
  const others = keys.filter((one) => one.table !== table || one.properties.some((name) => !properties.includes(name)))
  return new Set([model.primaryKey, ...others.map((one) => one.properties)].flat())
}
