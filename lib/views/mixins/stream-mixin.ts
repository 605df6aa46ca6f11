/** Opt-in export of whole lists (promises G3 and I11). */
import { described, exclusiveTo } from '../../kernel/declarations.js'
import { oncePer } from '../../kernel/once-per.js'
import { canStream } from '../../renderers/renderer.js'
import { isBuiltIn, markBuiltIn } from '../built-in.js'
import type { StreamingView } from '../checks/check-streams.js'
import { rendererOf } from '../request/respond.js'
import { ListStreams } from '../steps/list-streams.js'
import type { ViewConstructor } from './mixin.js'

const KINDS = {
  streamFormats: 'names',
  maxStreamsPerUser: 'any',
  streamRows: 'any',
  maxStreamIdleSeconds: 'any',
  maxStreamSeconds: 'any',
} as const
exclusiveTo('StreamMixin', 'view', KINDS)

const streamsOf = oncePer(
  ({ maxStreamsPerUser, maxStreamIdleSeconds, maxStreamSeconds, streamRows }: StreamingView) =>
    new ListStreams({
      maxPerUser: maxStreamsPerUser,
      maxIdleSeconds: maxStreamIdleSeconds,
      maxLifetimeSeconds: maxStreamSeconds,
      rows: streamRows,
    }),
)

/**
 * Lets `list` answer some formats with the whole list, filtered and ordered as ever, whatever its pages: rows are written
 * while they are read from a cursor of the database, in constant memory, as fast as the client takes them. Add the
 * renderers to `rendererClasses`: clients ask by suffix (`/cities.csv`) or by `Accept`. All other formats are paginated.
 *
 * A stream keeps a connection for as long as it lasts, so it counts as a server cursor: more than `maxStreamsPerUser` of
 * one user are 429, more than half the pool of all views together are 503. A client that goes away stops the query.
 * The status is sent before the last row is read: what fails later closes the connection, and the answer is cut off.
 * @example
 * class CityViewSet extends StreamMixin(ModelViewSet<City>) {
 *   static override rendererClasses = [JSONRenderer, CSVRenderer, NDJSONRenderer]
 * }
 */
export function StreamMixin<Base extends ViewConstructor>(base: Base) {
  const inherited = (base.prototype as { list?: () => Promise<unknown> }).list
  const mixed = class extends base {
    /** Formats that are streamed. Of the package's renderers `csv`, `ndjson` and `json` can. @default ['csv', 'ndjson'] */
    static streamFormats: readonly string[] = ['csv', 'ndjson']
    /** Streams at a time of one user, or one address, on this view; more are 429. @default 5 */
    static maxStreamsPerUser = 5
    /** Seconds after which a stream ends whose client has not taken a portion of rows. @default 300 */
    static maxStreamIdleSeconds = 300
    /** Seconds after which a stream ends, whatever happens. @default 1800 */
    static maxStreamSeconds = 1800
    /** Rows that are read at a time. @default 500 */
    static streamRows = 500

    /** Answers a list as one stream where the format is one of `streamFormats`, else as the class below does. */
    async list(): Promise<unknown> {
      const renderer = rendererOf(this)
      const { streamFormats } = this.viewClass as typeof this.viewClass & StreamingView
      if (!streamFormats.includes(renderer.format) || !canStream(renderer)) {
        return inherited ? inherited.call(this) : this.getList()
      }
      const { ctx } = this
      if (this.policies.renderers.length > 1) ctx.vary('Accept')
      ctx.set('Content-Type', renderer.contentType)
      const headers = renderer.headers({ basename: this.basename ?? this.constructor.name })
      if (headers) ctx.set(headers as Record<string, string>)
      await streamsOf(this.viewClass as typeof this.viewClass & StreamingView).start(this, renderer)
      return undefined
    }
  }
  if (!inherited || isBuiltIn(base.prototype as object, 'list')) markBuiltIn(mixed.prototype, 'list')
  return described(mixed, KINDS)
}

/** Ends the streams of a view class. */
export async function closeStreams(view: object): Promise<void> {
  if ('streamFormats' in view) await streamsOf(view as StreamingView).close()
}

/** The formats that a view class streams; none without the mixin. */
export function streamedFormats(view: object): readonly string[] {
  return 'streamFormats' in view ? (view as StreamingView).streamFormats : []
}
