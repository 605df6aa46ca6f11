/** Whole numbers of 16, 32 and 64 bits (promises B1 and B3). */
import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import type { FieldOptions, FieldSchema } from './field.js'
import {
  ClosedField,
  type ClosedOptions,
  checkRangeOptions,
  optionError,
  rangeSchema,
  tooGreat,
  tooLittle,
} from './options.js'

/** A whole number in digits. */
const DIGITS = /^-?\d+$/

/** The number nearest to one that JavaScript does not have; none where that would be a whole number by rounding. */
function unrounded(text: string): number {
  const number = Number(text)
  return Number.isSafeInteger(number) ? Number.NaN : number
}

/** A number where it is exact, else the digits. */
function exactInteger(digits: string): number | string {
  const value = Number(digits)
  return Number.isSafeInteger(value) ? value : digits
}

export interface IntegerFieldOptions extends FieldOptions {
  /** The least value accepted. */
  readonly minValue?: number
  /** The greatest value accepted. */
  readonly maxValue?: number
  /** The size of the column: 16 for smallint, 32 for integer. @default 32 */
  readonly bits?: 16 | 32
}

/**
 * A whole number that fits its column. A string is not a number: `"5"` is refused.
 * @throws ConfigurationError when minValue is greater than maxValue
 */
export class IntegerField<const Options extends IntegerFieldOptions = {}> extends ClosedField<
  number,
  Options,
  IntegerFieldOptions
> {
  readonly #least: number
  readonly #greatest: number

  constructor(
    options: ClosedOptions<Options, IntegerFieldOptions> = {} as ClosedOptions<Options, IntegerFieldOptions>,
  ) {
    super(options)
    const { minValue, maxValue, bits = 32 }: IntegerFieldOptions = options
    checkRangeOptions(this, options)
    if (bits !== 16 && bits !== 32) throw optionError(this, `bits is ${String(bits)}; give 16 or 32`)
    const size = 2 ** (bits - 1)
    this.#least = Math.max(minValue ?? -size, -size)
    this.#greatest = Math.min(maxValue ?? size, size - 1)
  }

  override toInternalValue(value: unknown): number {
    if (typeof value !== 'number' || !Number.isInteger(value)) throw new ValidationError('A valid integer is required.')
    if (value < this.#least) throw tooLittle(this.#least)
    if (value > this.#greatest) throw tooGreat(this.#greatest)
    return value
  }

  override toRepresentation(value: unknown): unknown {
    return typeof value === 'string' || typeof value === 'bigint' ? Number(value) : value
  }

  override fromNumeral(text: string): number {
    return unrounded(text)
  }

  override fromText(text: string): number {
    if (!DIGITS.test(text)) throw new ValidationError('A valid integer is required.')
    return Number(text)
  }

  override schema(): FieldSchema {
    const { minValue, maxValue, bits = 32 }: IntegerFieldOptions = this.options
    const range = {
      ...(minValue !== undefined && { minValue: this.#least }),
      ...(maxValue !== undefined && { maxValue: this.#greatest }),
    }
    return { type: 'integer', format: `int${bits}`, ...rangeSchema(range) }
  }
}

takesOptions<IntegerFieldOptions, FieldOptions>(IntegerField, { minValue: 'number', maxValue: 'number', bits: 'any' })

const LEADING_ZEROS = /^(-?)0+(?=\d)/
/** The longest int8 has 19 digits and a sign. */
const INT8_LENGTH = 20

export interface BigIntegerFieldOptions extends FieldOptions {
  /** The least value accepted; a string of digits beyond 2^53. */
  readonly minValue?: number | string
  /** The greatest value accepted; a string of digits beyond 2^53. */
  readonly maxValue?: number | string
}

/**
 * A whole number of 64 bits: a JSON number while that is exact (up to 2^53 - 1), a string of its digits beyond.
 * @throws ConfigurationError when a bound is no int8, or minValue is greater than maxValue
 */
export class BigIntegerField<const Options extends BigIntegerFieldOptions = {}> extends ClosedField<
  number | string,
  Options,
  BigIntegerFieldOptions
> {
  readonly #least: bigint
  readonly #greatest: bigint

  constructor(
    options: ClosedOptions<Options, BigIntegerFieldOptions> = {} as ClosedOptions<Options, BigIntegerFieldOptions>,
  ) {
    super(options)
    const { minValue, maxValue }: BigIntegerFieldOptions = options
    this.#least = minValue === undefined ? -(2n ** 63n) : this.#bound('minValue', minValue)
    this.#greatest = maxValue === undefined ? 2n ** 63n - 1n : this.#bound('maxValue', maxValue)
    if (this.#least > this.#greatest) {
      throw optionError(this, `minValue ${this.#least} is greater than maxValue ${this.#greatest}`)
    }
  }

  override toInternalValue(value: unknown): number | string {
    if (typeof value === 'number') {
      if (!Number.isInteger(value)) throw new ValidationError('A valid integer is required.')
      // JSON.parse has rounded it already: what was meant is not known any more.
      if (!Number.isSafeInteger(value)) {
        throw new ValidationError(`Send an integer beyond ${Number.MAX_SAFE_INTEGER} as a string.`)
      }
      this.#checkRange(value)
      return value
    }
    if (typeof value !== 'string' || !DIGITS.test(value)) throw new ValidationError('A valid integer is required.')
    const digits = value.replace(LEADING_ZEROS, '$1')
    if (digits.length > INT8_LENGTH) throw digits.startsWith('-') ? tooLittle(this.#least) : tooGreat(this.#greatest)
    const integer = BigInt(digits)
    this.#checkRange(integer)
    return exactInteger(String(integer))
  }

  override toRepresentation(value: unknown): unknown {
    if (typeof value === 'string') return exactInteger(value)
    if (typeof value === 'bigint') return exactInteger(String(value))
    // A number that is not exact is shown with all its digits, never with an exponent.
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? String(BigInt(value as number)) : value
  }

  override fromNumeral(text: string): number {
    return unrounded(text)
  }

  override schema(): FieldSchema {
    const number = { type: 'integer', format: 'int64', ...rangeSchema(this.options) }
    return { anyOf: [number, { type: 'string', pattern: '^-?[0-9]+$' }] }
  }

  #checkRange(value: number | bigint): void {
    if (value < this.#least) throw tooLittle(this.#least)
    if (value > this.#greatest) throw tooGreat(this.#greatest)
  }

  #bound(name: string, value: number | string): bigint {
    const exact = typeof value === 'number' ? Number.isSafeInteger(value) : DIGITS.test(value)
    const bound = exact ? BigInt(value) : undefined
    if (bound === undefined || BigInt.asIntN(64, bound) !== bound) {
      throw optionError(this, `${name} is ${value}; give a whole number of 64 bits, as a string beyond 2^53`)
    }
    return bound
  }
}

takesOptions<BigIntegerFieldOptions, FieldOptions>(BigIntegerField, {
  minValue: 'number or text',
  maxValue: 'number or text',
})
