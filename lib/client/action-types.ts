/** What actions of view sets take and give, as types. */
import type { StandardSchema } from '../kernel/standard-schema.js'
import type { DeclaredFields, SerializerClass } from '../serializers/contract.js'
import type { InputValues, Output } from '../serializers/types.js'
import type { ActionInput } from '../views/action.js'
import type { Method, RequestOptions, WriteOptions } from './options.js'
import type { AskedValue, Key, QueryOfParameters } from './query-types.js'
import type { Result } from './result.js'
import type { Sent, SentTo, SpecOf } from './view-types.js'

type ActionsOf<View> = SpecOf<View> extends { readonly actions: infer Actions } ? Actions : {}

type TypesOf<Action> = Action extends { readonly types?: infer Types } ? NonNullable<Types> : never

type SpecificationOf<Action> = TypesOf<Action> extends { readonly spec: infer Spec } ? Spec : unknown

type SnakeCase<Text extends string> = Text extends `${infer Head}${infer Tail}`
  ? Head extends Uncapitalize<Head>
    ? `${Head}${SnakeCase<Tail>}`
    : `_${Uncapitalize<Head>}${SnakeCase<Tail>}`
  : Text

/** The end of an action's path: any string stands for a parameter. */
type PathOf<Name, Action> =
  SpecificationOf<Action> extends { readonly urlPath: infer Path extends string }
    ? Filled<Path>
    : SnakeCase<Name & string>

type Filled<Path extends string> = Path extends `${infer Head}{${string}}${infer Tail}`
  ? `${Head}${string}${Filled<Tail>}`
  : Path

/** The actions of an object, or of the collection, by the ends of their paths. */
type ByPath<View, Detail> = {
  [Name in keyof ActionsOf<View> as TypesOf<ActionsOf<View>[Name]> extends { readonly detail: Detail }
    ? PathOf<Name, ActionsOf<View>[Name]>
    : never]: ActionsOf<View>[Name]
}

type At<Actions, Path> = Path extends keyof Actions ? Actions[Path] : never

type MethodOf<Action> =
  SpecificationOf<Action> extends { readonly methods: readonly (infer Name)[] } ? Name & Method : never

/** What an action takes; undefined for one that says nothing of it. */
type InputOfAction<Action> =
  TypesOf<Action> extends { readonly input: infer I extends ActionInput } ? SentAs<I> : undefined

/** What an action reads of the query, as a client gives it. */
type QueryOfAction<Action> =
  SpecificationOf<Action> extends { readonly queryParameters: infer Q }
    ? Q extends ActionInput
      ? SentAs<Q> extends infer Values
        ? { readonly [K in keyof Values]: AskedValue<NonNullable<Values[K]>> | Extract<Values[K], undefined> }
        : never
      : QueryOfParameters<Q, 'given'>
    : Readonly<Record<string, unknown>>

type SentAs<I> =
  I extends StandardSchema<infer Asked, unknown>
    ? Asked
    : I extends SerializerClass
      ? SentTo<I>
      : I extends DeclaredFields
        ? Sent<InputValues<I, 'given'>, I>
        : undefined

type ResultOfAction<Action> =
  SpecificationOf<Action> extends { readonly output: infer O }
    ? O extends readonly [infer Item]
      ? ShownBy<Item>[]
      : ShownBy<O>
    : TypesOf<Action> extends { readonly result: infer R }
      ? Json<Awaited<R>>
      : unknown

/** What a schema makes, or a serializer shows. */
type ShownBy<S> =
  S extends StandardSchema<unknown, infer Made> ? Json<Made> : S extends SerializerClass ? Output<S> : never

/** A value as JSON brings it. */
type Json<T> = T extends Date
  ? string
  : T extends void
    ? undefined
    : T extends object
      ? { [K in keyof T]: Json<T[K]> }
      : T

/** Of a request that has a body, too, the query is an option. */
type Queried<Action> =
  SpecificationOf<Action> extends { readonly queryParameters: unknown }
    ? { readonly query?: QueryOfAction<Action> }
    : {}

/** GET has no body: what it is given are query parameters. */
type Arguments<Action, M, Options> = M extends 'GET'
  ? {} extends QueryOfAction<Action>
    ? [query?: QueryOfAction<Action>, options?: Options]
    : [query: QueryOfAction<Action>, options?: Options]
  : InputOfAction<Action> extends infer Data
    ? undefined extends Data
      ? [data?: unknown, options?: Options & Queried<Action>]
      : {} extends Data
        ? [data?: Data, options?: Options & Queried<Action>]
        : [data: Data, options?: Options & Queried<Action>]
    : never

/** @internal Calls actions of a view set's own, by the end of their path. */
export interface ActionMethods<View> {
  /** Calls an action of the collection: `call('POST', 'import', data)`. */
  call<Path extends keyof ByPath<View, false> & string, M extends MethodOf<At<ByPath<View, false>, Path>>>(
    method: M,
    path: Path,
    ...data: Arguments<At<ByPath<View, false>, Path>, M, RequestOptions>
  ): Promise<Result<ResultOfAction<At<ByPath<View, false>, Path>>, InputOfAction<At<ByPath<View, false>, Path>>>>
  /** Calls an action of one object: `callOn(7, 'POST', 'publish', data)`. */
  callOn<Path extends keyof ByPath<View, true> & string, M extends MethodOf<At<ByPath<View, true>, Path>>>(
    key: Key<View>,
    method: M,
    path: Path,
    ...data: Arguments<At<ByPath<View, true>, Path>, M, WriteOptions>
  ): Promise<Result<ResultOfAction<At<ByPath<View, true>, Path>>, InputOfAction<At<ByPath<View, true>, Path>>>>
}
