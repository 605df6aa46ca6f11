/** Whole numbers as digits. */

/** A whole number in digits. */
export const DIGITS = /^-?\d+$/

/** The number nearest to one that JavaScript does not have; none where that would be a whole number by rounding. */
export function unrounded(text: string): number {
  const number = Number(text)
  return Number.isSafeInteger(number) ? Number.NaN : number
}

/** A number where it is exact, else the digits. */
export function exactInteger(digits: string): number | string {
  const value = Number(digits)
  return Number.isSafeInteger(value) ? value : digits
}
