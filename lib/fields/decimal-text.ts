/** Decimal numbers as text: read, compared and written digit by digit, never through a float (promise B5). */

/** A decimal number. `whole` has no leading zeros but a single `0`; `fraction` is as it was written. Zero is not negative. */
export interface Decimal {
  readonly negative: boolean
  readonly whole: string
  readonly fraction: string
}

const PLAIN = /^(-?)(\d+)(?:\.(\d+))?$/
const EXPONENT = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/
const LEADING_ZEROS = /^0+(?=\d)/
const NOT_ZERO = /[1-9]/

/** Reads a finite number or a string of the form `-?digits[.digits]`; undefined for anything else. */
export function readDecimal(value: number | string): Decimal | undefined {
  const match = PLAIN.exec(typeof value === 'number' ? plainNotation(value) : value)
  if (match === null) return undefined
  const [, sign, digits = '', fraction = ''] = match
  const whole = digits.replace(LEADING_ZEROS, '')
  return { negative: sign === '-' && (NOT_ZERO.test(whole) || NOT_ZERO.test(fraction)), whole, fraction }
}

/** The text PostgreSQL would print for it. */
export function writeDecimal({ negative, whole, fraction }: Decimal): string {
  return `${negative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

/** Less than zero when `left` is the smaller one, zero when they are equal. */
export function compareDecimals(left: Decimal, right: Decimal): number {
  if (left.negative !== right.negative) return left.negative ? -1 : 1
  const size = compareSizes(left, right)
  return left.negative ? -size : size
}

/** Digits between the first and the last that is not zero: a float keeps 15 of them whatever they are. */
export function significantDigits({ whole, fraction }: Decimal): number {
  const digits = `${whole}${fraction}`
  let first = 0
  let end = digits.length
  while (first < end && digits[first] === '0') first++
  while (end > first && digits[end - 1] === '0') end--
  return end - first
}

function compareSizes(left: Decimal, right: Decimal): number {
  if (left.whole.length !== right.whole.length) return left.whole.length - right.whole.length
  if (left.whole !== right.whole) return left.whole < right.whole ? -1 : 1
  const places = Math.max(left.fraction.length, right.fraction.length)
  const leftFraction = left.fraction.padEnd(places, '0')
  const rightFraction = right.fraction.padEnd(places, '0')
  if (leftFraction === rightFraction) return 0
  return leftFraction < rightFraction ? -1 : 1
}

/** A number's shortest digits without exponent; not a decimal text for NaN and infinities. */
function plainNotation(value: number): string {
  const text = String(value)
  const match = EXPONENT.exec(text)
  if (match === null) return text
  const [, sign = '', first = '', rest = '', exponent = ''] = match
  const digits = first + rest
  const point = Number(exponent) + 1
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`
  return `${sign}${digits.padEnd(point, '0')}` // an exponent is only written where no digit stands after the point
}
