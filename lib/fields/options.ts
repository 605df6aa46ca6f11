/** What the constructors of all fields share: closed option types, and checks that end in a `ConfigurationError`. */
import { ConfigurationError, ValidationError } from '../kernel/errors.js'
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'

/**
 * `Options` without keys that `Known` does not have: a misspelt option does not compile, and literal types are kept.
 * Written so that the arguments of an option's function (`queryset`) get their types from `Known`.
 */
export type ClosedOptions<Options, Known> = Known &
  Options & { readonly [Key in Exclude<keyof Options, keyof Known>]: never }

/** A field that takes its own options and no others. */
export class ClosedField<
  Value,
  Options extends Known,
  Known extends FieldOptions = FieldOptions,
> extends SerializerField<Value, Options & FieldOptions> {
  constructor(options: ClosedOptions<Options, Known> = {} as ClosedOptions<Options, Known>) {
    super(options)
  }
}

/** The mistake of whoever wrote `new SomeField(…)`, with the name of the class in front. */
export function optionError(field: object, problem: string): ConfigurationError {
  return new ConfigurationError(`${field.constructor.name}: ${problem}`)
}

/** What a list may have where its field does not say. */
export const MOST_ITEMS = 1_000

/** @throws ValidationError the list is empty, and the field wants at least one item */
export function checkNotEmpty({ length }: readonly unknown[], { allowEmpty }: { allowEmpty?: boolean }): void {
  if (length === 0 && allowEmpty === false) throw new ValidationError('Ensure this field has at least 1 item.')
}

/** @throws ConfigurationError unless both lengths, where given, are whole numbers from 0 up and in order */
export function checkLengthOptions(field: object, options: { minLength?: number; maxLength?: number }): void {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = options
  if (!Number.isSafeInteger(minLength) || minLength < 0) {
    throw optionError(field, `minLength is ${minLength}; give a whole number of at least 0`)
  }
  if (options.maxLength !== undefined && (!Number.isSafeInteger(maxLength) || maxLength < 0)) {
    throw optionError(field, `maxLength is ${maxLength}; give a whole number of at least 0`)
  }
  if (minLength > maxLength) throw optionError(field, `minLength ${minLength} is greater than maxLength ${maxLength}`)
}

/** @throws ConfigurationError unless both bounds, where given, are numbers and in order */
export function checkRangeOptions(field: object, options: { minValue?: number; maxValue?: number }): void {
  const { minValue = Number.NEGATIVE_INFINITY, maxValue = Number.POSITIVE_INFINITY } = options
  if (Number.isNaN(minValue) || Number.isNaN(maxValue))
    throw optionError(field, 'minValue and maxValue must be numbers')
  if (minValue > maxValue) throw optionError(field, `minValue ${minValue} is greater than maxValue ${maxValue}`)
}

/** The refusal of a value below the least one. */
export function tooLittle(least: number | bigint | string): ValidationError {
  return new ValidationError(`Ensure this value is at least ${least}.`)
}

/** The refusal of a value above the greatest one. */
export function tooGreat(greatest: number | bigint | string): ValidationError {
  return new ValidationError(`Ensure this value is at most ${greatest}.`)
}

/** The least and the greatest value of a field; strings of digits where a number has not enough of them. */
export interface Bounds {
  readonly minValue?: number | string
  readonly maxValue?: number | string
}

/** Bounds as JSON Schema says them, which knows those alone that are finite numbers. */
export function rangeSchema({ minValue, maxValue }: Bounds): FieldSchema {
  return {
    ...(typeof minValue === 'number' && Number.isFinite(minValue) && { minimum: minValue }),
    ...(typeof maxValue === 'number' && Number.isFinite(maxValue) && { maximum: maxValue }),
  }
}
