/** Server-sent events (HTML Living Standard, section 9.2): an answer that stays open, and tells what happens meanwhile. */

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

/**
 * The events of one request. What the answer begins with is its body, as any text is one: Koa ends the answer with it when all
 * middleware is through, and from there on it stays open. A `Readable` would cost each of many streams twice the memory, and
 * Koa reports an error for each client that leaves one.
 */
export class EventStream {
  /** The body of the answer. */
  readonly body = `retry: ${RETRY}\n\n`
  readonly #ctx: Context
  /** Events to be sent after the body; undefined once the answer is on its way. */
  #waiting: (string | Buffer)[] | undefined = []
  /** The bytes or characters of those events. */
  #length = 0
  #isEnded = false

  constructor(ctx: Context) {
    this.#ctx = ctx
    setEventHeaders(ctx)
    // koa-compress would keep events until it has enough of them
    Object.assign(ctx, { compress: false })
    this.#openAtEnd()
    const stop = CLOSING.get(ctx)?.endOpen(() => this.end())
    if (stop) this.whenEnded(stop)
  }

  /** What ends the answer begins it. */
  #openAtEnd(): void {
    const { res } = this.#ctx
    const end = res.end.bind(res)
    res.end = ((...given: Parameters<typeof end>) => {
      res.end = end
      const waiting = this.#waiting ?? []
      this.#waiting = undefined
      // somebody answers something else, or has sent the length of this text already
      if (given[0] !== this.body || res.headersSent) {
        this.#isEnded = true
        return end(...given)
      }
      // what middleware has said of the text that the answer begins with
      for (const name of ['Content-Length', 'ETag']) res.removeHeader(name)
      for (const text of [this.body, ...waiting]) res.write(text)
      return this.#isEnded ? res.end() : res
    }) as typeof end
  }

  /** Calls back once, when nothing more can be sent; at once where the client has left already. */
  whenEnded(listener: () => void): void {
    atResponseEnd(this.#ctx, listener)
  }

  /** Sends a text of events; as bytes where many get the same. A client that does not read is let go. */
  send(text: string | Buffer): void {
    const { res } = this.#ctx
    if (this.#isEnded || res.destroyed || text.length === 0) return
    if ((this.#waiting ? this.#length : res.writableLength) > MOST_UNREAD) {
      this.#isEnded = true
      res.destroy()
    } else if (this.#waiting) {
      this.#waiting.push(text)
      this.#length += text.length
    } else res.write(text)
  }

  /** Ends the answer. @param retry how long the client waits before it connects again, in milliseconds */
  end(retry = RETRY): void {
    if (this.#isEnded) return
    if (retry !== RETRY) this.send(`retry: ${Math.ceil(retry)}\n\n`)
    this.#isEnded = true
    if (!this.#waiting) this.#ctx.res.end()
  }
}
