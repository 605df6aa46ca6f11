/** Decimal numbers: read, compared and written digit by digit, never through a float (promise B5). */

import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import type { FieldOptions, FieldSchema } from './field.js'
import { ClosedField, type ClosedOptions, optionError, tooGreat, tooLittle } from './options.js'
import { counted } from './string-field.js'

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

/** What a `numeric` column without precision holds before and after the point. */
export const MAX_WHOLE_DIGITS = 131_072
export const MAX_DECIMAL_PLACES = 16_383
/** A JSON number with more digits may have been rounded when it was parsed. */
const EXACT_DIGITS = 15
/** What a column may show besides numbers. */
const SPECIAL: ReadonlySet<string> = new Set(['NaN', 'Infinity', '-Infinity'])

export interface DecimalFieldOptions extends FieldOptions {
  /** The most digits, before and after the point together. */
  readonly maxDigits?: number
  /** The most digits after the point. */
  readonly decimalPlaces?: number
  /** The least value accepted; a string where a number is not exact enough. */
  readonly minValue?: number | string
  /** The greatest value accepted; a string where a number is not exact enough. */
  readonly maxValue?: number | string
}

/**
 * A decimal number, from a JSON number or a string like `"-12.50"`, stored and shown as text. Nothing is ever rounded.
 * A JSON number of more than 15 significant digits is refused, as it may have lost some already; a string is not.
 * `NaN`, `Infinity` and `-Infinity` are taken where the column holds them and the field has no bounds; in filters they are not.
 * @throws ConfigurationError when decimalPlaces is greater than maxDigits, or a bound is no decimal number
 * @example price: new DecimalField({ maxDigits: 8, decimalPlaces: 2, minValue: 0 })
 */
export class DecimalField<const Options extends DecimalFieldOptions = {}> extends ClosedField<
  string,
  Options,
  DecimalFieldOptions
> {
  readonly #least: Decimal | undefined
  readonly #greatest: Decimal | undefined
  readonly #wholeDigits: number

  constructor(
    options: ClosedOptions<Options, DecimalFieldOptions> = {} as ClosedOptions<Options, DecimalFieldOptions>,
  ) {
    super(options)
    const { maxDigits, decimalPlaces, minValue, maxValue }: DecimalFieldOptions = options
    if (maxDigits !== undefined && !(Number.isSafeInteger(maxDigits) && maxDigits > 0)) {
      throw optionError(this, `maxDigits is ${maxDigits}; give a whole number of at least 1`)
    }
    if (decimalPlaces !== undefined && !(Number.isSafeInteger(decimalPlaces) && decimalPlaces >= 0)) {
      throw optionError(this, `decimalPlaces is ${decimalPlaces}; give a whole number of at least 0`)
    }
    if (maxDigits !== undefined && decimalPlaces !== undefined && decimalPlaces > maxDigits) {
      throw optionError(this, `decimalPlaces ${decimalPlaces} is greater than maxDigits ${maxDigits}`)
    }
    this.#wholeDigits =
      maxDigits === undefined || decimalPlaces === undefined ? MAX_WHOLE_DIGITS : maxDigits - decimalPlaces
    this.#least = this.#bound('minValue', minValue)
    this.#greatest = this.#bound('maxValue', maxValue)
    if (this.#least && this.#greatest && compareDecimals(this.#least, this.#greatest) > 0) {
      throw optionError(this, `minValue ${minValue} is greater than maxValue ${maxValue}`)
    }
  }

  override toInternalValue(value: unknown): string {
    if (typeof value === 'string' && this.#takesSpecial(value)) return value
    const decimal = typeof value === 'number' || typeof value === 'string' ? readDecimal(value) : undefined
    if (decimal === undefined) throw new ValidationError('A valid number is required.')
    this.#checkDigits(decimal)
    if (typeof value === 'number' && significantDigits(decimal) > EXACT_DIGITS) {
      throw new ValidationError(`Send a number of more than ${EXACT_DIGITS} digits as a string.`)
    }
    if (this.#least && compareDecimals(decimal, this.#least) < 0) throw tooLittle(writeDecimal(this.#least))
    if (this.#greatest && compareDecimals(decimal, this.#greatest) > 0) throw tooGreat(writeDecimal(this.#greatest))
    return writeDecimal(decimal)
  }

  override toRepresentation(value: unknown): unknown {
    if (typeof value === 'string') return value
    return typeof value === 'number' ? this.#fixed(value) : typeof value === 'bigint' ? String(value) : value
  }

  override fromText(text: string): unknown {
    if (SPECIAL.has(text)) throw new ValidationError('A valid number is required.')
    return text
  }

  override fromTexts(values: readonly unknown[]): unknown {
    return values.flat().at(-1)
  }

  override fromNumeral(text: string): number {
    const number = Number(text)
    if (!Number.isFinite(number)) return number
    throw new ValidationError(`Send a number of more than ${EXACT_DIGITS} digits as a string.`)
  }

  override schema(): FieldSchema {
    return { type: 'string', format: 'decimal' }
  }

  /** `NaN` fits any column, infinities one without precision; neither is within bounds. */
  #takesSpecial(text: string): boolean {
    if (!SPECIAL.has(text) || this.#least || this.#greatest) return false
    return text === 'NaN' || this.options.maxDigits === undefined
  }

  #checkDigits({ whole, fraction }: Decimal): void {
    const { maxDigits = Number.POSITIVE_INFINITY, decimalPlaces = MAX_DECIMAL_PLACES } = this.options
    const wholeDigits = whole === '0' ? 0 : whole.length
    if (wholeDigits + fraction.length > maxDigits) {
      throw new ValidationError(`Ensure that there are no more than ${counted(maxDigits, 'digit')} in total.`)
    }
    if (fraction.length > decimalPlaces) {
      throw new ValidationError(`Ensure that there are no more than ${counted(decimalPlaces, 'decimal place')}.`)
    }
    if (wholeDigits > this.#wholeDigits) {
      throw new ValidationError(
        `Ensure that there are no more than ${counted(this.#wholeDigits, 'digit')} before the decimal point.`,
      )
    }
  }

  /** A number from code, with the column's decimal places where they are known. */
  #fixed(value: number): string {
    const decimal = readDecimal(value)
    if (decimal === undefined) return String(value)
    const { decimalPlaces } = this.options
    if (decimalPlaces === undefined) return writeDecimal(decimal)
    if (decimal.fraction.length > decimalPlaces) return value.toFixed(Math.min(decimalPlaces, 100))
    return writeDecimal({ ...decimal, fraction: decimal.fraction.padEnd(decimalPlaces, '0') })
  }

  #bound(name: string, value: number | string | undefined): Decimal | undefined {
    const bound = value === undefined ? undefined : readDecimal(value)
    if (value !== undefined && bound === undefined) {
      throw optionError(this, `${name} is ${value}; give a decimal number`)
    }
    return bound
  }
}

takesOptions<DecimalFieldOptions, FieldOptions>(DecimalField, {
  maxDigits: 'any',
  decimalPlaces: 'any',
  minValue: 'number or text',
  maxValue: 'number or text',
})
