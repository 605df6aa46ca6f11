/** Visibility questions about owners of endpoints, answered by code of the application: who throws or hangs is left alone for a while, and holds up nobody else. */

import { TooLate, within } from '../kernel/within.js'
import { Rests } from './rests.js'

/** Timeout of a question, in milliseconds. */
const PATIENCE = 5_000
export class OwnerQuestions {
  readonly report: (error: unknown) => void
  readonly #rests = new Rests()
  /** Questions that have no answer yet, though nobody waits for it any more. */
  readonly #busy = new Set<string>()

  constructor(report: (error: unknown) => void) {
    this.report = report
  }

  /** @param key who is asked, and for what @returns `unknown` where there is no answer now */
  async ask<Answer>(key: string, question: () => Promise<Answer>): Promise<Answer | 'unknown'> {
    if (this.#busy.has(key) || this.#rests.has(key)) return 'unknown'
    const asked = question()
    try {
      const answer = await within(PATIENCE, asked)
      this.#rests.note(key, true)
      return answer
    } catch (error) {
      this.#rests.note(key, false)
      if (error instanceof TooLate) this.#waitFor(key, asked)
      this.report(error)
      return 'unknown'
    }
  }

  #waitFor(key: string, asked: Promise<unknown>): void {
    this.#busy.add(key)
    const free = () => this.#busy.delete(key)
    asked.then(free, free)
  }
}
