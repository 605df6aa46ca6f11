/** A field computed by a method of the serializer. */

import { type FieldOptions, SerializerField } from '../fields/field.js'
import type { ClosedOptions } from '../fields/options.js'
import { takesOptions } from '../kernel/option-kinds.js'

export interface SerializerMethodFieldOptions extends FieldOptions {
  /** The method to call with the object. @default `get` and the field's name in PascalCase: `getFullName` for `full_name` */
  readonly methodName?: string
}

/**
 * Shows what a method of the serializer returns; never accepted as input.
 * The method is synchronous: what it needs must be loaded with the object.
 * @example
 * declaredFields: { label: new SerializerMethodField<string>() }
 * getLabel(book: Book) { return `${book.title} (${book.id})` }
 */
export class SerializerMethodField<
  Value = unknown,
  const Options extends SerializerMethodFieldOptions = {},
> extends SerializerField<Value, Options & SerializerMethodFieldOptions & { readonly readOnly: true }> {
  /** Tells it from all other fields, for types too. */
  readonly computed = true

  constructor(
    options: ClosedOptions<Options, SerializerMethodFieldOptions> = {} as ClosedOptions<
      Options,
      SerializerMethodFieldOptions
    >,
  ) {
    super({ ...options, readOnly: true })
  }
}

takesOptions<SerializerMethodFieldOptions, FieldOptions>(SerializerMethodField, { methodName: 'name' })
