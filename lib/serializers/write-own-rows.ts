/** Writes the own rows of objects that are created and changed together: one statement for the new, and one for the stored. */

import type { Model, QueryContext } from 'objection'
import { ConfigurationError } from '../kernel/errors.js'
import { groupBy } from '../kernel/maps.js'
import { isRecord } from '../kernel/records.js'
import { buildModel, databaseValues, isExpression, isLostOnUpdate } from '../models/build-model.js'
import { describeModel } from '../models/describe-model.js'
import { byExactKey } from '../models/exact-key.js'
import { showKept } from '../models/kept-values.js'
import type { ModelDescription } from '../models/model-description.js'
import { traitsOf } from '../models/model-traits.js'
import { type AnyQueryBuilder, columnName, type ModelClass, modelName, modelOf } from '../models/objection.js'
import { isRowOf } from '../models/one-table.js'
import { toApiError } from '../postgres/database-errors.js'
import type { Queryable } from '../postgres/pg-types.js'
import { namesRow, updateOne as updateRow } from '../queryset/one-row.js'
import { ownRow } from '../queryset/own-row.js'
import { readExactly } from '../queryset/read-exactly.js'
import type { CanonicalKey } from '../queryset/same-keys.js'
import { allAtOnce } from './all-at-once.js'
import { askedOfChange } from './check-written.js'
import { constraintSubject } from './constraint-subject.js'
import type { AnySerializer, WriteEntry } from './contract.js'
import { prefixed } from './prefix-errors.js'
import { namesOfRows, rowsAsStored } from './row-keys.js'
import type { Writes } from './split-writes.js'
import {
  changeOf,
  insertInstances,
  leftRows,
  type RowChange,
  sendsNothing,
  serializerKnex,
  updateRows,
  updatesRows,
  whyUnchanged,
} from './write-rows.js'

type Data = Record<string, unknown>

/** An object on its way into the database. */
export interface WriteItem extends WriteEntry {
  readonly instance: Model | undefined
  readonly writes: Writes
  /** The object's row, once it is written. */
  row: Model | undefined
}

/** Writes the rows of all items, changes first: what they let go of may be taken by the new ones. */
export async function writeOwnRows(serializer: AnySerializer, items: readonly WriteItem[]): Promise<void> {
  const model = serializer.plan.model?.model as ModelClass
  const knex = serializerKnex(serializer)
  const stored: WriteItem[] = []
  const added: WriteItem[] = []
  for (const item of items) {
    if (item.instance === undefined) added.push(item)
    else stored.push(item)
  }
  if (stored.length > 0) await update(serializer, stored, { model, knex })
  if (added.length > 0) await insert(serializer, added, { model, knex })
}

interface Target {
  readonly model: ModelClass
  readonly knex: Queryable
}

/** What the database or the model refuses, reported by the names of the client's fields. */
export function inOwnTerms({ plan, context }: AnySerializer, data: Data, error: unknown): unknown {
  return toApiError(error, constraintSubject(plan, 'write', data, { view: context.view })) ?? error
}

/** Does the work of an item, whose errors name the client's fields and stand under its path. */
async function telling<Result>(
  serializer: AnySerializer,
  { path, data }: Pick<WriteItem, 'path' | 'data'>,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw prefixed(path, inOwnTerms(serializer, data, error))
  }
}

async function insert(serializer: AnySerializer, items: readonly WriteItem[], { model, knex }: Target): Promise<void> {
  // hooks change instances: the second time a row is written, it is made anew
  const fresh = new Map<WriteItem, Model>()
  for (const item of items) {
    try {
      fresh.set(item, buildModel(model, item.writes.columns))
    } catch (error) {
      throw prefixed(item.path, inOwnTerms(serializer, item.data, error))
    }
  }
  const take = (item: WriteItem) => {
    const made = fresh.get(item) ?? buildModel(model, item.writes.columns)
    fresh.delete(item)
    return made
  }
  const rows = await allAtOnce({
    items,
    knex,
    write: async (part, trx) => {
      const rows = part.map(take)
      const context = { transaction: trx } as QueryContext
      for (const [index, { writes }] of part.entries())
        await writes.addedBy?.beforeInsert?.(rows[index] as Model, context)
      return insertInstances(model, rows, trx)
    },
    view: serializer.context.view,
    tell: (error, { data }) => inOwnTerms(serializer, data, error),
  })
  for (const [index, item] of items.entries()) item.row = rows[index]
}

async function update(serializer: AnySerializer, items: readonly WriteItem[], { model, knex }: Target): Promise<void> {
  for (const item of items) item.row = item.instance
  const changed = items.filter(({ writes }) => Object.keys(writes.columns).length > 0)
  for (const { instance } of changed) checkTable(serializer, model, instance as Model)
  const classes = new Set(changed.map((item) => classOf(item, model)))
  const [only = model] = classes
  const target = { model: classes.size > 1 ? model : only, knex }
  if (changed.length > 1 && updatesRows(target.model, knex) && !changed.some(hasExpression)) {
    await updateAll(serializer, changed, target)
  } else await updateEach(serializer, changed, target)
}

/** @throws {ConfigurationError} the object is of another table, whose row would be changed, or of none */
function checkTable({ constructor: { name } }: AnySerializer, model: ModelClass, instance: Model): void {
  if (isRowOf(model, instance) || instance instanceof model) return
  throw new ConfigurationError(`${name}: obj is no ${modelName(model)}; give one that this model has read`)
}

