/** What a client's methods take and give, by the types of the API's view sets. */
import type { RoutesOf } from '../router/routed.js'
import type { StandardAction } from '../views/actions.js'
import type { ActionMethods } from './action-types.js'
import type { ChangeEvent, ChangesOptions } from './changes.js'
import type { RequestOptions, WriteOptions } from './options.js'
import type {
  AggregateQuery,
  Asked,
  AskedBy,
  Computed,
  ComputedName,
  Counted,
  FacetName,
  FacetQuery,
  FigureQuery,
  Filters,
  GroupName,
  Key,
  ListQuery,
  Query,
} from './query-types.js'
import type { Result } from './result.js'
import type {
  AskedExpansion,
  ChangedId,
  DeletedQuery,
  Destroyed,
  Enclosed,
  EnclosedList,
  ExpandParam,
  FieldName,
  HasDeletion,
  HasStream,
  KeyOf,
  MethodOf,
  Named,
  PageWith,
  Patch,
  ShownPart,
  StaticOf,
  Taken,
  Walk,
} from './view-types.js'

/** What of its objects a request wants to see: the fields `F`, and the related objects `E`. */
export type ShowQuery<F, E, Param extends string = 'expand'> = {
  /** Fields to show; the others are left out. */
  readonly fields?: F | readonly F[] | undefined
} & {
  /** Related objects to show whole, and numbers of them. */
  readonly [Name in Param]?: E | readonly E[] | undefined
}

/** The answer to a write shows what is asked for, too. */
interface Showing<View, F, E> {
  readonly query?: ShowQuery<F, E, ExpandParam<View>>
}

type Part<View, F, E> = ShownPart<View, F & string, E & string>

