/** Changes or deletes an object by one statement that finds it, where nothing looks at what is stored before. */

import { PathStart } from '../../filters/field-path.js'
import { every } from '../../filters/filter.js'
import { ValidationError } from '../../kernel/errors.js'
import { isRecord } from '../../kernel/records.js'
import type { Column, ModelDescription } from '../../models/model-description.js'
import { INSUFFICIENT_PRIVILEGE, sqlStateOf, toApiError } from '../../postgres/database-errors.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { readsRawRows } from '../../postgres/run-statement.js'
import { conditionKey, type KeyedCondition, readsOwnRow } from '../../queryset/condition-key.js'
import { askedOf } from '../../queryset/row-answers.js'
import type { RowWrite } from '../../queryset/visible-rows.js'
import type { JsonText } from '../../renderers/json-renderers.js'
import { deleteRow } from '../../rows/row-delete.js'
import { unseenFields, updateRow } from '../../rows/row-update.js'
import type { BoundField, ForcedValues, SerializerClass, SerializerPlan } from '../../serializers/contract.js'
import { serializerPlan } from '../../serializers/plan.js'
import type { Serializer } from '../../serializers/serializer.js'
import { inOwnTerms } from '../../serializers/write-own-rows.js'
import { type GenericView, serializerOf } from '../generic-view.js'
import { inputClassOf } from '../input-class.js'
import type { RowAnswer } from '../overrides.js'
import { recordedBeside } from '../request/log-writes.js'
import { forcedOnPath } from '../request/parents.js'
import { conditionOf } from './hold-rows.js'
import { openRows } from './open-rows.js'
import { plainRow } from './plain-row.js'
import { keyOnPath } from './read-object.js'
import { isUnread, refusalOf, writeConditions } from './write-conditions.js'

/** The class of SQLSTATEs of constraints. */
const CONSTRAINT = '23'
const FEATURE_NOT_SUPPORTED = '0A000'
const UNDEFINED_COLUMN = '42703'

/** An object that was changed. */
interface Updated {
  /** Its written form; undefined where the caller may not read it. */
  readonly text: JsonText | undefined
}

/**
 * Changes the object on the path by what the body says of it. @returns undefined where the row must be held first: what the
 * body says depends on it or is refused, a condition is to hold, or there is no such row
 */
export async function updateByStatement(view: GenericView, partial: boolean): Promise<Updated | undefined> {
  if (!isUnconditional(view)) return undefined
  const { data, textual, patch } = view.body
  if (patch !== undefined || textual || !isRecord(data) || !isUnseen(inputClassOf(view), data, view.plan.limitsRows))
    return undefined
  const access = openRows(view, view.plan.action as RowAnswer)
  if (!access || access.obstacleTo('update') !== undefined) return undefined
  const rows = writableRows(view)
  if (!rows) return undefined
  const { where, forced, condition } = rows
  const serializer = serializerOf(view, 'getInputSerializer', { partial, forced })
  if (!(await isSound(serializer))) return undefined
  const validated = serializer.validatedData as Readonly<Record<string, unknown>>
  const values = isAsGiven(serializer, data, validated) ? changesOf(serializer, validated, forced) : undefined
  const asked = writeConditions(view, 'update', condition)
  if (!values || values.size === 0 || Object.values(asked.isLeft).includes(true)) return undefined
  if (view.plan.recordsChanges && (!asked.beside || changesKey(view, values))) return undefined
  const named = keyOf(view)
  try {
    const updated = await updateRow(access, { named, where, values, asked })
    return updated && { text: isUnread(asked, updated.answers) ? undefined : updated.text }
  } catch (error) {
    // whoever holds the row may refuse something else first, or find that nothing changes
    if (isOfHolding(error) || isOfConstraint(error) || refusalOf(error) !== error) return undefined
    throw inOwnTerms(serializer, validated, error)
  }
}

/** Deletes the object on the path. @returns false where its row must be held first, or is not there */
export async function deleteByStatement(view: GenericView): Promise<boolean> {
  if (!isUnconditional(view)) return false
  const rows = writableRows(view)
  if (!rows) return false
  const named = keyOf(view)
  const beside = recordedBeside(view, 'delete')
  if (view.plan.recordsChanges && !beside) return false
  const { model } = view.plan.resource.model
  try {
    return await deleteRow(model, { named, where: rows.where, beside }, view.knex as Queryable)
  } catch (error) {
    if (isOfHolding(error)) return false
    throw error
  }
}

/**
 * True for an error that may be about the key on the path, about a right that who holds the row first needs as well, or about
 * what the table has become since prepare(): a view, or one with rules.
 */
function isOfHolding(error: unknown): boolean {
  const state = sqlStateOf(error)
  const told = toApiError(error)
  if (state === INSUFFICIENT_PRIVILEGE || state === FEATURE_NOT_SUPPORTED) return true
  // a view has no `ctid`; of a column of the model that is gone the error is told
  if (state === UNDEFINED_COLUMN) return told === null
  return !isOfConstraint(error) && told instanceof ValidationError
}

function isOfConstraint(error: unknown): boolean {
  return sqlStateOf(error)?.startsWith(CONSTRAINT) === true
}

