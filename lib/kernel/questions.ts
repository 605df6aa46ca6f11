/** Questions that code of the application has a part in: who throws or hangs is left alone for a while, longer each time, and holds up nobody else. */

import { Rests } from './rests.js'
import { within } from './within.js'

/** Time limit of an answer, in milliseconds. */
const PATIENCE = 5_000

/** Whoever waits for an answer; gone once it is there, or too late: that ends what is still asked of the database. */
export interface Asker {
  readonly destroyed: boolean
}

type Question<Answer> = (asker: Asker) => Promise<Answer>

/** The answer to a question, within the time limit. @throws TooLate */
export async function answerInTime<Answer>(question: Question<Answer>): Promise<Answer> {
  const asker = { destroyed: false }
  try {
    return await within(PATIENCE, question(asker))
  } finally {
    asker.destroyed = true
  }
}

export class Questions {
  readonly #rests = new Rests()

  /** True where the last question has not been answered. */
  isTroubled(key: string): boolean {
    return this.#rests.isKnown(key)
  }

  /** How long it is no use to ask again, in milliseconds. */
  restOf(key: string): number {
    return this.#rests.left(key)
  }

  /** @param key who is asked, and for what @returns `unknown` where there is no answer now */
  async ask<Answer>(
    key: string,
    question: Question<Answer>,
    report: (error: unknown) => void,
  ): Promise<Answer | 'unknown'> {
    if (this.#rests.left(key) > 0) return 'unknown'
    try {
      const answer = await answerInTime(question)
      this.#rests.note(key, true)
      return answer
    } catch (error) {
      this.#rests.note(key, false)
      report(error)
      return 'unknown'
    }
  }
}
