/** Columns of type interval (wire format, section 6). */

import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { isInfinite } from './date-time-text.js'
import { DURATION_PATTERN, readDuration, writeDuration, writeDurationText } from './duration-text.js'
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'
import type { ClosedOptions } from './options.js'

const MESSAGE = 'Use the format PnYnMnDTnHnMnS.'

/**
 * An ISO 8601 duration such as `P1DT2H`. Each part may be negative (`P1DT-2H`), only seconds may have a fraction.
 * Stored and shown in the form PostgreSQL prints: `P2W` becomes `P14D`, `PT90M` becomes `PT1H30M`.
 */
export class DurationField<const Options extends FieldOptions = {}> extends SerializerField<
  string,
  Options & FieldOptions
> {
  constructor(options: ClosedOptions<Options, FieldOptions> = {} as ClosedOptions<Options, FieldOptions>) {
    super(options)
  }

  override toInternalValue(value: unknown): string {
    if (typeof value === 'string' && isInfinite(value)) return value
    const text = typeof value === 'string' ? readDuration(value) : undefined
    if (text === undefined) throw new ValidationError(MESSAGE)
    return text
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
