/** View sets of models, checked by the compiler: `class BookViewSet extends modelViewSet(Book, { … }) {}`. */

import type { Model, QueryBuilder } from 'objection'
import type { Aggregate } from '../aggregates/aggregate.js'
import { ConfigurationError } from '../kernel/errors.js'
import type {
  CheckedFilter,
  CheckedGroup,
  CheckedOrder,
  CheckedPath,
  ColumnName,
  FilterPath,
  GroupPath,
  ModelType,
  OrderName,
  OrderPath,
  PropertyName,
  RelationName,
  RelationPath,
  SearchName,
} from '../models/model-types.js'
import { type ModelClass, modelName } from '../models/objection.js'
import type { SerializerClass, SerializerOptions } from '../serializers/contract.js'
import type { Expansion } from '../serializers/select-fields.js'
import type { Serializer, SerializerOfAny } from '../serializers/serializer.js'
import type { Carried, IsTyped, OfMany, OfPart } from '../serializers/types.js'
import { isGeneric } from '../views/generic-api-view.js'
import type { FilterRelations } from '../views/generic-view-class.js'
import { NestedViewSetMixin } from '../views/mixins/nested-view-set-mixin.js'
import type { SoftDelete } from '../views/statics.js'
import { BulkModelViewSet, GenericViewSet, ModelViewSet, ReadOnlyModelViewSet } from '../views/view-set.js'
import { type ActionFor, addActions } from './actions.js'
import { checkSpec, declareStatics, givenModel } from './declared-class.js'
import type { MixedIn } from './mixin-types.js'
import type { CheckedExpansion, MixinStatics, PlainStatics } from './view-statics.js'

/** Statics that name columns, relations and serializers of the model: in place of those of `GenericAPIView`, which take any. */
export interface ModelNames<M extends Model> {
  /** The serializer of answers, and of bodies unless `inputSerializerClass` is that of bodies. */
  readonly serializerClass?: SerializerClass
  /** The serializer of bodies, where that is another one than that of answers. */
  readonly inputSerializerClass?: SerializerClass
  /** The column that paths name objects by. @default 'id' */
  readonly lookupField?: ColumnName<M> | 'id'
  /** Columns, paths, and keys of JSON (`meta__colour`) that a client may filter by, with `FieldFilter`. */
  readonly filtersetFields?: readonly FilterPath<M>[]
  /** Relations that groups of filters may ask about, with the view sets that show their objects. */
  readonly filterRelations?: { readonly [Name in RelationName<M>]?: FilterRelations[string] }
  /** View sets from which related objects come: what their lists do not show is not shown, chosen or changed. */
  readonly related?: { readonly [Name in RelationName<M>]?: FilterRelations[string] }
  /** Columns and paths that are searched; `^`, `=` and `$` before one say how. */
  readonly searchFields?: readonly SearchName<M>[]
  /** Columns that a client may order by, and paths to columns of one related object. */
  readonly orderingFields?: readonly OrderPath<M>[]
  /** What is computed of all objects of a list, by name, as `sum('amount')`: columns, and paths to one object. */
  readonly aggregates?: Readonly<Record<string, Aggregate>>
  /** Columns, paths to one object, and periods (`created_at__month`) that a client may group by. */
  readonly groupBy?: readonly GroupPath<M>[]
  /** The same, that objects are counted by. */
  readonly facets?: readonly GroupPath<M>[]
  /** The default order. */
  readonly ordering?: readonly OrderName<M>[]
  /** Columns that every write to a row changes: objects then have a strong `ETag`. */
  readonly concurrency?: ColumnName<M> | readonly ColumnName<M>[] | null
  /** The column that marks objects as deleted, and who may see, restore and purge them. */
  readonly softDelete?: ColumnName<M> | (Exclude<SoftDelete, string | null> & { readonly column: ColumnName<M> }) | null
  /** Related objects that `?expand=` shows in full, by the relation, and by any other name their number, `count('reviews')`. */
  readonly expandable?: { readonly [Path in RelationPath<M>]?: Expansion } & Readonly<Record<string, Expansion>>
}

/** What a view set of a model declares: the statics of its class, and its mixins and actions. */
export interface ViewSetSpec<M extends Model> extends PlainStatics, MixinStatics, ModelNames<M> {
  /** Mixins of the package or of your own, the innermost first. */
  // a function type would make the compiler forget what a generic mixin adds
  readonly mixins?: readonly Function[]
  /** Actions beside those that come with the class, by name. */
  readonly actions?: Readonly<Record<string, ActionFor<GenericViewSet<M>>>>
}

