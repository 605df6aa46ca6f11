/** The requests that an API is answering, so that its end can wait for theirs. */
import { answerError } from '../http/answer-error.js'
import type { Context } from '../http/context.js'
import { ServiceUnavailable } from '../kernel/errors.js'
import type { ViewHandler } from '../views/view-handler.js'

export class RunningRequests {
  #closing = false
  #count = 0
  readonly #waiting: (() => void)[] = []

  /** Answers a request; with 503 once `end()` was called. */
  async answer(ctx: Context, handler: ViewHandler): Promise<void> {
    if (this.#closing) {
      answerError(ctx, new ServiceUnavailable())
      return
    }
    this.#count++
    try {
      await handler(ctx)
    } finally {
      this.#count--
      if (this.#count === 0) for (const resolve of this.#waiting.splice(0)) resolve()
    }
  }

  /** Refuses new requests, and waits until those that run are answered. */
  async end(): Promise<void> {
    this.#closing = true
    if (this.#count === 0) return
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve)
    })
  }
}
