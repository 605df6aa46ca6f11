/** Pages from a cursor that PostgreSQL keeps: `?server_cursor=…` (wire format, section 3). */
import { randomBytes } from 'node:crypto'
import { lastValueOf, type ParameterDescription } from '../filters/filter.js'
import { type Caller, callerOf, callerParts } from '../http/caller.js'
import type { Context } from '../http/context.js'
import { isGone, isSentWhole, whenResponseEnds } from '../http/response-end.js'
import { UNREAD } from '../http/unread.js'
import { ClientGone, ConfigurationError } from '../kernel/errors.js'
import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import { getCursorSecret } from '../kernel/settings.js'
import { decodeBase64Url, encodeBase64Url, equalBytes, frame, mac } from '../kernel/signing.js'
import type { ListSource } from './list-source.js'
import {
  BasePagination,
  envelopeSchema,
  type Named,
  type PageDescription,
  type PagedView,
  type PageRequest,
} from './pagination.js'
import { pathParts, queryParts } from './request-frame.js'
import { type HeldCursor, notFound, ServerCursorStore, type Used } from './server-cursor-store.js'

/** Options of `ServerCursorPagination`. */
export interface ServerCursorPaginationOptions {
  /** Items on a page. @default 100 */
  readonly pageSize?: number
  /** A cursor is closed after this many seconds without a request. @default 300 */
  readonly maxIdleSeconds?: number
  /** A cursor is closed after this many seconds, whatever happens. @default 1800 */
  readonly maxLifetimeSeconds?: number
  /**
   * Cursors that one user, or one address, may have open. `prepare()` warns where that is half of `maxTotal` or more.
   * @default 5
   */
  readonly maxPerUser?: number
  /** Connections that cursors may keep, of all views that share the pool. @default half the pool */
  readonly maxTotal?: number
  /** The query parameter of the cursor. @default 'server_cursor' */
  readonly cursorQueryParam?: string
  /**
   * A name of this process that ids begin with, so that a proxy can send a cursor's requests to it: up to 32 lower-case
   * letters, digits and `-`.
   * @default the environment variable SERVICE_NODE, else none
   */
  readonly node?: string
  /** The clock, in milliseconds. @default performance.now */
  readonly now?: () => number
}

/**
 * Answers `{cursor_id, results, exhausted}`. The first request declares a cursor on a connection of the view's own pool
 * and keeps it; each request with its `cursor_id` reads the next page of what the list was at that moment. Meant for
 * exports: a cursor costs a connection until it is exhausted, or has been idle too long.
 *
 * A cursor belongs to its user, or address, to its view and its query, and to what rules let him read. One that is not here is 404 `Cursor not found`,
 * whatever the reason; start again then. One that another request reads from is 409. Too many of one user are 429, too
 * many of all 503. CSV and NDJSON have no place for the `cursor_id`: without one they are the first page, and no cursor
 * stays; `StreamMixin` answers them with the whole list.
 * @example static override paginationClass = new ServerCursorPagination({ pageSize: 1000 })
 */
export class ServerCursorPagination<const Options extends ServerCursorPaginationOptions = {}> extends BasePagination {
  /** @internal What clients must know of its options: types only. */
  declare readonly named?: Named<Options, 'cursorQueryParam'>
  override readonly keepsConnections = true
  readonly pageSize: number
  readonly maxIdleSeconds: number
  readonly maxLifetimeSeconds: number
  readonly maxPerUser: number
  readonly maxTotal: number | undefined
  readonly cursorQueryParam: string
  readonly node: string | undefined
  readonly #now: () => number
  #store: ServerCursorStore | undefined
  readonly #warned = new Set<string>()

  constructor(options: Options & ServerCursorPaginationOptions = {} as Options) {
    super()
    takeOptions(this, options)
    this.pageSize = options.pageSize ?? 100
    this.maxIdleSeconds = options.maxIdleSeconds ?? 300
    this.maxLifetimeSeconds = options.maxLifetimeSeconds ?? 1800
    this.maxPerUser = options.maxPerUser ?? 5
    this.maxTotal = options.maxTotal
    this.cursorQueryParam = options.cursorQueryParam ?? 'server_cursor'
    this.node = options.node ?? process.env['SERVICE_NODE']
    this.#now = options.now ?? (() => performance.now())
  }