/** True for values by which the object is another one. */
function changesKey({ plan }: GenericView, values: ReadonlyMap<string, unknown>): boolean {
  const { primaryKey, columns } = plan.resource.model
  return primaryKey.some((property) => values.has((columns.get(property) as Column).column))
}

/** What changes, by column name: a row has what the path decides. */
function changesOf(
  serializer: Serializer,
  validated: Readonly<Record<string, unknown>>,
  forced: ForcedValues | undefined,
): ReadonlyMap<string, unknown> | undefined {
  const row = plainRow(serializer, validated)
  if (!row || !forced) return row
  const { columns } = serializer.plan.model as ModelDescription
  const decided = new Set([...forced.keys()].map((property) => columns.get(property)?.column))
  return new Map([...row].filter(([column]) => !decided.has(column)))
}

/** True where only the path says which row is written. */
function isUnconditional({ plan, ctx, trx, knex }: GenericView): boolean {
  const { headers } = ctx
  return (
    plan.writing.way === 'statement' &&
    headers['if-match'] === undefined &&
    headers['if-none-match'] === undefined &&
    // what fails would end a transaction
    trx === undefined &&
    knex !== undefined &&
    !knex.isTransaction &&
    readsRawRows(knex)
  )
}

/** The columns that the path names a row by, with its values. @throws NotFound no row can have them */
function keyOf(view: GenericView): ReadonlyMap<string, unknown> {
  const values = keyOnPath(view)
  return new Map(view.plan.resource.lookup.columns.map(({ column }, index) => [column, values[index]]))
}

/** The rows that the caller may write. */
export interface WritableRows {
  readonly where: readonly KeyedCondition[]
  /** That of the view's own queryset, which is one of these. */
  readonly condition: KeyedCondition | undefined
  /** The foreign key that the path decides. */
  readonly forced: ForcedValues | undefined
}

/**
 * The rows that the caller may write, by what holds of columns of theirs; undefined where more is looked at: while a statement
 * waits for its row, others may change that.
 */
export function writableRows(view: GenericView): WritableRows | undefined {
  const { plan, visibleRows } = view
  const isNested = plan.parents.length > 0
  const forced = isNested ? forcedOnPath(view) : undefined
  if (isNested && !forced) return undefined
  const { model } = plan.resource
  const { does, holding } = plan.writing
  const isWhole = holding.way === 'statement'
  // an own queryset has what may be read in it
  const ruled = (isWhole ? (['read', does] as const) : [does]).flatMap(
    (write) => visibleRows?.allowed(model.model, write as RowWrite) ?? [],
  )
  const asked = askedOf(model, ruled, false)
  const condition = isWhole ? undefined : conditionOf(view)
  const own = isWhole ? keyedScope(view) : condition
  if (own === undefined || asked.length < new Set(ruled).size) return undefined
  return { where: own === null ? asked : [own, ...asked], forced, condition }
}

/** That rows are not deleted, and belong to the object before them on the path; null for all rows. */
function keyedScope(view: GenericView): KeyedCondition | null | undefined {
  const start = new PathStart(view.plan.resource.model.model.tableName)
  const conditions = [view.deletedScope, view.parentScope()].flatMap((scope) => scope?.(start) ?? [])
  if (conditions.length === 0) return null
  const scope = every(conditions)
  const key = readsOwnRow(scope) ? conditionKey([scope]) : undefined
  return key && { key, ...scope }
}

/**
 * True where none of the fields that the body names is about what is stored.
 * @param looksUp keys are looked up as the caller: while a statement waits for its row, others may change what they lead to
 */
function isUnseen(serializer: SerializerClass, data: Readonly<Record<string, unknown>>, looksUp: boolean): boolean {
  const plan = serializerPlan(serializer)
  const unseen = unseenFields(serializer)
  const isOne = (bound: BoundField) => unseen.has(bound.name) && !(looksUp && isKey(plan, bound))
  return plan.writable.every((one) => one.input === 'nothing' || !Object.hasOwn(data, one.name) || isOne(one))
}

/** True for a field of a foreign key, whether or not it finds the object itself. */
function isKey({ references }: SerializerPlan, bound: BoundField): boolean {
  return bound.input === 'keys' || references.some(({ parts }) => parts.some(({ fields }) => fields.includes(bound)))
}

/** False for a body that is refused: whether there is such an object is told first, and what it shows is never refused. */
async function isSound(serializer: Serializer): Promise<boolean> {
  try {
    // foreign keys are left to the database
    await serializer.isValid({ raiseException: true, trustKeys: true })
    return true
  } catch (error) {
    if (error instanceof ValidationError) return false
    throw error
  }
}

/** True where fields keep what they are given: another spelling of what is stored would be written. */
function isAsGiven(
  serializer: Serializer,
  data: Readonly<Record<string, unknown>>,
  validated: Readonly<Record<string, unknown>>,
): boolean {
  for (const [name, { readable }] of unseenFields(serializer.constructor as SerializerClass)) {
    if (!readable || !Object.hasOwn(data, name)) continue
    const given = data[name]
    if (given === null) continue
    // texts and numbers that stand for each other are shown in one way
    if (typeof given === 'object' || `${given as string}` !== `${validated[name] as string}`) return false
  }
  return true
}
