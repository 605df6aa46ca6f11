/** Errors of work that is tried again and again: in an outage it fails by the same one each time, which is told once. */

import { errorLine } from './quote.js'

/** Takes an error. It must not throw. */
type Report = (error: unknown) => void

/** What the works of one owner have failed by that have not been done since. */
export class RepeatedErrors {
  readonly #report: Report
  readonly #failing = new Map<string, string>()

  constructor(report: Report) {
    this.#report = report
  }

  /** What comes of work; undefined where it fails. */
  async tried<Result>(work: string, attempt: () => Promise<Result>): Promise<Result | undefined> {
    try {
      const result = await attempt()
      this.#failing.delete(work)
      return result
    } catch (error) {
      this.tell(work, error)
      return undefined
    }
  }

  tell(work: string, error: unknown): void {
    const line = errorLine(error)
    if (this.#failing.get(work) !== line) this.#report(error)
    this.#failing.set(work, line)
  }
}
