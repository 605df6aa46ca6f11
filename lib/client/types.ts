/** What a client's methods take and give, by the types of the API's view sets. */
import type { ActionInput, InputOf } from '../factories/actions.js'
import type { Related } from '../factories/model-types.js'
import type { ViewTypes } from '../factories/view-sets.js'
import type { RoutesOf } from '../router/routed.js'
import type { SerializerClass } from '../serializers/contract.js'
import type { Input, Output } from '../serializers/types.js'
import type { Result } from './result.js'

/** What one request may have besides its data. */
export interface RequestOptions {
  /** Ends the request. */
  readonly signal?: AbortSignal
  /** Milliseconds to wait for the answer. @default that of the client */
  readonly timeout?: number
  readonly headers?: Readonly<Record<string, string>>
}

export interface WriteOptions extends RequestOptions {
  /** The version of the object that is to be written: the `etag` of an earlier answer. */
  readonly ifMatch?: string | null
}

/** The name of an object on its path. */
export type Key = number | string

type SpecOf<View> = View extends ViewTypes<infer _Model, infer Spec> ? Spec : unknown
type ModelOf<View> =
  View extends ViewTypes<infer Model, infer _Spec>
    ? Model extends abstract new (
        ...args: never[]
      ) => infer M
      ? M
      : never
    : never

/** A static as a subclass has set it, else as the factory was told. */
type StaticOf<View, Name extends string, Wide> = Name extends keyof View
  ? Wide extends View[Name]
    ? SpecOf<View> extends { readonly [N in Name]: infer Value }
      ? Value
      : undefined
    : View[Name]
  : undefined

type SerializerOf<View> = StaticOf<View, 'serializerClass', SerializerClass | null>
type Shown<View> = SerializerOf<View> extends infer S extends SerializerClass ? Output<S> : unknown
type Taken<View> = SerializerOf<View> extends infer S extends SerializerClass ? Sent<Input<S>> : unknown

/** What is sent for validated data: files of a form, bytes as text. */
type Sent<T> = { readonly [K in keyof T]: SentValue<T[K]> }
type SentValue<T> = T extends { readonly filename: string; readonly mediaType: string }
  ? Blob
  : T extends Uint8Array
    ? string
    : T

type PaginatorOf<View> =
  StaticOf<View, 'paginationClass', null> extends infer P
    ? P extends abstract new (
        ...args: never[]
      ) => infer Instance
      ? Instance
      : P
    : undefined

/** One page of a list. */
export type PageOf<View> =
  PaginatorOf<View> extends { readonly pageQueryParam: string } | { readonly offsetQueryParam: string }
    ? { count: number | null; next: string | null; previous: string | null; results: Shown<View>[] }
    : PaginatorOf<View> extends { readonly cursorQueryParam: string }
      ? { next: string | null; previous?: string | null; results: Shown<View>[] }
      : PaginatorOf<View> extends null | undefined
        ? Shown<View>[]
        : unknown

type PageQuery<View> =
  PaginatorOf<View> extends { readonly pageQueryParam: string }
    ? { readonly page?: number; readonly page_size?: number }
    : PaginatorOf<View> extends { readonly offsetQueryParam: string }
      ? { readonly limit?: number; readonly offset?: number }
      : PaginatorOf<View> extends { readonly cursorQueryParam: string }
        ? { readonly cursor?: string; readonly page_size?: number }
        : unknown

type Scalar = string | number | boolean
type Lookup =
  | 'gt'
  | 'gte'
  | 'lt'
  | 'lte'
  | 'contains'
  | 'icontains'
  | 'startswith'
  | 'istartswith'
  | 'endswith'
  | 'iendswith'
  | 'iexact'
  | 'exact'

/** The value of a path over relations. */
type At<M, Path> = Path extends `${infer Relation}__${infer Rest}`
  ? Relation extends keyof M
    ? At<Related<M[Relation]>, Rest>
    : Scalar
  : Path extends keyof M
    ? Compared<NonNullable<M[Path]>>
    : Scalar

