/** Days, points in time, times of day and intervals (promises B6 and B15; wire format, section 6). */
import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import {
  isInfinite,
  readDate,
  readDateOf,
  readDateTime,
  readDateTimeOf,
  readOffsetTime,
  readTime,
  writeDateOf,
  writeDateTime,
  writeDateTimeOf,
  writeOther,
  writeTime,
} from './date-time-text.js'
import { DURATION_PATTERN, readDuration, writeDuration, writeDurationText } from './duration-text.js'
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'
import { ClosedField, type ClosedOptions, optionError } from './options.js'

/** A text that was read. @throws ValidationError it is none of the format */
function taken(text: string | undefined, format: string): string {
  if (text === undefined) throw new ValidationError(`Use the format ${format}.`)
  return text
}

/** A day: `2026-03-28`, `infinity` or `-infinity`. Takes that text, or a Date for its day in local time (as pg reads a `date` column). */
export class DateField<const Options extends FieldOptions = {}> extends ClosedField<string, Options> {
  override toInternalValue(value: unknown): string {
    if (typeof value === 'string' && isInfinite(value)) return value
    const text = typeof value === 'string' ? readDate(value) : value instanceof Date ? readDateOf(value) : undefined
    return taken(text, 'YYYY-MM-DD')
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

const OFFSET_TIME_PATTERN = '^\\d\\d:\\d\\d(:\\d\\d(\\.\\d{1,6})?)?(Z|[+-]\\d\\d(:\\d\\d){0,2})$'

/** A time of day without offset: `15:30:00.5`. The end of the day is `24:00:00`. */
export class TimeField<const Options extends FieldOptions = {}> extends ClosedField<string, Options> {
  override toInternalValue(value: unknown): string {
    return taken(typeof value === 'string' ? readTime(value) : undefined, 'HH:MM:SS[.ffffff]')
  }

  override toRepresentation(value: unknown): unknown {
    return typeof value === 'string' ? writeTime(value) : value
  }

  override schema(): FieldSchema {
    // JSON Schema's format "time" has an offset; ours, as PostgreSQL's, has none.
    return { type: 'string', format: 'time-local' }
  }
}

takesOptions(TimeField, {})

/**
 * A time of day with its offset, as a column of type timetz keeps it: `15:30:00.5+02`. Takes any offset as `Z`, `±HH` or
 * `±HH:MM`, and none without; shows it as PostgreSQL prints it.
 */
export class OffsetTimeField extends SerializerField<string> {
  override toInternalValue(value: unknown): string {
    return taken(typeof value === 'string' ? readOffsetTime(value) : undefined, 'HH:MM:SS[.ffffff](Z|±HH[:MM])')
  }

  override schema(): FieldSchema {
    return { type: 'string', pattern: OFFSET_TIME_PATTERN }
  }
}

takesOptions(OffsetTimeField, {})

/**
 * An ISO 8601 duration such as `P1DT2H`. Each part may be negative (`P1DT-2H`), only seconds may have a fraction.
 * Stored and shown in the form PostgreSQL prints: `P2W` becomes `P14D`, `PT90M` becomes `PT1H30M`.
 */
export class DurationField<const Options extends FieldOptions = {}> extends ClosedField<string, Options> {
  override toInternalValue(value: unknown): string {
    if (typeof value === 'string' && isInfinite(value)) return value
    return taken(typeof value === 'string' ? readDuration(value) : undefined, 'PnYnMnDTnHnMnS')
  }

  override toRepresentation(value: unknown): unknown {
    if (typeof value === 'string') return writeDurationText(value)
    return typeof value === 'object' && value !== null ? writeDuration(value) : value
  }

  override schema(): FieldSchema {
    return { type: 'string', pattern: DURATION_PATTERN }
  }
}

takesOptions(DurationField, {})

const TOKENS: ReadonlyMap<string, (text: string) => string> = new Map([
  ['Y', (text: string) => text.slice(0, 4)],
  ['m', (text: string) => text.slice(5, 7)],
  ['d', (text: string) => text.slice(8, 10)],
  ['H', (text: string) => text.slice(11, 13)],
  ['M', (text: string) => text.slice(14, 16)],
  ['S', (text: string) => text.slice(17, 19)],
  ['f', (text: string) => text.slice(20, -1).padEnd(6, '0')],
  ['j', dayOfYear],
  ['z', () => '+0000'],
])
const DAY = 86_400_000
const DAY_ALONE = /^\d{4}-\d\d-\d\d$/

/** Text to be written as it is, and tokens. */
type DateTimeFormat = readonly (string | ((text: string) => string))[]

/** Reads a format; returns the token that is not known instead, if there is one. */
function compileDateTimeFormat(format: string): DateTimeFormat | { readonly unknownToken: string } {
  const [start = '', ...pieces] = format.split('%')
  const parts: (string | ((text: string) => string))[] = [start]
  for (const piece of pieces) {
    const token = TOKENS.get(piece.slice(0, 1))
    if (token === undefined) return { unknownToken: `%${piece.slice(0, 1)}` }
    parts.push(token, piece.slice(1))
  }
  return parts
}

/** Writes a date and time of the wire's form in a format. Years beyond 9999, BC and infinities stay as they are. */
function formatDateTime(text: string, format: DateTimeFormat): string {
  if (text.length < 20 || text.charAt(4) !== '-' || !text.endsWith('Z')) return text
  let formatted = ''
  for (const part of format) formatted += typeof part === 'string' ? part : part(text)
  return formatted
}

function dayOfYear(text: string): string {
  const year = Number(text.slice(0, 4))
  const days = (Date.UTC(year, Number(text.slice(5, 7)) - 1, Number(text.slice(8, 10))) - Date.UTC(year, 0, 1)) / DAY
  return String(days + 1).padStart(3, '0')
}

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
 * its microseconds: `2026-03-28T15:30:00.1234Z`. A day is shown as its beginning.
 * @throws ConfigurationError when formatStr has a token that is not known
 */
export class DateTimeField<const Options extends DateTimeFieldOptions = {}> extends ClosedField<
  string,
  Options,
  DateTimeFieldOptions
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
    return taken(text, 'YYYY-MM-DDTHH:MM:SS[.ffffff][Z|±HH:MM]')
  }

  override toRepresentation(value: unknown): unknown {
    if (typeof value === 'string') return this.#formatted(writeDateTime(value))
    return value instanceof Date ? this.#formatted(writeDateTimeOf(value)) : writeOther(value)
  }

  override schema(): FieldSchema {
    return this.#format === undefined ? { type: 'string', format: 'date-time' } : { type: 'string' }
  }

  #formatted(text: string): string {
    const point = DAY_ALONE.test(text) ? `${text}T00:00:00Z` : text
    return this.#format === undefined ? point : formatDateTime(point, this.#format)
  }
}

takesOptions<DateTimeFieldOptions, FieldOptions>(DateTimeField, { formatStr: 'name' })
