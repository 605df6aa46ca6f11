/** A key that clients see as an external id. */

import type { ExternalIds } from '../ids/external-ids.js'
import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { type FieldOptions, type FieldSchema, type SerializerContext, SerializerField } from './field.js'

/** The id of an object: shown for its own key, and both ways for keys of related objects. */
export class ExternalIdField extends SerializerField<string> {
  readonly ids: ExternalIds

  constructor(ids: ExternalIds, options: FieldOptions = {}) {
    super(options)
    this.ids = ids
  }

  /** The text itself: what it stands for is looked up together with whether it exists. @throws {ValidationError} */
  override toInternalValue(value: unknown): string {
    if (typeof value === 'string') return value
    // the primary key of old is an id like any other that leads nowhere, unless JSON may have rounded it to another one
    if (typeof value === 'number' && (!Number.isInteger(value) || Number.isSafeInteger(value))) return String(value)
    throw new ValidationError('Not a valid string.')
  }

  override toRepresentation(value: unknown, context: SerializerContext): string {
    return this.ids.encode(value as string, context)
  }

  override schema(): FieldSchema {
    return { type: 'string' }
  }
}

takesOptions(ExternalIdField, {})
