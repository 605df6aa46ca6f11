/** Related objects by a property that people know. */

import { takesOptions } from '../kernel/option-kinds.js'
import { quote } from '../kernel/quote.js'
import type { ClosedOptions } from './options.js'
import { RelatedField, type RelatedFieldOptions } from './related-field.js'

export interface SlugRelatedFieldOptions extends RelatedFieldOptions {
  /** The property of the related model by which a client names an object; should be unique. */
  readonly slugField: string
}

/**
 * A related object by a property of it that people know; with `many: true` a list of them.
 * @example new SlugRelatedField({ queryset: Country, slugField: 'cca2' })
 */
export class SlugRelatedField<
  const Options extends SlugRelatedFieldOptions = SlugRelatedFieldOptions,
> extends RelatedField<Options> {
  // the options are required here
  constructor(options: ClosedOptions<Options, SlugRelatedFieldOptions>) {
    super(options)
  }

  protected override keyProperty(): string {
    return this.options.slugField
  }

  override notFoundMessage(key: unknown): string {
    return `Object with slug ${quote(String(key))} does not exist.`
  }
}

takesOptions<SlugRelatedFieldOptions, RelatedFieldOptions>(SlugRelatedField, { slugField: 'name' })
