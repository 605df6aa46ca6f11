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
import type { Checked, InputValues, OptionsOf, OutputValues, Side, Validated } from '../serializers/types.js'

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
  S['fields'] extends string ? ColumnName<ModelOf<S>> : S['fields'][number],
  keyof S['declaredFields']
> &
  string

/*
 * What is asked of each field of each serializer is what costs the compiler most. So options are looked at only where a field
 * has some, names are chosen by sets, and what follows from the type of a property alone is asked by that type, so that it is
 * known once for all serializers.
 */

/** The names of fields of which an option has such a value. */
type NameWith<Extra, Option, Value> = {
  [K in keyof Extra]: Option extends keyof Extra[K] ? (Extra[K][Option] extends Value ? K : never) : never
}[keyof Extra]

/** One object as the serializer shows it. */
export type Shown<S extends SerializerShape> = keyof S['declaredFields'] extends never
  ? GeneratedPart<S>
  : Simplify<GeneratedPart<S> & DeclaredPart<ModelOf<S>, S['declaredFields'], OutputValues<S['declaredFields']>>>

/** What a declared field shows is null where its property is, whatever it takes. */
type DeclaredPart<M, Fields, Values> = {
  [K in keyof Values]: K extends keyof M & keyof Fields
    ? null extends M[K]
      ? IsElsewhere<Fields[K]> extends true
        ? Values[K]
        : Values[K] | null
      : Values[K]
    : Values[K]
}

/** True for a field that does not show the property of its name. */
type IsElsewhere<F> = F extends { readonly computed: true }
  ? true
  : OptionsOf<F> extends { readonly source: string }
    ? true
    : false

type GeneratedPart<S extends SerializerShape> = ShownFields<
  ModelOf<S>,
  keyof S['extraKwargs'] extends never
    ? GeneratedName<S>
    : Exclude<GeneratedName<S>, NameWith<S['extraKwargs'], 'writeOnly', true>>,
  S['model'] extends { encodeId(...args: never[]): string } ? 'id' : never
> & {}

/** The external id of an object is a string. */
type ShownFields<M, Name extends string, ExternalId extends string> = {
  [K in Name]: K extends ExternalId ? string : K extends keyof M ? ShownOf<M[K]> : unknown
} & {}

type ShownOf<T> = Wire<Exclude<T, undefined>>

type Simplify<T> = { [K in keyof T]: T[K] } & {}

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type IsReadonlyProperty<M, K extends keyof M> = Same<{ [P in K]: M[P] }, { readonly [P in K]: M[P] }>

/** The properties that are `readonly`: asked of all at once, and one by one where there are some. */
type ReadonlyName<M, K extends keyof M> =
  Same<{ [P in K]: M[P] }, { -readonly [P in K]: M[P] }> extends true
    ? never
    : { [P in K]: IsReadonlyProperty<M, P> extends true ? P : never }[K]

/** The names of fields that a client writes. Generated keys are not writable unless `extraKwargs` says so. */
type WrittenName<M, Extra, Name extends string, ReadOnly> = Exclude<
  Name,
  | ReadOnly
  | ReadonlyName<M, Exclude<Name & keyof M, 'id'>>
  | NameWith<Extra, 'readOnly', true>
  | ('id' extends keyof Extra ? (Extra['id'] extends { readonly readOnly: false } ? never : 'id') : 'id')
>

/** The names of fields that a client may not leave out: by their properties, unless options say otherwise. */
type RequiredName<M, Extra, Name extends string> =
  | (keyof Extra extends never
      ? NeededName<M, Name>
      : NeededName<M, Exclude<Name, NameWith<Extra, 'required', false> | NameWith<Extra, 'default', unknown>>>)
  | Extract<NameWith<Extra, 'required', true>, Name>

type NeededName<M, K> = K extends keyof M ? (Leaving<M[K]> extends 'not' ? K : never) : never

/** A property that may be null, is optional or generated may be left out. */
type Leaving<T> = undefined extends T ? 'may' : null extends T ? 'may' : IsGenerated<T> extends true ? 'may' : 'not'

type WrittenValue<M, Extra, K, Of extends Side> = K extends keyof M
  ? K extends keyof Extra
    ? ValueBy<StoredOf<M[K]>, Extra[K], Of>
    : StoredOf<M[K]>
  : unknown

type ValueBy<Value, Options, Of extends Side> = Options extends {
  readonly validators: infer Validators extends readonly unknown[]
}
  ? Checked<Validators, Value, Of>
  : Value

type StoredOf<T> = Stored<Exclude<T, undefined>>

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
export type GivenOf<S extends SerializerShape> = OfFields<S, 'given'>

type OfFields<S extends SerializerShape, Of extends Side> = keyof S['declaredFields'] extends never
  ? Simplify<WrittenPart<S, Of>>
  : Simplify<WrittenPart<S, Of> & InputValues<S['declaredFields'], Of>>

type WrittenPart<S extends SerializerShape, Of extends Side> = FieldsOf<
  ModelOf<S>,
  S['extraKwargs'],
  WrittenName<ModelOf<S>, S['extraKwargs'], GeneratedName<S>, S['readOnlyFields'][number]>,
  Of
>

/** Options without validators are left out of the type, which then is the same for both sides. */
type FieldsOf<M, Extra, Name extends string, Of extends Side> = [NameWith<Extra, 'validators', unknown>] extends [never]
  ? StoredValues<M, Name, RequiredName<M, Extra, Name> & string>
  : ValuesOf<M, Extra, Name, RequiredName<M, Extra, Name> & string, Of>

type StoredValues<M, Name extends string, Required extends string> = {
  [K in Required]: K extends keyof M ? StoredOf<M[K]> : unknown
} & {
  [K in Exclude<Name, Required>]?: K extends keyof M ? StoredOf<M[K]> : unknown
}

type ValuesOf<M, Extra, Name extends string, Required extends string, Of extends Side> = {
  [K in Required]: WrittenValue<M, Extra, K, Of>
} & {
  [K in Exclude<Name, Required>]?: WrittenValue<M, Extra, K, Of>
}
