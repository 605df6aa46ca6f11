/** Text (promises B7 and B8). */

import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'
import { type ClosedOptions, checkLengthOptions } from './options.js'
import { checkLength, checkText } from './text.js'

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
export class StringField<const Options extends StringFieldOptions = {}> extends SerializerField<
  string,
  Options & FieldOptions
> {
  constructor(options: ClosedOptions<Options, StringFieldOptions> = {} as ClosedOptions<Options, StringFieldOptions>) {
    super(options)
    checkLengthOptions(this, options)
  }

  override toInternalValue(value: unknown): string {
    if (typeof value !== 'string') throw new ValidationError('Not a valid string.')
    checkText(value)
    const { allowBlank, minLength, maxLength } = this.options
    if (allowBlank === false && value.trim() === '') throw new ValidationError('This field may not be blank.')
    checkLength(value, minLength, maxLength)
    return value
  }

  override get takesEmptyText(): boolean {
    return this.options.allowBlank !== false
  }

  override toRepresentation(value: unknown): unknown {
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