  override check({ name, poolSize }: PagedView): void {
    const where = `${name}: ${this.constructor.name}`
    if (this.maxTotal === undefined && poolSize !== undefined && poolSize < 2) {
      throw new ConfigurationError(
        `${where}: a pool of one connection has none to keep for a cursor; set pool.max of knex to 2 or more`,
      )
    }
    for (const option of ['pageSize', 'maxPerUser'] as const) {
      if (!(Number.isSafeInteger(this[option]) && this[option] >= 1)) {
        throw new ConfigurationError(`${where}: ${option} must be a whole number of at least 1`)
      }
    }
    for (const option of ['maxIdleSeconds', 'maxLifetimeSeconds'] as const) {
      if (!(this[option] > 0)) throw new ConfigurationError(`${where}: ${option} must be a number of seconds above 0`)
    }
    if (this.node !== undefined && !isNodeName(this.node)) {
      throw new ConfigurationError(
        `${where}: node "${this.node}" must be up to 32 lower-case letters, digits and "-"; correct the option or SERVICE_NODE`,
      )
    }
    getCursorSecret()
    if (poolSize !== undefined) this.#warnOfOneCaller(name, poolSize)
  }

  /** Half of what all cursors may keep is enough for one caller, or two of them, to leave nothing to others. */
  #warnOfOneCaller(name: string, size: number): void {
    const { maxPerUser } = this
    const most = this.maxTotal ?? Math.floor(size / 2)
    if (maxPerUser < most / 2 || this.#warned.has(name)) return
    this.#warned.add(name)
    const total = this.maxTotal === undefined ? `${most}, half of the pool of ${size}` : String(most)
    const fewer = Math.ceil(most / 2) - 1
    const raise = `raise maxTotal${this.maxTotal === undefined ? ' or pool.max of knex' : ''} so that cursors have ${2 * maxPerUser + 1} connections or more`
    process.emitWarning(
      `${name}: one caller may keep ${maxPerUser} server cursors (maxPerUser) of the ${total}, that all callers may keep ` +
        `together (maxTotal); ${fewer >= 1 ? `set maxPerUser to ${fewer} or less, or ` : ''}${raise}`,
      { code: 'KOA_VIEWSETS_SERVER_CURSORS' },
    )
  }

  override parameters(): readonly ParameterDescription[] {
    const description = 'The `cursor_id` of the page before.'
    return [{ name: this.cursorQueryParam, description, schema: { type: 'string' } }]
  }

  override describePage(item: Readonly<Record<string, unknown>>): PageDescription {
    const schema = envelopeSchema({
      cursor_id: { type: ['string', 'null'], description: 'Asks for the next page; null after the last.' },
      results: { type: 'array', items: item },
      exhausted: { type: 'boolean', description: 'This was the last page.' },
    })
    return { suffix: 'ServerCursorPage', schema, statuses: [404, 409, 429] }
  }

  async paginate(source: ListSource, request: PageRequest): Promise<object> {
    const { ctx } = request
    const { runsWith } = source.pool
    const scope = {
      secret: getCursorSecret(),
      caller: callerOf(ctx),
      view: runsWith === undefined ? source.name : `${source.name} ${runsWith}`,
      path: frame(...pathParts(request)),
    }
    const text = lastValueOf(request.query, this.cursorQueryParam)
    return text === undefined ? this.#open(source, request, scope) : this.#next(source, request, scope, text)
  }

  /** Closes all cursors of this paginator. */
  override async close(): Promise<void> {
    await this.#store?.close()
  }

