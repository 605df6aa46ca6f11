/** Days (promises B6 and B15). */

import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { isInfinite, readDate, readDateOf, writeDateOf, writeOther } from './date-time-text.js'
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'
import type { ClosedOptions } from './options.js'

const DATE_MESSAGE = 'Use the format YYYY-MM-DD.'

/** A day: `2026-03-28`, `infinity` or `-infinity`. Takes that text, or a Date for its day in local time (as pg reads a `date` column). */
export class DateField<const Options extends FieldOptions = {}> extends SerializerField<
  string,
  Options & FieldOptions
> {
  constructor(options: ClosedOptions<Options, FieldOptions> = {} as ClosedOptions<Options, FieldOptions>) {
    super(options)
  }

  override toInternalValue(value: unknown): string {
    if (typeof value === 'string' && isInfinite(value)) return value
    const text = typeof value === 'string' ? readDate(value) : value instanceof Date ? readDateOf(value) : undefined
    if (text === undefined) throw new ValidationError(DATE_MESSAGE)
    return text
  }

  override toRepresentation(value: unknown): unknown {
    if (typeof value === 'string') return value
    return value instanceof Date ? writeDateOf(value) : writeOther(value)
  }

  override schema(): FieldSchema {
    return { type: 'string', format: 'date' }
  }
}

takesOptions(DateField, {})
