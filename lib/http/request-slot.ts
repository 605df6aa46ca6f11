/** What steps of ours remember of a request for later ones, each under a name that nobody else has. */
import type { Context } from './context.js'

/**
 * One thing to remember of a request. It is kept on the context itself: `ctx.state` is the application's, and may be replaced.
 * @example
 * const FORMAT = new RequestSlot<string>('the format that the path asks for')
 * FORMAT.set(ctx, 'csv')
 * FORMAT.get(ctx) // 'csv'
 */
export class RequestSlot<Value> {
  readonly #key: symbol

  /** @param description what is remembered, for whoever looks at a context in a debugger */
  constructor(description: string) {
    this.#key = Symbol(description)
  }

  get(ctx: Context): Value | undefined {
    return (ctx as { [key: symbol]: Value | undefined })[this.#key]
  }

  set(ctx: Context, value: Value | undefined): void {
    ;(ctx as { [key: symbol]: Value | undefined })[this.#key] = value
  }
}