/** @internal All methods that a resource may have; declarations name them. */
export interface Methods<View> {
  /** One page of the list, or all of it where it has no pages. */
  list<F extends FieldName<View> = FieldName<View>, E extends AskedExpansion<View> = never>(
    query?: ListQuery<View, 'given'> & ShowQuery<F, E, ExpandParam<View>>,
    options?: RequestOptions,
  ): Promise<Result<PageWith<View, Part<View, F, E>>, ListQuery<View, 'given'>>>
  /** The pages of the list, one after the other. @throws ClientError a page cannot be had */
  pages<F extends FieldName<View> = FieldName<View>, E extends AskedExpansion<View> = never>(
    query?: ListQuery<View, 'given'> & ShowQuery<F, E, ExpandParam<View>>,
    options?: RequestOptions,
  ): Walk<View, PageWith<View, Part<View, F, E>>>
  /** The objects of all pages. @throws ClientError a page cannot be had */
  all<F extends FieldName<View> = FieldName<View>, E extends AskedExpansion<View> = never>(
    query?: ListQuery<View, 'given'> & ShowQuery<F, E, ExpandParam<View>>,
    options?: RequestOptions,
  ): Walk<View, Part<View, F, E>>
  /**
   * The page that `next` or `previous` of another page leads to. Nothing but the query of the link is used.
   * @example useInfiniteQuery({ queryFn: ({ pageParam }) => (pageParam ? api.books.follow(pageParam) : api.books.list()) })
   */
  follow<F extends FieldName<View> = FieldName<View>, E extends AskedExpansion<View> = never>(
    link: string,
    options?: RequestOptions,
  ): Promise<Result<PageWith<View, Part<View, F, E>>>>
  /**
   * What the view set computes of all objects: one object, or with `group_by` a page of groups.
   * @example await api.orders.aggregate({ group_by: 'country_id', aggregate: ['total'], ordering: '-total', status: 'paid' })
   */
  aggregate<G extends GroupName<View> = never, C extends ComputedName<View> = ComputedName<View>>(
    query?: Asked<AggregateQuery<View>> & FigureQuery<G, C>,
    options?: RequestOptions,
  ): Promise<Result<Computed<View, G, C>, Query<AggregateQuery<View> & FigureQuery<G, C>>>>
  /** How many objects have each value, under the filters of the others. */
  facets<N extends FacetName<View> = FacetName<View>>(
    query?: Asked<FacetQuery<View>> & { readonly facet?: N | readonly N[] | undefined },
    options?: RequestOptions,
  ): Promise<Result<Counted<View, N>, Query<FacetQuery<View>> & { readonly facet?: N }>>
  retrieve<F extends FieldName<View> = FieldName<View>, E extends AskedExpansion<View> = never>(
    key: Key<View>,
    query?: ShowQuery<F, E, ExpandParam<View>> & DeletedQuery<View>,
    options?: RequestOptions,
  ): Promise<Result<Enclosed<View, Part<View, F, E>>>>
  create<F extends FieldName<View> = FieldName<View>, E extends AskedExpansion<View> = never>(
    data: Enclosed<View, Taken<View>>,
    options?: RequestOptions & Showing<View, F, E>,
  ): Promise<Result<Enclosed<View, Part<View, F, E>>, Taken<View>>>
  update<F extends FieldName<View> = FieldName<View>, E extends AskedExpansion<View> = never>(
    key: Key<View>,
    data: Enclosed<View, Kept<StaticOf<View, 'partialPut', boolean> extends true ? Patch<View> : Taken<View>>>,
    options?: WriteOptions & Showing<View, F, E>,
  ): Promise<Result<Enclosed<View, Part<View, F, E>>, Taken<View>>>
  partialUpdate<F extends FieldName<View> = FieldName<View>, E extends AskedExpansion<View> = never>(
    key: Key<View>,
    data: Enclosed<View, Kept<Patch<View>>>,
    options?: WriteOptions & Showing<View, F, E>,
  ): Promise<Result<Enclosed<View, Part<View, F, E>>, Taken<View>>>
  destroy<F extends FieldName<View> = FieldName<View>, E extends AskedExpansion<View> = never>(
    key: Key<View>,
    options?: WriteOptions & Showing<View, F, E>,
  ): Promise<Result<Destroyed<View, Part<View, F, E>>>>
  /** Takes back a soft delete. */
  restoreDeleted<F extends FieldName<View> = FieldName<View>, E extends AskedExpansion<View> = never>(
    key: Key<View>,
    options?: WriteOptions & Showing<View, F, E>,
  ): Promise<Result<Enclosed<View, Part<View, F, E>>>>
  /** Deletes the row of an object that is deleted softly. */
  purgeDeleted(key: Key<View>, options?: WriteOptions): Promise<Result<undefined>>
  /** All or none of them. */
  bulkCreate<F extends FieldName<View> = FieldName<View>, E extends AskedExpansion<View> = never>(
    data: EnclosedItems<View, Taken<View>>,
    options?: RequestOptions & Showing<View, F, E>,
  ): Promise<Result<EnclosedList<View, Part<View, F, E>>, readonly Taken<View>[]>>
  /** All or none of them. */
  bulkUpdate<F extends FieldName<View> = FieldName<View>, E extends AskedExpansion<View> = never>(
    data: EnclosedItems<View, Kept<Patch<View>> & Named<View>>,
    options?: RequestOptions & Showing<View, F, E>,
  ): Promise<Result<EnclosedList<View, Part<View, F, E>>, readonly (Taken<View> & Named<View>)[]>>
  /** All or none of them. */
  bulkDestroy(
    data: EnclosedItems<View, KeyOf<View> | Named<View>>,
    options?: RequestOptions,
  ): Promise<Result<{ deleted: KeyOf<View>[] }, readonly Named<View>[]>>
  /**
   * What changes of the objects that the list shows, as long as it is iterated over: a stream that ends is opened again, and
   * goes on where it was. `signal` ends it.
   * @throws ClientError it is refused, and would be again
   * @example for await (const { event, id } of api.books.changes({ signal })) if (event === 'change') show(id)
   */
  changes(options?: ChangesOptions): AsyncGenerator<ChangeEvent<ChangedId<View>>, void>
}

/** What changes an object: in the place of a file it may have the URL that was read, which keeps the file. */
type Kept<T> = unknown extends T ? T : { [K in keyof T]: Blob extends T[K] ? T[K] | string : T[K] }

