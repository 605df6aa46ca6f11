/** Opt-in export of whole lists (promises G3 and I11). */
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { callerOf, callerParts } from '../../http/caller.js'
import { isGone, whenResponseEnds } from '../../http/response-end.js'
import { described, exclusiveTo } from '../../kernel/declarations.js'
import { ConfigurationError } from '../../kernel/errors.js'
import { writeJson } from '../../kernel/json-numerals.js'
import { oncePer } from '../../kernel/once-per.js'
import type { RowCursor, Rows } from '../../pagination/list-source.js'
import { ServerCursorStore } from '../../pagination/server-cursor-store.js'
import { flatRow, headerOf, valueCell } from '../../renderers/csv-renderer.js'
import {
  canStream,
  columnsOf,
  type OutputColumn,
  type StreamedRows,
  type StreamingRenderer,
} from '../../renderers/renderer.js'
import { serializerPlan } from '../../serializers/plan.js'
import { isBuiltIn, markBuiltIn } from '../built-in.js'
import type { StreamingView } from '../checks/check-streams.js'
import type { GenericView } from '../generic-view.js'
import { rendererOf } from '../request/respond.js'
import { wholeList } from '../steps/read-list.js'
import { answerClass } from '../steps/selection.js'
import type { ViewConstructor } from './mixin.js'

const KINDS = {
  streamFormats: 'names',
  maxStreamsPerUser: 'size',
  streamRows: 'size',
  maxStreamIdleSeconds: 'seconds',
  maxStreamSeconds: 'seconds',
} as const
exclusiveTo('StreamMixin', 'view', KINDS)

const streamsOf = oncePer((view: StreamingView) => new ListStreams(view))

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

/** PostgreSQL ends the transaction by itself a little later than we do. */
const BACKSTOP_MILLISECONDS = 10_000
/** Bytes that wait for a client that reads slowly. */
const WAITING_BYTES = 64 * 1024

/** The streams of one view class in this process. Each has a server cursor's slot: those of all views share one cap. */
class ListStreams {
  readonly #limits: StreamingView
  readonly #store: ServerCursorStore
  /** What ends each stream. */
  readonly #open = new Set<() => void>()

