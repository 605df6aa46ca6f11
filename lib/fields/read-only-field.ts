/** A value that is shown and never accepted. */
import { writable } from '../kernel/json-numerals.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { writeDateTimeOf } from './date-time-text.js'
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'
import type { ClosedOptions } from './options.js'

/**
 * Shows what is stored as it is (a Date as a DateTimeField would, a bigint by its digits) and never takes input:
 * it is read-only and not required, whatever the options say.
 */
export class ReadOnlyField<const Options extends FieldOptions = {}> extends SerializerField<
  unknown,
  Options & FieldOptions & { readonly readOnly: true }
> {
  constructor(options: ClosedOptions<Options, FieldOptions> = {} as ClosedOptions<Options, FieldOptions>) {
    super({ ...options, readOnly: true, required: false })
  }

  override toRepresentation(value: unknown): unknown {
    if (value instanceof Date) return writeDateTimeOf(value)
    return typeof value === 'bigint' ? String(value) : writable(value)
  }

  override schema(): FieldSchema {
    return {}
  }
}

takesOptions(ReadOnlyField, {})
