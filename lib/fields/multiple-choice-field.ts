/** A field whose values are several of a list. */

import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import type { ChoiceFieldOptions } from './choice-field.js'
import { type Choice, ChoiceSet } from './choice-set.js'
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'
import { readItems, readJson } from './json-text.js'
import { type ClosedOptions, checkNotEmpty } from './options.js'

export interface MultipleChoiceFieldOptions extends ChoiceFieldOptions {
  /** An empty list is accepted. @default true */
  readonly allowEmpty?: boolean
}

/**
 * Several of `choices`. Values given twice are taken once, in the order they first appear.
 * In a form the name is repeated, or its text is a JSON array.
 * @throws ConfigurationError when there are no choices
 */
export class MultipleChoiceField<
  const Options extends MultipleChoiceFieldOptions = MultipleChoiceFieldOptions,
> extends SerializerField<Options['choices'][number][], Options & FieldOptions> {
  readonly #choices: ChoiceSet

  constructor(options: ClosedOptions<Options, MultipleChoiceFieldOptions>) {
    super(options)
    this.#choices = new ChoiceSet(this, options.choices)
  }

  override toInternalValue(value: unknown): Options['choices'][number][] {
    if (!Array.isArray(value)) throw new ValidationError('Expected a list of items.')
    checkNotEmpty(value, this.options)
    const chosen = [...new Set<unknown>(value)]
    for (const item of chosen) this.#choices.check(item)
    return chosen as Choice[]
  }

  override toRepresentation(value: unknown): unknown {
    return Array.isArray(value) ? value.map((item) => this.#choices.show(item)) : value
  }

  override get takesEmptyText(): boolean {
    return true
  }

  override fromText(text: string): unknown {
    return readJson(text)
  }

  override fromTexts(values: readonly unknown[]): unknown {
    return readItems(values, (text) => this.#choices.fromText(text))
  }

  override schema(): FieldSchema {
    return { type: 'array', items: this.#choices.schema, ...(this.options.allowEmpty === false && { minItems: 1 }) }
  }
}

takesOptions<MultipleChoiceFieldOptions, FieldOptions>(MultipleChoiceField, { choices: 'list', allowEmpty: 'boolean' })
