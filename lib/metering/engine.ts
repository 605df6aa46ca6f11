/** The contract of a metering engine, and what it is given (wire format, section 9). */

/** One request, as it is counted. */
export interface UsageEvent {
  /** The meter that it is counted by. */
  readonly meter_name: string
  /**
   * The user's `id` as text, or `anonymous`, also for a user without one. Where the scheme that knew the user has a
   * `userKind`, that and the id as JSON: `["customers","1"]`.
   */
  readonly account_id: string
  /** What is added up. */
  readonly dimensions: UsageDimensions
  /** When the request began. */
  readonly timestamp: string
}

/** What is added up. */
export interface UsageDimensions {
  /** Requests: 1 of an event. */
  readonly requests: number
  /** Bytes of the body that were handed to Node. */
  readonly response_bytes: number
  /** Milliseconds, to three decimals. */
  readonly duration_ms: number
}

/** The sums of one meter. */
export interface UsageTotal extends UsageDimensions {
  /** The meter. */
  readonly meter_name: string
}

/** Keeps usage events. What it throws, rejects or never answers is no concern of the request. */
export interface MeteringEngine {
  /** Takes one event. Called once for each request, when its response has ended. */
  record(event: UsageEvent): void | Promise<void>
  /** Writes what is still to be written. It may be called more than once. */
  close?(): void | Promise<void>
}

/** An engine that can show what it has kept. */
export interface UsageReport {
  /** The sums of an account, by meter, of requests that began at `from` or later and before `to`. */
  usage(account: string, from: Date, to: Date): Promise<readonly UsageTotal[]>
}