/** A function that adds to a view set's class. */
// biome-ignore lint/suspicious/noExplicitAny: mixins of any classes
export type Mixin = (base: any) => any

/** Names that the specification of a class does not have. */
type Unknown<Spec, Known> = { readonly [K in Exclude<keyof Spec, keyof Known>]: never }

/** The methods that a serializer's fields call must be there, and of the types that the fields say. */
type Checked<Spec> = Spec extends { readonly serializerClass: infer S }
  ? IsTyped<S> extends true
    ? S extends abstract new (
        ...args: never[]
      ) => Carried<S, 'methods'>
      ? unknown
      : { readonly serializerClass: { readonly lacks: Carried<S, 'methods'> } }
    : unknown
  : unknown

/** What another model's serializer writes is rows of that model. */
type OfModel<M, Spec> = Spec extends {
  readonly serializerClass: { readonly model: abstract new (...args: never[]) => infer Other }
}
  ? M extends Other
    ? unknown
    : Other extends M
      ? unknown
      : { readonly serializerClass: { readonly isOfAnotherModel: Other } }
  : unknown

/** Paths that lead nowhere, which the compiler would let pass behind their first relation. */
type Closed<M, Spec> = OfModel<M, Spec> &
  (Spec extends { readonly filtersetFields: readonly (infer Path)[] }
    ? { readonly filtersetFields: readonly CheckedFilter<M, Path>[] }
    : unknown) &
  (Spec extends { readonly searchFields: readonly (infer Path)[] }
    ? { readonly searchFields: readonly CheckedSearch<M, Path>[] }
    : unknown) &
  (Spec extends { readonly orderingFields: readonly (infer Path)[] }
    ? { readonly orderingFields: readonly CheckedOrder<M, Path>[] }
    : unknown) &
  (Spec extends { readonly ordering: readonly (infer Path)[] }
    ? { readonly ordering: readonly CheckedOrder<M, Path>[] }
    : unknown) &
  (Spec extends { readonly aggregates: infer Aggregates }
    ? { readonly aggregates: { readonly [Name in keyof Aggregates]: CheckedAggregate<M, Aggregates[Name]> } }
    : unknown) &
  (Spec extends { readonly groupBy: readonly (infer Path)[] }
    ? { readonly groupBy: readonly CheckedGroup<M, Path>[] }
    : unknown) &
  (Spec extends { readonly facets: readonly (infer Path)[] }
    ? { readonly facets: readonly CheckedGroup<M, Path>[] }
    : unknown) &
  (Spec extends { readonly filterRelations: infer Relations }
    ? {
        readonly filterRelations: { readonly [Name in keyof Relations]: Name extends RelationName<M> ? unknown : never }
      }
    : unknown) &
  (Spec extends { readonly related: infer Relations }
    ? { readonly related: { readonly [Name in keyof Relations]: Name extends RelationName<M> ? unknown : never } }
    : unknown) &
  (Spec extends { readonly expandable: infer Expandable }
    ? {
        readonly expandable: {
          readonly [Path in keyof Expandable]: CheckedExpansion<M, Path, Expandable[Path]>
        }
      }
    : unknown)

type CheckedAggregate<M, A> =
  A extends Aggregate<infer Name, infer Path>
    ? Path extends string
      ? Aggregate<Name, CheckedPath<M, Path> & string>
      : A
    : never

type CheckedSearch<M, Path> = Path extends `${infer How extends '^' | '=' | '$'}${infer Rest}`
  ? `${How}${CheckedPath<M, Rest> & string}`
  : CheckedPath<M, Path>

/** The serializer that a view set gives out. */
type SerializerOf<M extends Model, Spec> = Spec extends {
  readonly serializerClass: abstract new (...args: never[]) => infer S extends SerializerOfAny
}
  ? S
  : Serializer<M>

/** The serializer that hooks of writes get. */
type InputOf<M extends Model, Spec> = Spec extends {
  readonly inputSerializerClass: abstract new (...args: never[]) => infer S extends SerializerOfAny
}
  ? S
  : SerializerOf<M, Spec>

declare const VIEW: unique symbol

/** What a view set is of, for clients: types only. */
export interface ViewTypes<C, Spec> {
  readonly [VIEW]?: { readonly model: C; readonly spec: Spec }
}

