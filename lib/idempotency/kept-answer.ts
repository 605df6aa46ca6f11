/** Stored answers of writes: what is kept, and how it is replayed. */

import type { Context } from '../http/context.js'
import { renderPending } from '../http/response-end.js'
import { firstTime } from '../kernel/once-per.js'
import { isPlain } from '../kernel/records.js'
import { setting } from '../kernel/settings.js'
import type { Queryable } from '../postgres/pg-types.js'
import { type IdempotencyTable, type KeptAnswer, LARGE } from './table.js'

/** Bytes of the largest body that is kept. */
export const DEFAULT_MAX_ANSWER = 1_048_576
/** Bytes of all large bodies that are kept for one caller. */
export const DEFAULT_MAX_CALLER = 33_554_432

/** The headers that belong to what was done; all others belong to the request that is answered, cookies most of all. */
const KEPT_HEADERS = [
  'Content-Type',
  'Content-Language',
  'Content-Disposition',
  'ETag',
  'Location',
  'Preference-Applied',
  'X-Content-Type-Options',
]

/** The answer in the context, before it is sent. */
export function keptAnswer(ctx: Context): KeptAnswer {
  const body = bodyOf(ctx)
  const isKept = body !== undefined && (body?.length ?? 0) <= (setting('idempotencyMaxAnswer') ?? DEFAULT_MAX_ANSWER)
  if (!isKept) warnOf(ctx, body === undefined ? 'is a stream, or was sent by the action itself' : 'is too large')
  const headers = KEPT_HEADERS.flatMap((name) => {
    const value = ctx.res.getHeader(name)
    return value === undefined ? [] : [[name, String(value)] as const]
  })
  return { status: ctx.status, headers: Object.fromEntries(headers), body: isKept ? body : null, isKept }
}

/** The answer without its body, where more is kept for its caller than may be. */
export async function bounded(
  ctx: Context,
  answer: KeptAnswer,
  { table, trx, caller }: { table: IdempotencyTable; trx: Queryable; caller: string },
): Promise<KeptAnswer> {
  const length = answer.body?.length ?? 0
  if (length <= LARGE) return answer
  const most = setting('idempotencyMaxCaller') ?? DEFAULT_MAX_CALLER
  if ((await table.bytesOf(trx, caller)) + length <= most) return answer
  warnOf(ctx, `is one too many of its caller, for whom at most ${most} bytes are kept`)
  return { ...answer, body: null, isKept: false }
}

/** Statuses whose answers have no body. */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304])

/** The bytes of the body; null where there is none, undefined where they are not known yet. */
function bodyOf(ctx: Context): Buffer | null | undefined {
  if (ctx.respond === false || ctx.res.headersSent) return undefined
  renderPending(ctx)
  // as Koa answers where nobody has set a body
  if (ctx.body === undefined && !EMPTY.has(ctx.status)) ctx.body = ctx.message || String(ctx.status)
  const body: unknown = ctx.body
  if (body === undefined || body === null) return null
  if (typeof body === 'string') return Buffer.from(body)
  if (body instanceof Uint8Array) return Buffer.from(body)
  // as Koa writes it
  const isData = Array.isArray(body) || isPlain(Object(body)) || 'toJSON' in Object(body)
  return isData ? Buffer.from(JSON.stringify(body)) : undefined
}

/** Gives a kept answer. */
export function replay(ctx: Context, { status, headers, body }: KeptAnswer): void {
  ctx.status = status
  ctx.body = body
  for (const [name, value] of Object.entries(headers)) ctx.set(name, value)
  if (body !== null && headers['Content-Type'] === undefined) ctx.remove('Content-Type')
  // Koa makes it 204 where there is no body
  ctx.status = status
  ctx.set('Idempotency-Replayed', 'true')
}

const isFirst = firstTime()

function warnOf(ctx: Context, reason: string): void {
  if (!isFirst(ctx.app)) return
  process.emitWarning(
    `The answer of ${ctx.method} ${String(ctx['_matchedRoute'] ?? '')} ${reason}, so that it is not kept for its Idempotency-Key: ` +
      'who sends the key again is answered 409, and nothing is done twice.',
    { code: 'KOA_VIEWSETS_IDEMPOTENCY' },
  )
}
