/** What we use of Objection, by its documented surface only. */
import type { Model, QueryBuilder, Relation } from 'objection'

/** A model class. Classes are recognised by their shape, never by `instanceof`: an application may bring its own copy of Objection. */
export type ModelClass = typeof Model

/** @internal A query of any model. */
export type AnyQueryBuilder = QueryBuilder<Model, unknown>

/** True for a query of a model, of any copy of Objection. */
export function isModelQuery(value: unknown): value is AnyQueryBuilder {
  return typeof (value as Partial<AnyQueryBuilder> | null | undefined)?.toKnexQuery === 'function'
}

/** True for a class that can be queried as an Objection model. */
export function isModelClass(value: unknown): value is ModelClass {
  if (typeof value !== 'function') return false
  const model = value as Partial<ModelClass>
  return typeof model.query === 'function' && typeof model.getRelations === 'function' && 'tableName' in model
}

/** The class of a row. Its own `constructor` may be a column. */
export function modelOf(object: object): ModelClass {
  return (Object.getPrototypeOf(object) as { readonly constructor: ModelClass }).constructor
}

/** The name of a model in messages: its class, or its table where the class has no name. */
export function modelName({ name, tableName }: { readonly name: string; readonly tableName: string }): string {
  return name || `the model of "${tableName}"`
}

/** The properties of the model's primary key. */
export function primaryKeyOf(model: ModelClass): string[] {
  const columns: string | string[] = model.idColumn
  return (Array.isArray(columns) ? columns : [columns]).map((column) => propertyName(model, column))
}

/** The property that a model has for a column. */
export function propertyName(model: ModelClass, column: string): string {
  try {
    return model.columnNameToPropertyName(column)
  } catch {
    return byMappers(model, 'parse', column)
  }
}

/** The column that a model has for a property. */
export function columnName(model: ModelClass, property: string): string {
  try {
    return model.propertyNameToColumnName(property)
  } catch {
    return byMappers(model, 'format', property)
  }
}

/** Objection asks for names by a null, on which a `$parseDatabaseJson()` that changes values may fail: mappers alone say them, too. */
function byMappers({ columnNameMappers }: ModelClass, way: 'parse' | 'format', name: string): string {
  const mappers = columnNameMappers as typeof columnNameMappers | null | undefined
  return Object.keys(mappers?.[way]({ [name]: null }) ?? {})[0] ?? name
}

/** The class that all models of one copy of Objection extend, by which they can be bound together. */
export function baseModelOf(model: ModelClass): ModelClass {
  const above: unknown = Object.getPrototypeOf(model)
  return isModelClass(above) ? baseModelOf(above) : model
}

/** How a relation points: `one` when this model holds the key (BelongsToOne). */
export type RelationKind = 'belongs-to-one' | 'has-one' | 'has-many' | 'many-to-many' | 'has-one-through'

/** The kind of a relation, read from the classes that the model itself offers. */
export function relationKind(model: ModelClass, relation: Relation): RelationKind {
  const is = (type: unknown) => Object.prototype.isPrototypeOf.call((type as { prototype: object }).prototype, relation)
  if (is(model.BelongsToOneRelation)) return 'belongs-to-one'
  if (is(model.HasOneThroughRelation)) return 'has-one-through'
  if (is(model.ManyToManyRelation)) return 'many-to-many'
  return is(model.HasOneRelation) ? 'has-one' : 'has-many'
}
