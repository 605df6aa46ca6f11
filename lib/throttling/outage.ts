/** Outages of a shared store (promise H8): one warning when it ceases to, then an attempt now and then. */
import { escapeControls, oneLine, quote } from '../kernel/quote.js'

export interface OutageOptions {
  /** What the store is, for the warning. */
  readonly store: string
  /** Milliseconds from one attempt to the next. */
  readonly retryAfter: number
  /** Milliseconds of a clock. */
  readonly now: () => number
}

/** The state of one store, shared by all its limiters. */
export class Outage {
  readonly #options: OutageOptions
  /** When the next attempt is due; undefined while the store answers. */
  #retryAt: number | undefined

  constructor(options: OutageOptions) {
    this.#options = options
  }

  /** True from the first failure to the next answer. */
  get isOn(): boolean {
    return this.#retryAt !== undefined
  }

  /** Whether an attempt is due: always, and during an outage once in a while. */
  get isDue(): boolean {
    return this.#retryAt === undefined || this.#options.now() >= this.#retryAt
  }

  /** Whether to ask the store now; during an outage true means that this is the attempt. */
  mayAsk(): boolean {
    if (!this.isDue) return false
    if (this.isOn) this.#retryAt = this.#options.now() + this.#options.retryAfter
    return true
  }

  /** The store has answered an attempt. */
  end(): void {
    this.#retryAt = undefined
  }

  /** The store has not answered, or with an error. */
  begin(error: unknown): void {
    const { store, retryAfter, now } = this.#options
    const { isOn } = this
    this.#retryAt = now() + retryAfter
    if (isOn) return
    process.emitWarning(
      `throttles: ${store} does not count (${reasonOf(error)}); each process counts in its memory until it does again`,
      { code: 'KOA_VIEWSETS_THROTTLE_STORE' },
    )
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  return typeof code === 'string' ? oneLine(code) : escapeControls(quote(message ?? error))
}
