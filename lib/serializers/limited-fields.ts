/** Fields of which a caller may read, or set, the values of some rows only: PostgreSQL says of which. */

import type { SerializerContext } from '../fields/field.js'
import { objectsIn } from '../kernel/records.js'
import { describeModel } from '../models/describe-model.js'
import { keyColumns } from '../models/model-description.js'
import type { ModelClass } from '../models/objection.js'
import { isRowOf } from '../models/one-table.js'
import { nativeSql, type Queryable } from '../postgres/pg-types.js'
import { runStatement } from '../postgres/run-statement.js'
import { keyRows, PLACE, valuesOf } from '../queryset/key-rows.js'
import { isPart, listKey, loadedBeside } from '../queryset/related-lists.js'
import { type FieldUse, visibleRowsIn } from '../queryset/visible-rows.js'
import type { BoundField, SerializerClass, SerializerPlan } from './contract.js'
import { NestedSerializer } from './nested-serializer.js'
import { serializerPlan } from './plan.js'
import { isNoted, noteReadable } from './readable-at.js'
import { relatedAt } from './relation-graph.js'

/** Finds out which fields of objects, and of those related objects that are loaded, the caller may read: a statement for each serializer. */
export async function findReadable(
  serializer: SerializerClass,
  objects: readonly object[],
  asking: Asking,
): Promise<void> {
  if (objects.length === 0) return
  const plan = serializerPlan(serializer)
  await findOwnReadable(plan, objects, asking)
  for (const bound of new Set([...plan.fields, ...plan.readable])) {
    const { field } = bound
    if (!(field instanceof NestedSerializer) || !(bound.readable || bound.writable)) continue
    await findReadable(
      field.serializerClass,
      objects.flatMap((object) => relatedOf(object, bound)),
      asking,
    )
  }
}

function relatedOf(object: object, bound: BoundField): readonly object[] {
  const { list } = bound
  const part = list && isPart(list) ? loadedBeside(object, listKey(list)) : undefined
  return objectsIn(part ?? relatedAt(object, bound))
}

/** The same of objects alone. */
export async function findOwnReadable(
  { readable, model: description }: SerializerPlan,
  objects: readonly object[],
  { context, again = false }: Asking,
): Promise<void> {
  const limited = readable.filter(({ access }) => access?.read === 'some')
  if (!description || limited.length === 0 || objects.length === 0) return
  const { model } = description
  const properties = [...new Set(limited.flatMap(({ access }) => access?.properties ?? []))]
  const unknown = objects.filter((object) => isRowOf(model, object) && (again || !isNoted(object, properties, context)))
  const held = await whichHold(model, { objects: unknown, properties, use: 'read', context })
  for (const [index, object] of unknown.entries()) {
    const answers = properties.map((property) => [property, held[index]?.has(property) === true] as const)
    noteReadable(object, Object.fromEntries(answers), context)
  }
}

/** For whom it is asked. */
interface Asking {
  readonly context: SerializerContext
  /** The rows may have changed since it was asked. @default false */
  readonly again?: boolean
}

interface Question {
  readonly objects: readonly object[]
  readonly properties: readonly string[]
  readonly use: FieldUse
  readonly context: SerializerContext
}

/** Names of no table of the application's. */
const KEYS = 'koa_viewsets_keys'

/** The fields that the caller may read, or set, of each object, as its row is stored: by one statement. */
export async function whichHold(
  model: ModelClass,
  { objects, properties, use, context }: Question,
): Promise<readonly ReadonlySet<string>[]> {
  const visible = visibleRowsIn(context)
  const description = describeModel(model)
  const knex = (context.knex ?? model.knex()) as Queryable
  const conditions = properties.map((property) => visible?.ofField(model, property, use))
  const key = keyColumns(description)
  if (objects.length === 0 || properties.length === 0 || key.length === 0) return objects.map(() => new Set<string>())
  const rows = keyRows({
    columns: key,
    values: objects.map((object) => valuesOf(object, description.primaryKey, key)),
    table: KEYS,
    names: key.map(({ column }) => column),
  })
  const table = model.tableName
  const same = key.map(() => '?? = ??').join(' and ')
  const names = key.flatMap(({ column }) => [`${table}.${column}`, `${KEYS}.${column}`])
  const asked = conditions.map((condition) => {
    if (!condition) return { sql: 'true', bindings: [] }
    const { sql, bindings } = condition.where(table)
    return { sql: `exists (select 1 from ?? where ${same} and (${sql}))`, bindings: [table, ...names, ...bindings] }
  })
  const { text, values } = nativeSql(
    knex.raw(`select ${asked.map(({ sql }) => sql).join(', ')} from ${rows.sql} order by ??`, [
      ...asked.flatMap(({ bindings }) => bindings),
      ...rows.bindings,
      PLACE,
    ] as never),
  )
  const found = await runStatement(knex, { text, name: undefined }, values)
  return found.map((row) => new Set(properties.filter((_, index) => row[index] === 't')))
}
