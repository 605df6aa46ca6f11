/** Reads changes of all objects as they are committed: none is missed, and none waits for a transaction that is still running. */

import type { Knex } from 'knex'
import { ConfigurationError } from '../kernel/errors.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { parseJson } from '../kernel/parse-json.js'
import { BEGINNING, type ChangePosition, positionText, readPosition } from './position.js'
import { currentPosition, type RecordedChange, selectNew } from './select-changes.js'

/** A change of an object, as it was recorded. */
export interface ReadChange {
  /** Grows with each change; of one object it is the order of its changes. */
  readonly id: string
  /** The table of the object's model. */
  readonly model: string
  /** The object's key as clients see it. */
  readonly key: string
  /** `create`, `update`, `delete`, `restore`, `purge`, or a word of the application's. */
  readonly action: string
  /** When its transaction began: ISO 8601, in UTC with microseconds. */
  readonly madeAt: string
  /** The `id` of the user; null for anybody else. */
  readonly caller: string | null
  /** `X-Request-Id`, where it is a UUID. */
  readonly requestId: string | null
  /** What is shown of the object before; null where it was not there. */
  readonly before: Readonly<Record<string, unknown>> | null
  /** What is shown of it after; null where it is not there any more. */
  readonly after: Readonly<Record<string, unknown>> | null
}

/** Which changes to read. */
export interface ReadChangesOptions {
  /** What an earlier call has returned; `now` for what is committed from now on. @default all that are kept */
  readonly position?: string | undefined
  /** The most changes of one call. @default 100 */
  readonly limit?: number
}

/** Some changes, and where to go on. */
export interface ChangesPage {
  /** Those of one object are in their order; of objects that have nothing to do with each other, the order says nothing. */
  readonly changes: readonly ReadChange[]
  /** For the next call, once these are dealt with: keep it with what is made of them. */
  readonly position: string
}

/**
 * The changes that were committed since a position. Each change comes once, whatever is running at the moment: one whose
 * transaction commits later comes later, and no other waits for it. A worker that stores `position` in the transaction in which
 * it deals with the changes does so exactly once.
 * @param knex the database that the changes are in: a pool, or a transaction
 * @throws {ConfigurationError} an option is wrong, or there is no table (`ensureChangesTable()`)
 * @see docs/reference/changes.md
 * @example
 * let position = await load()
 * for (;;) {
 *   const page = await readChanges(knex, { position })
 *   for (const change of page.changes) await publish(change)
 *   await store((position = page.position))
 *   if (page.changes.length === 0) await sleep(1_000)
 * }
 */
export async function readChanges(knex: Knex, options: ReadChangesOptions = {}): Promise<ChangesPage> {
  checkKinds('readChanges()', options, { kinds: { position: 'text', limit: 'size' } })
  const { position, limit = 100 } = options
  if (position === 'now') return { changes: [], position: positionText(await currentPosition(knex)) }
  const from = position === undefined ? BEGINNING : parsed(position)
  const rest = await selectNew(knex, from, limit)
  // that nothing is left of what a full page has seen does not say that nothing is new
  const isLeft = from.next === undefined || rest.changes.length > 0
  const page = isLeft ? rest : await selectNew(knex, rest.position, limit)
  return { changes: page.changes.map(readChange), position: positionText(page.position) }
}

function readChange({ before, after, ...change }: RecordedChange): ReadChange {
  const image = (text: string | null) => (text === null ? null : (parseJson(text) as ReadChange['before']))
  const { id, model, key, action, madeAt, caller, requestId } = change
  return { id, model, key, action, madeAt, caller, requestId, before: image(before), after: image(after) }
}

/** @throws {ConfigurationError} */
function parsed(text: string): ChangePosition {
  const position = readPosition(text)
  if (!position) {
    throw new ConfigurationError(
      `readChanges(): position is ${JSON.stringify(text)}; give one that a call has returned, 'now', or none`,
    )
  }
  return position
}
