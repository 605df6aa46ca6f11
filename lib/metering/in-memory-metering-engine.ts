/** Usage events in the memory of the process: for tests, and for one process that may forget. */
import { checkKinds } from '../kernel/option-kinds.js'
import type { MeteringEngine, UsageEvent, UsageReport, UsageTotal } from './engine.js'

/** Options of `InMemoryMeteringEngine`. */
export interface InMemoryMeteringEngineOptions {
  /** How many events are kept; then the oldest is forgotten. @default 10_000 */
  readonly maxEvents?: number
}

/** Keeps the last events in memory. */
export class InMemoryMeteringEngine implements MeteringEngine, UsageReport {
  readonly #events: UsageEvent[] = []
  readonly #maxEvents: number

  /** @throws {ConfigurationError} an option is unknown, or of another kind */
  constructor(options: InMemoryMeteringEngineOptions = {}) {
    checkKinds('InMemoryMeteringEngine', options, { kinds: { maxEvents: 'size' } })
    this.#maxEvents = options.maxEvents ?? 10_000
  }

  /** The events that are kept, the oldest first. */
  get events(): readonly UsageEvent[] {
    return this.#events
  }

  record(event: UsageEvent): void {
    if (this.#events.length >= this.#maxEvents) this.#events.shift()
    this.#events.push(event)
  }

  async usage(account: string, from: Date, to: Date): Promise<readonly UsageTotal[]> {
    const totals = new Map<string, UsageTotal>()
    for (const { account_id, meter_name, dimensions, timestamp } of this.#events) {
      const time = Date.parse(timestamp)
      if (account_id !== account || time < from.getTime() || time >= to.getTime()) continue
      const total = totals.get(meter_name)
      totals.set(meter_name, {
        meter_name,
        requests: (total?.requests ?? 0) + dimensions.requests,
        response_bytes: (total?.response_bytes ?? 0) + dimensions.response_bytes,
        duration_ms: round((total?.duration_ms ?? 0) + dimensions.duration_ms),
      })
    }
    return [...totals.values()].sort((one, other) => (one.meter_name < other.meter_name ? -1 : 1))
  }
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000
}
