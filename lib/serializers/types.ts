/** What TypeScript knows of a serializer's fields: the types of its input and its output. */
import type { BinaryField } from '../fields/binary-field.js'
import type { FieldOptions, SerializerField } from '../fields/field.js'
import type { FileUploadField } from '../fields/file-upload-field.js'
import type { HiddenField } from '../fields/own-value-fields.js'
import type { SerializerMethodField } from './serializer-method-field.js'

declare const TYPES: unique symbol

/** What a serializer class shows and takes, where a factory has made it of a model: types only, nothing at run time. */
export interface SerializerTypes {
  /** One object as it is shown. */
  readonly shown: unknown
  /** The validated data of one object. */
  readonly taken: unknown
  /** What is sent for it: with what schemas among validators take in place of what they make. */
  readonly given: unknown
  /** The fields that it declares itself. */
  readonly fields: unknown
  /** The methods that its fields call. */
  readonly methods: unknown
}

/** A class that carries its types. */
export interface Typed<Types extends SerializerTypes = SerializerTypes> {
  readonly [TYPES]?: Types
}

type DeclaredFieldsOf<S> = S extends { readonly declaredFields: infer Fields } ? Fields : never

export type OptionsOf<F> = F extends SerializerField<infer _Value, infer Options> ? Options : FieldOptions

/** What the schemas among validators make of a value, one after the other. */
export type Validated<
  Validators extends { readonly length: number },
  Value,
  Before extends 0[] = [],
> = Before['length'] extends Validators['length']
  ? Value
  : Validated<Validators, MadeOf<Validators[Before['length'] & keyof Validators], Value>, [...Before, 0]>

type MadeOf<One, Value> = '~standard' extends keyof One ? MadeBy<One> : Value

/** By its members, as options are an intersection with those of all fields, of which an inference would find nothing. */
type MadeBy<S> = [S] extends [{ readonly '~standard': { readonly types?: { readonly output: unknown } | undefined } }]
  ? NonNullable<S['~standard']['types']>['output']
  : unknown

/** What is given for a value: what the first schema among its validators takes, as far as that is a value of the field. */
type GivenTo<
  Validators extends { readonly length: number },
  Value,
  Before extends 0[] = [],
> = Before['length'] extends Validators['length']
  ? Value
  : '~standard' extends keyof Validators[Before['length'] & keyof Validators]
    ? Within<AskedBy<Validators[Before['length'] & keyof Validators]>, Value>
    : GivenTo<Validators, Value, [...Before, 0]>

type AskedBy<S> = [S] extends [{ '~standard': { readonly types?: { readonly input: unknown } | undefined } }]
  ? NonNullable<S['~standard']['types']>['input']
  : unknown

type Within<Asked, Value> = 0 extends 1 & Asked ? Value : [Asked] extends [Value] ? Asked : Value

/** Which value of a field is meant: what a client gives, or what validators have made of it. */
export type Side = 'given' | 'taken'

/** The value of a field with validators. They are not asked of null. */
export type Checked<Validators extends { readonly length: number }, Value, S extends Side> =
  | (S extends 'given' ? GivenTo<Validators, Exclude<Value, null>> : Validated<Validators, Exclude<Value, null>>)
  | Extract<Value, null>

/** What a field takes. */
type TakenOf<F, S extends Side> =
  OptionsOf<F> extends { readonly validators: infer Validators extends readonly unknown[] }
    ? Checked<Validators, MadeByField<F, S>, S>
    : MadeByField<F, S>

/** What its validators get; of a list with what those of its child have made of the items. */
type MadeByField<F, S extends Side> =
  OptionsOf<F> extends { readonly child: infer Child extends SerializerField }
    ? Nullable<Child, TakenOf<Child, S>>[]
    : ValueOf<F>

type ValueOf<F> = F extends SerializerField<infer Value, infer _Options> ? Value : never

type Nullable<F, Value> = OptionsOf<F> extends { readonly allowNull: true } ? Value | null : Value

type IsReadOnly<F> = OptionsOf<F> extends { readonly readOnly: true } ? true : false
type IsOptional<F> = OptionsOf<F> extends { readonly required: false } | { readonly default: unknown } ? true : false

type WritableNames<Fields> = { [K in keyof Fields]: IsReadOnly<Fields[K]> extends true ? never : K }[keyof Fields]
type OptionalNames<Fields> = {
  [K in WritableNames<Fields>]: IsOptional<Fields[K]> extends true ? K : never
}[WritableNames<Fields>]

type ReadableNames<Fields> = {
  [K in keyof Fields]: Fields[K] extends HiddenField<infer _Options>
    ? never
    : OptionsOf<Fields[K]> extends { readonly writeOnly: true }
      ? never
      : K
}[keyof Fields]

type Simplify<T> = { [K in keyof T]: T[K] } & {}

