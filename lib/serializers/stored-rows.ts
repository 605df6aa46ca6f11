/**
 * Whether what a write returns is what is stored once it has ended: RETURNING shows rows as they were before anything ran
 * that the database, or the application, does after each of them.
 */

import { reasonOf } from '../kernel/reasons.js'
import type { TakenWrites } from '../models/catalogue.js'
import { describeModel } from '../models/describe-model.js'
import type { ModelDescription } from '../models/model-description.js'
import { traitsOf } from '../models/model-traits.js'
import { modelName } from '../models/objection.js'
import type { SerializerClass, SerializerPlan } from './contract.js'
import { overrideOf, SAVING } from './model-serializer.js'
import { NestedSerializer } from './nested-serializer.js'
import { serializerPlan } from './plan.js'

/** What is written through a serializer. */
export interface StoredRows {
  /** Why objects are read again once they are written, as a sentence for `explain()`; null where RETURNING shows what is stored. */
  readonly because: string | null
  /** The triggers that would run at COMMIT, by the tables that have them. */
  readonly deferred: readonly DeferredTriggers[]
}

/** The triggers of a table that would run at COMMIT. */
export interface DeferredTriggers {
  readonly tableName: string
  readonly names: readonly string[]
}

/** How a serializer writes: new or stored objects, one or several by one request. */
export interface Writing {
  readonly writes: 'insert' | 'update'
  readonly isList: boolean
}

/** What is decided of writes through a serializer, before any of them. */
export function storedRows(serializer: SerializerClass, writing: Writing): StoredRows {
  const plan = serializerPlan(serializer)
  const { model } = plan
  if (!model) return { because: null, deferred: [] }
  const tables = new Set<ModelDescription>()
  const nested = reasonsOfNested(plan, tables)
  const because = reasonOf([...reasonsOfOwn(serializer, model, writing), ...reasonsOfKeys(plan, writing), ...nested])
  tables.add(model)
  return { because, deferred: [...tables].flatMap(deferredOf) }
}

/** The triggers of a table that would run at COMMIT; none where it has no such. */
export function deferredOf({
  model: { tableName },
  triggers: { deferred: names },
}: ModelDescription): DeferredTriggers[] {
  return names.length > 0 ? [{ tableName, names }] : []
}

/** What may change the rows of the serializer's own table. */
function* reasonsOfOwn(
  serializer: SerializerClass,
  { model, isIndirect, hasHeirs, triggers }: ModelDescription,
  { writes, isList }: Writing,
): Generator<string> {
  const { tableName } = model
  const overridden = overrideOf(serializer, SAVING[writes])
  if (overridden !== null) yield overridden
  if (isIndirect) yield `"${tableName}" is a view or a foreign table, or has rules`
  if (writes === 'update' && hasHeirs) yield `other tables inherit from "${tableName}"`
  if (triggers.after[writes]) yield `a trigger runs after each ${writes} of "${tableName}"`
  // one of the first row may have changed it for the second
  if (isList && triggers.before[writes]) yield `a trigger runs before each ${writes} of "${tableName}"`
  const { quietInserts, quietUpdates, findHook } = traitsOf(model)
  if (!(writes === 'insert' ? quietInserts : quietUpdates))
    yield `${modelName(model)} has hooks that run after each ${writes}`
  // what it makes of a row is what reads show
  if (findHook !== null) yield `${modelName(model)} overrides ${findHook}()`
}

/** A key that changes changes what points to it, maybe in the same table. */
function* reasonsOfKeys({ model, writable }: SerializerPlan, { writes }: Pick<Writing, 'writes'>): Generator<string> {
  if (writes === 'insert' || !model) return
  const column = writable.find(({ column: one }) => one && model.cascading.has(one.property))?.column
  if (column) yield `a change of "${column.column}" changes what points to "${model.model.tableName}"`
}

/** What may change rows because others are written with them: triggers and hooks of whatever kind. */
function* reasonsOfNested(plan: SerializerPlan, tables: Set<ModelDescription>): Generator<string> {
  for (const { field, relation } of plan.nesting) {
    if (!relation) continue
    if (relation.through) {
      const links = describeModel(relation.through.model)
      tables.add(links)
      yield* reasonsOfTable(links)
    }
    if (!(field instanceof NestedSerializer)) continue
    const overridden = overrideOf(field.serializerClass, ['create', 'update'])
    if (overridden !== null) yield overridden
    const inner = serializerPlan(field.serializerClass)
    if (!inner.model) continue
    tables.add(inner.model)
    yield* reasonsOfTable(inner.model)
    if (inner.model.table !== undefined && inner.model.table === plan.model?.table)
      yield `objects in it may be of "${inner.model.model.tableName}", too`
    yield* reasonsOfKeys(inner, { writes: 'update' })
    yield* reasonsOfNested(inner, tables)
  }
}

function* reasonsOfTable({ model, isIndirect, hasHeirs, triggers }: ModelDescription): Generator<string> {
  const { tableName } = model
  const runs = (events: TakenWrites) => events.insert || events.update || events.delete
  if (isIndirect || hasHeirs) yield `"${tableName}" is a view or a foreign table, or has rules or heirs`
  if (runs(triggers.before) || runs(triggers.after)) yield `"${tableName}" has triggers`
  if (!traitsOf(model).quietWrites) yield `${modelName(model)} has hooks`
}
