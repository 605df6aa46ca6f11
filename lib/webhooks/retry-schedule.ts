/**
 * When a webhook is tried again, and what an answer means: "Deliverability and reliability" and "Delivery success and failure"
 * of Standard Webhooks 1.0.0 (https://github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md).
 */

const MINUTE = 60
const HOUR = 60 * MINUTE
/** Seconds before each attempt: the specification's example, whose last attempt is made after 75 hours. */
const DELAYS = [0, 5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]
/** The part of a delay by which it is longer or shorter, so that receivers do not get at once all that failed at once. */
const JITTER = 0.2

export interface RetryOptions {
  /** `Retry-After` of the receiver's last answer, in seconds. */
  readonly retryAfterSeconds?: number | undefined
  /** A number from 0 to 1. @default Math.random */
  readonly random?: () => number
}

/**
 * Seconds to wait before the next attempt, undefined where there is none: the webhook is given up.
 * @param attempts how many have been made; 0 before the first one, which waits for nothing
 */
export function retryDelay(attempts: number, options: RetryOptions = {}): number | undefined {
  const { retryAfterSeconds = 0, random = Math.random } = options
  const delay = DELAYS[attempts]
  return delay === undefined ? undefined : Math.max(delay + delay * JITTER * (2 * random() - 1), retryAfterSeconds)
}

/** `gone`: the receiver wants no more webhooks, neither this one nor others. */
export type WebhookOutcome = 'delivered' | 'gone' | 'failed'

/** @param status of the answer; undefined where there was none */
export function outcomeOf(status: number | undefined): WebhookOutcome {
  if (status === undefined) return 'failed'
  if (status >= 200 && status < 300) return 'delivered'
  return status === 410 ? 'gone' : 'failed'
}
