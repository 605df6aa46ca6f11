/** Times of day (promise B6). */

import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { readOffsetTime, readTime, writeTime } from './date-time-text.js'
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'
import type { ClosedOptions } from './options.js'

const TIME_MESSAGE = 'Use the format HH:MM:SS[.ffffff].'
const OFFSET_TIME_MESSAGE = 'Use the format HH:MM:SS[.ffffff](Z|±HH[:MM]).'
const OFFSET_TIME_PATTERN = '^\\d\\d:\\d\\d(:\\d\\d(\\.\\d{1,6})?)?(Z|[+-]\\d\\d(:\\d\\d){0,2})$'

/** A time of day without offset: `15:30:00.5`. The end of the day is `24:00:00`. */
export class TimeField<const Options extends FieldOptions = {}> extends SerializerField<
  string,
  Options & FieldOptions
> {
  constructor(options: ClosedOptions<Options, FieldOptions> = {} as ClosedOptions<Options, FieldOptions>) {
    super(options)
  }

  override toInternalValue(value: unknown): string {
    const text = typeof value === 'string' ? readTime(value) : undefined
    if (text === undefined) throw new ValidationError(TIME_MESSAGE)
    return text
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
    const text = typeof value === 'string' ? readOffsetTime(value) : undefined
    if (text === undefined) throw new ValidationError(OFFSET_TIME_MESSAGE)
    return text
  }

  override schema(): FieldSchema {
    return { type: 'string', pattern: OFFSET_TIME_PATTERN }
  }
}

takesOptions(OffsetTimeField, {})