type Compared<T> = T extends number | bigint
  ? number | string
  : T extends boolean
    ? boolean
    : T extends Date
      ? string | Date
      : string

type ItemOf<List> = List extends readonly (infer Item)[] ? Item & string : never

type Filters<View, Path extends string = ItemOf<StaticOf<View, 'filtersetFields', readonly string[]>>> = {
  readonly [P in Path]?: At<ModelOf<View>, P>
} & { readonly [P in `${Path}__${Lookup}`]?: Scalar | Date } & {
  readonly [P in `${Path}__in` | `${Path}__range`]?: string | readonly Scalar[]
} & { readonly [P in `${Path}__isnull`]?: boolean }

type Order<View, Field extends string = ItemOf<StaticOf<View, 'orderingFields', readonly string[]>>> = [Field] extends [
  never,
]
  ? unknown
  : { readonly ordering?: Field | `-${Field}` | readonly (Field | `-${Field}`)[] }

type Search<View> =
  SpecOf<View> extends { readonly searchFields: readonly string[] } ? { readonly search?: string } : unknown

type OwnQuery<View> =
  SpecOf<View> extends { readonly queryParameters: readonly { readonly name: infer Name extends string }[] }
    ? { readonly [N in Name]?: Scalar }
    : unknown

type ExpandQuery<View> =
  SpecOf<View> extends { readonly expandable: infer Expandable }
    ? { readonly expand?: keyof Expandable | readonly (keyof Expandable)[] }
    : unknown

/** What of its objects a request wants to see. */
export type ShowQuery<View> = { readonly fields?: readonly (keyof Shown<View> & string)[] } & ExpandQuery<View>

/** The query of a list. */
export type ListQuery<View> = Filters<View> &
  Order<View> &
  Search<View> &
  PageQuery<View> &
  OwnQuery<View> &
  ShowQuery<View>

interface Methods<View> {
  /** One page of the list, or all of it where it has no pages. */
  list(query?: ListQuery<View>, options?: RequestOptions): Promise<Result<PageOf<View>>>
  /** The pages of the list, one after the other. @throws ClientError a page cannot be had */
  pages(query?: ListQuery<View>, options?: RequestOptions): AsyncIterable<PageOf<View>>
  /** The objects of all pages. @throws ClientError a page cannot be had */
  all(query?: ListQuery<View>, options?: RequestOptions): AsyncIterable<Shown<View>>
  retrieve(id: Key, query?: ShowQuery<View>, options?: RequestOptions): Promise<Result<Shown<View>>>
  create(data: Taken<View>, options?: RequestOptions): Promise<Result<Shown<View>, Taken<View>>>
  update(id: Key, data: Taken<View>, options?: WriteOptions): Promise<Result<Shown<View>, Taken<View>>>
  partialUpdate(id: Key, data: Partial<Taken<View>>, options?: WriteOptions): Promise<Result<Shown<View>, Taken<View>>>
  destroy(id: Key, options?: WriteOptions): Promise<Result<undefined>>
  bulkCreate(data: readonly Taken<View>[], options?: RequestOptions): Promise<Result<Shown<View>[]>>
  bulkUpdate(
    data: readonly (Partial<Taken<View>> & { readonly id: Key })[],
    options?: RequestOptions,
  ): Promise<Result<Shown<View>[]>>
  bulkDestroy(ids: readonly Key[], options?: RequestOptions): Promise<Result<{ deleted: Key[] }>>
}

type HasAction<View, Name extends string> = View extends abstract new (
  ...args: never[]
) => infer Instance
  ? Name extends keyof Instance
    ? true
    : false
  : false

type MethodName<View> =
  | (HasAction<View, 'list'> extends true ? 'list' | 'pages' | 'all' : never)
  | {
      [Name in Exclude<keyof Methods<View>, 'list' | 'pages' | 'all'>]: HasAction<View, Name> extends true
        ? Name
        : never
    }[Exclude<keyof Methods<View>, 'list' | 'pages' | 'all'>]

