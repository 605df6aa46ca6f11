/** What TypeScript knows of a serializer's declared fields: the types of its input and its output. */
import type { BinaryField } from '../fields/binary-field.js'
import type { FieldOptions, SerializerField } from '../fields/field.js'
import type { FileUploadField } from '../fields/file-upload-field.js'
import type { HiddenField } from '../fields/hidden-field.js'
import type { SerializerMethodField } from './serializer-method-field.js'

type DeclaredFieldsOf<S> = S extends { readonly declaredFields: infer Fields } ? Fields : never

type OptionsOf<F> = F extends SerializerField<infer _Value, infer Options> ? Options : FieldOptions

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

/**
 * The validated data of a serializer class, as far as its declared fields tell.
 * @example async publish(data: Input<typeof PublishInput>) { … }
 */
export type Input<S> = Simplify<
  {
    [K in Exclude<WritableNames<DeclaredFieldsOf<S>>, OptionalNames<DeclaredFieldsOf<S>>>]: Nullable<
      DeclaredFieldsOf<S>[K],
      ValueOf<DeclaredFieldsOf<S>[K]>
    >
  } & {
    [K in OptionalNames<DeclaredFieldsOf<S>>]?: Nullable<DeclaredFieldsOf<S>[K], ValueOf<DeclaredFieldsOf<S>[K]>>
  }
>

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

type OutputValue<S, Name, F> =
  F extends SerializerMethodField<infer _Options>
    ? MethodResult<S, MethodName<Name, OptionsOf<F>>>
    : F extends BinaryField<infer _Options> | FileUploadField<infer _UploadOptions>
      ? string
      : F extends { readonly serializerClass: infer Nested; readonly options: infer Options }
        ? Options extends { readonly many: true }
          ? Output<Nested>[]
          : Output<Nested>
        : ValueOf<F>

/** What a serializer class shows, as far as its declared fields tell. */
export type Output<S> = Simplify<{
  [K in ReadableNames<DeclaredFieldsOf<S>>]: Nullable<DeclaredFieldsOf<S>[K], OutputValue<S, K, DeclaredFieldsOf<S>[K]>>
}>
