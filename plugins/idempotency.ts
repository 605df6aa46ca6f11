/** Does a write of a hand-written route once for each `Idempotency-Key`. */
import type { Knex } from 'knex'
import { answerError, runStep } from '../lib/http/answer-error.js'
import type { Context, Middleware } from '../lib/http/context.js'
import type { DatabaseOptions } from '../lib/http/database-role.js'
import { RouteDatabase } from '../lib/http/route-transaction.js'
import { answerOnce, KeyRefused, onceRequest } from '../lib/idempotency/answer-once.js'
import { type CallersKey, callersKey, type IdempotencyScope, idempotencyRule } from '../lib/idempotency/rule.js'
import { ALL_METHODS } from '../lib/kernel/methods.js'
import { checkKinds } from '../lib/kernel/option-kinds.js'
import { mapFiles, sentFiles } from '../lib/parsers/left-files.js'
import { isBodyRead, leftBody } from '../lib/parsers/parser.js'
import { JsonPatchParser, MergePatchParser } from '../lib/patches/patch-parsers.js'
import { readRequest, settleNegotiation } from '../lib/views/request/negotiate.js'

/** Options of `idempotency()`. */
export interface IdempotencyOptions extends DatabaseOptions {
  /** Refuse POST and PATCH without a key with 400. @default false */
  readonly required?: boolean
  /** What tells callers apart: a text for each, null for nobody. @default the `id` of `ctx.state.user` */
  readonly scope?: IdempotencyScope
}

const PATCHES = [JsonPatchParser, MergePatchParser].flatMap((parser) => new parser().mediaTypes)

/** Bodies that nobody has read yet. */
const READING = settleNegotiation({
  methods: ALL_METHODS.filter(({ does }) => does !== 'read').map(({ name }) => name),
})

/**
 * Runs what comes after it in a transaction, as `transaction()` does, and once for each `Idempotency-Key` of a caller: who
 * sends it again gets the answer of the first time, with `Idempotency-Replayed: true`. It stands behind `authentication()`,
 * permissions and throttles, which are asked each time, and behind what reads the body; a body that nobody has read is read
 * as `contentNegotiation()` does. The table is made by `ensureIdempotencyTable()`; docs/reference/idempotency.md has the rest.
 *
 * Answers 400 for a key that is missing or malformed, 401 for a caller that nobody knows, 409 while the same request is being
 * processed, 422 for a key that was used for another request.
 * @param knex the database that the route writes to, by `ctx.state.trx`
 * @throws {ConfigurationError} it is no knex, or an option is wrong
 * @example router.post('/payments', authentication(TokenAuth), permissions(IsAuthenticated), idempotency(knex, { required: true }), handler)
 */
export function idempotency(knex: Knex, options: IdempotencyOptions = {}): Middleware {
  checkKinds('idempotency()', options, {
    kinds: { required: 'boolean', scope: 'any', databaseRole: 'any', databaseSettings: 'any' },
  })
  const { required = false, scope = null } = options
  const database = new RouteDatabase('idempotency()', knex, options)
  const rule = idempotencyRule('idempotency()', required ? 'required' : true, scope)
  return async function answerOncePerKey(ctx, next) {
    let key: CallersKey | undefined
    const hasPassed = await runStep(ctx, async () => {
      key = rule && (await callersKey(ctx, rule))
      // also without a key: what reads the body behind it would else fail only with one
      if (!isBodyRead(ctx)) await readRequest(ctx, READING)
    })
    if (!hasPassed) return
    try {
      const own = await database.open(ctx)
      if (!key) return await database.inTransaction(ctx, own, next)
      const once = await onceRequest(ctx, key, own, bodyOf(ctx))
      await database.inTransaction(ctx, once.knex, (trx) => answerOnce(trx, once, next))
    } catch (error) {
      if (!(error instanceof KeyRefused)) throw database.toError(ctx, error)
      answerError(ctx, error)
    }
  }
}

function bodyOf(ctx: Context): unknown {
  const { files } = ctx.request as { readonly files?: unknown }
  const body = leftBody(ctx) ?? null
  // what is the same text may be another patch
  const patch = ctx.is(PATCHES)
  return [patch ? [patch, body] : body, sentFiles(ctx) ?? mapFiles(files)]
}
