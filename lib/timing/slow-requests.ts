/** Slow requests, told to the application's log. */

import { STATUS_CODES } from 'node:http'
import { reportError } from '../http/answer-error.js'
import type { Context } from '../http/context.js'
import { checkKinds } from '../kernel/option-kinds.js'
import type { Measured } from './measure-request.js'

/** A request that took too long. It holds no value of it: neither its path nor what came of it. */
export interface SlowRequest {
  /** The HTTP method. */
  readonly method: string
  /** The path's pattern, such as `/books/{id}`; undefined where no route was found. */
  readonly route: string | undefined
  /** The name of the route, such as `book-retrieve`. */
  readonly name: string | undefined
  /** The status of the answer. */
  readonly status: number
  /** Until the answer was there; not its way to the client. */
  readonly milliseconds: number
  /** How many statements it has sent. */
  readonly statements: number
  /** Of the milliseconds, those in which a statement of it ran. */
  readonly databaseMilliseconds: number
}

/** Options of `slowRequests()`. */
export interface SlowRequestOptions {
  /** From how many milliseconds on a request is slow. @default 500 */
  readonly threshold?: number
  /** Takes each of them. What it throws is reported by the app's `error` event. @default one line by `console.warn` */
  readonly log?: (request: SlowRequest) => unknown
}

/** Tells of a request that was slow. */
export type TellSlow = (ctx: Context, measured: Measured, failure?: unknown) => void

/** @throws {ConfigurationError} an option is wrong */
export function slowTeller(options: SlowRequestOptions): TellSlow {
  checkKinds('slowRequests()', options, { kinds: { threshold: 'count', log: 'function' } })
  const { threshold = 500, log = warn } = options
  return (ctx, measured, failure) => {
    if (measured.total < threshold) return
    // a log that is away is no fault of the request
    void (async () => log(describe(ctx, measured, failure)))().catch((error: unknown) => reportError(ctx, error))
  }
}

function describe(ctx: Context, { names, timings, total }: Measured, failure: unknown): SlowRequest {
  const { method, route, name } = names
  return {
    method,
    route,
    name,
    status: failure === undefined ? ctx.status : statusOf(failure),
    milliseconds: Math.round(total),
    statements: timings.statements,
    databaseMilliseconds: Math.round(timings.database),
  }
}

/** What Koa will answer an error with that nobody has caught. */
function statusOf(failure: unknown): number {
  const { status, statusCode } = (failure ?? {}) as { readonly status?: unknown; readonly statusCode?: unknown }
  const given = status || statusCode
  return typeof given === 'number' && given in STATUS_CODES ? given : 500
}

function warn({ method, route, name, status, ...figures }: SlowRequest): void {
  const { milliseconds, statements, databaseMilliseconds } = figures
  const named = name === undefined ? '' : ` (${name})`
  const sent = `${statements} statement${statements === 1 ? '' : 's'}`
  console.warn(
    `slow: ${method} ${route ?? 'no route'}${named} ${status} in ${milliseconds} ms, of which ${databaseMilliseconds} ms in the database (${sent})`,
  )
}
