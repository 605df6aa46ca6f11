/** Time limits for promises. */

import { atTurnsEnd } from './turns.js'

/** The error of work that took longer than its time limit. */
export class TooLate extends Error {
  constructor(milliseconds: number) {
    super(`no answer within ${Math.ceil(milliseconds)} ms`)
    this.name = 'TooLate'
  }
}

/** The result of the work, within a time limit in milliseconds; the work itself is not stopped. @throws TooLate */
export async function within<Value>(milliseconds: number, work: PromiseLike<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const giveUp = () => reject(new TooLate(milliseconds))
    // a process that was busy for so long first reads what has come meanwhile
    timer = setTimeout(() => atTurnsEnd(giveUp), milliseconds).unref()
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
