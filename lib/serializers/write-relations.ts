/** Writes what belongs to objects besides their own rows, level by level: nested objects and many-to-many relations. */

import type { Model } from 'objection'
import { ValidationError } from '../kernel/errors.js'
import { getOrInsert, groupBy } from '../kernel/maps.js'
import { notBoth } from '../kernel/messages.js'
import { objectsIn } from '../kernel/records.js'
import { buildModel } from '../models/build-model.js'
import { exactValue } from '../models/database-text.js'
import { describeModel } from '../models/describe-model.js'
import { exactAt } from '../models/exact-types.js'
import type { RelationDescription } from '../models/model-description.js'
import { traitsOf } from '../models/model-traits.js'
import { type AnyQueryBuilder, modelOf } from '../models/objection.js'
import { groupConditions } from '../queryset/group-conditions.js'
import { loadRelations } from '../queryset/load-relations.js'
import { forgetAnswers } from '../queryset/row-answers.js'
import { areSame, type CanonicalKey } from '../queryset/same-keys.js'
import { leaveOutDeleted, visibleRowsIn } from '../queryset/visible-rows.js'
import { whereRows } from '../queryset/where-keys.js'
import { allAtOnce } from './all-at-once.js'
import { checkRelated, checkWrittenRows } from './check-written.js'
import type { AnySerializer, BoundField, WriteEntry } from './contract.js'
import { checkDetached } from './guard-fields.js'
import { lockKeys, lockRows, lockTargets } from './lock-rows.js'
import { NestedSerializer } from './nested-serializer.js'
import { clearedColumns, keyTo, ownColumns } from './own-columns.js'
import { type Path, prefixed } from './prefix-errors.js'
import { replaceSets } from './replace-sets.js'
import { namesOfRows } from './row-keys.js'
import { type KeySet, leadsFrom, type NestedWrite } from './split-writes.js'
import { leadingOf } from './validate-related.js'
import { ADDED_BY, DECIDED, TARGET } from './validated-item.js'
import { type KeyLink, relate, relatedQuery, unlink } from './write-links.js'
import { writeLogOf } from './write-log.js'
import type { WriteItem } from './write-own-rows.js'
import { serializerKnex } from './write-rows.js'
import { writeOneByOne } from './written-items.js'

type Data = Record<string, unknown>
type Row = Model & Data

/** A nested object, or several, in the item that it stands in. */
interface Asked extends NestedWrite {
  readonly item: WriteItem
  /** The item's path, and the field's name. */
  readonly path: Path
}

/**
 * Creates or updates the nested objects that the items point to, and puts their keys into the items' columns.
 * @throws ValidationError one of them is not of the object that the path, or the surrounding object, decides
 */
export async function writeBefore(serializer: AnySerializer, items: readonly WriteItem[]): Promise<void> {
  for (const [bound, asked] of byField(serializer, items, 'before')) {
    const { field, relation } = asked[0] as Asked
    const child = serializer.child(bound, field.serializerClass)
    const entries = asked.map(({ item, value, path }) => {
      const instance = item.instance && ((item.instance as Row)[relation.name] as Model | null | undefined)
      return { data: value && !instance ? added(relation, value as Data) : (value as Data), instance, path }
    })
    const given = entries.filter(({ data }) => data !== null)
    const stored = given.flatMap(({ instance }) => instance ?? [])
    if (stored.length > 0) await lockCurrent(serializer, relation, asked)
    if (stored.length > 1) await lockDistinct(stored, serializer)
    const written = await writeEntries(
      child,
      relation,
      given.map((entry) => ({ ...entry, instance: entry.instance ?? undefined })),
    )
    await checkRelated(serializer.context, leadingOf(serializer, { relation }), written, serializerKnex(serializer))
    const related = new Map(given.map((entry, index) => [entry, written[index]]))
    for (const [index, one] of asked.entries()) {
      const entry = entries[index] as (typeof entries)[number]
      const object = (related.get(entry) ?? null) as Data | null
      try {
        await takeKeys(serializer, one, { object, isNew: !entry.instance })
      } catch (error) {
        throw prefixed(one.item.path, error)
      }
    }
  }
}

