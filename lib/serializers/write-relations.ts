/** Writes what belongs to an object besides its own row: nested objects and many-to-many relations. */
import type { Model } from 'objection'
import { subjectOf, toApiError } from '../database-errors.js'
import { Conflict, type ErrorMessages, ValidationError } from '../errors.js'
import { keyText } from '../fields/key-text.js'
import { exactValue } from '../models/database-text.js'
import { type Column, describeModel, type RelationDescription } from '../models/describe-model.js'
import { byExactKey, exactKey } from '../models/exact-key.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import { readColumns } from '../queryset/read-columns.js'
import { readExactly } from '../queryset/read-exactly.js'
import type { AnySerializer } from './contract.js'
import { NestedSerializer } from './nested-serializer.js'
import type { KeySet, Writes } from './split-writes.js'
import { DECIDED, TARGET } from './validated-item.js'

type Data = Record<string, unknown>
type Row = Model & Data

/**
 * Creates or updates the nested objects that the row points to, and puts their keys into its columns.
 * @throws ValidationError one of them is not of the object that the path, or the surrounding object, decides
 */
export async function writeBefore(
  serializer: AnySerializer,
  writes: Writes,
  instance: Model | undefined,
): Promise<void> {
  for (const { bound, field, relation, value } of writes.before) {
    const child = serializer.child(bound, field.serializerClass)
    const current = instance ? (instance as Row)[relation.name] : undefined
    let related: Data | null = null
    if (value !== null) {
      if (instance && current) await lockKey(serializer, relation, instance)
      const data = value as Data
      related = (await under([bound.name], () => (current ? child.update(current, data) : child.create(data)))) as Data
    }
    for (const [index, property] of relation.ownerProperties.entries()) {
      const key = related === null ? null : exactValue(related[relation.relatedProperties[index] as string])
      // what stands among the columns beside an object is the application's: a client's own would have been refused
      if (isDecided(serializer, writes, property) || Object.hasOwn(writes.columns, property)) {
        const column = serializer.plan.model?.columns.get(property)
        const kept = decidedValue(serializer, writes, instance, property)
        if (key != null && kept !== undefined && column && keyText(column, key) !== keyText(column, kept)) {
          throw new ValidationError({ [bound.name]: ['Invalid value.'] })
        }
      } else if (!current || related === null) writes.columns[property] = key
    }
  }
}

/** True for a column of the row that no nested object may change. */
function isDecided({ forced }: AnySerializer, { decided }: Writes, property: string): boolean {
  return forced?.has(property) === true || (decided !== undefined && Object.hasOwn(decided, property))
}

/** What such a column holds; undefined where nobody has read it. */
function decidedValue(
  { forced }: AnySerializer,
  { columns, decided }: Writes,
  instance: Model | undefined,
  property: string,
): unknown {
  if (decided && Object.hasOwn(decided, property)) return decided[property]
  // what the application has given to save()
  if (Object.hasOwn(columns, property)) return exactValue(columns[property])
  return exactValue(instance ? (instance as Row)[property] : forced?.get(property))
}

/** Writes what points to the row: nested objects and sets of keys. `instance` is the object before an update. */
export async function writeAfter(
  serializer: AnySerializer,
  writes: Writes,
  row: Model,
  instance: Model | undefined,
): Promise<void> {
  for (const write of writes.after) {
    const { bound, field, relation, value } = write
    const child = serializer.child(bound, field.serializerClass)
    if (Array.isArray(value)) {
      for (const [position, item] of (value as Data[]).entries()) {
        await under([bound.name, position], () => writeOne(serializer, child, relation, row, item))
      }
    } else if (value === null) {
      await under([bound.name], () => detach(serializer, relation, row))
    } else {
      const current = (instance ? (instance as Row)[relation.name] : undefined) as object | undefined
      await under([bound.name], () => writeOne(serializer, child, relation, row, value as Data, current))
    }
  }
  if (instance && writes.sets.length > 0)
    await byExactKey(row, () => row.$query(serializer.context.knex).forNoKeyUpdate())
  for (const set of writes.sets) await under([set.name], () => replaceSet(serializer, set, row))
}

/**
 * Does the work of a nested object: its validation errors stand under the path from the surrounding object.
 * What the database refuses there, and no serializer has told in its own terms, belongs to no field of it.
 */
export async function under<Result>(
  path: readonly (string | number)[],
  work: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const answer = toApiError(error, UNNAMED)
    if (!(answer instanceof ValidationError)) throw answer ?? error
    const errors = path.reduceRight<ErrorMessages>((inner, step) => ({ [step]: inner }), answer.errors)
    throw new ValidationError(errors, { cause: answer.cause })
  }
}

const UNNAMED = subjectOf('POST')

/**
 * Holds the row's foreign key until the end of the transaction. Another request may have moved it since it was read: then
 * the object that was checked is not the one related now (promise A7).
 */
async function lockKey(serializer: AnySerializer, relation: RelationDescription, instance: Model): Promise<void> {
  const stored = (await byExactKey(instance, () => {
    const query = instance.$query(serializer.context.knex).forNoKeyUpdate()
    return readExactly(query as unknown as AnyQueryBuilder)
  })) as Row | undefined
  const same = relation.ownerProperties.every(
    (property) => String(exactValue(stored?.[property])) === String(exactValue((instance as Row)[property])),
  )
  if (!same) throw moved()
}

