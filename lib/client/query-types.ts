/** What lists, aggregates and facets can be asked and answer, as types. */
import type { Aggregate } from '../aggregates/aggregate.js'
import type { Wire } from '../factories/serializer-types.js'
import type { Related } from '../models/model-types.js'
import type {
  DeletedQuery,
  KeyOf,
  Member,
  ModelOf,
  NameOf,
  PageBy,
  PageOption,
  PaginatorOf,
  Shown,
  SpecOf,
  StaticOf,
} from './view-types.js'

/** @internal What names an object on a path. All of a path is text. */
export type Key<View> = KeyOf<View> | string

/**
 * What the values of a query are for: `sent` as the OpenAPI document has them, `given` as a client may give them. One is not
 * made of the other, as going through all parameters of all lists is what costs the compiler most.
 */
export type QueryMode = 'sent' | 'given'

/** The query of a list, but for `fields` and `expand`. */
export type ListQuery<View, Mode extends QueryMode = 'sent'> = BackendQuery<View, Mode> &
  PageQuery<PaginatorOf<View>, Mode> &
  OwnQuery<View, Mode> &
  DeletedQuery<View>

/** A query with one name for each parameter, all of them optional. */
export type Query<T> = { readonly [K in keyof T]?: T[K] }

/** What a client may give for a query: one value in place of a list, a number or a date for its text. */
export type Asked<T> = { readonly [K in keyof T]?: AskedValue<NonNullable<T[K]>> | undefined }

type Valued<T, Mode> = Mode extends 'given' ? AskedValue<NonNullable<T>> | undefined : T

/** One value in place of a list, a number or a date for its text. */
export type AskedValue<T> = T extends readonly (infer Item)[]
  ? AskedItem<Item> | readonly AskedItem<Item>[]
  : AskedItem<T>

type AskedItem<T> = T extends string ? (string extends T ? string | number | Date : T) : T

/** What the filter backends of a view set read. */
export type BackendQuery<View, Mode extends QueryMode = 'sent'> = QueryOf<View, AskedBy<View>, Mode>

type QueryOf<View, Ask, Mode extends QueryMode> = ('filters' extends Ask
  ? Filters<View, NameOf<View, 'filtersetFields'>, Mode>
  : {}) &
  ('search' extends Ask ? Search<View, Mode> : {}) &
  ('ordering' extends Ask ? Order<NameOf<View, 'orderingFields'>, Mode> : {}) &
  ([Ask] extends [string] ? {} : Intersection<FurtherQuery<Ask, Mode>>)

/** What filter backends of an application read. */
type FurtherQuery<Ask, Mode> = Ask extends object ? (Mode extends 'given' ? Asked<Ask> : Ask) : {}

type Intersection<U> = (U extends unknown ? (value: U) => void : never) extends (value: infer I) => void ? I : never

/** What the filter backends of a view set say that they read. */
export type AskedBy<View> = Asks<View, StaticOf<View, 'filterBackends', readonly never[]>>

type Asks<_View, Backends> = Backends extends readonly (infer Backend)[] ? AskOf<Backend> : never

/** What one backend says that it reads: a class, or an instance. */
type AskOf<Backend> = Backend extends abstract new (
  ...args: never[]
) => infer Instance
  ? AskOf<Instance>
  : Backend extends { readonly asks?: infer Ask }
    ? unknown extends Ask
      ? never
      : NonNullable<Ask>
    : never

/** What stands behind a name of `FieldFilter`, with the values that it is compared with. */
interface Lookups<T> {
  readonly exact: T
  readonly ne: T
  readonly gt: T
  readonly gte: T
  readonly lt: T
  readonly lte: T
  readonly in: T[]
  readonly nin: T[]
  readonly range: T[]
  readonly iexact: string
  readonly icontains: string
  readonly startswith: string
  readonly istartswith: string
  readonly endswith: string
  readonly iendswith: string
  /** Of lists and ranges; of texts, too. */
  readonly contains: Contained<T>
  readonly overlap: Contained<T>
  readonly contained_by: Contained<T>
  readonly year: number
  readonly month: number
  readonly day: number
  readonly isnull: boolean
}

