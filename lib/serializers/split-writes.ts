/** Sorts validated data by where it is written: the object's own row, before it, or after it. */

import type { SerializerContext } from '../fields/field.js'
import { RelatedField } from '../fields/related-field.js'
import { ConfigurationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { ignoreRejection, isPromise } from '../kernel/realms.js'
import { isPlain, isRecord } from '../kernel/records.js'
import { describeModel } from '../models/describe-model.js'
import { exactAt } from '../models/exact-types.js'
import type { RelationDescription } from '../models/model-description.js'
import { isModelClass, type ModelClass, modelName } from '../models/objection.js'
import { isRowOf } from '../models/one-table.js'
import type { AnySerializer, BoundField, SerializerPlan } from './contract.js'
import { NestedSerializer } from './nested-serializer.js'
import { keyTo } from './own-columns.js'
import { isKept, isMask } from './unchanged.js'
import { ADDED_BY, changesNothing, DECIDED, TARGET } from './validated-item.js'

type Data = Record<string, unknown>

/** Validated data, split by where it is written. */
export interface Writes {
  /** Values of the object's own row, by property. */
  readonly columns: Data
  /** Values of the object's own row that stay as they are, by property: hooks of the model see them, but for masks. */
  readonly kept: Data
  /** What the surrounding object decides, by property. */
  readonly decided: Data | undefined
  /** The relation that a new object is inserted for, where its mapping has a hook. */
  readonly addedBy: RelationDescription | undefined
  /** Nested objects that this row points to, written before it. */
  readonly before: readonly NestedWrite[]
  /** Nested objects that point to this row, written after it. */
  readonly after: readonly NestedWrite[]
  /** Lists of keys that become the set of related rows. */
  readonly sets: readonly KeySet[]
  readonly hasRelated: boolean
}

/** The keys of related objects that are to be all there are. */
export interface KeySet {
  readonly name: string
  readonly field: RelatedField
  readonly relation: RelationDescription
  readonly keys: readonly unknown[]
}

/** A nested object, or a list of them. */
export interface NestedWrite {
  readonly bound: BoundField
  readonly field: NestedSerializer
  readonly relation: RelationDescription
  readonly value: Data | readonly Data[] | null
}

/**
 * Sorts validated data (and what `save(extra)` adds: names of fields, properties or relations of the model, of these its keys or
 * objects) by where it is written.
 * @throws {ConfigurationError} a key is neither a field nor a property, or nested data has no relation
 */
export function splitWrites(serializer: AnySerializer, data: Data, instance?: object): Writes {
  const { plan } = serializer
  const columns: Data = {}
  const kept: Data = {}
  const before: NestedWrite[] = []
  const after: NestedWrite[] = []
  const sets: KeySet[] = []
  const keptSets: KeySet[] = []
  for (const [name, value] of Object.entries(data)) {
    const bound = plan.byName.get(name)
    const { relation } = bound ?? {}
    for (const one of Array.isArray(value) ? value : [value]) refusePromise(serializer, name, one)
    if (isKept(data, name)) {
      const { column, input } = bound ?? {}
      if (bound?.field instanceof RelatedField && bound.field.many && relation?.kind === 'many-to-many')
        keptSets.push({ name, field: bound.field, relation, keys: value as unknown[] })
      if (!column || input === 'objects' || maskedIn(plan, serializer.context).includes(column.property)) continue
      if (!isMask(value, (instance as Data | undefined)?.[column.property], column)) kept[column.property] = value
      continue
    }
    const leading = relation ?? plan.model?.relations.get(name)
    const key = isRelated(leading, value) ? keyOf(serializer, leading, value) : undefined
    if (key && !Object.values(key).includes(undefined)) Object.assign(columns, key)
    else if (bound?.field instanceof NestedSerializer && (value === null || typeof value === 'object')) {
      if (!relation)
        throw unwritable(serializer, name, 'is nested without a relation of the model; override create() and update()')
      // null for a list is a list of none, which lets go of nothing
      if (changesNothing(value) || (value === null && bound.field.many)) continue
      if (Array.isArray(value) && !value.every((item) => typeof item === 'object' && item !== null))
        throw unwritable(serializer, name, 'is given keys in the place of objects; let a field with shownBy take them')
      if (relation.kind !== 'belongs-to-one') refuseStored(serializer, name, { relation, items: [value].flat() })
      const write = { bound, field: bound.field, relation, value: value as NestedWrite['value'] }
      if (relation.kind === 'belongs-to-one') before.push(write)
      else after.push(write)
    } else if (key) {
      const names = leading?.relatedProperties.join()
      throw unwritable(serializer, name, `is given an object without its "${names}"`)
    } else if (bound?.field instanceof RelatedField && bound.field.many) {
      if (relation?.kind !== 'many-to-many')
        throw unwritable(serializer, name, 'is a list of keys without a many-to-many relation')
      const given: unknown = value ?? []
      if (!Array.isArray(given)) throw unwritable(serializer, name, 'is a list of keys, and is given something else')
      const keys = given.map((item) => keyIn(serializer, name, { relation, item }))
      sets.push({ name, field: bound.field, relation, keys })
    } else {
      const property = bound?.column?.property ?? propertyOf(serializer, name)
      if (isNoInteger(value) && INTEGERS.has(plan.model?.columns.get(property)?.type ?? ''))
        throw unwritable(serializer, name, `is given ${String(value)}, and holds integers`)
      columns[property] = value
    }
  }
  const { [DECIDED]: decided, [ADDED_BY]: addedBy } = data as { [DECIDED]?: Data; [ADDED_BY]?: RelationDescription }
  for (const property of Object.keys(columns)) delete kept[property]
  sets.push(...keptSets.filter(({ relation }) => leadsFrom(relation, columns)))
  const hasRelated = before.length + after.length + sets.length > 0
  return { columns, kept, decided, addedBy, before, after, sets, hasRelated }
}

/** True where a relation leads from one of the columns: what it leads to is other rows, once that is written. */
export function leadsFrom({ ownerProperties }: RelationDescription, columns: Data): boolean {
  return ownerProperties.some((property) => Object.hasOwn(columns, property))
}

/** True for an object that stands where the foreign key to it is written, as in `save({ author })`. */
function isRelated(relation: RelationDescription | undefined, value: unknown): relation is RelationDescription {
  return (
    relation?.kind === 'belongs-to-one' && typeof value === 'object' && value !== null && isRowOf(relation.model, value)
  )
}

/** What leads to the object, by property; undefined for what it has not got, as one that is still to be made. */
function keyOf(serializer: AnySerializer, relation: RelationDescription, object: unknown): Data {
  const related = { columns: describeModel(relation.model).columns, properties: relation.relatedProperties }
  const own = { columns: serializer.plan.model?.columns, properties: relation.ownerProperties }
  return keyTo(object as object, related, own)
}

const INTEGERS: ReadonlySet<string> = new Set(['int2', 'int4', 'int8'])

/** True for numbers that no client can send: the application has made them. */
function isNoInteger(value: unknown): value is number {
  return typeof value === 'number' && !Number.isFinite(value)
}

/** @throws {ConfigurationError} of what a promise holds nothing would be written */
function refusePromise(serializer: AnySerializer, name: string, value: unknown): void {
  if (!isPromise(value)) return
  ignoreRejection(value)
  throw unwritable(serializer, name, 'is given a promise; await it')
}

/**
 * Nested objects without a stored one to change are inserted, and a row whose key the database has counted is there already.
 * @throws {ConfigurationError} one is such a row
 */
function refuseStored(
  serializer: AnySerializer,
  name: string,
  { relation, items }: { readonly relation: RelationDescription; readonly items: readonly unknown[] },
): void {
  const { model } = relation
  const { primaryKey, columns } = describeModel(model)
  const key = columns.get(primaryKey.join())
  if (!key?.auto || !INTEGERS.has(key.type)) return
  const isStored = (item: unknown) =>
    isRecord(item) && item[key.property] !== undefined && !(TARGET in item) && isRowOf(model, item)
  if (items.some(isStored))
    throw unwritable(
      serializer,
      name,
      'is given rows that are stored, and would insert them again; let a field with shownBy take them',
    )
}

/**
 * An item of a list of keys, in which an object may stand for its own.
 * @throws {ConfigurationError} it has none, or is no object of the model
 */
function keyIn(
  serializer: AnySerializer,
  name: string,
  { relation, item }: { readonly relation: RelationDescription; readonly item: unknown },
): unknown {
  const [property = ''] = relation.relatedProperties
  refusePromise(serializer, name, item)
  if (item === undefined || item === null) throw unwritable(serializer, name, `is given ${String(item)} among its keys`)
  if (typeof item !== 'object') return item
  if (!isRowOf(relation.model, item)) {
    const given = isModelClass(item.constructor) || isPlain(item)
    if (!given) return item
    const owner = modelName(relation.model)
    throw unwritable(serializer, name, `is given an object that is no ${owner}; give keys, or objects of ${owner}`)
  }
  const key = exactAt(item, property)
  if (key === undefined) throw unwritable(serializer, name, `is given an object without its "${property}"`)
  return key
}

/** Who reads objects with values of a query's own in the place of columns. */
interface Masking {
  maskedOf?(model: ModelClass): readonly string[]
}

/** The properties of which an object that was read holds no value of its row. */
export function maskedIn({ model }: SerializerPlan, context: SerializerContext): readonly string[] {
  const view = context.view as Masking | null | undefined
  return (model && view?.maskedOf?.(model.model)) ?? []
}

/**
 * The property of the model in which a name of validated data is stored: a field's, or one of that name.
 * @throws {ConfigurationError} there is none
 */
export function propertyOf(serializer: AnySerializer, name: string): string {
  const { plan } = serializer
  const bound = plan.byName.get(name)
  const property = bound?.column?.property ?? (bound?.source.length === 1 ? bound.source[0] : undefined) ?? name
  if (plan.model?.columns.has(property)) return property
  throw unwritable(
    serializer,
    name,
    `is neither a field nor a column of the model${didYouMean(name, [...plan.byName.keys(), ...(plan.model?.columns.keys() ?? [])])}`,
  )
}

function unwritable(serializer: AnySerializer, name: string, reason: string): ConfigurationError {
  return new ConfigurationError(`${serializer.constructor.name}: cannot write "${name}": it ${reason}`)
}
