/** The end of an API: requests whose bodies have not come are refused at once, as nothing of them has begun; answers that stay open end. */

import type { Http2ServerRequest } from 'node:http2'
import { ServiceUnavailable } from '../kernel/errors.js'
import { track } from '../postgres/pending-work.js'
import { type Context, RequestSlot } from './context.js'
import { disposeBody } from './dispose-body.js'

/** The shutdown of an API, as seen by requests that wait for their clients. */
export class Closing {
  #isClosing = false
  readonly #refusals = new Set<() => void>()
  readonly #ends = new Set<() => void>()

  get isClosing(): boolean {
    return this.#isClosing
  }

  /** Refuses the requests that wait, and those that come to it. */
  begin(): void {
    this.#isClosing = true
    for (const refuse of this.#refusals) refuse()
    for (const end of this.#ends) end()
  }

  /** Ends an answer that would stay open. @returns what is called where it has ended before */
  endOpen(end: () => void): () => void {
    this.#ends.add(end)
    if (this.#isClosing) end()
    return () => this.#ends.delete(end)
  }

  /** The body of a request, unless the API ends before it has come. @throws ServiceUnavailable */
  bodyOf<Body extends { dispose?(): Promise<void> }>(ctx: Context, coming: Promise<Body>): Promise<Body> {
    return new Promise((resolve, reject) => {
      let isRefused = false
      const refuse = () => {
        const { req } = ctx
        if (req.complete) return
        isRefused = true
        // what still comes is nobody's, and must not keep the server
        if (req.httpVersionMajor < 2) ctx.set('Connection', 'close')
        else {
          const { stream } = req as unknown as Http2ServerRequest
          stream.once('finish', () => stream.close())
        }
        // what has come may lie on the disk
        track(read)
        reject(new ServiceUnavailable())
      }
      const read = coming.then(
        (body) => {
          this.#refusals.delete(refuse)
          return isRefused ? disposeBody(ctx, body) : resolve(body)
        },
        (error: Error) => {
          this.#refusals.delete(refuse)
          reject(error)
        },
      )
      this.#refusals.add(refuse)
      if (this.#isClosing) refuse()
    })
  }
}

/** The shutdown of the API that a request belongs to. */
export const CLOSING = new RequestSlot<Closing>('the end of the API')
