/** Exact decimal numbers (promise B5). */

import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { compareDecimals, type Decimal, readDecimal, significantDigits, writeDecimal } from './decimal-text.js'
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'
import { type ClosedOptions, optionError } from './options.js'
import { counted } from './text.js'

/** What a `numeric` column without precision holds before and after the point. */
const MAX_WHOLE_DIGITS = 131_072
const MAX_DECIMAL_PLACES = 16_383
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
export class DecimalField<const Options extends DecimalFieldOptions = {}> extends SerializerField<
  string,
  Options & FieldOptions
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
    if (this.#least && compareDecimals(decimal, this.#least) < 0) {
      throw new ValidationError(`Ensure this value is at least ${writeDecimal(this.#least)}.`)
    }
    if (this.#greatest && compareDecimals(decimal, this.#greatest) > 0) {
      throw new ValidationError(`Ensure this value is at most ${writeDecimal(this.#greatest)}.`)
    }
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
    return values.at(-1)
  }

  override fromNumeral(text: string): number {
    const number = Number(text)
    if (!Number.isFinite(number)) return number
    throw new ValidationError(`Send a number of more than ${EXACT_DIGITS} digits as a string.`)
  }

  override schema(): FieldSchema {
    const { minValue, maxValue } = this.options
    return {
      type: 'string',
      format: 'decimal',
      ...(minValue !== undefined && { minimum: minValue }),
      ...(maxValue !== undefined && { maximum: maxValue }),
    }
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