/**
 * The class as which an object is changed: its own, which a view may have beside that of its serializer, as Objection changes
 * what is found by it; the serializer's where what is written has no names in that.
 */
function classOf({ instance, writes }: Pick<WriteItem, 'instance' | 'writes'>, model: ModelClass): ModelClass {
  const own = modelOf(instance as Model)
  if (own === model) return model
  const [ours, its] = [describeModel(model).columns, describeModel(own).columns]
  const isSame = Object.keys(writes.columns).every((name) => its.get(name)?.column === ours.get(name)?.column)
  return isSame ? own : model
}

async function updateEach(serializer: AnySerializer, items: readonly WriteItem[], { knex }: Target): Promise<void> {
  for (const item of items) item.row = await telling(serializer, item, () => updateOne(serializer, item, knex))
}

function hasExpression({ writes }: WriteItem): boolean {
  return Object.values(writes.columns).some(isExpression)
}

async function updateAll(serializer: AnySerializer, items: readonly WriteItem[], target: Target): Promise<void> {
  const { model, knex } = target
  // two objects of a list may lead to one row, where the last says what it holds
  const names = await namesOfRows(
    model,
    items.map(({ instance }) => instance as Model),
    knex,
  )
  const byRow = groupBy(items, (_, index) => names[index] as CanonicalKey)
  const changes: (RowChange & { readonly own: readonly WriteItem[]; readonly path: WriteItem['path'] })[] = []
  for (const own of byRow.values()) {
    const last = own.at(-1) as WriteItem
    const columns = Object.fromEntries(own.flatMap(({ writes }) => Object.entries(writes.columns)))
    const kept = Object.fromEntries(own.flatMap(({ writes }) => Object.entries(writes.kept)))
    const change = () => changeOf(model, last.instance as Model, { columns, kept }, knex)
    changes.push({ ...(await telling(serializer, last, change)), own, path: last.path })
  }
  const isListed = !changes.some(({ values }) => [...values.values()].some(isExpression))
  const rows = await allAtOnce({
    items: changes,
    knex,
    write: (part, trx) => (isListed ? updateRows(model, part, trx) : updateOneByOne(model, part, trx)),
    view: serializer.context.view,
    tell: (error, { own }) => inOwnTerms(serializer, own.at(-1)?.data ?? {}, error),
  })
  for (const [index, { own }] of changes.entries()) for (const item of own) item.row = rows[index]
}

/** Changes of which hooks have made expressions, such as `raw('now()')`: no list of values holds one. */
async function updateOneByOne(model: ModelClass, changes: readonly RowChange[], knex: Queryable): Promise<Model[]> {
  const rows: Model[] = []
  for (const { instance, patch, values } of changes) {
    // it has run; and the row may be written again, in search of the one that is refused
    if (patch) Object.defineProperty(patch, '$beforeUpdate', { value: doNothing, configurable: true })
    rows.push(patch && values.size > 0 ? await patchRow(model, instance, patch, knex) : instance)
  }
  return rows
}

function doNothing(): void {}

/** @throws NotFound, PermissionDenied the row is gone, or kept by a policy */
async function updateOne({ plan, context }: AnySerializer, item: WriteItem, knex: Queryable): Promise<Model> {
  const instance = item.instance as Model
  const { columns, kept } = item.writes
  const description = plan.model as ModelDescription
  const model = classOf(item, description.model)
  if (Object.keys(columns).some((property) => isLostOnUpdate(columnName(model, property)))) {
    const [changed] = await updateRows(model, [await changeOf(model, instance, item.writes, knex)], knex)
    return changed as Model
  }
  const patch = buildModel(model, columns, { patch: true })
  const isPlain = traitsOf(model).updateObstacle === null && namesRow(instance, model, knex)
  if (isPlain && !Object.values(columns).some(isExpression)) {
    const values = databaseValues(model, patch)
    if (values.size === 0) return instance
    const asked = askedOfChange(context, description, Object.keys(columns))
    const updated = await updateRow(instance, patch, { values, asked, knex })
    return updated ?? leftRow(model, instance, knex)
  }
  showKept(patch, kept)
  return patchRow(model, instance, patch, knex)
}

/** Changes a row by Objection. @throws NotFound, PermissionDenied the row is gone, or kept by a policy */
async function patchRow(model: ModelClass, instance: Model, patch: Model, knex: Queryable): Promise<Model> {
  const rows: unknown = await byExactKey(instance, () => {
    const query = ownRow(instance, knex).patch(patch as never)
    return readExactly(query.returning('*') as AnyQueryBuilder)
  })
  // a hook that cancels the statement may say how many rows it has changed in its place
  const row = [rows].flat().find(isRecord)
  if (row) return row as unknown as Model
  // where hooks have left nothing to send, Objection has asked for no row
  const isUnasked = sendsNothing(patch, ownRow(instance, knex))
  const [stored] = isUnasked ? await rowsAsStored(model, [instance], knex) : []
  return stored ?? leftRow(model, instance, knex)
}

/** @throws NotFound, PermissionDenied the row is gone, or kept by a policy */
async function leftRow(model: ModelClass, instance: Model, knex: Queryable): Promise<Model> {
  const [row] = await leftRows(model, [instance], knex)
  if (!row) throw await whyUnchanged(model, [instance], knex)
  return row
}
