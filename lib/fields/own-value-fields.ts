/** Values that a client does not send: shown only, or not even that, and defaults that fill them (promise A2). */
import { userId } from '../http/context.js'
import { writable } from '../kernel/json-numerals.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { writeDateTimeOf } from './date-time-text.js'
import {
  type ContextDefault,
  type FieldOptions,
  type FieldSchema,
  type SerializerContext,
  SerializerField,
} from './field.js'
import { type ClosedOptions, optionError } from './options.js'

/**
 * Shows what is stored, and never takes input: it is read-only and not required, whatever the options say. A column's value is
 * shown as the column's own field would; what code has made of it as it is (a Date as a DateTimeField would, a bigint by its digits).
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

export interface HiddenFieldOptions extends Pick<FieldOptions, 'source'> {
  /** The value: as it is, from a function of no arguments, or a `ContextDefault` such as `CurrentUserDefault`. */
  readonly default: unknown
}

/**
 * Part of the validated data on create and full update, always with its default; input for it is never used, and no
 * output shows it.
 * @throws ConfigurationError without a default
 * @example owner_id: new HiddenField({ default: new CurrentUserDefault() })
 */
export class HiddenField<const Options extends HiddenFieldOptions = HiddenFieldOptions> extends SerializerField<
  unknown,
  Options & FieldOptions & { readonly writeOnly: true; readonly required: false }
> {
  /** Tells it from all other fields, for types too. */
  readonly hidden = true

  constructor(options: ClosedOptions<Options, HiddenFieldOptions>) {
    super({ ...options, writeOnly: true, required: false })
    if (options.default === undefined) throw optionError(this, 'give a default')
  }
}

takesOptions(HiddenField, {})

/** The current user's id. Undefined (no value) for an anonymous caller or outside a request. */
export class CurrentUserDefault implements ContextDefault {
  resolve(context: SerializerContext): unknown {
    return userId(context.user)
  }
}
