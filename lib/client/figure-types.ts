/** What aggregates and facets of view sets take and give, as types. */
import type { Aggregate } from '../aggregates/aggregate.js'
import type { Wire } from '../factories/serializer-types.js'
import type { Related } from '../models/model-types.js'
import type { BackendQuery, OwnQuery, PageQuery } from './query-types.js'
import type { ModelOf, NameOf, PageBy, PaginatorOf, Shown, StaticOf } from './view-types.js'

type AggregatesOf<View> =
  StaticOf<View, 'aggregates', Readonly<Record<string, Aggregate>>> extends infer All extends object ? All : {}

/** The names of what a view set computes; never for one that declares nothing. */
export type ComputedName<View> = keyof AggregatesOf<View> & string
/** The names of what a client may group by. */
export type GroupName<View> = NameOf<View, 'groupBy'>
/** The names of facets; never for a view set that declares none. */
export type FacetName<View> = NameOf<View, 'facets'>

type Filtering<View> = Omit<BackendQuery<View>, 'ordering'> & OwnQuery<View>

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
