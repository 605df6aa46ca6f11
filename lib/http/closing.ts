/** The end of an API: requests whose bodies have not come are refused at once, as nothing of them has begun. */

import { ServiceUnavailable } from '../kernel/errors.js'
import { type Context, RequestSlot } from './context.js'

/** Whether an API ends, for those of its requests that wait for their clients. */
export class Closing {
  #isClosing = false
  readonly #refusals = new Set<() => void>()

  get isClosing(): boolean {
    return this.#isClosing
  }

  /** Refuses the requests that wait, and those that come to it. */
  begin(): void {
    this.#isClosing = true
    for (const refuse of this.#refusals) refuse()
  }

  /** The body of a request, unless the API ends before it has come. @throws ServiceUnavailable */
  async bodyOf<Body extends { dispose?(): Promise<void> }>(ctx: Context, coming: Promise<Body>): Promise<Body> {
    let refuse = () => {}
    const refused = new Promise<never>((_, reject) => {
      refuse = () => {
        if (ctx.req.complete) return
        // what still comes is nobody's, and must not keep the server
        if (ctx.req.httpVersionMajor < 2) ctx.set('Connection', 'close')
        reject(new ServiceUnavailable())
        coming.then(
          (body) => body.dispose?.(),
          () => {},
        )
      }
    })
    this.#refusals.add(refuse)
    if (this.#isClosing) refuse()
    try {
      return await Promise.race([coming, refused])
    } finally {
      this.#refusals.delete(refuse)
    }
  }
}

/** What tells a request that its API ends. */
export const CLOSING = new RequestSlot<Closing>('the end of the API')
