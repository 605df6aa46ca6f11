/** Counts one request: who, how many bytes, how long (promises G12, I10 and I12). */
import type { ServerResponse } from 'node:http'
import { accountOf } from '../http/caller.js'
import { type Context, RequestSlot } from '../http/context.js'
import { atResponseEnd } from '../http/response-end.js'
import { oncePer } from '../kernel/once-per.js'
import { errorLine } from '../kernel/quote.js'
import type { MeteringEngine, UsageEvent } from './engine.js'

export interface Metering {
  readonly meterName: string
  readonly engine: MeteringEngine
}

/** How an engine fares. */
interface Health {
  /** Requests whose responses have not ended. */
  open: number
  /** Events that the engine has taken and not finished with. */
  pending: number
  failing: boolean
  readonly idle: (() => void)[]
}

/** Events an engine may be busy with; those beyond are lost, so that one that hangs holds no memory. */
const MOST_PENDING = 1000
/** How long the end waits for responses that are still being sent, in milliseconds. */
const LONGEST_WAIT = 3000
const EMPTY = new Set([204, 205, 304])

const METERED = new RequestSlot<readonly Metering[]>('the meters that count this request')

const healthOf = oncePer<MeteringEngine, Health>(() => ({ open: 0, pending: 0, failing: false, idle: [] }))

/**
 * Gives the engine one event when the response has ended, whatever the outcome: answered, refused or broken off.
 * Call it before anything else has a chance to answer. A second call with the same engine and meter does nothing.
 */
export function meterRequest(ctx: Context, metering: Metering): void {
  const { engine, meterName } = metering
  const known = METERED.get(ctx) ?? []
  if (known.some((one) => one.engine === engine && one.meterName === meterName)) return
  METERED.set(ctx, [...known, metering])
  const { res } = ctx
  const timestamp = new Date().toISOString()
  const start = performance.now()
  const bytesOf = countBytes(res)
  const health = healthOf(engine)
  const done = () => {
    const hasBody = ctx.method !== 'HEAD' && !EMPTY.has(res.statusCode)
    const dimensions = {
      requests: 1,
      response_bytes: hasBody ? bytesOf() : 0,
      duration_ms: Math.round((performance.now() - start) * 1000) / 1000,
    }
    hand(engine, health, () => ({
      meter_name: meterName,
      account_id: accountOf(ctx) ?? 'anonymous',
      dimensions,
      timestamp,
    }))
    health.open--
    if (health.open === 0) for (const resolve of health.idle.splice(0)) resolve()
  }
  health.open++
  atResponseEnd(ctx, done)
}

/** Waits for the responses that are still being sent, and has the engine write what it has. */
export async function closeMetering(engine: MeteringEngine): Promise<void> {
  const health = healthOf(engine)
  if (health.open > 0) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, LONGEST_WAIT)
      health.idle.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
  try {
    await engine.close?.()
  } catch (error) {
    warn(`the engine could not be closed: ${errorLine(error)}`)
  }
}

/** Counts what is written to the body. HTTP/2 writes within `end()`: that counts once. */
function countBytes(res: ServerResponse): () => number {
  let bytes = 0
  let ended = false
  const count = (chunk: unknown, encoding: unknown) => {
    if (typeof chunk === 'string') bytes += Buffer.byteLength(chunk, encoding as BufferEncoding)
    else if (chunk instanceof Uint8Array) bytes += chunk.byteLength
  }
  const write = res.write.bind(res) as (...values: unknown[]) => boolean
  const end = res.end.bind(res) as (...values: unknown[]) => typeof res
  const countedWrite = (...values: unknown[]) => {
    if (!ended) count(values[0], values[1])
    return write(...values)
  }
  const countedEnd = (...values: unknown[]) => {
    if (!ended) count(values[0], values[1])
    ended = true
    return end(...values)
  }
  res.write = countedWrite
  res.end = countedEnd
  return () => bytes
}

/** An engine that throws, rejects or hangs is reported once, until it works again; so is a user who has no account. */
function hand(engine: MeteringEngine, health: Health, eventOf: () => UsageEvent): void {
  const fail = (reason: string) => {
    if (!health.failing) warn(`usage is not recorded: ${reason}`)
    health.failing = true
  }
  if (health.pending >= MOST_PENDING) {
    fail(`the engine is busy with ${MOST_PENDING} events`)
    return
  }
  try {
    const result = engine.record(eventOf())
    if (result === undefined) {
      health.failing = false
      return
    }
    health.pending++
    Promise.resolve(result)
      .then(
        () => {
          health.failing = false
        },
        (error: unknown) => fail(errorLine(error)),
      )
      .finally(() => {
        health.pending--
      })
  } catch (error) {
    fail(errorLine(error))
  }
}

function warn(message: string): void {
  process.emitWarning(message, { code: 'KOA_VIEWSETS_METERING' })
}