/** The same for an object that the row is related to by that object's key, or by a join table. */
async function lockRelated(
  serializer: AnySerializer,
  relation: RelationDescription,
  row: Model,
  target: Row,
): Promise<void> {
  const related = await relatedQuery(serializer, relation, row)
    .findById(exactKey(target) as string)
    .forNoKeyUpdate()
  if (!related) throw moved()
}

function moved(): Conflict {
  return new Conflict('The related object was changed by another request.')
}

async function writeOne(
  serializer: AnySerializer,
  child: AnySerializer,
  relation: RelationDescription,
  row: Model,
  value: Data,
  current?: object,
): Promise<void> {
  const target = (value as { [TARGET]?: object })[TARGET] ?? current
  const keys = keysFor(relation, row)
  const data = keys && writesSome(child, relation.relatedProperties) ? { ...value, [DECIDED]: keys } : value
  if (target) {
    await lockRelated(serializer, relation, row, target as Row)
    await child.update(target, data)
  } else if (keys) {
    await child.create({ ...data, ...keys })
  } else {
    const created = (await child.create(data)) as Row
    await relate(serializer, relation, row, [exactValue(created[relation.relatedProperties[0] as string])])
  }
}

/** The foreign key of objects that are related to the row by it; undefined where a join table relates them. */
function keysFor(relation: RelationDescription, row: Model): Data | undefined {
  if (relation.kind === 'many-to-many' || relation.kind === 'has-one-through') return undefined
  return Object.fromEntries(
    relation.relatedProperties.map((property, index) => [
      property,
      exactValue((row as Row)[relation.ownerProperties[index] as string]),
    ]),
  )
}

/** True when nested objects decide some of these columns: those of a foreign key of several columns may be shared. */
function writesSome({ plan }: AnySerializer, properties: readonly string[]): boolean {
  return plan.writable.some(
    ({ field, relation }) =>
      field instanceof NestedSerializer &&
      relation?.kind === 'belongs-to-one' &&
      relation.ownerProperties.some((property) => properties.includes(property)),
  )
}

/** `null` for a nested object that points here: it stays, and is related to nothing. */
async function detach(serializer: AnySerializer, relation: RelationDescription, row: Model): Promise<void> {
  await relatedQuery(serializer, relation, row).unrelate()
}

/** Makes the related rows those of `keys`, but for those that the field does not let the caller choose: they stay. */
async function replaceSet(serializer: AnySerializer, { field, relation, keys }: KeySet, row: Model): Promise<void> {
  const property = relation.relatedProperties[0] as string
  const key = describeModel(relation.model).columns.get(property)
  const textOf = (value: unknown) => (key ? keyText(key, value) : String(value))
  const column = `${relation.model.tableName}.${key?.column ?? property}`
  const query = relatedQuery(serializer, relation, row) as unknown as AnyQueryBuilder
  const found = key
    ? (await readColumns(query, { key })).map((related) => related.key)
    : ((await readExactly(query.select(column))) as Data[]).map((related) => related[property])
  const present = found.map(exactValue)
  const before = new Set(present.map(textOf))
  const wanted = new Set(keys.map(textOf))
  const unwanted = present.filter((value) => !wanted.has(textOf(value)))
  const seen =
    key && unwanted.length > 0 ? await seenKeys(serializer, { field, relation, keys: unwanted, key }) : undefined
  const removed = seen ? unwanted.filter((value) => seen.has(textOf(value))) : unwanted
  for (const part of parts(removed)) {
    await relatedQuery(serializer, relation, row)
      .unrelate()
      .whereIn(column, part as string[])
  }
  await relate(
    serializer,
    relation,
    row,
    keys.filter((value) => !before.has(textOf(value))),
  )
}

/** The related keys that the caller may choose; undefined where these are all that the relation itself has shown. */
async function seenKeys(
  { context }: AnySerializer,
  { field, relation, keys, key }: Omit<KeySet, 'name'> & { key: Column },
): Promise<ReadonlySet<string> | undefined> {
  return field.options.queryset === relation.model ? undefined : field.seen(keys, context, key)
}

async function relate(
  serializer: AnySerializer,
  relation: RelationDescription,
  row: Model,
  keys: readonly unknown[],
): Promise<void> {
  for (const part of parts(keys)) await relatedQuery(serializer, relation, row).relate(part)
}

/** A statement takes at most 65,535 parameters, and Objection sends two for each key (promise R3). */
function parts(keys: readonly unknown[]): unknown[][] {
  const count = Math.ceil(keys.length / KEYS_AT_ONCE)
  return Array.from({ length: count }, (_, part) => keys.slice(part * KEYS_AT_ONCE, (part + 1) * KEYS_AT_ONCE))
}

const KEYS_AT_ONCE = 10_000

function relatedQuery(serializer: AnySerializer, relation: RelationDescription, row: Model) {
  const model = row.constructor as ModelClass
  return model.relatedQuery(relation.name, serializer.context.knex).for(row as never)
}
