/** Changes a row by a kept statement that returns it in its written form, where nothing looks at what it was. */

import { CurrentUserDefault } from '../fields/own-value-fields.js'
import { reasonOf } from '../kernel/reasons.js'
import { describeModel, oncePerCatalogue } from '../models/describe-model.js'
import type { Column, ModelDescription, RelationDescription } from '../models/model-description.js'
import { traitsOf } from '../models/model-traits.js'
import { modelName } from '../models/objection.js'
import { type RawRow, runStatement } from '../postgres/run-statement.js'
import { type ConditionKey, conditionKey, type KeyedCondition } from '../queryset/condition-key.js'
import { boundOf, type NamedRow, shapeOf } from '../queryset/one-row.js'
import type { SqlPart } from '../queryset/sql-part.js'
import { JsonText } from '../renderers/json-renderers.js'
import type { BoundField, SerializerClass } from '../serializers/contract.js'
import { serializerPlan } from '../serializers/plan.js'
import { cellKind } from './cell-kinds.js'
import { ownCode } from './own-code.js'
import type { RowAccess } from './row-access.js'
import { rowPlan } from './row-plan.js'
import type { RowPlan } from './row-shape.js'
import { writerOf } from './row-writer.js'
import { compileUpdate, type RowConditions } from './write-sql.js'

/**
 * Why what is stored is looked at before it is changed through a serializer, for `explain()`; null where a statement can
 * change it unseen.
 */
export function updateObstacle(serializer: SerializerClass): string | null {
  return reasonOf([ownCode(serializer, 'update'), ...codeAround(serializer)])
}

function* codeAround(serializer: SerializerClass): Generator<string | undefined> {
  const { name } = serializer
  const { model, hasHooks, writable } = serializerPlan(serializer)
  const computed = writable.find(({ field }) => isComputed(field.options.default))
  if (hasHooks) yield `${name} has validators`
  // which is called for an object that is there, and once
  if (computed) yield `${name}.${computed.name}: code of the application computes its default`
  if (!model) return
  const { tableName } = model.model
  if (!traitsOf(model.model).plainInput) yield `${modelName(model.model)} has a schema, or parsing, of its own`
  // a value that was shown is not written again, which they could tell
  if (model.triggers.before.update) yield `a trigger runs before each update of "${tableName}"`
  yield rowPlan(serializer)?.updateObstacle
}

/** True for a default that code of the application makes. */
function isComputed(given: unknown): boolean {
  if (typeof given === 'function') return true
  return typeof given === 'object' && given !== null && 'resolve' in given && given.constructor !== CurrentUserDefault
}

/**
 * The fields whose values an update may write without a look at what is stored: what a client was shown of one, and sends
 * back, is what is stored.
 */
export const unseenFields = oncePerCatalogue((serializer: SerializerClass): ReadonlyMap<string, BoundField> => {
  const { writable, trusted, rivals } = serializerPlan(serializer)
  const rivalling = new Set(rivals.flatMap(({ one, other }) => [one.name, other.name]))
  const isUnseen = (bound: BoundField) => {
    const { name, field, column, readable, input, access, shownKey } = bound
    if (!column || access || shownKey !== undefined || rivalling.has(name)) return false
    if (input !== 'value' && !trusted.has(bound)) return false
    const kind = cellKind(field, column)
    // a class of the application's checks values in its own way, and may look at the object
    return readable ? SHOWN_AS_STORED.has(kind) : kind !== 'value'
  }
  return new Map(writable.filter(isUnseen).map((bound) => [bound.name, bound]))
})

/** Kinds of cells that show all that is stored, and take it back. */
const SHOWN_AS_STORED: ReadonlySet<string> = new Set([
  'text',
  'number',
  'bigint',
  'float',
  'boolean',
  'quoted',
  'time',
  'datetime',
])

/** By column name. */
type UpdateValues = ReadonlyMap<string, unknown>

export interface RowUpdate extends NamedRow {
  readonly values: UpdateValues
  /** Conditions to evaluate on the changed row. */
  readonly asked: RowConditions
}

/** A row that was changed. */
export interface UpdatedRow {
  readonly text: JsonText
  /** What was asked of it. */
  readonly answers: RawRow
}

/**
 * Changes a row. @returns undefined where no row is named by these values; or where others are shown with it, and somebody
 * holds it, or has just changed it, or has just stored one of the others
 */
export async function updateRow(access: RowAccess, update: RowUpdate): Promise<UpdatedRow | undefined> {
  const { plan, knex, model } = access
  const { values, named, asked } = update
  const where = [...update.where, ...leadingTo(plan, model, values)]
  const own = conditionKey(asked.asked) as ConditionKey
  const { beside } = asked
  const shape = `update|${[...values.keys()].join()}|${shapeOf({ named, where })}${own.text}${beside?.shape ?? ''}`
  const compile = () => compileUpdate(knex, { plan, model, values, named, where, asked: asked.asked, beside }).text
  const isVaried = asked.isVaried || where.some((one) => one.isVaried)
  const statement = access.statements.keep(isVaried ? undefined : shape, compile)
  const found = boundOf({ named, where })
  const bound = beside
    ? [...found, ...values.values(), ...found, ...own.values, ...beside.values]
    : [...values.values(), ...found, ...(plan.joins.length > 0 ? found : []), ...own.values]
  const [row] = await runStatement(knex, statement, bound)
  if (!row) return undefined
  const answers = asked.asked.length > 0 ? row.slice(-asked.asked.length) : []
  return { text: new JsonText(writerOf(plan, 0)(row, access)), answers }
}

/** Condition that the rows exist to which new values lead, as the statement sees them: they are shown with it. */
function leadingTo({ joins }: RowPlan, owner: ModelDescription, values: UpdateValues): KeyedCondition[] {
  const conditions: KeyedCondition[] = []
  for (const { parent, relation } of joins) {
    const condition = parent === 0 ? isThere(relation, owner, values) : undefined
    if (condition) conditions.push({ key: conditionKey([condition]) as ConditionKey, ...condition })
  }
  return conditions
}

/** Undefined for a relation that leads where it did, or nowhere. */
function isThere(
  { model, ownerProperties, relatedProperties }: RelationDescription,
  owner: ModelDescription,
  values: UpdateValues,
): SqlPart | undefined {
  const names = ownerProperties.map((property) => columnOf(owner, property))
  if (!names.some((name) => values.has(name)) || names.some((name) => values.get(name) === null)) return undefined
  const related = describeModel(model)
  const pairs = names.map((name, index) => [
    `${model.tableName}.${columnOf(related, relatedProperties[index] as string)}`,
    values.has(name) ? values.get(name) : `${owner.model.tableName}.${name}`,
  ])
  const equal = names.map((name) => (values.has(name) ? '?? = ?' : '?? = ??'))
  return {
    sql: `exists (select from ?? where ${equal.join(' and ')})`,
    bindings: [model.tableName, ...pairs.flat()],
  }
}

function columnOf({ columns }: ModelDescription, property: string): string {
  return (columns.get(property) as Column).column
}