/** The nested writes of one kind, by their fields, in the order of these. */
function byField(
  { plan }: AnySerializer,
  items: readonly WriteItem[],
  kind: 'before' | 'after',
): readonly (readonly [BoundField, readonly Asked[]])[] {
  const writes = items.flatMap((item) =>
    item.writes[kind].map((write): Asked => ({ item, path: [...item.path, write.bound.name], ...write })),
  )
  const asked = groupBy(writes, ({ bound }) => bound)
  return plan.fields.flatMap((bound) => {
    const own = asked.get(bound)
    return own ? [[bound, own] as const] : []
  })
}

/** Objects that are there already must still be those that the rows point to. */
async function lockCurrent(
  serializer: AnySerializer,
  relation: RelationDescription,
  asked: readonly Asked[],
): Promise<void> {
  const rows = asked.flatMap(({ item: { instance }, value }) =>
    value !== null && instance && (instance as Row)[relation.name] ? [instance] : [],
  )
  await lockKeys(rows, relation, serializerKnex(serializer))
}

/** Several rows that are about to change are locked in the order of their keys (promise I6). */
async function lockDistinct(rows: readonly Model[], serializer: AnySerializer): Promise<void> {
  const knex = serializerKnex(serializer)
  const names = await namesOfRows(modelOf(rows[0] as Model), rows, knex)
  if (new Set(names).size > 1) await lockRows(rows, knex)
}

/**
 * Puts the key of a nested object into the columns of the item that points to it; for `null` it clears those that no other
 * key has.
 * @throws ValidationError there is none to clear, or another key decides on a column
 */
async function takeKeys(
  serializer: AnySerializer,
  { bound, relation, item }: Asked,
  { object, isNew }: { object: Data | null; isNew: boolean },
): Promise<void> {
  const { writes, instance } = item
  const properties = relation.ownerProperties
  const foreignKey = { properties, related: relation.model }
  const isDecidedElsewhere = (property: string) =>
    isDecided(serializer, item, property) || Object.hasOwn(writes.columns, property)
  if (object === null) {
    // the database says of a new row what must not be null
    const cleared = instance ? clearedColumns(serializer, foreignKey) : ownColumns(serializer, foreignKey)
    if (instance && cleared.length === 0 && (instance as Row)[relation.name]) throw notCleared(bound)
    const given = cleared.filter((property) => (writes.columns[property] ?? null) !== null)
    // of a new row, part of a key leads nowhere
    if (given.length > 0 && (instance || given.length === cleared.length)) throw contradicted(serializer, bound, given)
    for (const property of cleared) if (!isDecidedElsewhere(property)) writes.columns[property] = null
    return
  }
  const own = ownColumns(serializer, foreignKey)
  const columns = serializer.plan.model?.columns
  const end = { columns: describeModel(relation.model).columns, properties: relation.relatedProperties }
  for (const [property, key] of Object.entries(keyTo(object, end, { columns, properties }))) {
    const column = columns?.get(property)
    // of a stored row other keys have a say in it, too
    const isShared = instance !== undefined && !own.includes(property)
    // what stands among the columns beside an object is the application's: a client's own would have been refused
    if (isDecidedElsewhere(property) || (isNew && isShared)) {
      const kept = decidedValue(serializer, item, property)
      const isAsked = key != null && kept !== undefined && column !== undefined
      if (isAsked && !(await areSame(column, [[key, kept]], serializerKnex(serializer)))[0]) {
        const isPart = properties.length > 1 && Object.hasOwn(writes.columns, property)
        throw contradicted(serializer, bound, isPart ? [property] : [])
      }
    } else if (isNew) writes.columns[property] = key
  }
}

/** All columns of the foreign key are needed by something else. */
function notCleared({ name }: Pick<BoundField, 'name'>): ValidationError {
  return new ValidationError({ [name]: ['This field may not be null.'] })
}

/** Columns of the key have other values, and are no rivals of the object, as each is but a part of the key. */
function contradicted({ plan }: AnySerializer, { name }: BoundField, given: readonly string[]): ValidationError {
  const parts = plan.fields.filter(({ column, writable }) => writable && column && given.includes(column.property))
  // what clients do not write is none of their business
  if (parts.length === 0) return new ValidationError({ [name]: ['Invalid value.'] })
  const messages = parts.map((part) => notBoth(part.name, name))
  return new ValidationError({ [name]: messages, ...Object.fromEntries(parts.map((part) => [part.name, messages])) })
}

