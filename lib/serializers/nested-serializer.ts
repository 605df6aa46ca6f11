/** A field whose value is an object (or a list of objects) with a serializer of its own. */

import { type FieldOptions, type FieldSchema, SerializerField } from '../fields/field.js'
import { readItems, readJson } from '../fields/json-text.js'
import type { ClosedOptions } from '../fields/options.js'
import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import type { ColumnName, ModelType } from '../models/model-types.js'
import { UploadedFile } from '../parsers/uploads.js'
import type { OutputColumn } from '../renderers/renderer.js'
import type { SerializerClass } from './contract.js'
import type { Input } from './types.js'

type ModelTypeOf<S> = S extends { readonly model: infer Model } ? NonNullable<Model> : unknown

/** A column of the model of a serializer class, or one with `-` before it. */
type ListOrder<S> = ModelTypeOf<S> extends ModelType<infer M> ? ColumnName<M> | `-${ColumnName<M>}` : string

/** The name of a modifier of the model of a serializer class. */
type ModifierName<S> =
  ModelTypeOf<S> extends { readonly modifiers: infer Modifiers } ? keyof Modifiers & string : string

export interface NestedSerializerOptions<S = SerializerClass> extends FieldOptions {
  /** A list of objects. @default false */
  readonly many?: boolean
  /** The most objects that a client may write at once, with `many`. @default 100 */
  readonly maxItems?: number
  /** An empty list is accepted, with `many`. @default true */
  readonly allowEmpty?: boolean
  /**
   * The order of the list, as `['-due', 'title']`: columns of the related model; ties go by its primary key.
   * @default the order that the relation has, then the primary key
   */
  readonly orderBy?: readonly ListOrder<S>[]
  /**
   * Named modifiers of the related model (`static modifiers`) that leave a part of the list. Such a list is only shown: it
   * needs `readOnly`. @see docs/reference/related-lists.md
   */
  readonly modify?: ModifierName<S> | readonly ModifierName<S>[]
  /** The most objects of each list, the first of its order. Needs `readOnly`. @default all of them */
  readonly limit?: number
}

type OneOrMany<S, Options> = Options extends { many: true } ? Input<S>[] : Input<S>

/**
 * Related objects inside an object. They are shown through their own serializer, loaded with the list in a fixed number
 * of queries. Unless `readOnly`, a create makes the related object too, and an update changes the one now related.
 * @example author: new NestedSerializer(AuthorSerializer, { readOnly: true })
 */
export class NestedSerializer<
  S extends SerializerClass = SerializerClass,
  const Options extends NestedSerializerOptions<S> = {},
> extends SerializerField<OneOrMany<S, Options>, Options & NestedSerializerOptions<S>> {
  /** The serializer of the nested objects. */
  readonly serializerClass: S
  /** It is a list. */
  readonly many: boolean
  /** The most objects of a list in input. */
  readonly maxItems: number

  constructor(
    serializerClass: S,
    options: ClosedOptions<Options, NestedSerializerOptions<S>> = {} as ClosedOptions<
      Options,
      NestedSerializerOptions<S>
    >,
  ) {
    super(options)
    this.serializerClass = serializerClass
    this.many = this.options.many === true
    this.maxItems = (this.options as NestedSerializerOptions).maxItems ?? 100
  }

  /** @internal */
  override get shownFields(): readonly OutputColumn[] | undefined {
    return this.many ? undefined : this.serializerClass.plan.readable
  }

  /** In a form the name has brackets, or its text is JSON. */
  override fromTexts(values: readonly unknown[]): unknown {
    if (!this.many) return refuseFile(super.fromTexts(values))
    const [first] = values
    // names whose numbers leave one out, or are none, make no list
    const isList = values.length !== 1 || typeof first !== 'object' || first === null || Array.isArray(first)
    return isList ? readItems(values, readJson, refuseFile) : refuseFile(first)
  }

  override fromText(text: string): unknown {
    return readJson(text)
  }

  override get takesFiles(): boolean {
    return false
  }

  override get takesEmptyText(): boolean {
    return false
  }

  override schema(): FieldSchema {
    if (!this.many) return { type: 'object' }
    const { allowEmpty } = this.options as NestedSerializerOptions
    return { type: 'array', items: { type: 'object' }, ...(allowEmpty === false && { minItems: 1 }) }
  }
}

takesOptions<NestedSerializerOptions, FieldOptions>(NestedSerializer, {
  many: 'boolean',
  maxItems: 'count',
  allowEmpty: 'boolean',
  orderBy: 'names',
  modify: 'name or names',
  limit: 'size',
})

/** A file has members, too. @throws ValidationError */
function refuseFile(value: unknown): unknown {
  if (value instanceof UploadedFile) throw new ValidationError('Expected an object.')
  return value
}