  async #open(source: ListSource, request: PageRequest, scope: ServerCursorScope): Promise<object> {
    const bytes = randomBytes(16)
    const id = bytes.toString('hex')
    const owner = ownerTag(scope).toString('hex')
    const query = queryParts(source, request)
    if (this.maxTotal === undefined && source.pool.size < 2) {
      throw new ConfigurationError(
        `${source.name}: a pool of one connection has none to keep for a cursor; set pool.max of knex to 2 or more`,
      )
    }
    return this.#cursors.open(
      { owner, id, pool: source.pool },
      async () => {
        const cursor = await source.open({ name: `koa_viewsets_${id}`, idleMilliseconds: this.#backstop })
        return { cursor, query, reads: request.reads?.() }
      },
      async (held) => {
        const used = await this.#read(held, {
          ctx: request.ctx,
          id,
          text: writeServerCursorId(scope, bytes, this.node),
        })
        // nobody gets the id
        return request.resultsOnly ? { ...used, ended: true } : used
      },
    )
  }

  async #next(source: ListSource, request: PageRequest, scope: ServerCursorScope, text: string): Promise<object> {
    const id = readServerCursorId(scope, text)?.toString('hex')
    if (id === undefined) throw notFound()
    const asked = queryParts(source, request)
    const fits = ({ query, reads }: HeldCursor) => {
      const now = reads && request.reads?.(reads)
      return (
        (asked.length === 0 || JSON.stringify(asked) === JSON.stringify(query)) &&
        (!reads || [...reads].every(([name, one]) => now?.get(name) === one))
      )
    }
    return this.#cursors.use({ id, pool: source.pool }, fits, async (held) => {
      if (request.ctx.method === 'HEAD') {
        // it must not take a page from the GET that follows it
        UNREAD.set(request.ctx, true)
        return { result: { results: [] }, ended: false }
      }
      return this.#read(held, { ctx: request.ctx, id, text })
    })
  }

  async #read(held: HeldCursor, { ctx, id, text }: { ctx: Context; id: string; text: string }): Promise<Used<object>> {
    let isFetching = true
    whenResponseEnds(ctx, () => {
      // the client went away without its page: it cannot go on from here
      if (isFetching) void held.cursor.cancel?.()
      else if (!isSentWhole(ctx)) void this.#cursors.abandon(id, held)
    })
    if (isGone(ctx)) throw new ClientGone()
    const rows = await held.cursor.fetch(this.pageSize).finally(() => {
      isFetching = false
    })
    const exhausted = rows.length < this.pageSize
    const result = { cursor_id: exhausted ? null : text, results: rows.results(0, rows.length), exhausted }
    // nobody gets the id of a HEAD
    const unread = ctx.method === 'HEAD' || isGone(ctx)
    return { result, ended: exhausted || unread }
  }

  /** PostgreSQL's own timeout: a little above ours. */
  get #backstop(): number {
    return this.maxIdleSeconds * 1000 + 10_000
  }

  get #cursors(): ServerCursorStore {
    this.#store ??= new ServerCursorStore({
      maxPerUser: this.maxPerUser,
      maxTotal: this.maxTotal,
      idleMilliseconds: this.maxIdleSeconds * 1000,
      lifetimeMilliseconds: this.maxLifetimeSeconds * 1000,
      now: this.#now,
    })
    return this.#store
  }
}

takesOptions<ServerCursorPaginationOptions>(ServerCursorPagination, {
  pageSize: 'any',
  maxIdleSeconds: 'any',
  maxLifetimeSeconds: 'any',
  maxPerUser: 'any',
  maxTotal: 'size',
  cursorQueryParam: 'name',
  node: 'any',
  now: 'function',
})

/** What an id is signed for. */
interface ServerCursorScope {
  readonly secret: string
  readonly caller: Caller
  readonly view: string
  /** The frame of the path parameters. */
  readonly path: Uint8Array
}

const PART_BYTES = 16
const ID = /^(?:(?<node>[a-z0-9][a-z0-9-]{0,31})\.)?(?<text>[A-Za-z0-9_-]{64})$/
const NODE = /^[a-z0-9][a-z0-9-]{0,31}$/

/** True for a name that can stand before an id. */
function isNodeName(text: string): boolean {
  return NODE.test(text)
}

/** The id for 16 random bytes. A proxy can route on `node`. */
export function writeServerCursorId(scope: ServerCursorScope, id: Uint8Array, node: string | undefined): string {
  const body = Buffer.concat([id, ownerTag(scope)])
  const text = encodeBase64Url(Buffer.concat([body, sign(scope, node, body)]))
  return node === undefined ? text : `${node}.${text}`
}

/** The random bytes of an id that was written for the same scope; null for any other string. */
export function readServerCursorId(scope: ServerCursorScope, text: string): Buffer | null {
  const groups = ID.exec(text)?.groups
  const bytes = decodeBase64Url(groups?.['text'] ?? '')
  if (bytes?.length !== 3 * PART_BYTES) return null
  const body = bytes.subarray(0, 2 * PART_BYTES)
  const isSigned = equalBytes(bytes.subarray(2 * PART_BYTES), sign(scope, groups?.['node'], body))
  const isOwn = equalBytes(body.subarray(PART_BYTES), ownerTag(scope))
  return isSigned && isOwn ? body.subarray(0, PART_BYTES) : null
}

/** A digest of the caller: who holds an id learns nothing of its owner. */
function ownerTag({ secret, caller }: Pick<ServerCursorScope, 'secret' | 'caller'>): Buffer {
  return mac(secret, 'server-cursor/owner/v1', callerParts(caller), PART_BYTES)
}

function sign({ secret, view, path }: ServerCursorScope, node: string | undefined, body: Uint8Array): Buffer {
  return mac(secret, 'server-cursor/mac/v1', [node ?? '', view, path, body], PART_BYTES)
}
