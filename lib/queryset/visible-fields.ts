/** Which fields of a model's rows a caller reads and writes: the one answer that serializers, filters and descriptions ask for. */

import { describeModel } from '../models/describe-model.js'
import type { ModelDescription, RelationDescription } from '../models/model-description.js'
import type { ModelClass } from '../models/objection.js'

/** Extent of an access: all rows, some, or none. */
export type Extent = 'all' | 'some' | 'none'

/** Mask: replaces a value that the caller may not read. @param value as it would be shown */
export type Mask = (value: unknown) => unknown

/** Access of a caller to a field. */
export interface FieldAccess {
  readonly read: Extent
  readonly write: Extent
  /** @default the field is left out */
  readonly mask: Mask | undefined
}

const ORDER: readonly Extent[] = ['none', 'some', 'all']

function least(extents: readonly Extent[]): Extent {
  return ORDER.find((one) => extents.includes(one)) ?? 'all'
}

/** The access to what says as much as all of these fields; undefined for none. */
export function accessOfAll(found: readonly FieldAccess[]): FieldAccess | undefined {
  if (found.length < 2) return found[0]
  const hidden = found.filter((one) => one.read !== 'all')
  return {
    read: least(found.map((one) => one.read)),
    write: least(found.map((one) => one.write)),
    // what one rule masks another may leave out
    mask: hidden.every((one) => one.mask) ? hidden[0]?.mask : undefined,
  }
}

/** @internal What a caller may do with fields. All callers of whom the same holds have one object. */
export interface VisibleFields {
  /** Undefined for a field, a column or a relation by its property, that is read and written like any other. */
  of(model: ModelClass, property: string): FieldAccess | undefined
}

/** A column or a relation of a model. */
export interface Property {
  readonly model: ModelClass
  readonly property: string
}

/** True for a path, of relations and a column, whose values the caller may read of all rows: what others may be asked about. */
export function mayAsk(fields: VisibleFields, owner: ModelDescription, path: readonly string[]): boolean {
  let at: ModelDescription | undefined = owner
  for (const step of path) {
    if (!at) return true
    if (alongRelation(at, step).some(({ model, property }) => (fields.of(model, property)?.read ?? 'all') !== 'all')) {
      return false
    }
    const relation: RelationDescription | undefined = at.relations.get(step)
    at = relation && describeModel(relation.model)
  }
  return true
}

/** A property, and those that say the same: of a relation the columns that say where it leads, of such a column the relation. */
export function alongRelation(owner: ModelDescription, property: string): readonly Property[] {
  const { model, relations } = owner
  const relation = relations.get(property)
  const keys = relation ? foreignKey(relation) : []
  const named = relation ? [] : [...relations.values()].filter((one) => tells(owner, property, one))
  return [property, ...keys, ...named.map(({ name }) => name)].map((one) => ({ model, property: one }))
}

/** True for a column that says where a relation leads, and nothing else: of a key of several that may be a part of it. */
function tells({ primaryKey, relations }: ModelDescription, property: string, relation: RelationDescription): boolean {
  const key = foreignKey(relation)
  if (!key.includes(property) || key.length === 1) return key.includes(property)
  const others = [...relations.values()].map(foreignKey).filter((other) => String(other) !== String(key))
  return ![primaryKey, ...others].some((other) => other.includes(property))
}

function foreignKey({ kind, ownerProperties }: RelationDescription): readonly string[] {
  return kind === 'belongs-to-one' ? ownerProperties : []
}
