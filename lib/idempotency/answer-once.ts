/** Does a write once for each key, and gives its answer again (draft-ietf-httpapi-idempotency-key-header-07, section 2.6). */

import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import type { Context } from '../http/context.js'
import { ApiError } from '../kernel/errors.js'
import { frame } from '../kernel/signing.js'
import type { LocalSettings } from '../postgres/local-settings.js'
import { applySettings, scopeOf } from '../postgres/scoped-knex.js'
import { runRaw } from '../postgres/type-parsers.js'
import { fingerprintOf } from './fingerprint.js'
import { bounded, keptAnswer, replay } from './kept-answer.js'
import type { CallersKey } from './rule.js'
import { type IdempotencyTable, idempotencyTable } from './table.js'

/** A request that is done once. */
export interface OnceRequest extends CallersKey {
  readonly ctx: Context
  readonly route: string
  readonly id: Buffer
  readonly fingerprint: Buffer
  readonly table: IdempotencyTable
  /** The pool of its transaction: the application's own, without role and settings. */
  readonly knex: Knex
  /** The role and settings that its statements run with, but for ours. */
  readonly settings: LocalSettings | undefined
}

/**
 * What is known of a request before its transaction begins.
 * @param knex what its statements run on
 * @param body what it brings, parsed
 * @throws {ConfigurationError} there is no table
 */
export async function onceRequest(
  ctx: Context,
  { key, caller, isScoped }: CallersKey,
  knex: Knex,
  body: unknown,
): Promise<OnceRequest> {
  const scope = scopeOf(knex)
  const base = scope?.base ?? knex
  const table = await idempotencyTable(base)
  const matched: unknown = ctx['_matchedRoute']
  const route = `${ctx.method} ${typeof matched === 'string' ? matched : ctx.path}`
  const id = createHash('sha256')
    .update(frame(caller, route, key))
    .digest()
  // a user's id may be one of each tenant, which nobody but these tells apart
  const fingerprint = await fingerprintOf(ctx, body, isScoped ? [] : scope?.settings.values)
  return { ctx, key, caller, isScoped, route, id, fingerprint, table, knex: base, settings: scope?.settings }
}

/**
 * Does the work and keeps its answer, in one transaction; or gives the answer that is kept. Of requests at the same time one
 * does the work, and the others are refused at once: none waits for it. What answers 400 or more is not kept, as its
 * transaction is rolled back.
 * @param perform does the work, and puts the whole answer into the context
 * @returns true where the kept answer was given
 * @throws {KeyRefused} 409 the same is being done, or its answer was not kept; 422 the key was used for something else
 */
export async function answerOnce(
  trx: Knex.Transaction,
  once: OnceRequest,
  perform: () => Promise<unknown>,
): Promise<boolean> {
  const { ctx, table, id, key, caller, route, fingerprint, settings } = once
  const { rows } = await runRaw<Locked>(trx, 'select pg_try_advisory_xact_lock(?::bigint) as locked', [lockOf(id)])
  if (!rows[0].locked) throw new KeyRefused(409, 'A request with this Idempotency-Key is being processed', RETRY)
  // a statement of its own, that sees what was committed before the lock was free
  const kept = await table.find(trx, id)
  if (kept) {
    if (!kept.fingerprint.equals(fingerprint)) {
      throw new KeyRefused(422, 'This Idempotency-Key was used for another request')
    }
    if (!kept.isKept) throw new KeyRefused(409, 'The request was carried out, and its answer was not kept')
    replay(ctx, kept)
    return true
  }
  if (settings) await applySettings(trx, settings)
  await perform()
  if (ctx.status >= 400) return false
  if (settings) await trx.raw(`select pg_catalog.set_config('role', 'none', true)`)
  const answer = await bounded(ctx, keptAnswer(ctx), { table, trx, caller })
  const isKept = await table.keep(trx, { id, key, caller, route, fingerprint, ...answer })
  if (!isKept) throw new KeyRefused(409, 'A request with this Idempotency-Key is being processed', RETRY)
  return false
}

interface Locked {
  readonly rows: readonly [{ readonly locked: boolean }]
}

const RETRY = { 'Retry-After': '1' }

/** PostgreSQL's locks are numbers of 64 bits: where two keys have one, one of two requests at the same time is sent again. */
function lockOf(id: Buffer): string {
  return id.readBigInt64BE().toString()
}

/** A request is refused for its key. */
export class KeyRefused extends ApiError {
  override readonly name: string = 'KeyRefused'

  constructor(status: 409 | 422, detail: string, headers: Record<string, string> = {}) {
    super(status, detail, { headers })
  }
}