/** The statics of a class that `genericViewSet()` makes. */
export interface GenericStatics extends Omit<typeof GenericViewSet, 'prototype' | 'model'> {}
/** The statics of a class that `readOnlyModelViewSet()` makes. */
export interface ReadOnlyStatics extends Omit<typeof ReadOnlyModelViewSet, 'prototype' | 'model'> {}
/** The statics of a class that `modelViewSet()` or `nestedViewSet()` makes. */
export interface ModelStatics extends Omit<typeof ModelViewSet, 'prototype' | 'model'> {}
/** The statics of a class that `bulkModelViewSet()` makes. */
export interface BulkStatics extends Omit<typeof BulkModelViewSet, 'prototype' | 'model'> {}

/** A class with statics and instances of these types. */
type Made<Statics, Instance, C extends ModelType, Spec> = Statics &
  ViewTypes<C, Spec> & {
    new (): Instance & MixedIn<Spec, Instance, InstanceType<C>, InputOf<InstanceType<C>, Spec>>
    readonly model: ModelClass
    readonly prototype: Instance & MixedIn<Spec, Instance, InstanceType<C>, InputOf<InstanceType<C>, Spec>>
  }

/**
 * A view set with all actions of a model, to be extended: a `ModelViewSet` with these statics, whose names are checked against
 * the model's declared properties, and whose methods know the model and the serializer.
 * @throws {ConfigurationError} the model is none, or the class reads no such static
 * @example
 * class BookViewSet extends modelViewSet(Book, {
 *   serializerClass: BookSerializer,
 *   filterBackends: [FieldFilter],
 *   filtersetFields: ['price', 'author__name'],
 *   ordering: ['-id'],
 *   mixins: [CacheableMixin],
 * }) {
 *   override getQueryset() {
 *     return super.getQueryset().where('archived', false)
 *   }
 * }
 */
export function modelViewSet<C extends ModelType, const Spec extends ViewSetSpec<InstanceType<C>>>(
  model: C,
  spec: Spec & Unknown<Spec, ViewSetSpec<InstanceType<C>>> & Checked<Spec> & Closed<InstanceType<C>, Spec>,
): Made<
  ModelStatics,
  ModelViewSet<InstanceType<C>, SerializerOf<InstanceType<C>, Spec>, InputOf<InstanceType<C>, Spec>>,
  C,
  Spec
> {
  return make('modelViewSet', ModelViewSet, model, spec) as never
}

/** A view set with `list` and `retrieve` of a model. @see modelViewSet */
export function readOnlyModelViewSet<C extends ModelType, const Spec extends ViewSetSpec<InstanceType<C>>>(
  model: C,
  spec: Spec & Unknown<Spec, ViewSetSpec<InstanceType<C>>> & Checked<Spec> & Closed<InstanceType<C>, Spec>,
): Made<ReadOnlyStatics, ReadOnlyModelViewSet<InstanceType<C>, SerializerOf<InstanceType<C>, Spec>>, C, Spec> {
  return make('readOnlyModelViewSet', ReadOnlyModelViewSet, model, spec) as never
}

/** A view set with all actions of a model, and those of lists of objects: `bulkCreate`, `bulkUpdate`, `bulkDestroy`. @see modelViewSet */
export function bulkModelViewSet<C extends ModelType, const Spec extends ViewSetSpec<InstanceType<C>>>(
  model: C,
  spec: Spec & Unknown<Spec, ViewSetSpec<InstanceType<C>>> & Checked<Spec> & Closed<InstanceType<C>, Spec>,
): Made<
  BulkStatics,
  BulkModelViewSet<InstanceType<C>, SerializerOf<InstanceType<C>, Spec>, InputOf<InstanceType<C>, Spec>>,
  C,
  Spec
> {
  return make('bulkModelViewSet', BulkModelViewSet, model, spec) as never
}

/** A view set of a model with the actions of its mixins and its own. @see modelViewSet */
export function genericViewSet<C extends ModelType, const Spec extends ViewSetSpec<InstanceType<C>>>(
  model: C,
  spec: Spec & Unknown<Spec, ViewSetSpec<InstanceType<C>>> & Checked<Spec> & Closed<InstanceType<C>, Spec>,
): Made<
  GenericStatics,
  ModelViewMethods<InstanceType<C>, SerializerOf<InstanceType<C>, Spec>> & GenericViewSet<InstanceType<C>>,
  C,
  Spec