/** True for a column of the row that no nested object may change. */
function isDecided({ forced }: AnySerializer, { writes: { decided } }: WriteItem, property: string): boolean {
  return forced?.has(property) === true || (decided !== undefined && Object.hasOwn(decided, property))
}

/** What such a column holds; undefined where nobody has read it. */
function decidedValue({ forced }: AnySerializer, { writes, instance }: WriteItem, property: string): unknown {
  const { columns, decided } = writes
  if (decided && Object.hasOwn(decided, property)) return decided[property]
  // what the application has given to save()
  if (Object.hasOwn(columns, property)) return exactValue(columns[property])
  return instance ? exactAt(instance, property) : exactValue(forced?.get(property))
}

/** Writes what points to the items' rows: nested objects and sets of keys. */
export async function writeAfter(serializer: AnySerializer, all: readonly WriteItem[]): Promise<void> {
  const items = await eachRowOnce(serializer, all)
  for (const [bound, asked] of byField(serializer, items, 'after')) {
    const { field } = asked[0] as Asked
    const child = serializer.child(bound, field.serializerClass)
    await detach(serializer, child, asked)
    await writeRelated(serializer, child, asked)
  }
  const names = new Set(items.flatMap(({ writes }) => writes.sets.map(({ name }) => name)))
  for (const name of names) {
    const sets = items.flatMap((item) => {
      const { writes, row, instance, path } = item
      const own = writes.sets.filter((set) => set.name === name)
      return own.map((set) => {
        const isAlone = isWrittenAlone(serializer, item, set)
        return { owner: row as Model, set, path: [...path, name], instance, isAlone }
      })
    })
    await replaceSets(serializer, sets)
  }
}

/** Items of a bulk request may name one object: they say the same of it, and what they add to it is added once. */
async function eachRowOnce(serializer: AnySerializer, items: readonly WriteItem[]): Promise<readonly WriteItem[]> {
  const stored = items.filter(({ instance }) => instance !== undefined)
  if (stored.length < 2) return items
  const rows = stored.map(({ instance }) => instance as Model)
  const names = await namesOfRows(modelOf(rows[0] as Model), rows, serializerKnex(serializer))
  const first = new Map<CanonicalKey, WriteItem>()
  for (const [index, item] of stored.entries()) getOrInsert(first, names[index] as CanonicalKey, () => item)
  if (first.size === stored.length) return items
  const once = new Set(first.values())
  return items.filter((item) => item.instance === undefined || once.has(item))
}

/** True where nothing writes links of the set's relation but the set: of the item only its own row is written besides, and no column that they lead to. */
function isWrittenAlone(
  { plan, leavesRelated }: AnySerializer,
  { writes, instance }: WriteItem,
  { relation }: KeySet,
): boolean {
  const { model } = plan
  if (!model || leavesRelated !== true || writes.before.length + writes.after.length > 0) return false
  if (writes.sets.filter((set) => set.relation.name === relation.name).length > 1) return false
  if (instance && Object.keys(writes.columns).length === 0) return true
  if (instance && leadsFrom(relation, writes.columns)) return false
  const event = instance ? 'update' : 'insert'
  const { triggers, isIndirect } = model
  return !(isIndirect || triggers.before[event] || triggers.after[event]) && traitsOf(model.model).quietWrites
}