/** The validated data of fields by name, or what is sent for it. */
export type InputValues<Fields, S extends Side = 'taken'> = Simplify<
  {
    [K in Exclude<WritableNames<Fields>, OptionalNames<Fields>>]: Nullable<Fields[K], TakenOf<Fields[K], S>>
  } & {
    [K in OptionalNames<Fields>]?: Nullable<Fields[K], TakenOf<Fields[K], S>>
  }
>

type DefaultedNames<Fields> = {
  [K in WritableNames<Fields>]: OptionsOf<Fields[K]> extends { readonly default: unknown } ? K : never
}[WritableNames<Fields>]

/** The validated data of fields by name that are never asked in part: what has a default is there. */
export type WholeValues<Fields> = Simplify<
  InputValues<Fields> & { [K in DefaultedNames<Fields>]: Nullable<Fields[K], TakenOf<Fields[K], 'taken'>> }
>

/**
 * The validated data of a serializer class, as far as its fields say: all of it for a class that `modelSerializer()` has
 * made of a model with declared properties.
 * @example async publish(data: Input<typeof PublishInput>) { … }
 */
export type Input<S> = IsTyped<S> extends true ? Carried<S, 'taken'> : InputValues<DeclaredFieldsOf<S>>

/** What is sent for the validated data of a serializer class. */
export type Given<S> = IsTyped<S> extends true ? Carried<S, 'given'> : InputValues<DeclaredFieldsOf<S>, 'given'>

/** True for a class that carries its types. */
export type IsTyped<S> = typeof TYPES extends keyof S ? true : false

/**
 * A part of the types that a class carries. By its key, as comparing whole classes is what costs the compiler most; and no
 * `infer`, for which it would make and compare variants of all that the class carries.
 */
export type Carried<S, Part extends keyof SerializerTypes> = typeof TYPES extends keyof S
  ? PartOf<NonNullable<S[typeof TYPES]>, Part>
  : never

type PartOf<Types, Part> = Part extends keyof Types ? Types[Part] : never

type Pascal<Name> = Name extends `${infer Head}_${infer Tail}`
  ? `${Capitalize<Head>}${Pascal<Tail>}`
  : Name extends string
    ? Capitalize<Name>
    : never

type MethodName<Name, Options> = Options extends { readonly methodName: infer Method extends string }
  ? Method
  : `get${Pascal<Name>}`

type MethodResult<S, Method extends string> = S extends abstract new (
  ...args: never[]
) => infer Instance
  ? Instance extends { [M in Method]: (...args: never[]) => infer Result }
    ? Result
    : unknown
  : unknown

/** The methods that fields call with an object, by name. */
export type FieldMethods<Fields, T> = {
  [K in MethodFieldNames<Fields> as MethodName<K, OptionsOf<Fields[K]>>]: (object: T) => ValueOf<Fields[K]>
}

type MethodFieldNames<Fields> = {
  [K in keyof Fields]: Fields[K] extends { readonly computed: true } ? K : never
}[keyof Fields]

type OutputValue<F> = F extends BinaryField<infer _Options> | FileUploadField<infer _UploadOptions>
  ? string
  : F extends { readonly serializerClass: infer Nested; readonly options: infer Options }
    ? OneOrMany<Options, Output<Nested>>
    : OptionsOf<F> extends { readonly shownBy: infer Shown }
      ? OneOrMany<OptionsOf<F>, Output<Shown>>
      : ValueOf<F>

type OneOrMany<Options, One> = Options extends { readonly many: true } ? One[] : One

/** What fields by name show. */
export type OutputValues<Fields> = Simplify<{
  [K in ReadableNames<Fields>]: Nullable<Fields[K], OutputValue<Fields[K]>>
}>

type OutputOfDeclared<S> = Simplify<{
  [K in ReadableNames<DeclaredFieldsOf<S>>]: Nullable<
    DeclaredFieldsOf<S>[K],
    DeclaredFieldsOf<S>[K] extends SerializerMethodField<infer Value, infer _Options>
      ? unknown extends Value
        ? MethodResult<S, MethodName<K, OptionsOf<DeclaredFieldsOf<S>[K]>>>
        : Value
      : OutputValue<DeclaredFieldsOf<S>[K]>
  >
}>

/**
 * What a serializer class shows, as far as its fields say: all of it for a class that `modelSerializer()` has made of a model
 * with declared properties.
 */
export type Output<S> = IsTyped<S> extends true ? Carried<S, 'shown'> : OutputOfDeclared<S>

interface ShowsAndTakes {
  readonly data: unknown
  readonly validatedData: unknown
}

/** A serializer of a list of objects: `many: true`. */
export type OfMany<S extends ShowsAndTakes> = Omit<S, 'data' | 'validatedData'> & {
  readonly data: S['data'][]
  readonly validatedData: S['validatedData'][]
}

/** A serializer of some fields of an object: `partial: true`. */
export type OfPart<S extends ShowsAndTakes> = Omit<S, 'validatedData'> & {
  readonly validatedData: Partial<S['validatedData']>
}
