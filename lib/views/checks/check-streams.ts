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
  const { name, streamFormats } = view as StreamingView & { name: string }
  const usable = renderers.filter(canStream).map(({ format }) => format)
  if (!streamFormats.some((format) => usable.includes(format))) {
    throw new ConfigurationError(
      `${name}: none of its streamFormats (${streamFormats.join(', ')}) is written by its rendererClasses; add CSVRenderer or NDJSONRenderer`,
    )
  }
}

/** Checks the database's pool. @throws {ConfigurationError} no connection could be kept for a stream */
export function checkStreamPool(view: object, size: number | undefined): void {
  if (!('streamFormats' in view) || size === undefined || size >= 2) return
  throw new ConfigurationError(
    `${(view as { name?: string }).name}: StreamMixin: a pool of one connection has none to keep for a stream; set pool.max of knex to 2 or more`,
  )
}