type Lookup = keyof Lookups<unknown>

/** The parameters of `FieldFilter`. */
export type Filters<
  View,
  Path extends string = NameOf<View, 'filtersetFields'>,
  Mode extends QueryMode = 'sent',
> = FiltersOf<ModelOf<View>, Path, Mode>

/** One set of names, whose values are asked for only where one is used. */
type FiltersOf<M, Path extends string, Mode extends QueryMode, Tail extends string = Lookup> = {
  // `Tail` is a parameter, as a template that holds a union is one template for each of its members
  [Name in Path | `${Path}__${Tail}`]?: Valued<Name extends Path ? At<M, Name> : LookedUp<M, Path, Name>, Mode>
}

type LookedUp<M, Path extends string, Name> = Path extends unknown
  ? Name extends `${Path}__${infer L}`
    ? L extends Lookup
      ? Lookups<At<M, Path>>[L]
      : never
    : never
  : never

type Contained<T> = T extends readonly (infer Item)[] ? NonNullable<Item>[] : string

/** The value at the end of a path over relations; a text at a key of JSON. */
type At<M, Path> = Path extends keyof M
  ? Filtered<NonNullable<M[Path]>>
  : Path extends `${infer Relation}__${infer Rest}`
    ? Relation extends keyof M
      ? [Related<M[Relation]>] extends [never]
        ? string
        : At<Related<M[Relation]>, Rest>
      : string
    : string

/** Strings of few values are compared with any string. */
type Filtered<T> = Wire<T> extends infer W ? (W extends string ? string : W extends boolean ? boolean : W) : never

type Order<Field extends string, Mode> = [Field] extends [never]
  ? {}
  : { ordering?: Valued<(Field | `-${Field}`)[], Mode> }

type Search<View, Mode> = [NameOf<View, 'searchFields'>] extends [never]
  ? {}
  : { [P in SearchParam<View>]?: Valued<string, Mode> }

type SearchParam<View> =
  StaticOf<View, 'searchParam', string> extends infer Name extends string
    ? string extends Name
      ? 'search'
      : Name
    : 'search'

/** The parameters of a paginator. */
export type PageQuery<P, Mode extends QueryMode = 'sent'> = P extends { readonly pageQueryParam: string }
  ? {
      [N in PageOption<P, 'pageQueryParam', 'page'> | PageOption<P, 'pageSizeQueryParam', 'page_size'>]?: Valued<
        number,
        Mode
      >
    }
  : P extends { readonly offsetQueryParam: string }
    ? {
        [N in PageOption<P, 'limitQueryParam', 'limit'> | PageOption<P, 'offsetQueryParam', 'offset'>]?: Valued<
          number,
          Mode
        >
      }
    : P extends { readonly maxIdleSeconds: number }
      ? { [N in PageOption<P, 'cursorQueryParam', 'server_cursor'>]?: Valued<string, Mode> }
      : P extends { readonly cursorQueryParam: string }
        ? { [N in PageOption<P, 'cursorQueryParam', 'cursor'>]?: Valued<string, Mode> } & {
            [N in PageOption<P, 'pageSizeQueryParam', 'page_size'>]?: Valued<number, Mode>
          }
        : {}

/** Parameters that the view set declares itself. */
export type OwnQuery<View, Mode extends QueryMode = 'sent'> = QueryOfParameters<
  Member<SpecOf<View>, 'queryParameters'>,
  Mode
>

/** What descriptions of parameters name. */
export type QueryOfParameters<All, Mode> = All extends readonly (infer Parameter extends { readonly name: string })[]
  ? { [P in Parameter as P['name']]?: Valued<OwnValue<P>, Mode> }
  : {}

type OwnValue<P> = P extends { readonly schema: { readonly type: infer Type } }
  ? Type extends 'integer' | 'number'
    ? number
    : Type extends 'boolean'
      ? boolean
      : Type extends 'string'
        ? string
        : string | number | boolean
  : string | number | boolean

