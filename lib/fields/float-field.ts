/** Floating-point numbers (promise B5). */

import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { INEXACT, isExactDouble, isExactSingle } from './exact-float.js'
import type { FieldOptions, FieldSchema } from './field.js'
import { ClosedField, type ClosedOptions, checkRangeOptions, rangeSchema, tooGreat, tooLittle } from './options.js'

const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** What JSON has no numbers for, as it is shown. */
const SPECIAL: ReadonlyMap<string, number> = new Map(
  [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].map((value) => [String(value), value]),
)

export interface FloatFieldOptions extends FieldOptions {
  /** The least value accepted. */
  readonly minValue?: number
  /** The greatest value accepted. */
  readonly maxValue?: number
  /** The column is `real`: a number that would be read of it as another one is refused. @default false, for `double precision` */
  readonly single?: boolean
}

/**
 * A number. NaN and infinities are shown as `"NaN"`, `"Infinity"` and `"-Infinity"`, as JSON has no such numbers, and
 * taken as these strings where the field has no bounds; in filters they are not.
 * @throws ConfigurationError when minValue is greater than maxValue
 */
export class FloatField<const Options extends FloatFieldOptions = {}> extends ClosedField<
  number,
  Options,
  FloatFieldOptions
> {
  constructor(options: ClosedOptions<Options, FloatFieldOptions> = {} as ClosedOptions<Options, FloatFieldOptions>) {
    super(options)
    checkRangeOptions(this, options)
  }

  override toInternalValue(value: unknown): number {
    const { minValue, maxValue, single } = this.options
    const special = typeof value === 'string' ? SPECIAL.get(value) : undefined
    if (special !== undefined && minValue === undefined && maxValue === undefined) return special
    if (typeof value !== 'number' || !Number.isFinite(value) || (single === true && !fitsSingle(value))) {
      throw new ValidationError('A valid number is required.')
    }
    if (single === true && !isExactSingle(value)) throw new ValidationError(INEXACT)
    if (minValue !== undefined && value < minValue) throw tooLittle(minValue)
    if (maxValue !== undefined && value > maxValue) throw tooGreat(maxValue)
    return value
  }

  override toRepresentation(value: unknown): unknown {
    const number = typeof value === 'string' ? Number(value) : value
    return typeof number === 'number' && !Number.isFinite(number) ? String(number) : number
  }

  override fromNumeral(text: string): number {
    const number = Number(text)
    if (Number.isFinite(number) && !isExactDouble(text)) throw new ValidationError(INEXACT)
    return number
  }

  override fromText(text: string): number {
    if (!NUMBER.test(text)) throw new ValidationError('A valid number is required.')
    return this.fromNumeral(text)
  }

  override fromTexts(values: readonly unknown[]): unknown {
    const last = values.flat().at(-1)
    return typeof last === 'string' && SPECIAL.has(last) ? last : super.fromTexts(values)
  }

  override schema(): FieldSchema {
    return { type: 'number', format: this.options.single === true ? 'float' : 'double', ...rangeSchema(this.options) }
  }
}

takesOptions<FloatFieldOptions, FieldOptions>(FloatField, { minValue: 'number', maxValue: 'number', single: 'boolean' })

/** Neither too great nor too near to zero; PostgreSQL refuses both for a `real`. */
function fitsSingle(value: number): boolean {
  const rounded = Math.fround(value)
  return Number.isFinite(rounded) && (rounded !== 0 || value === 0)
}
