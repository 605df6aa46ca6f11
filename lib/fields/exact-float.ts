/** Whether a floating-point number holds a decimal one as it was written (promise B5). */
import { sameNumber } from '../kernel/parse-json.js'

/** Digits in which a double can be written so that it is read as itself. */
const DOUBLE_DIGITS = 17
/** The same of a single. */
const SINGLE_DIGITS = 9

export const INEXACT = 'Ensure that this number has no more digits than are stored.'

/** True for the shortest text of a double, the one of seventeen digits that many programs write, and their other spellings. */
export function isExactDouble(text: string): boolean {
  const number = Number(text)
  return sameNumber(text, String(number)) || sameNumber(text, number.toPrecision(DOUBLE_DIGITS))
}

/** True for a number that is read of a `real` as itself: `0.1` is, `16777217` is read as 16777216. */
export function isExactSingle(value: number): boolean {
  const single = Math.fround(value)
  // the shortest digits, as PostgreSQL writes them
  for (let digits = 1; digits <= SINGLE_DIGITS; digits++) {
    const shortest = Number(single.toPrecision(digits))
    if (Math.fround(shortest) === single) return shortest === value
  }
  return false
}