type AggregatesOf<View> =
  StaticOf<View, 'aggregates', Readonly<Record<string, Aggregate>>> extends infer All extends object ? All : {}

/** The names of what a view set computes; never for one that declares nothing. */
export type ComputedName<View> = keyof AggregatesOf<View> & string
/** The names of what a client may group by. */
export type GroupName<View> = NameOf<View, 'groupBy'>
/** The names of facets; never for a view set that declares none. */
export type FacetName<View> = NameOf<View, 'facets'>

type Filtering<View> = Omit<BackendQuery<View>, 'ordering'> & OwnQuery<View> & DeletedQuery<View>

/** What filters the objects, and cuts their groups into pages. */
export type AggregateQuery<View> = Filtering<View> & PageQuery<PagesOf<PaginatorOf<View>>>
/** What filters the objects that facets count. */
export type FacetQuery<View> = Filtering<View>

/** Groups have no positions: where lists go by cursors they go by limit and offset. */
type PagesOf<P> = P extends { readonly cursorQueryParam: string } ? { readonly offsetQueryParam: string } : P

/** Which groups (`G`) and values (`C`) a request wants, in which order. */
export interface FigureQuery<G extends string, C extends string> {
  /** What objects are grouped by; without it there is one object of all. */
  readonly group_by?: G | readonly G[] | undefined
  /** What is computed; without it all there is. */
  readonly aggregate?: C | readonly C[] | undefined
  /** What of that the groups are ordered by; a hyphen turns the order. */
  readonly ordering?: Term<NoInfer<G | C>> | readonly Term<NoInfer<G | C>>[] | undefined
}

type Term<Name extends string> = Name | `-${Name}`

/** One object of all objects together, or a page of groups. */
export type Computed<View, G extends string, C extends string> = [G] extends [never]
  ? Values<View, C>
  : PageBy<PagesOf<PaginatorOf<View>>, Simplify<{ [Name in G]: GroupValue<View, Name> } & Values<View, C>>>

type Values<View, C extends string> = {
  [Name in C]: Name extends keyof AggregatesOf<View> ? ComputedValue<View, AggregatesOf<View>[Name]> : never
}

/** The values of facets, and how many objects have each. */
export type Counted<View, N extends string> = {
  [Name in N]: { values: { value: GroupValue<View, Name>; count: number }[]; has_more: boolean }
}

type ComputedValue<View, A> =
  A extends Aggregate<infer Called, infer Path>
    ? Called extends 'count' | 'countDistinct'
      ? number
      : Path extends string
        ? Called extends 'max' | 'min'
          ? ColumnValue<View, Path> | null
          : Summed<NonNullable<ColumnValue<View, Path>>> | null
        : never
    : never

/** Sums of whole numbers may be beyond 2^53, averages of them are decimals. */
type Summed<T> = unknown extends T ? number | string : T extends number ? number | string : string

type GroupValue<View, Name extends string> = Name extends `${infer Path}__${'year' | 'month' | 'day'}`
  ? Name extends keyof ModelOf<View>
    ? ColumnValue<View, Name>
    : ValueAt<ModelOf<View>, Name> extends infer Own
      ? unknown extends Own
        ? Periodic<ColumnValue<View, Path>>
        : Own
      : never
  : ColumnValue<View, Name>

type Periodic<T> = unknown extends T ? string | null : null extends T ? string | null : string

/** As the serializer shows the column, else as JSON does. */
type ColumnValue<View, Path> = Path extends keyof Shown<View> ? Shown<View>[Path] : ValueAt<ModelOf<View>, Path>

/** The value at the end of a path; over relations it may be missing. Unknown where no property says it. */
type ValueAt<M, Path> = Path extends keyof M
  ? Wire<M[Path]>
  : Path extends `${infer Relation}__${infer Rest}`
    ? Relation extends keyof M
      ? [Related<M[Relation]>] extends [never]
        ? unknown
        : ValueAt<Related<M[Relation]>, Rest> | null
      : unknown
    : unknown

type Simplify<T> = { [K in keyof T]: T[K] } & {}
