/** Text, and what holds for text of any field: which characters may be stored, and how long it is. */

import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { writeDateTimeOf } from './date-time-text.js'
import type { FieldOptions, FieldSchema } from './field.js'
import { ClosedField, type ClosedOptions, checkLengthOptions } from './options.js'

/** The text. @throws ValidationError PostgreSQL cannot store it (NUL) or would change it (a lone surrogate) */
export function checkedText(text: string): string {
  if (text.includes('\0')) throw new ValidationError('Null characters are not allowed.')
  if (!text.isWellFormed()) throw new ValidationError('Invalid Unicode.')
  return text
}

/** @throws ValidationError unless the number of characters is within the limits */
export function checkLength(text: string, minLength: number | undefined, maxLength: number | undefined): void {
  // A character is one or two code units, so most texts need no counting.
  if (minLength !== undefined && text.length < minLength * 2 && countCharacters(text) < minLength) {
    throw new ValidationError(`Ensure this field has at least ${counted(minLength, 'character')}.`)
  }
  if (maxLength !== undefined && text.length > maxLength && countCharacters(text) > maxLength) {
    throw new ValidationError(`Ensure this field has no more than ${counted(maxLength, 'character')}.`)
  }
}

/** `1 item`, `2 items`. */
export function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`
}

/** Characters as PostgreSQL counts them: code points. */
export function countCharacters(text: string): number {
  let count = text.length
  for (let index = 0; index < text.length; index++) {
    if ((text.codePointAt(index) ?? 0) > 0xffff) {
      count--
      index++
    }
  }
  return count
}

export interface StringFieldOptions extends FieldOptions {
  /** The fewest characters (code points, as PostgreSQL counts them). */
  readonly minLength?: number
  /** The most characters (code points). */
  readonly maxLength?: number
  /** `false` refuses text that is empty or only white space. @default true */
  readonly allowBlank?: boolean
}

/**
 * Text, stored as it was sent. NUL and lone surrogates are refused: PostgreSQL cannot store them.
 * @throws ConfigurationError when minLength is greater than maxLength
 * @example title: new StringField({ minLength: 2, maxLength: 200, allowBlank: false })
 */
export class StringField<const Options extends StringFieldOptions = {}> extends ClosedField<
  string,
  Options,
  StringFieldOptions
> {
  constructor(options: ClosedOptions<Options, StringFieldOptions> = {} as ClosedOptions<Options, StringFieldOptions>) {
    super(options)
    checkLengthOptions(this, options)
  }

  override toInternalValue(value: unknown): string {
    if (typeof value !== 'string') throw new ValidationError('Not a valid string.')
    checkedText(value)
    const { allowBlank, minLength, maxLength } = this.options
    if (allowBlank === false && value.trim() === '') throw new ValidationError('This field may not be blank.')
    checkLength(value, minLength, maxLength)
    return value
  }

  override get takesEmptyText(): boolean {
    return this.options.allowBlank !== false
  }

  override toRepresentation(value: unknown): unknown {
    if (value instanceof Date) return writeDateTimeOf(value)
    return typeof value === 'number' || typeof value === 'bigint' ? String(value) : value
  }

  override schema(): FieldSchema {
    const { allowBlank, minLength, maxLength } = this.options
    return {
      type: 'string',
      ...(minLength !== undefined && { minLength }),
      ...(maxLength !== undefined && { maxLength }),
      ...(allowBlank === false && { pattern: '\\S' }),
    }
  }
}

takesOptions<StringFieldOptions, FieldOptions>(StringField, {
  minLength: 'any',
  maxLength: 'any',
  allowBlank: 'boolean',
})