/** The methods that read lists, by QUERY. */
interface Queries<View> {
  /**
   * One page of the list, or all of it where it has no pages.
   * @example await api.books.query.list({ filter: { price__gte: 10, or: [{ title: 'a' }, { title: 'b' }] }, order: '-price' })
   */
  list<F extends FieldName<View> = FieldName<View>, E extends AskedExpansion<View> = never>(
    body: QueryBody<View, ListQuery<View>> & ShowQuery<F, E, ExpandParam<View>>,
    options?: RequestOptions,
  ): Promise<Result<PageWith<View, Part<View, F, E>>, ListQuery<View, 'given'>>>
  /** The pages of the list, one after the other. @throws ClientError a page cannot be had */
  pages<F extends FieldName<View> = FieldName<View>, E extends AskedExpansion<View> = never>(
    body: QueryBody<View, ListQuery<View>> & ShowQuery<F, E, ExpandParam<View>>,
    options?: RequestOptions,
  ): Walk<View, PageWith<View, Part<View, F, E>>>
  /** The objects of all pages. @throws ClientError a page cannot be had */
  all<F extends FieldName<View> = FieldName<View>, E extends AskedExpansion<View> = never>(
    body: QueryBody<View, ListQuery<View>> & ShowQuery<F, E, ExpandParam<View>>,
    options?: RequestOptions,
  ): Walk<View, Part<View, F, E>>
  /** The page that `next` or `previous` of another page leads to, by the body of that one. */
  follow<F extends FieldName<View> = FieldName<View>, E extends AskedExpansion<View> = never>(
    link: string,
    body: QueryBody<View, ListQuery<View>> & ShowQuery<F, E, ExpandParam<View>>,
    options?: RequestOptions,
  ): Promise<Result<PageWith<View, Part<View, F, E>>>>
  /** What the view set computes of all objects: one object, or with `group_by` a page of groups. */
  aggregate<G extends GroupName<View> = never, C extends ComputedName<View> = ComputedName<View>>(
    body: QueryBody<View, AggregateQuery<View>> & FigureBody<G, C>,
    options?: RequestOptions,
  ): Promise<Result<Computed<View, G, C>, Query<AggregateQuery<View> & FigureQuery<G, C>>>>
  /** How many objects have each value, under the filters of the others. */
  facets<N extends FacetName<View> = FacetName<View>>(
    body: QueryBody<View, FacetQuery<View>> & { readonly facet?: N | readonly N[] | undefined },
    options?: RequestOptions,
  ): Promise<Result<Counted<View, N>, Query<FacetQuery<View>> & { readonly facet?: N }>>
}

/** What is sent of a list. */
type EnclosedItems<View, T> = Readonly<EnclosedList<View, T>>

/** Methods that come with `list`. */
type Companion = 'pages' | 'all' | 'follow'

/** What view sets have and a client calls only where they declare something for it. */
type DeclaredAction = 'aggregate' | 'changes' | 'facets' | 'restoreDeleted' | 'purgeDeleted'

/** What a client calls of all that views may have. */
type ActionName = Exclude<keyof Methods<unknown>, Companion | DeclaredAction>

/** The methods of a view set: chosen by sets, as asking for each name is what costs the compiler most. */
type MethodName<View> = WithCompanions<
  Exclude<
    MethodOf<View> & (ActionName | DeclaredName<View>),
    LeftOut<StaticOf<View, 'withoutActions', readonly StandardAction[]>>
  >
>

type LeftOut<Names> = Names extends readonly (infer Name)[] ? Name : never

type WithCompanions<Names> = Names | ('list' extends Names ? Companion : never)

/** Aggregates, facets, changes and what brings deleted objects back, of a view set that declares some. */
type DeclaredName<View> =
  | (HasSome<ComputedName<View>> extends true ? 'aggregate' : never)
  | (HasSome<FacetName<View>> extends true ? 'facets' : never)
  | (HasStream<View> extends true ? 'changes' : never)
  | (HasDeletion<View, 'permissionClasses'> extends true ? 'restoreDeleted' : never)
  | (HasDeletion<View, 'purgePermissionClasses'> extends true ? 'purgeDeleted' : never)

type HasSome<Names> = [Names] extends [never] ? false : true