  constructor(limits: StreamingView) {
    this.#limits = limits
    this.#store = new ServerCursorStore({
      maxPerUser: limits.maxStreamsPerUser,
      maxTotal: undefined,
      idleMilliseconds: limits.maxStreamIdleSeconds * 1000,
      lifetimeMilliseconds: limits.maxStreamSeconds * 1000,
      now: () => performance.now(),
    })
  }

  /**
   * Puts the list into `ctx.body` as a stream, once its first rows are read: what is wrong before is an ordinary error.
   * @throws ApiError 400 of a filter, 429 and 503 when there is no slot
   */
  async start(view: GenericView, renderer: StreamingRenderer): Promise<void> {
    const { ctx } = view
    const source = wholeList(view)
    if (source.pool.size < 2) {
      throw new ConfigurationError(
        `${source.name}: a pool of one connection has none to keep for a stream; set pool.max of knex to 2 or more`,
      )
    }
    if (ctx.method === 'HEAD') {
      ctx.body = Readable.from([])
      return
    }
    const id = randomBytes(16).toString('hex')
    const slot = { owner: callerParts(callerOf(ctx)).join(':'), id, pool: source.pool }
    const idleMilliseconds = this.#limits.maxStreamIdleSeconds * 1000 + BACKSTOP_MILLISECONDS
    await new Promise<void>((started, failed) => {
      this.#store
        .open(
          slot,
          async () => ({ cursor: await source.open({ name: `koa_viewsets_${id}`, idleMilliseconds }), query: [] }),
          async ({ cursor }) => {
            await this.#run({ view, renderer, cursor }, started)
            return { result: undefined, ended: true }
          },
        )
        .then(started, failed)
    })
  }

  /** Ends all streams, and waits until their connections are given back. A client sees that its answer is not complete. */
  async close(): Promise<void> {
    for (const end of this.#open) end()
    await this.#store.close()
  }

  /** Lasts as long as the stream does. */
  async #run({ view, renderer, cursor }: Stream, started: () => void): Promise<void> {
    const { ctx } = view
    const { streamRows: size, maxStreamIdleSeconds, maxStreamSeconds } = this.#limits
    let body: Readable | undefined
    // a client that is gone, or too slow, ends the response; what PostgreSQL does for it is stopped
    const end = () => {
      void cursor.cancel?.()
      body?.destroy()
      ctx.res.destroy()
    }
    let watch: NodeJS.Timeout | undefined
    const lifetime = setTimeout(end, maxStreamSeconds * 1000).unref()
    const stop = whenResponseEnds(ctx, end)
    this.#open.add(end)
    try {
      if (isGone(ctx)) return
      const fetch = async () => {
        clearTimeout(watch)
        const rows = await cursor.fetch(size)
        watch = setTimeout(end, maxStreamIdleSeconds * 1000).unref()
        return rows
      }
      const texts = write(view, renderer, await fetch(), { size, fetch, close: () => cursor.close() })
      const made = Readable.from(texts, { objectMode: false, highWaterMark: WAITING_BYTES })
      body = made
      const closed = new Promise((resolve) => made.once('close', resolve))
      // an answer that is not complete must not look complete; Koa reports the error
      made.once('error', () => ctx.res.destroy())
      ctx.body = made
      if (isGone(ctx)) made.destroy()
      started()
      await closed
    } finally {
      clearTimeout(watch)
      clearTimeout(lifetime)
      stop()
      this.#open.delete(end)
    }
  }
}

interface Stream {
  readonly view: GenericView
  readonly renderer: StreamingRenderer
  readonly cursor: RowCursor
}

/** The answer's text, a portion at a time. The next one is read when the one before is taken. */
async function* write(
  view: GenericView,
  renderer: StreamingRenderer,
  first: Rows,
  { size, fetch, close }: { size: number; fetch: () => Promise<Rows>; close: () => Promise<void> },
): AsyncGenerator<string, void, undefined> {
  const columns = columnsFor(view, first)
  let rows = first
  let text = renderer.begin(columns.names)
  for (let isFirst = true; ; isFirst = false) {
    if (rows.length > 0) text += renderer.writeRows(streamed(rows, columns), isFirst)
    if (rows.length < size) {
      // nothing is held while the client takes the end
      await close()
      break
    }
    if (text !== '') yield text
    text = ''
    rows = await fetch()
  }
  text += renderer.end()
  if (text !== '') yield text
}

/** The names of a stream's columns, and what they are of. */
interface StreamColumns {
  readonly names: readonly string[]
  readonly of: readonly OutputColumn[]
}

/** The serializer's readable fields, then what other keys the first rows have. */
function columnsFor(view: GenericView, first: Rows): StreamColumns {
  const { readable } = serializerPlan(answerClass(view))
  if (first.cells) return { names: headerOf(readable), of: readable }
  const items = first.results(0, first.length) as Record<string, unknown>[]
  const of = columnsOf(items).length > 0 ? columnsOf(items) : readable
  return { names: [...new Set([...headerOf(of), ...items.flatMap((item) => [...flatRow(item, of).keys()])])], of }
}

/** Rows of raw text write themselves; objects are written here. */
function streamed(rows: Rows, { names, of }: StreamColumns): StreamedRows {
  const { length } = rows
  if (rows.json && rows.cells) return rows as StreamedRows & Rows
  const items = rows.results(0, length) as Record<string, unknown>[]
  return {
    length,
    json: (index) => writeJson(items[index]) as string,
    cells: (index) => {
      const row = flatRow(items[index] ?? {}, of)
      return names.map((name) => valueCell(row.get(name)))
    },
  }
}
