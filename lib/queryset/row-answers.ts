/** Cached answers of statements about rows that they held or wrote: which conditions hold of a row, which do not, and what columns hold. */

import type { Column, ModelDescription } from '../models/model-description.js'
import type { ModelClass } from '../models/objection.js'
import type { RawRow } from '../postgres/run-statement.js'
import { type ConditionKey, conditionKey, type KeyedCondition, readsOwnRow } from './condition-key.js'
import type { SqlPart } from './sql-part.js'
import type { RowCondition } from './visible-rows.js'

const answers = new WeakMap<object, Map<RowCondition, boolean>>()

/** True where the condition holds of the row; undefined where nobody has asked since the row was written. */
export function answerOf(row: object, condition: RowCondition): boolean | undefined {
  return answers.get(row)?.get(condition)
}

export function noteAnswer(row: object, condition: RowCondition, holds: boolean): void {
  const known = answers.get(row)
  if (known) known.set(condition, holds)
  else answers.set(row, new Map([[condition, holds]]))
}

/** Of rows in which code of the application, triggers, or what is related may have had a hand nothing is known any more. */
export function forgetAnswers(rows: readonly object[]): void {
  for (const row of rows) {
    answers.delete(row)
    told.delete(row)
  }
}

/** Conditions for the statement that changes a row to evaluate besides. */
export interface ToTell {
  /** Columns, as strings. */
  readonly terms: readonly Column[]
  /** Condition to evaluate. */
  readonly condition: KeyedCondition | undefined
}

/** Results of the conditions that the statement evaluated. */
interface Told {
  /** The strings of the columns. */
  readonly texts: RawRow
  /** The condition holds; undefined where none was asked. */
  readonly holds: boolean | undefined
}

const NOTHING: ToTell = { terms: [], condition: undefined }
const toTell = new WeakMap<object, ToTell>()
const told = new WeakMap<object, Told>()

/** Notes what whoever changes the row of a held object asks of it. */
export function askOnChange(object: object, asked: ToTell): void {
  if (asked.terms.length > 0 || asked.condition) toTell.set(object, asked)
}

export function askedOnChange(object: object): ToTell {
  return toTell.get(object) ?? NOTHING
}

export function noteTold(row: object, what: Told): void {
  told.set(row, what)
}

/** Undefined where nothing was asked, or where something else may have had a hand in the row since. */
export function toldOf(row: object): Told | undefined {
  return told.get(row)
}

/** A condition as a column of a statement that holds or writes the row. */
export interface ConditionColumn extends SqlPart {
  readonly condition: RowCondition
  readonly key: ConditionKey
  /** It is about columns of the row and nothing else. */
  readonly isOwn: boolean
}

/**
 * The conditions that a statement can say of the row which it holds or writes: it sees all tables as they were before it,
 * or before it has waited for the row.
 * @param readsOthers no other table that a condition reads can have changed meanwhile
 */
export function askedOf(
  { model }: Pick<ModelDescription, 'model'>,
  conditions: readonly (RowCondition | undefined)[],
  readsOthers: boolean,
): readonly ConditionColumn[] {
  const asked: ConditionColumn[] = []
  for (const [index, condition] of conditions.entries()) {
    const one = condition && conditions.indexOf(condition) === index && askedOn(model, condition)
    if (one && (readsOthers || one.isOwn)) asked.push(one)
  }
  return asked
}

/** Conditions are on the rows of one model each. */
const made = new WeakMap<RowCondition, ConditionColumn | null>()

/** Null for a condition on other rows of the same table. */
function askedOn({ tableName }: ModelClass, condition: RowCondition): ConditionColumn | null {
  let asked = made.get(condition)
  if (asked === undefined) {
    const part = condition.where(tableName)
    const key = part.bindings.includes(tableName) ? undefined : conditionKey([part])
    asked = key ? { sql: part.sql, bindings: part.bindings, condition, key, isOwn: readsOwnRow(part) } : null
    made.set(condition, asked)
  }
  return asked
}

/** The answer as text, since the application may read booleans in its own way. */
export function answerSql({ sql, bindings }: SqlPart): SqlPart {
  return { sql: `((${sql}) is true)::text`, bindings }
}
