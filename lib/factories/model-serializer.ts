/** Serializers of models, checked by the compiler: `class BookSerializer extends modelSerializer(Book, { … }) {}`. */
import type { Model } from 'objection'
import type { Validator } from '../fields/field.js'
import type { ModelType } from '../models/model-types.js'
import { modelName } from '../models/objection.js'
import type { DeclaredFields, SerializerOptions } from '../serializers/contract.js'
import { ModelSerializer } from '../serializers/model-serializer.js'
import type { FieldMethods, Typed } from '../serializers/types.js'
import { declareStatics, givenModel } from './declared-class.js'
import type { ExtraOptions, FieldName, GivenOf, SerializerShape, Shown, Taken } from './serializer-types.js'

/** What a serializer of a model declares. */
export interface ModelSerializerSpec<M, Names, Fields, ReadOnly, Extra, Checks> {
  /** The fields, in order: columns, relations and accessors of the model, and declared ones; or `'__all__'` for all columns. */
  readonly fields: Names
  /** Fields of your own, by name; one of a column's name takes the place of the generated one. @default {} */
  readonly declaredFields?: Fields
  /** Fields that are shown and never written. @default [] */
  readonly readOnlyFields?: ReadOnly
  /** Options of generated fields, by name. @default {} */
  readonly extraKwargs?: Extra & { readonly [K in Exclude<keyof Extra, keyof ExtraOptions<M>>]: never }
  /** Levels of related objects that are shown beside their foreign keys. @default 0 */
  readonly depth?: number
  /**
   * Checks of an object as a whole: functions of the validated data, or schemas of zod, valibot or arktype, whose output is
   * laid over it. On PATCH they see the stored values of other columns beside those that are given. @default []
   */
  readonly validators?: Checks
  /** The name in OpenAPI. @default the class's name without `Serializer` */
  readonly schemaName?: string
}

type Statics = Omit<typeof ModelSerializer, 'prototype' | 'model'>

/** The class that `modelSerializer()` makes. */
export interface ModelSerializerClass<M extends Model, Data, Valid> extends Statics {
  new (options?: SerializerOptions<M>): ModelSerializer<M, Data, Valid>
}

/** One type for each serializer, so that what it shows and takes is computed once. */
interface Shape<C, Names, Fields, ReadOnly, Extra, Checks> {
  readonly model: C
  readonly fields: Names
  readonly declaredFields: Fields
  readonly readOnlyFields: ReadOnly
  readonly extraKwargs: Extra
  readonly validators: Checks
}

type Result<S extends SerializerShape> = ModelSerializerClass<InstanceType<S['model']>, Shown<S>, Taken<S>> &
  Typed<{
    readonly shown: Shown<S>
    readonly taken: Taken<S>
    readonly given: GivenOf<S>
    readonly fields: S['declaredFields']
    readonly methods: FieldMethods<S['declaredFields'], InstanceType<S['model']>>
  }> & { readonly model: S['model'] }

/**
 * A serializer of a model, to be extended: a `ModelSerializer` with these statics, whose names are checked against the model's
 * declared properties, and whose `data` and `validatedData` have their types. A model that declares none takes any name.
 * @throws {ConfigurationError} the model is none, or the class reads no such static
 * @example
 * class BookSerializer extends modelSerializer(Book, {
 *   fields: ['id', 'title', 'label'],
 *   declaredFields: { label: new SerializerMethodField<string>() },
 *   extraKwargs: { title: { minLength: 2 } },
 * }) {
 *   getLabel(book: Book) {
 *     return book.title.toUpperCase()
 *   }
 * }
 */
export function modelSerializer<
  C extends ModelType,
  const Names extends readonly FieldName<InstanceType<C>, Fields>[] | '__all__',
  Fields extends DeclaredFields = {},
  const ReadOnly extends readonly FieldName<InstanceType<C>, Fields>[] = readonly [],
  const Extra extends ExtraOptions<InstanceType<C>> = {},
  const Checks extends readonly Validator[] = readonly [],
>(
  model: C,
  spec: ModelSerializerSpec<InstanceType<C>, Names, Fields, ReadOnly, Extra, Checks>,
): Result<Shape<C, Names, Fields, ReadOnly, Extra, Checks>> {
  const known = givenModel('modelSerializer', model)
  const name = modelName(known)
  const made = class extends ModelSerializer {
    static override model = known
  }
  return declareStatics(made, { where: `modelSerializer(${name})`, name: `${name}Serializer` }, spec) as never
}
