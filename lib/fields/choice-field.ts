/** A field whose value is one of a list. */

import { takesOptions } from '../kernel/option-kinds.js'
import { type Choice, ChoiceSet } from './choice-set.js'
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'
import type { ClosedOptions } from './options.js'

export interface ChoiceFieldOptions extends FieldOptions {
  /** The values to choose from. */
  readonly choices: readonly Choice[]
}

/**
 * A value that is one of `choices`.
 * @throws ConfigurationError when there are no choices
 * @example status: new ChoiceField({ choices: ['draft', 'open'], default: 'draft' })
 */
export class ChoiceField<const Options extends ChoiceFieldOptions = ChoiceFieldOptions> extends SerializerField<
  Options['choices'][number],
  Options & FieldOptions
> {
  readonly #choices: ChoiceSet

  constructor(options: ClosedOptions<Options, ChoiceFieldOptions>) {
    super(options)
    this.#choices = new ChoiceSet(this, options.choices)
  }

  override toInternalValue(value: unknown): Options['choices'][number] {
    return this.#choices.check(value)
  }

  override toRepresentation(value: unknown): unknown {
    return this.#choices.show(value)
  }

  override fromText(text: string): Choice {
    return this.#choices.fromText(text)
  }

  override get takesEmptyText(): boolean {
    return this.#choices.has('')
  }

  override schema(): FieldSchema {
    return this.#choices.schema
  }
}

takesOptions<ChoiceFieldOptions, FieldOptions>(ChoiceField, { choices: 'list' })
