/** What TypeScript knows of the serializers that `modelSerializer()` makes: what they show, and what they take. */
import type { FieldOptions } from '../fields/field.js'
import type { GeneratedOptions } from '../fields/field-for-column.js'
import type {
  ColumnName,
  Declared,
  Interval,
  IsGenerated,
  IsUntyped,
  ModelType,
  PropertyKeys,
  Related,
  Unmarked,
} from '../models/model-types.js'
import type { DeclaredFields } from '../serializers/contract.js'
import type { Checked, InputValues, OutputValues, Side, Validated } from '../serializers/types.js'

/** The value of a property as JSON shows it. */
export type Wire<T> = T extends Date | Uint8Array | Interval
  ? string
  : T extends bigint
    ? number | string
    : T extends string | number | boolean | null | undefined
      ? Unmarked<T>
      : [Related<T>] extends [never]
        ? T extends readonly (infer Item)[]
          ? Wire<Item>[]
          : Unmarked<T>
        : unknown

/** Options for the generated field of a property, by what the property holds. */
export type OptionsFor<T> = FieldOptions & Pick<GeneratedOptions, OptionName<NonNullable<T>>>

type OptionName<T> = [Related<T>] extends [never]
  ? T extends Date
    ? 'formatStr' | 'minValue' | 'maxValue'
    : T extends string
      ?
          | 'minLength'
          | 'maxLength'
          | 'allowBlank'
          | 'choices'
          | 'minValue'
          | 'maxValue'
          | 'maxDigits'
          | 'decimalPlaces'
          | 'formatStr'
          | 'queryset'
      : T extends number | bigint
        ? 'minValue' | 'maxValue' | 'maxDigits' | 'decimalPlaces' | 'choices' | 'queryset'
        : T extends boolean
          ? 'choices'
          : T extends readonly unknown[]
            ? 'minLength' | 'maxLength'
            : keyof GeneratedOptions
  : 'queryset'

/** Options of generated fields by property. */
export type ExtraOptions<M> =
  IsUntyped<M> extends true
    ? Readonly<Record<string, GeneratedOptions>>
    : { readonly [K in Declared<M>]?: OptionsFor<M[K & keyof M]> }

/** The names that `fields` may have. */
export type FieldName<M, Fields> =
  IsUntyped<M> extends true ? string : PropertyKeys<M>[Declared<M>] | (keyof Fields & string)

/** What a serializer declares, as types. */
export interface SerializerShape {
  readonly model: ModelType
  readonly fields: readonly string[] | '__all__'
  readonly declaredFields: DeclaredFields
  readonly readOnlyFields: readonly string[]
  readonly extraKwargs: object
  readonly validators: readonly unknown[]
}

type ModelOf<S extends SerializerShape> = InstanceType<S['model']>

/** The names of the fields that are generated from the model. */
type GeneratedName<S extends SerializerShape> = Exclude<
  S['fields'] extends readonly (infer Name)[] ? Name : ColumnName<ModelOf<S>>,
  keyof S['declaredFields']
> &
  string

type Extra<S extends SerializerShape, K> = K extends keyof S['extraKwargs'] ? S['extraKwargs'][K] : {}

type ShownName<S extends SerializerShape> = {
  [K in GeneratedName<S>]: Extra<S, K> extends { readonly writeOnly: true } ? never : K
}[GeneratedName<S>]

/** The external id of an object is a string. */
type HasExternalId<S extends SerializerShape, K> = K extends 'id'
  ? S['model'] extends { encodeId(...args: never[]): string }
    ? true
    : false
  : false

type ShownValue<S extends SerializerShape, K> =
  HasExternalId<S, K> extends true
    ? string
    : K extends keyof ModelOf<S>
      ? Wire<Exclude<ModelOf<S>[K], undefined>>
      : unknown

type Simplify<T> = { [K in keyof T]: T[K] } & {}

/** One object as the serializer shows it. */
export type Shown<S extends SerializerShape> = Simplify<
  { [K in ShownName<S>]: ShownValue<S, K> } & OutputValues<S['declaredFields']>
>

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type IsReadonlyProperty<M, K extends keyof M> = Same<{ [P in K]: M[P] }, { readonly [P in K]: M[P] }>

/** A key of the database's own making is never written, unless `extraKwargs` says otherwise. */
type IsWritten<S extends SerializerShape, K extends string> =
  Extra<S, K> extends { readonly readOnly: true }
    ? false
    : K extends S['readOnlyFields'][number]
      ? false
      : K extends 'id'
        ? Extra<S, K> extends { readonly readOnly: false }
          ? true
          : false
        : K extends keyof ModelOf<S>
          ? IsReadonlyProperty<ModelOf<S>, K> extends true
            ? false
            : true
          : true

type WrittenName<S extends SerializerShape> = {
  [K in GeneratedName<S>]: IsWritten<S, K> extends true ? K : never
}[GeneratedName<S>]

/** A field that a client may leave out: its property may be null, is optional or generated, or options say so. */
type IsLeftOut<S extends SerializerShape, K> =
  Extra<S, K> extends { readonly required: true }
    ? false
    : Extra<S, K> extends { readonly required: false } | { readonly default: unknown }
      ? true
      : K extends keyof ModelOf<S>
        ? undefined extends ModelOf<S>[K]
          ? true
          : null extends ModelOf<S>[K]
            ? true
            : IsGenerated<ModelOf<S>[K]>
        : true

type OptionalName<S extends SerializerShape> = {
  [K in WrittenName<S>]: IsLeftOut<S, K> extends true ? K : never
}[WrittenName<S>]

type WrittenValue<S extends SerializerShape, K, Of extends Side> = K extends keyof ModelOf<S>
  ? Extra<S, K> extends { readonly validators: infer Validators extends readonly unknown[] }
    ? Checked<Validators, Stored<Exclude<ModelOf<S>[K], undefined>>, Of>
    : Stored<Exclude<ModelOf<S>[K], undefined>>
  : unknown

/** Date-times are validated as strings, which keep their microseconds. */
type Stored<T> = T extends Date | Interval
  ? string
  : T extends Uint8Array
    ? Buffer
    : T extends bigint
      ? number | string
      : T extends string | number | boolean | null
        ? Unmarked<T>
        : [Related<T>] extends [never]
          ? T extends readonly (infer Item)[]
            ? Stored<Item>[]
            : Unmarked<T>
          : unknown

/** The validated data of one object, with what schemas among the serializer's validators make of it laid over it. */
export type Taken<S extends SerializerShape> = S['validators'] extends readonly []
  ? OfFields<S, 'taken'>
  : Simplify<Omit<OfFields<S, 'taken'>, keyof Validated<S['validators'], {}>> & Validated<S['validators'], {}>>

/** What is sent of one object. */
export type Given<S extends SerializerShape> = OfFields<S, 'given'>

type OfFields<S extends SerializerShape, Of extends Side> = Simplify<
  { [K in Exclude<WrittenName<S>, OptionalName<S>>]: WrittenValue<S, K, Of> } & {
    [K in OptionalName<S>]?: WrittenValue<S, K, Of>
  } & InputValues<S['declaredFields'], Of>
>
