/** Asks code of the application what owners see: who throws or hangs is left alone for a while, and holds up nobody else. */

import { TooLate, within } from '../kernel/within.js'

/** How long a question may take, in milliseconds. */
const PATIENCE = 5_000
/** How long nobody is asked after a failure, the first time and at most, in milliseconds. */
const REST = { first: 500, longest: 60_000 }

interface Rest {
  readonly failures: number
  readonly until: number
  /** The last question has no answer yet. */
  isBusy: boolean
}

export class OwnerQuestions {
  readonly report: (error: unknown) => void
  readonly #rests = new Map<string, Rest>()

  constructor(report: (error: unknown) => void) {
    this.report = report
  }

  /** @param key who is asked, and for what @returns `unknown` where there is no answer now */
  async ask<Answer>(key: string, question: () => Promise<Answer>): Promise<Answer | 'unknown'> {
    const rest = this.#rests.get(key)
    if (rest && (rest.isBusy || rest.until > performance.now())) return 'unknown'
    const asked = question()
    try {
      const answer = await within(PATIENCE, asked)
      this.#rests.delete(key)
      return answer
    } catch (error) {
      this.#leaveAlone(key, asked, error instanceof TooLate)
      this.report(error)
      return 'unknown'
    }
  }

  #leaveAlone(key: string, asked: Promise<unknown>, isBusy: boolean): void {
    const failures = (this.#rests.get(key)?.failures ?? 0) + 1
    const until = performance.now() + Math.min(REST.longest, REST.first * 2 ** failures)
    const rest: Rest = { failures, until, isBusy }
    this.#rests.set(key, rest)
    const free = () => {
      rest.isBusy = false
    }
    asked.then(free, free)
  }
}
