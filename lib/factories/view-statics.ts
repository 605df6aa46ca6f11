/** The statics of views that need no model to be checked, and those that mixins read. */

import type { Model } from 'objection'
import type { MeteringEngine } from '../metering/engine.js'
import type { IsRelationPath, IsUntyped, Related, RelationName } from '../models/model-types.js'
import type { GenericAPIView } from '../views/generic-api-view.js'
import type { ModelNames } from './view-sets.js'

/** What a class has that is no static to declare: its methods, the model that a factory gets, and actions, which it adds itself. */
type Undeclared =
  | 'prototype'
  | 'asView'
  | 'askedForm'
  | 'takingSerializers'
  | 'open'
  | 'modelClass'
  | 'model'
  | 'actions'

/** Statics of any generic view whose names the compiler does not check against the model (`ModelNames`). */
export type PlainStatics = {
  readonly [Name in Exclude<
    keyof typeof GenericAPIView,
    Undeclared | keyof ModelNames<Model>
  >]?: (typeof GenericAPIView)[Name]
}

/** Statics that a mixin reads; without it they are a `ConfigurationError`. */
export interface MixinStatics {
  /** AggregateMixin: milliseconds that a statement of aggregates or facets may take. @default 5000 */
  readonly aggregateTimeout?: number
  /** AggregateMixin: the most values of a facet. @default 100 */
  readonly maxFacetValues?: number
  /** CacheableMixin: seconds for `max-age`; 0 leaves it out. @default 0 */
  readonly cacheMaxAge?: number
  /** CacheableMixin: `private` or, when false, `public`. @default true */
  readonly cachePrivate?: boolean
  /** CacheableMixin: caches ask before they use what they have. @default false */
  readonly cacheNoCache?: boolean
  /** MeteringMixin: the meter. @default 'api_usage' */
  readonly meteringMeterName?: string
  /** MeteringMixin: false switches it off. @default true */
  readonly meteringEnabled?: boolean
  /** MeteringMixin: the engine. @default the one given to `setMeteringEngine()` */
  readonly meteringEngine?: MeteringEngine | null
  /** StreamMixin: formats that are streamed. @default ['csv', 'ndjson'] */
  readonly streamFormats?: readonly string[]
  /** StreamMixin: streams of one user, or one address. @default 5 */
  readonly maxStreamsPerUser?: number
  /** StreamMixin: seconds after which a stream ends whose client takes nothing. @default 300 */
  readonly maxStreamIdleSeconds?: number
  /** StreamMixin: seconds after which a stream ends. @default 1800 */
  readonly maxStreamSeconds?: number
  /** StreamMixin: rows that are read at a time. @default 500 */
  readonly streamRows?: number
  /** The bulk mixins: the most items of one request. @default 100 */
  readonly maxBulkSize?: number
  /** NestedViewSetMixin: the foreign key to the objects it is nested in, or the relation of that key. */
  readonly parentLookupField?: string
}

/**
 * Checks one of `expandable`. The number of a relation's objects stands under a name of its own, behind a path of relations
 * where it is further away.
 */
export type CheckedExpansion<M, Path, Value> = Value extends {
  readonly function: 'count'
  readonly path: infer Relation
}
  ? IsCountedFrom<M, Path, Relation> extends true
    ? unknown
    : { readonly function: never }
  : IsRelationPath<M, Path> extends true
    ? unknown
    : never

type IsCountedFrom<M, Path, Relation> = Path extends `${infer Name}.${infer Rest}`
  ? Name extends keyof M
    ? IsCountedFrom<Related<M[Name]>, Rest, Relation>
    : IsUntyped<M>
  : Relation extends RelationName<M>
    ? true
    : false
