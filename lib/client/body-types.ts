/** What the body of a QUERY may ask, as types: docs/reference/query-method.md. */

import type { FigureQuery } from './figure-types.js'
import type { Asked, AskedBy, Filters } from './query-types.js'
import type { StaticOf } from './view-types.js'

/** What a query `Q` of a view set is as a body: its filters stand in `filter`, its order in `order`. */
export type QueryBody<View, Q> = Omit<Asked<Q>, keyof Filters<View> | GroupParam<View> | 'ordering'> &
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
export interface FigureBody<G extends string, C extends string> extends Omit<FigureQuery<G, C>, 'ordering'> {
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
