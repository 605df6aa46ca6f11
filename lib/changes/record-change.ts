/** Records a change that code of the application makes by its own SQL. */

import type { Context } from '../http/context.js'
import { ConfigurationError } from '../kernel/errors.js'
import { writeJson } from '../kernel/json-numerals.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { quote } from '../kernel/quote.js'
import { isRecord } from '../kernel/records.js'
import type { Queryable } from '../postgres/pg-types.js'
import { insertChanges } from './insert-changes.js'
import { originOf } from './recording.js'

/** A change that the application makes itself. */
export interface OwnChange {
  /** The table of the object's model. */
  readonly model: string
  /** The object's key as clients see it; of several columns as paths have it. */
  readonly key: string | number | bigint
  /** `create`, `update`, `delete`, or a word of its own, without `.` and `*`: webhooks call it `book.discount`. */
  readonly action: string
  /** What is shown of the object before. @default null: it was not there */
  readonly before?: object | null
  /** What is shown of it now. @default null: it is not there any more */
  readonly after?: object | null
  /**
   * The row before, by its columns, as far as they decide who sees it: so those hear of the change who saw the object before
   * it (`GET /…/changes`, webhooks). @default null: only those hear of it who see the object now
   */
  readonly was?: object | null
  /** The request that makes it, for the caller and the request's id. @default none */
  readonly ctx?: Context
}

const KINDS = {
  model: 'name',
  key: 'any',
  action: 'name',
  before: 'any',
  after: 'any',
  was: 'any',
  ctx: 'any',
} as const
const KEYS: ReadonlySet<string> = new Set(['string', 'number', 'bigint'])

/** Nobody would ever hear of what is wrong. @throws {ConfigurationError} */
function checkChange(change: OwnChange): void {
  const where = 'recordChange()'
  checkKinds(where, change, { kinds: KINDS })
  const { model, action, key }: Partial<OwnChange> = change
  // what is left out is no name either
  checkKinds(where, { model: model ?? null, action: action ?? null }, { kinds: KINDS })
  if (/[.*]/.test(String(action))) {
    throw new ConfigurationError(
      `${where}: action is ${quote(action)}; give a word without "." and "*", which names of webhooks have`,
    )
  }
  if (!KEYS.has(typeof key) || key === '') {
    throw new ConfigurationError(
      `${where}: key is ${quote(key)}; give the object's key as clients see it, a text or a number`,
    )
  }
  for (const name of ['before', 'after', 'was'] as const) {
    const image: unknown = change[name] ?? {}
    if (!isRecord(image)) throw new ConfigurationError(`${where}: ${name} is ${quote(image)}; give an object, or null`)
  }
}

/**
 * Records a change, in the transaction that makes it: what rolls back has no record.
 * @param trx a transaction of knex, such as `this.trx`
 * @throws {ConfigurationError} it is no transaction, an option is wrong, or there is no table (`ensureChangesTable()`)
 * @example await recordChange(trx, { model: 'books', key: 7, action: 'update', before: { price: '9.00' }, after: { price: '8.00' } })
 */
export async function recordChange(trx: Queryable, change: OwnChange): Promise<void> {
  checkChange(change)
  const { model, key, action, before = null, after = null, was = null, ctx } = change
  if (!trx.isTransaction)
    throw new ConfigurationError('recordChange() needs the transaction of the change; give a knex transaction')
  const origin = ctx ? originOf(ctx) : { caller: null, requestId: null }
  const [b, a, w] = [before, after, was].map((image) => image && (writeJson(image) as string))
  const images = { before: b ?? null, after: a ?? null, was: w ?? null }
  await insertChanges(trx, origin, [{ model, key: String(key), action, ...images }])
}
