/** Related objects by their primary key. */

import { takesOptions } from '../kernel/option-kinds.js'
import { quote } from '../kernel/quote.js'
import type { ModelClass } from '../models/objection.js'
import type { ClosedOptions } from './options.js'
import { RelatedField, type RelatedFieldOptions } from './related-field.js'

export interface PrimaryKeyRelatedFieldOptions extends RelatedFieldOptions {}

/**
 * A related object by its primary key, or by its external id where it has one; with `many: true` a list of them.
 * On write each key must exist in `queryset`; the whole request costs one query for the field.
 * @example new PrimaryKeyRelatedField({ queryset: (context) => Author.query().where('owner_id', context.user.id) })
 */
export class PrimaryKeyRelatedField<
  const Options extends PrimaryKeyRelatedFieldOptions = {},
> extends RelatedField<Options> {
  readonly #property: string | undefined

  /** @param property the related property that the key is, when it is not the primary key (a foreign key to another unique column) */
  constructor(
    options: ClosedOptions<Options, PrimaryKeyRelatedFieldOptions> = {} as ClosedOptions<
      Options,
      PrimaryKeyRelatedFieldOptions
    >,
    property?: string,
  ) {
    super(options)
    this.#property = property
  }

  protected override keyProperty(model: ModelClass): string {
    return this.storedProperty(model)
  }

  override storedProperty(model: ModelClass): string {
    return this.#property ?? super.storedProperty(model)
  }

  override notFoundMessage(key: unknown): string {
    return `Invalid pk ${quote(String(key))} - object does not exist.`
  }
}

takesOptions(PrimaryKeyRelatedField, {})
