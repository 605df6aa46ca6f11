/** UUIDs (promise B16). */

import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'
import type { ClosedOptions } from './options.js'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** A UUID in its 8-4-4-4-12 form, any case in the input, stored and shown in lower case. */
export class UUIDField<const Options extends FieldOptions = {}> extends SerializerField<
  string,
  Options & FieldOptions
> {
  constructor(options: ClosedOptions<Options, FieldOptions> = {} as ClosedOptions<Options, FieldOptions>) {
    super(options)
  }

  override toInternalValue(value: unknown): string {
    if (typeof value !== 'string' || !UUID.test(value)) throw new ValidationError('Must be a valid UUID.')
    return value.toLowerCase()
  }

  override toRepresentation(value: unknown): unknown {
    return typeof value === 'string' ? value.toLowerCase() : value
  }

  override schema(): FieldSchema {
    return { type: 'string', format: 'uuid' }
  }
}

takesOptions(UUIDField, {})
