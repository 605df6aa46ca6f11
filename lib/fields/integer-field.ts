/** Whole numbers of 16 and 32 bits (promise B1). */

import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'
import { DIGITS, unrounded } from './integer-text.js'
import { type ClosedOptions, checkRangeOptions, optionError } from './options.js'

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
export class IntegerField<const Options extends IntegerFieldOptions = {}> extends SerializerField<
  number,
  Options & FieldOptions
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
    if (value < this.#least) throw new ValidationError(`Ensure this value is at least ${this.#least}.`)
    if (value > this.#greatest) throw new ValidationError(`Ensure this value is at most ${this.#greatest}.`)
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
    const { minValue, maxValue, bits = 32 } = this.options
    return {
      type: 'integer',
      format: `int${bits}`,
      ...(minValue !== undefined && { minimum: minValue }),
      ...(maxValue !== undefined && { maximum: maxValue }),
    }
  }
}

takesOptions<IntegerFieldOptions, FieldOptions>(IntegerField, { minValue: 'number', maxValue: 'number', bits: 'any' })
