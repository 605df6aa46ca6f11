/** A field whose value is an object (or a list of objects) with a serializer of its own. */

import { type FieldOptions, type FieldSchema, SerializerField } from '../fields/field.js'
import type { ClosedOptions } from '../fields/options.js'
import { takesOptions } from '../kernel/option-kinds.js'
import type { SerializerClass } from './contract.js'
import type { Input } from './types.js'

export interface NestedSerializerOptions extends FieldOptions {
  /** A list of objects. @default false */
  readonly many?: boolean
  /** The most objects that a client may write at once, with `many`. @default 100 */
  readonly maxItems?: number
}

type OneOrMany<S, Options> = Options extends { many: true } ? Input<S>[] : Input<S>

/**
 * Related objects inside an object. They are shown through their own serializer, loaded with the list in a fixed number
 * of queries. Unless `readOnly`, a create makes the related object too, and an update changes the one now related.
 * @example author: new NestedSerializer(AuthorSerializer, { readOnly: true })
 */
export class NestedSerializer<
  S extends SerializerClass = SerializerClass,
  const Options extends NestedSerializerOptions = {},
> extends SerializerField<OneOrMany<S, Options>, Options & NestedSerializerOptions> {
  readonly serializerClass: S
  readonly many: boolean
  readonly maxItems: number

  constructor(
    serializerClass: S,
    options: ClosedOptions<Options, NestedSerializerOptions> = {} as ClosedOptions<Options, NestedSerializerOptions>,
  ) {
    super(options)
    this.serializerClass = serializerClass
    this.many = this.options.many === true
    this.maxItems = (this.options as NestedSerializerOptions).maxItems ?? 100
  }

  override schema(): FieldSchema {
    return this.many ? { type: 'array', items: { type: 'object' } } : { type: 'object' }
  }
}

takesOptions<NestedSerializerOptions, FieldOptions>(NestedSerializer, { many: 'boolean', maxItems: 'count' })
