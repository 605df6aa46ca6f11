/** Whole numbers of 64 bits (promise B3). */

import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'
import { DIGITS, exactInteger, unrounded } from './integer-text.js'
import { type ClosedOptions, optionError } from './options.js'

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
export class BigIntegerField<const Options extends BigIntegerFieldOptions = {}> extends SerializerField<
  number | string,
  Options & FieldOptions
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
    if (digits.length > INT8_LENGTH) throw digits.startsWith('-') ? this.#tooLittle() : this.#tooGreat()
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
    const { minValue, maxValue } = this.options
    return {
      anyOf: [
        {
          type: 'integer',
          format: 'int64',
          ...(minValue !== undefined && { minimum: minValue }),
          ...(maxValue !== undefined && { maximum: maxValue }),
        },
        { type: 'string', pattern: '^-?[0-9]+$' },
      ],
    }
  }

  #checkRange(value: number | bigint): void {
    if (value < this.#least) throw this.#tooLittle()
    if (value > this.#greatest) throw this.#tooGreat()
  }

  #tooLittle(): ValidationError {
    return new ValidationError(`Ensure this value is at least ${this.#least}.`)
  }

  #tooGreat(): ValidationError {
    return new ValidationError(`Ensure this value is at most ${this.#greatest}.`)
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
