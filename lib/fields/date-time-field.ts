/** Points in time (promises B6 and B15). */

import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { compileDateTimeFormat, type DateTimeFormat, formatDateTime } from './date-time-format.js'
import {
  isInfinite,
  readDateTime,
  readDateTimeOf,
  writeDateTime,
  writeDateTimeOf,
  writeOther,
} from './date-time-text.js'
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'
import { type ClosedOptions, optionError } from './options.js'

const DATE_TIME_MESSAGE = 'Use the format YYYY-MM-DDTHH:MM:SS[.ffffff][Z|±HH:MM].'

export interface DateTimeFieldOptions extends FieldOptions {
  /**
   * How the value is shown, in UTC: `iso`, or a string with the strftime tokens `%Y %m %d %H %M %S %f %j %z`.
   * Input is ISO 8601 whatever it says.
   * @default 'iso'
   */
  readonly formatStr?: string
}

/**
 * A point in time. Takes strict ISO 8601 (without an offset it is UTC) or a Date; stores and shows it in UTC with all
 * its microseconds: `2026-03-28T15:30:00.1234Z`.
 * @throws ConfigurationError when formatStr has a token that is not known
 */
export class DateTimeField<const Options extends DateTimeFieldOptions = {}> extends SerializerField<
  string,
  Options & FieldOptions
> {
  readonly #format: DateTimeFormat | undefined

  constructor(
    options: ClosedOptions<Options, DateTimeFieldOptions> = {} as ClosedOptions<Options, DateTimeFieldOptions>,
  ) {
    super(options)
    const { formatStr = 'iso' }: DateTimeFieldOptions = options
    if (formatStr === 'iso') return
    const format = compileDateTimeFormat(formatStr)
    if ('unknownToken' in format) {
      throw optionError(
        this,
        `formatStr has the token "${format.unknownToken}"; use "iso" or %Y %m %d %H %M %S %f %j %z`,
      )
    }
    this.#format = format
  }

  override toInternalValue(value: unknown): string {
    if (typeof value === 'string' && isInfinite(value)) return value
    const text =
      typeof value === 'string' ? readDateTime(value) : value instanceof Date ? readDateTimeOf(value) : undefined
    if (text === undefined) throw new ValidationError(DATE_TIME_MESSAGE)
    return text
  }

  override toRepresentation(value: unknown): unknown {
    if (typeof value === 'string') return this.#formatted(writeDateTime(value))
    return value instanceof Date ? this.#formatted(writeDateTimeOf(value)) : writeOther(value)
  }

  override schema(): FieldSchema {
    return this.#format === undefined ? { type: 'string', format: 'date-time' } : { type: 'string' }
  }

  #formatted(text: string): string {
    return this.#format === undefined ? text : formatDateTime(text, this.#format)
  }
}

takesOptions<DateTimeFieldOptions, FieldOptions>(DateTimeField, { formatStr: 'name' })
