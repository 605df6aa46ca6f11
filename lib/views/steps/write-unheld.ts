/** Changes or deletes an object by one statement that finds it, where nothing looks at what is stored before. */

import { ValidationError } from '../../kernel/errors.js'
import { isRecord } from '../../kernel/records.js'
import { sqlStateOf, toApiError } from '../../postgres/database-errors.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { readsRawRows, runStatement } from '../../postgres/run-statement.js'
import { deletion } from '../../queryset/one-row.js'
import type { JsonText } from '../../renderers/json-renderers.js'
import { unseenFields, updateRow } from '../../rows/row-update.js'
import type { SerializerClass } from '../../serializers/contract.js'
import type { Serializer } from '../../serializers/serializer.js'
import { inOwnTerms } from '../../serializers/write-own-rows.js'
import type { GenericView } from '../generic-view.js'
import type { RowAnswer } from '../overrides.js'
import { plainRow } from './plain-row.js'
import { keyOnPath } from './read-object.js'
import { checkAnswer, rowAccess } from './selection.js'

/** Foreign keys are left to the database. */
const TRUSTING = { trustKeys: true }
const INSUFFICIENT_PRIVILEGE = '42501'
/** The class of SQLSTATEs of constraints. */
const CONSTRAINT = '23'

/**
 * Changes the object on the path by what the body says of it. @returns its written form; undefined where the row must be
 * held first: what the body says depends on it or is refused, a condition is to hold, or there is no such row
 */
export async function updateUnheld(view: GenericView, partial: boolean): Promise<JsonText | undefined> {
  if (!isUnconditional(view)) return undefined
  const { data, textual, patch } = view.body
  if (patch !== undefined || textual || !isRecord(data)) return undefined
  checkAnswer(view)
  const access = rowAccess(view, view.plan.action as RowAnswer)
  if (!access || access.plan.updateObstacle !== undefined) return undefined
  const serializer = view.getInputSerializer({ partial })
  if (!isUnseen(serializer, data) || !(await isSound(serializer))) return undefined
  const validated = serializer.validatedData as Readonly<Record<string, unknown>>
  const values = isAsGiven(serializer, data, validated) ? plainRow(serializer, validated) : undefined
  if (!values || values.size === 0) return undefined
  try {
    return await updateRow(access, { values, named: namedRow(view) })
  } catch (error) {
    if (isOfHolding(error)) return undefined
    throw inOwnTerms(serializer, validated, error)
  }
}

/** Deletes the object on the path. @returns false where its row must be held first, or is not there */
export async function deleteUnheld(view: GenericView): Promise<boolean> {
  if (!isUnconditional(view)) return false
  const named = namedRow(view)
  const knex = view.knex as Queryable
  const statement = deletion(view.plan.resource.model.model, [...named.keys()], knex)
  try {
    return (await runStatement(knex, statement, [...named.values()])).length > 0
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

/** The columns that the path names a row by, with its values. @throws NotFound no row can have them */
function namedRow(view: GenericView): ReadonlyMap<string, unknown> {
  const values = keyOnPath(view)
  return new Map(view.plan.resource.lookup.columns.map(({ column }, index) => [column, values[index]]))
}

/** True where none of the fields that the body names is about what is stored. */
function isUnseen(serializer: Serializer, data: Readonly<Record<string, unknown>>): boolean {
  const { writable } = serializer.plan
  const unseen = unseenFields(serializer.constructor as SerializerClass)
  return writable.every(({ name, input }) => input === 'nothing' || unseen.has(name) || !Object.hasOwn(data, name))
}

/** False for a body that is refused: whether there is such an object is told first, and what it shows is never refused. */
async function isSound(serializer: Serializer): Promise<boolean> {
  try {
    const waiting = serializer.requireValid(TRUSTING)
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
