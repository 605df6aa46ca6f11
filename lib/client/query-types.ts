/** What lists can be asked, as types. */

import type { Wire } from '../factories/serializer-types.js'
import type { Related } from '../models/model-types.js'
import type { KeyOf, ModelOf, NameOf, PageOption, PaginatorOf, SpecOf, StaticOf } from './view-types.js'

/** What names an object on a path. All of a path is text. */
export type Key<View> = KeyOf<View> | string

/** The query of a list, as the OpenAPI document has it, but for `fields` and `expand`. */
export type ListQuery<View> = BackendQuery<View> & PageQuery<PaginatorOf<View>> & OwnQuery<View>

/** A query with one name for each parameter, all of them optional. */
export type Query<T> = { readonly [K in keyof T]?: T[K] }

/** What a client may give for a query: one value in place of a list, a number or a date for its text. */
export type Asked<T> = { readonly [K in keyof T]?: AskedValue<NonNullable<T[K]>> | undefined }

type AskedValue<T> = T extends readonly (infer Item)[] ? AskedItem<Item> | readonly AskedItem<Item>[] : AskedItem<T>

type AskedItem<T> = T extends string ? (string extends T ? string | number | Date : T) : T

/** What the filter backends of a view set read. */
export type BackendQuery<View> = Intersection<
  AskedBy<View> extends infer Ask
    ? Ask extends 'filters'
      ? Filters<View>
      : Ask extends 'search'
        ? Search<View>
        : Ask extends 'ordering'
          ? Order<NameOf<View, 'orderingFields'>>
          : Ask extends object
            ? Ask
            : {}
    : never
>

type Intersection<U> = (U extends unknown ? (value: U) => void : never) extends (value: infer I) => void ? I : never

/** What the filter backends of a view set say that they read. */
export type AskedBy<View> = Asks<View, StaticOf<View, 'filterBackends', readonly never[]>>

type Asks<_View, Backends> = Backends extends readonly (infer Backend)[] ? AskOf<Backend> | {} : {}

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

/** Compared as values of the column are. */
type Compared = 'exact' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte'
type Matched = 'iexact' | 'icontains' | 'startswith' | 'istartswith' | 'endswith' | 'iendswith'

/** Of lists and ranges; `contains` is one of texts, too. */
type Containing = 'contains' | 'overlap' | 'contained_by'
type DatePart = 'year' | 'month' | 'day'

/** The parameters of `FieldFilter`. */
export type Filters<View, Path extends string = NameOf<View, 'filtersetFields'>> = {
  [P in Path]?: At<ModelOf<View>, P>
} & {
  [P in Path as `${P}__${Compared}`]?: At<ModelOf<View>, P>
} & {
  [P in Path as `${P}__${'in' | 'nin' | 'range'}`]?: At<ModelOf<View>, P>[]
} & {
  [P in Path as `${P}__${Matched}`]?: string
} & {
  [P in Path as `${P}__${Containing}`]?: Contained<At<ModelOf<View>, P>>
} & {
  [P in Path as `${P}__${DatePart}`]?: number
} & {
  [P in Path as `${P}__isnull`]?: boolean
}

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

type Order<Field extends string> = [Field] extends [never] ? {} : { ordering?: (Field | `-${Field}`)[] }

type Search<View> = [NameOf<View, 'searchFields'>] extends [never] ? {} : { [P in SearchParam<View>]?: string }

type SearchParam<View> =
  StaticOf<View, 'searchParam', string> extends infer Name extends string
    ? string extends Name
      ? 'search'
      : Name
    : 'search'

/** The parameters of a paginator. */
export type PageQuery<P> = P extends { readonly pageQueryParam: string }
  ? { [N in PageOption<P, 'pageQueryParam', 'page'> | PageOption<P, 'pageSizeQueryParam', 'page_size'>]?: number }
  : P extends { readonly offsetQueryParam: string }
    ? { [N in PageOption<P, 'limitQueryParam', 'limit'> | PageOption<P, 'offsetQueryParam', 'offset'>]?: number }
    : P extends { readonly maxIdleSeconds: number }
      ? { [N in PageOption<P, 'cursorQueryParam', 'server_cursor'>]?: string }
      : P extends { readonly cursorQueryParam: string }
        ? { [N in PageOption<P, 'cursorQueryParam', 'cursor'>]?: string } & {
            [N in PageOption<P, 'pageSizeQueryParam', 'page_size'>]?: number
          }
        : {}

/** Parameters that the view set declares itself. */
export type OwnQuery<View> =
  SpecOf<View> extends {
    readonly queryParameters: readonly (infer Parameter extends { readonly name: string })[]
  }
    ? { [P in Parameter as P['name']]?: OwnValue<P> }
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