/** `null` for a nested object that points here: it stays, and is related to nothing. One that is deleted was not shown. */
async function detach(serializer: AnySerializer, child: AnySerializer, asked: readonly Asked[]): Promise<void> {
  const items = asked.filter(({ value, item }) => value === null && item.instance)
  const [first] = items
  if (!first) return
  const { relation, bound, field } = first
  const { relatedProperties } = relation
  const key = { properties: relatedProperties, related: modelOf(first.item.row as Model) }
  const cleared = relation.through ? relatedProperties : clearedColumns(child, key)
  if (cleared.length === 0) {
    const related = items.find(({ item }) => objectsIn((item.instance as Row)[relation.name]).length > 0)
    if (related) throw prefixed(related.item.path, notCleared(bound))
    return
  }
  const missing = items.flatMap(({ item: { instance } }) =>
    instance && (instance as Row)[relation.name] === undefined ? [instance] : [],
  )
  const visible = visibleRowsIn(serializer.context)
  const relations = { [relation.name]: {} }
  await loadRelations(key.related, missing, { relations, knex: serializerKnex(serializer), visible })
  // of several rows the one that is shown
  const shown = items.filter(({ item }) => (item.instance as Row)[relation.name] !== null)
  const shownOf = ({ item }: Asked) => (item.instance as Row)[relation.name] as Model
  if (relation.through) {
    const links = shown.map((one) => ({
      owner: one.item.row as Model,
      key: relatedProperties.map((property) => exactAt(shownOf(one), property)),
      path: one.item.path,
    }))
    return unlink(serializer, relation, links)
  }
  const nulls = Object.fromEntries(cleared.map((property) => [property, null]))
  const detached = shown.map(shownOf)
  await checkWrittenRows(serializer.context, detached, 'update', serializerKnex(serializer))
  await checkDetached(serializer, detached, cleared)
  if (detached.length > 0) await writeLogOf(serializerKnex(serializer))?.keep(detached, field.serializerClass)
  await allAtOnce({
    items: shown,
    knex: serializerKnex(serializer),
    view: serializer.context.view,
    write: async (part, trx) => {
      const rows = part.map(({ item }) => item.row as Model)
      const related = relatedQuery(relation, trx, rows) as AnyQueryBuilder
      const query = groupConditions(related.patch(buildModel(relation.model, nulls, { patch: true }) as never))
      leaveOutDeleted(query, relation)
      await whereRows(query, part.map(shownOf))
    },
  })
  forgetAnswers(detached)
  await checkWrittenRows(serializer.context, detached, 'update', serializerKnex(serializer))
}

async function writeRelated(serializer: AnySerializer, child: AnySerializer, asked: readonly Asked[]): Promise<void> {
  const { relation } = asked[0] as Asked
  const shares = writesSome(child, relation.relatedProperties)
  const entries = asked.flatMap(({ item, value, path }) => {
    const owner = item.row as Model
    const keys = keysFor(relation, owner)
    const single = (item.instance as Row | undefined)?.[relation.name] as Model | undefined
    const current = Array.isArray(value) ? undefined : (single ?? undefined)
    const places = Array.isArray(value) ? value.map((_, position) => [...path, position]) : [path]
    return ([value ?? []].flat() as Data[]).map((one, index) => {
      const instance = (one as { [TARGET]?: Model })[TARGET] ?? current
      const marked = keys && shares ? { ...one, [DECIDED]: keys } : one
      const data = instance ? marked : added(relation, { ...marked, ...keys })
      return { owner, data, instance, path: places[index] as Path }
    })
  })
  const links = entries.flatMap(({ owner, instance }) => (instance ? [{ owner, target: instance }] : []))
  if (links.length > 0) await lockTargets(links, relation, serializerKnex(serializer))
  const written = await writeEntries(child, relation, entries)
  await checkRelated(serializer.context, leadingOf(serializer, { relation }), written, serializerKnex(serializer))
  if (!relation.through) return
  const created = entries.flatMap(({ owner, instance, path }, index): KeyLink[] => {
    const row = written[index] as Row
    const key = relation.relatedProperties.map((name) => exactAt(row, name))
    return instance ? [] : [{ owner, key, path }]
  })
  await relate(serializer, relation, created)
}

/** Data of an object that is inserted for a relation. */
function added(relation: RelationDescription, data: Data): Data {
  return relation.beforeInsert ? { ...data, [ADDED_BY]: relation } : data
}

/** Objects of a serializer that writes them in its own way are written one by one. */
async function writeEntries(
  child: AnySerializer,
  { model }: RelationDescription,
  entries: readonly WriteEntry[],
): Promise<readonly object[]> {
  if (entries.length === 0) return []
  return child.writeAll ? child.writeAll(entries) : writeOneByOne(child, model, entries)
}

/** The foreign key of objects that are related to the row by it; undefined where a join table relates them. */
function keysFor(relation: RelationDescription, row: Model): Data | undefined {
  if (relation.through) return undefined
  const { columns } = describeModel(relation.model)
  const own = { columns: describeModel(modelOf(row)).columns, properties: relation.ownerProperties }
  return keyTo(row, own, { columns, properties: relation.relatedProperties })
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
