/** Server-sent events (HTML Living Standard, section 9.2): an answer that stays open, and tells what happens meanwhile. */

import { Readable } from 'node:stream'
import { CLOSING } from './closing.js'
import type { Context } from './context.js'
import { atResponseEnd } from './response-end.js'

/** How long a client waits before it connects again, in milliseconds. */
const RETRY = 1_000
/** What a client has not read yet, in bytes; more is not kept for it. It connects again, and says how far it came. */
const MOST_UNREAD = 256 * 1024

/** An event; without `data` it says only how far the client came. */
export interface ServerSentEvent {
  /** @default 'message' */
  readonly event?: string
  /** What the client sends as `Last-Event-ID` when it connects again. One line. */
  readonly id: string
  /** One line. */
  readonly data?: string
}

/** An event as a text. */
export function eventText({ event, id, data }: ServerSentEvent): string {
  return `${event === undefined ? '' : `event: ${event}\n`}id: ${id}\n${data === undefined ? '' : `data: ${data}\n`}\n`
}

/** The headers of such an answer. */
export function setEventHeaders(ctx: Context): void {
  ctx.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' })
}

/** The events of one request. */
export class EventStream {
  /** The body of the answer. */
  readonly body: Readable
  readonly #ctx: Context
  #isEnded = false

  constructor(ctx: Context) {
    this.#ctx = ctx
    this.body = new Readable({ read: () => {} })
    setEventHeaders(ctx)
    // koa-compress would keep events until it has enough of them
    Object.assign(ctx, { compress: false })
    this.body.push(`retry: ${RETRY}\n\n`)
    const stop = CLOSING.get(ctx)?.endOpen(() => this.end())
    if (stop) this.whenEnded(stop)
  }

  /** Calls back once, when nothing more can be sent; at once where the client has left already. */
  whenEnded(listener: () => void): void {
    atResponseEnd(this.#ctx, listener)
  }

  /** Sends a text of events; as bytes where many get the same. A client that does not read is let go. */
  send(text: string | Buffer): void {
    if (this.#isEnded || this.body.destroyed) return
    if (this.body.readableLength > MOST_UNREAD) {
      // with its connection: what is sent of a body that is destroyed may wait for the client for ever
      this.#isEnded = true
      this.#ctx.res.destroy()
      this.body.destroy()
    } else this.body.push(text)
  }

  /** Ends the answer. */
  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.body.push(null)
  }
}