type ActionsOf<View> = SpecOf<View> extends { readonly actions: infer Actions } ? Actions : unknown

type SnakeCase<Text extends string> = Text extends `${infer Head}${infer Tail}`
  ? Head extends Uncapitalize<Head>
    ? `${Head}${SnakeCase<Tail>}`
    : `_${Uncapitalize<Head>}${SnakeCase<Tail>}`
  : Text

type TypesOf<Action> = Action extends { readonly types?: infer Types } ? NonNullable<Types> : never

/** The end of an action's path. */
type PathOf<Name, Action> =
  TypesOf<Action> extends { readonly path: infer Path extends string }
    ? Path extends ''
      ? SnakeCase<Name & string>
      : Path
    : never

type InputOfAction<Action> =
  TypesOf<Action> extends { readonly input: infer I }
    ? I extends ActionInput
      ? Sent<InputOf<I>>
      : undefined
    : undefined
type ResultOfAction<Action> = TypesOf<Action> extends { readonly result: infer R } ? Json<Awaited<R>> : unknown

/** A value as JSON brings it. */
type Json<T> = T extends Date
  ? string
  : T extends void
    ? undefined
    : T extends object
      ? { [K in keyof T]: Json<T[K]> }
      : T

type PathsOf<View, Detail> = {
  [Name in keyof ActionsOf<View>]: TypesOf<ActionsOf<View>[Name]> extends { readonly detail: Detail }
    ? PathOf<Name, ActionsOf<View>[Name]>
    : never
}[keyof ActionsOf<View>]

type ActionAt<View, Path> = {
  [Name in keyof ActionsOf<View>]: PathOf<Name, ActionsOf<View>[Name]> extends Path ? ActionsOf<View>[Name] : never
}[keyof ActionsOf<View>]

/** Calls actions of a view set's own, by the end of their path. */
export interface ActionMethods<View> {
  /** Calls an action of the collection: `call('POST', 'import', data)`. */
  call<Path extends PathsOf<View, false>>(
    method: Method,
    path: Path,
    data?: InputOfAction<ActionAt<View, Path>>,
    options?: RequestOptions,
  ): Promise<Result<ResultOfAction<ActionAt<View, Path>>, InputOfAction<ActionAt<View, Path>>>>
  /** Calls an action of one object: `callOn(7, 'POST', 'publish', data)`. */
  callOn<Path extends PathsOf<View, true>>(
    id: Key,
    method: Method,
    path: Path,
    data?: InputOfAction<ActionAt<View, Path>>,
    options?: WriteOptions,
  ): Promise<Result<ResultOfAction<ActionAt<View, Path>>, InputOfAction<ActionAt<View, Path>>>>
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The methods of one view set. */
export type ResourceClient<View> = Pick<Methods<View>, MethodName<View>> & ActionMethods<View>

type Intersection<U> = (U extends unknown ? (value: U) => void : never) extends (value: infer I) => void ? I : never

/** The view sets of all routers of an API, by their paths. */
export type AllRoutes<Api> = Intersection<RoutesOf<Api>>

type Below<Routes, Path extends string> = {
  readonly [P in keyof Routes as P extends `${Path}/${infer Name}`
    ? Name extends `${string}/${string}`
      ? never
      : Name
    : never]: NestedClient<Routes, P & string>
}

type NestedClient<Routes, Path extends string> = Path extends keyof Routes
  ? ResourceClient<Routes[Path]> & {
      /** What belongs to one object. */
      at(id: Key): Below<Routes, Path>
    }
  : never

/** An API's client: a property for each view set, with its methods. */
export type Client<Api> = {
  readonly [P in keyof AllRoutes<Api> as P extends `${string}/${string}` ? never : P]: NestedClient<
    AllRoutes<Api>,
    P & string
  >
}
