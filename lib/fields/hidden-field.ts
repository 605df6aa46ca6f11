/** A value the client neither sends nor sees, and a default that fills it (promise A2). */

import { userId } from '../http/context.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { type ContextDefault, type FieldOptions, type SerializerContext, SerializerField } from './field.js'
import { type ClosedOptions, optionError } from './options.js'

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
