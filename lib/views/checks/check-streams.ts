/** What can be wrong with a view that has `StreamMixin` before any request. */
import { ConfigurationError } from '../../kernel/errors.js'
import { type BaseRenderer, canStream } from '../../renderers/renderer.js'

/** What the mixin reads of a view class. */
export interface StreamingView {
  readonly streamFormats: readonly string[]
  readonly maxStreamsPerUser: number
  readonly maxStreamIdleSeconds: number
  readonly maxStreamSeconds: number
  readonly streamRows: number
}

/** Checks a view with the mixin before any request; any other passes. @throws {ConfigurationError} */
export function checkStreams(view: object, renderers: readonly BaseRenderer[]): void {
  if (!('streamFormats' in view)) return
  const { name, streamFormats, maxStreamsPerUser, streamRows, maxStreamIdleSeconds, maxStreamSeconds } =
    view as StreamingView & { name: string }
  const usable = renderers.filter(canStream).map(({ format }) => format)
  if (!streamFormats.some((format) => usable.includes(format))) {
    throw new ConfigurationError(
      `${name}: none of its streamFormats (${streamFormats.join(', ')}) is written by its rendererClasses; add CSVRenderer or NDJSONRenderer`,
    )
  }
  for (const [option, value] of Object.entries({ maxStreamsPerUser, streamRows })) {
    if (Number.isSafeInteger(value) && value >= 1) continue
    throw new ConfigurationError(`${name}: ${option} must be a whole number of at least 1`)
  }
  for (const [option, value] of Object.entries({ maxStreamIdleSeconds, maxStreamSeconds })) {
    if (value > 0 && value <= LONGEST_SECONDS) continue
    throw new ConfigurationError(`${name}: ${option} must be a number of seconds from above 0 to ${LONGEST_SECONDS}`)
  }
}

/** Checks the database's pool. @throws {ConfigurationError} no connection could be kept for a stream */
export function checkStreamPool(view: object, size: number | undefined): void {
  if (!('streamFormats' in view) || size === undefined || size >= 2) return
  throw new ConfigurationError(
    `${(view as { name?: string }).name}: StreamMixin: a pool of one connection has none to keep for a stream; set pool.max of knex to 2 or more`,
  )
}

/** What timers can wait for. */
const LONGEST_SECONDS = 1_000_000