/** The methods of one view set. */
export type ResourceClient<View> = Pick<Methods<View>, MethodName<View>> &
  ActionMethods<View> &
  (StaticOf<View, 'queryMethod', boolean> extends true
    ? {
        /** The same by QUERY: what is asked stands in the body, however long it is (docs/reference/query-method.md). */
        readonly query: Pick<Queries<View>, Extract<MethodName<View>, keyof Queries<View>>>
      }
    : {})

type Intersection<U> = (U extends unknown ? (value: U) => void : never) extends (value: infer I) => void ? I : never

/** The view sets of all routers of an API, by their paths. Those of a prefix with parameters are left out. */
type AllRoutes<Api> = Intersection<RoutesOf<Api>>

type Below<Routes, Path extends string> = {
  readonly [P in keyof Routes as P extends `${Path}/{}/${infer Name}`
    ? Name extends `${string}{${string}`
      ? never
      : Name
    : never]: NestedClient<Routes, P & string>
}

type NestedClient<Routes, Path extends string> = Path extends keyof Routes
  ? ResourceClient<Routes[Path]> & {
      /** What belongs to one object. */
      at(key: Key<Routes[Path]>): Below<Routes, Path>
    }
  : never

/** An API's client: a property for each view set, with its methods. */
export type Client<Api> = {
  readonly [P in keyof AllRoutes<Api> as P extends `${string}{${string}` ? never : P]: NestedClient<
    AllRoutes<Api>,
    P & string
  >
}

/** What a query `Q` of a view set is as a body: its filters stand in `filter`, its order in `order`. */
type QueryBody<View, Q> = Omit<Asked<Q>, keyof Filters<View> | GroupParam<View> | 'ordering'> &
  ('filters' extends AskedBy<View> ? { readonly filter?: Filter<View> | undefined } : {}) &
  (Q extends { readonly ordering?: infer Terms }
    ? { readonly order?: NonNullable<Terms> | ItemOf<NonNullable<Terms>> | undefined }
    : {})

/** Groups, or their text, only where the view set takes them. */
type Filter<View> = [GroupParam<View>] extends [never] ? Asked<Filters<View>> : Conditions<View> | string

/** The parameter that takes groups. */
type GroupParam<View> =
  StaticOf<View, 'filterBackends', readonly never[]> extends readonly (infer Backend)[] ? GroupParamOf<Backend> : never

type GroupParamOf<Backend> = Backend extends { readonly groupParam: infer Name extends string | null }
  ? string extends Name
    ? never
    : NonNullable<Name>
  : never

type ItemOf<Terms> = Terms extends readonly (infer Term)[] ? Term : never

/** Which groups (`G`) and values (`C`) a QUERY wants, in which order. */
interface FigureBody<G extends string, C extends string> extends Omit<FigureQuery<G, C>, 'ordering'> {
  /** What of that the groups are ordered by; a hyphen turns the order. */
  readonly order?: FigureQuery<G, C>['ordering']
}

/**
 * Conditions that all hold, by the names of the filters; groups of them, where the view set has a `groupParam`; and what is
 * asked of the objects of its `filterRelations`.
 */
export type Conditions<View> = Asked<Filters<View>> & Related<RelationsOf<View>> & Groups<View>

interface Groups<View> {
  /** All of them hold. */
  readonly and?: readonly Conditions<View>[] | undefined
  /** One of them holds. */
  readonly or?: readonly Conditions<View>[] | undefined
  /** They do not all hold. */
  readonly not?: Conditions<View> | undefined
}

/** None but those that the options of a factory name. */
type RelationsOf<View> =
  StaticOf<View, 'filterRelations', Readonly<Record<string, never>>> extends infer All extends object ? All : {}

type Related<Relations> = {
  readonly [R in keyof Relations & string as `${'any' | 'none'}(${R})`]?: Conditions<ViewOf<Relations[R]>> | undefined
} & {
  readonly [R in keyof Relations & string as `count(${R})${'' | `__${Compared}`}`]?: number | undefined
}

type Compared = 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte'

/** The view set that shows a relation's objects: named itself, or by a function. */
type ViewOf<R> = R extends abstract new (...args: never[]) => unknown ? R : R extends () => infer View ? View : never