> {
  return make('genericViewSet', GenericViewSet, model, spec) as never
}

/** What a nested view set declares. */
export interface NestedSpec<M extends Model> extends ViewSetSpec<M> {
  /** The foreign key to the objects it is nested in, or the relation of that key. */
  readonly parentLookupField: PropertyName<M>
}

/** A view set with all actions of a model whose objects belong to those of another, by a `NestedRouter`. @see modelViewSet */
export function nestedViewSet<C extends ModelType, const Spec extends NestedSpec<InstanceType<C>>>(
  model: C,
  spec: Spec & Unknown<Spec, NestedSpec<InstanceType<C>>> & Checked<Spec> & Closed<InstanceType<C>, Spec>,
): Made<
  ModelStatics & { parentLookupField: string },
  ModelViewSet<InstanceType<C>, SerializerOf<InstanceType<C>, Spec>, InputOf<InstanceType<C>, Spec>>,
  C,
  Spec
> {
  return make('nestedViewSet', NestedViewSetMixin(ModelViewSet), model, spec) as never
}

/** A generic view's class, of any model. */
type AnyViewClass = abstract new () => object

// biome-ignore lint/suspicious/noExplicitAny: the type of a view does not always say what it has read
type AnyOptions = SerializerOptions<any>

/** What a view of a model knows of its objects. */
export interface ModelViewMethods<M extends Model, S extends SerializerOfAny> {
  /** The objects that a request may see, as a fresh query; override it to narrow them. */
  getQueryset(): QueryBuilder<M>
  /** The object that the path names. @throws {NotFound} there is none, or not for this caller */
  getObject(): Promise<M>
  /** The same, its row held until the transaction of the request ends. @throws {NotFound} */
  getObjectToWrite(): Promise<M>
  /** A serializer of a list of objects. */
  getSerializer(options: AnyOptions & { readonly many: true }): OfMany<S>
  /** A serializer of input that changes a part of an object. */
  getSerializer(options: AnyOptions & { readonly partial: true }): OfPart<S>
  /** A serializer of one object, or of input for one. */
  getSerializer(options?: AnyOptions): S
}

/**
 * A generic view of a model, to be extended: `ListCreateAPIView` and its kin, or a view class of your own.
 * @throws {ConfigurationError} the model is none, or the class reads no such static
 * @example
 * class BookList extends modelView(ListCreateAPIView, Book, { serializerClass: BookSerializer }) {}
 * router.all('/books', BookList.asView())
 */
export function modelView<
  Base extends AnyViewClass,
  C extends ModelType,
  const Spec extends Omit<ViewSetSpec<InstanceType<C>>, 'actions'>,
>(
  base: Base,
  model: C,
  spec: Spec &
    Unknown<Spec, Omit<ViewSetSpec<InstanceType<C>>, 'actions'>> &
    Checked<Spec> &
    Closed<InstanceType<C>, Spec>,
): Made<
  Omit<Base, 'prototype' | 'model'>,
  ModelViewMethods<InstanceType<C>, SerializerOf<InstanceType<C>, Spec>> & InstanceType<Base>,
  C,
  Spec
> {
  return make('modelView', base, model, spec) as never
}

function make(factory: string, base: unknown, model: unknown, spec: object): unknown {
  if (!isGeneric(base)) {
    throw new ConfigurationError(`${factory}(): the first argument is the class of a generic view, such as ListAPIView`)
  }
  const known = givenModel(factory, model)
  const name = modelName(known)
  const where = `${factory}(${name})`
  checkSpec(where, spec)
  const { mixins = [], actions = {}, ...statics } = spec as ViewSetSpec<Model>
  const mixed = mixins.reduce<unknown>((inner, mixin) => applied(where, mixin, inner), base) as typeof GenericViewSet
  const made = class extends mixed {
    static override model = known
  }
  declareStatics(made, { where, name: `${name}ViewSet` }, statics)
  addActions(made as typeof GenericViewSet, actions)
  return made
}

function applied(where: string, mixin: unknown, base: unknown): unknown {
  const mixed: unknown = typeof mixin === 'function' ? (mixin as Mixin)(base) : undefined
  if (typeof mixed === 'function') return mixed
  throw new ConfigurationError(`${where}: mixins holds what is no mixin: a function that takes a class and returns one`)
}
