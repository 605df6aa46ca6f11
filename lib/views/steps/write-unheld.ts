/** Changes or deletes an object by one statement that finds it, where nothing looks at what is stored before. */

import { PathStart } from '../../filters/field-path.js'
import { ValidationError } from '../../kernel/errors.js'
import { isRecord } from '../../kernel/records.js'
import { sqlStateOf, toApiError } from '../../postgres/database-errors.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { readsRawRows } from '../../postgres/run-statement.js'
import { conditionKey, type KeyedCondition, readsOwnRow } from '../../queryset/condition-key.js'
import { deleteNamed, type NamedRow } from '../../queryset/one-row.js'
import { askedOf } from '../../queryset/row-answers.js'
import type { RowWrite } from '../../queryset/visible-rows.js'
import type { JsonText } from '../../renderers/json-renderers.js'
import { isWrapped } from '../../rows/row-sql.js'
import { unseenFields, updateRow } from '../../rows/row-update.js'
import type { SerializerClass } from '../../serializers/contract.js'
import type { Serializer, ValidityOptions } from '../../serializers/serializer.js'
import { inOwnTerms } from '../../serializers/write-own-rows.js'
import type { GenericView } from '../generic-view.js'
import type { RowAnswer } from '../overrides.js'
import { conditionOf } from './hold-rows.js'
import { plainRow } from './plain-row.js'
import { keyOnPath } from './read-object.js'
import { checkAnswer, rowAccess } from './selection.js'
import { askedOfWrite, refusalOf } from './write-guard.js'

/** Foreign keys are left to the database. */
const TRUSTING = { trustKeys: true }
/** They are looked up as the caller. */
const LOOKING = { trustKeys: false }
const INSUFFICIENT_PRIVILEGE = '42501'
/** The class of SQLSTATEs of constraints. */
const CONSTRAINT = '23'

/** An object that was changed. */
interface Updated {
  /** Its written form; undefined where the caller may not read it. */
  readonly text: JsonText | undefined
}

/**
 * Changes the object on the path by what the body says of it. @returns undefined where the row must be held first: what the
 * body says depends on it or is refused, a condition is to hold, or there is no such row @throws PermissionDenied
 */
export async function updateUnheld(view: GenericView, partial: boolean): Promise<Updated | undefined> {
  if (!isUnconditional(view)) return undefined
  const { data, textual, patch } = view.body
  if (patch !== undefined || textual || !isRecord(data)) return undefined
  checkAnswer(view)
  const access = rowAccess(view, view.plan.action as RowAnswer)
  const { limitsRows } = view.plan
  if (!access || access.plan.updateObstacle !== undefined || (limitsRows && isWrapped(access.plan))) return undefined
  const serializer = view.getInputSerializer({ partial })
  if (!isUnseen(serializer, data) || !(await isSound(serializer, limitsRows ? LOOKING : TRUSTING))) return undefined
  const validated = serializer.validatedData as Readonly<Record<string, unknown>>
  const values = isAsGiven(serializer, data, validated) ? plainRow(serializer, validated) : undefined
  const row = values && values.size > 0 ? namedRow(view) : undefined
  const asked = askedOfWrite(view, 'update')
  if (!(values && row) || Object.values(asked.isLeft).includes(true)) return undefined
  try {
    const updated = await updateRow(access, { ...row, values, asked })
    return updated && { text: updated.answers.includes('false') ? undefined : updated.text }
  } catch (error) {
    if (isOfHolding(error)) return undefined
    const refusal = refusalOf(error)
    throw refusal === error ? inOwnTerms(serializer, validated, error) : refusal
  }
}

/** Deletes the object on the path. @returns false where its row must be held first, or is not there */
export async function deleteUnheld(view: GenericView): Promise<boolean> {
  if (!isUnconditional(view)) return false
  const row = namedRow(view)
  if (!row) return false
  try {
    return await deleteNamed(view.plan.resource.model.model, row, view.knex as Queryable)
  } catch (error) {
    if (isOfHolding(error)) return false
    throw error
  }
}

/** True for an error that may be about the key on the path, or about a right that who holds the row first needs as well. */
function isOfHolding(error: unknown): boolean {
  const state = sqlStateOf(error) ?? ''
  if (state === INSUFFICIENT_PRIVILEGE) return true
  return !state.startsWith(CONSTRAINT) && toApiError(error) instanceof ValidationError
}

/** True where only the path says which row is written. */
function isUnconditional({ plan, ctx, trx, knex }: GenericView): boolean {
  const { headers } = ctx
  return (
    plan.unheld.way === 'statement' &&
    headers['if-match'] === undefined &&
    headers['if-none-match'] === undefined &&
    // what fails would end a transaction
    trx === undefined &&
    knex !== undefined &&
    !knex.isTransaction &&
    readsRawRows(knex)
  )
}

/**
 * The row that the path names, of those that the caller may see and write; undefined where what says so reads more than the
 * row: while a statement waits for it, others may change that. @throws NotFound no row can have the key
 */
function namedRow(view: GenericView): NamedRow | undefined {
  const values = keyOnPath(view)
  const where = writableRows(view)
  const { columns } = view.plan.resource.lookup
  return where && { named: new Map(columns.map(({ column }, index) => [column, values[index]])), where }
}

/** What holds of the rows that the caller may write; undefined where it reads more than the row. */
export function writableRows(view: GenericView): readonly KeyedCondition[] | undefined {
  const { model } = view.plan.resource
  const { visibleRows } = view
  const { does, holding } = view.plan.writing
  const isWhole = holding.way === 'statement'
  // an own queryset has what may be read in it
  const ruled = (isWhole ? (['read', does] as const) : [does]).flatMap(
    (write) => visibleRows?.written(model.model, write as RowWrite) ?? [],
  )
  const asked = askedOf(model, ruled, false)
  const own = isWhole ? liveRows(view) : conditionOf(view)
  if (own === undefined || asked.length < new Set(ruled).size) return undefined
  return own === null ? asked : [own, ...asked]
}

/** What holds of rows that are not deleted; null for all rows. */
function liveRows(view: GenericView): KeyedCondition | null | undefined {
  const scope = view.deletedScope?.(new PathStart(view.plan.resource.model.model.tableName))
  if (!scope) return null
  const key = readsOwnRow(scope) ? conditionKey([scope]) : undefined
  return key && { ...scope, key }
}

/** True where none of the fields that the body names is about what is stored. */
function isUnseen(serializer: Serializer, data: Readonly<Record<string, unknown>>): boolean {
  const { writable } = serializer.plan
  const unseen = unseenFields(serializer.constructor as SerializerClass)
  return writable.every(({ name, input }) => input === 'nothing' || unseen.has(name) || !Object.hasOwn(data, name))
}

/** False for a body that is refused: whether there is such an object is told first, and what it shows is never refused. */
async function isSound(serializer: Serializer, options: ValidityOptions): Promise<boolean> {
  try {
    const waiting = serializer.requireValid(options)
    if (waiting) await waiting
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
