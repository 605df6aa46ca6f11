/** Related objects by their primary key, or by a property that people know. */

import { noObject } from '../kernel/messages.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { quote } from '../kernel/quote.js'
import type { ModelClass } from '../models/objection.js'
import { type CompositeKey, compositeKey } from './composite-key.js'
import type { ClosedOptions } from './options.js'
import { RelatedField, type RelatedFieldOptions } from './related-field.js'

export interface PrimaryKeyRelatedFieldOptions extends RelatedFieldOptions {}

/**
 * A related object by its primary key, or by its external id where it has one; with `many: true` a list of them.
 * On write each key must exist in `queryset`; the whole request costs one query for the field. A key of several columns is
 * shown as paths have it (`7,3`), and is read-only: the columns of a foreign key are fields of their own.
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

  override compositeOf(model: ModelClass): CompositeKey | undefined {
    return this.#property === undefined ? compositeKey(model) : undefined
  }

  override notFoundMessage(key: unknown): string {
    return noObject(this.keyText(key))
  }
}

takesOptions(PrimaryKeyRelatedField, {})

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
    return `Object with slug ${quote(this.keyText(key))} does not exist.`
  }
}

takesOptions<SlugRelatedFieldOptions, RelatedFieldOptions>(SlugRelatedField, { slugField: 'name' })
