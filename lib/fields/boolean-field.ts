/** True or false. */

import { ValidationError } from '../errors.js'
import { takesOptions } from '../option-kinds.js'
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'
import type { ClosedOptions } from './options.js'

/** A boolean: `true` or `false`, nothing that merely looks like one. */
export class BooleanField<const Options extends FieldOptions = {}> extends SerializerField<
  boolean,
  Options & FieldOptions
> {
  constructor(options: ClosedOptions<Options, FieldOptions> = {} as ClosedOptions<Options, FieldOptions>) {
    super(options)
  }

  override toInternalValue(value: unknown): boolean {
    if (typeof value !== 'boolean') throw new ValidationError('Must be a valid boolean.')
    return value
  }

  override fromText(text: string): boolean {
    if (text !== 'true' && text !== 'false') throw new ValidationError('Must be a valid boolean.')
    return text === 'true'
  }

  override schema(): FieldSchema {
    return { type: 'boolean' }
  }
}

takesOptions(BooleanField, {})
