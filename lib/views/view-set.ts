/** View sets: several actions of one resource in one class, routed by `APIRouter`. */
// biome-ignore-all lint/suspicious/noUnsafeDeclarationMerging: interfaces name the types of methods that the bases have
// biome-ignore-all lint/correctness/noUnusedVariables: they use the serializer's type
/* oxlint-disable typescript/no-unsafe-declaration-merging, no-unused-vars */
import type { Model, QueryBuilder } from 'objection'
import { described } from '../kernel/declarations.js'
import type { SerializerOptions } from '../serializers/contract.js'
import type { Serializer, SerializerOfAny } from '../serializers/serializer.js'
import type { OfMany, OfPart } from '../serializers/types.js'
import { APIView } from './api-view.js'
import { GenericAPIView } from './generic-api-view.js'
import { AggregateMixin } from './mixins/aggregate-mixin.js'
import { BulkCreateMixin } from './mixins/bulk-create-mixin.js'
import { BulkDestroyMixin } from './mixins/bulk-destroy-mixin.js'
import { BulkUpdateMixin } from './mixins/bulk-update-mixin.js'
import { CreateMixin } from './mixins/create-mixin.js'
import { DestroyMixin } from './mixins/destroy-mixin.js'
import { ListMixin } from './mixins/list-mixin.js'
import { RetrieveMixin } from './mixins/retrieve-mixin.js'
import { UpdateMixin } from './mixins/update-mixin.js'

// biome-ignore lint/suspicious/noExplicitAny: the type of an action does not always say what it has read
type AnyOptions = SerializerOptions<any>

/** A view set without model and actions: add methods named as the routes' actions (`list`, `retrieve` …). */
export class ViewSet extends APIView {}

/** A view set over a model, without actions: add mixins or methods. */
export class GenericViewSet<M extends Model = Model> extends GenericAPIView<M> {}

// biome-ignore lint/suspicious/noExplicitAny: the classes below name the model
const ReadOnlyActions = AggregateMixin(RetrieveMixin(ListMixin(GenericViewSet<any>)))
const AllActions = DestroyMixin(UpdateMixin(CreateMixin(ReadOnlyActions)))
const BulkActions = BulkDestroyMixin(BulkUpdateMixin(BulkCreateMixin(AllActions)))

/** What the methods of `ReadOnlyModelViewSet` take and give. */
export interface ReadOnlyModelViewSet<M extends Model = Model, S extends SerializerOfAny = Serializer<M>> {
  getQueryset(): QueryBuilder<M>
  getObject(): Promise<M>
  getObjectToWrite(): Promise<M>
  getSerializer(options: AnyOptions & { readonly many: true }): OfMany<S>
  getSerializer(options: AnyOptions & { readonly partial: true }): OfPart<S>
  getSerializer(options?: AnyOptions): S
}

/** `list` and `retrieve`. */
export class ReadOnlyModelViewSet<
  M extends Model = Model,
  S extends SerializerOfAny = Serializer<M>,
> extends ReadOnlyActions {}

/** What the methods of `ModelViewSet` take and give. */
export interface ModelViewSet<
  M extends Model = Model,
  S extends SerializerOfAny = Serializer<M>,
  I extends SerializerOfAny = S,
> {
  getQueryset(): QueryBuilder<M>
  getObject(): Promise<M>
  getObjectToWrite(): Promise<M>
  getSerializer(options: AnyOptions & { readonly many: true }): OfMany<S>
  getSerializer(options: AnyOptions & { readonly partial: true }): OfPart<S>
  getSerializer(options?: AnyOptions): S
  performCreate(serializer: I): Promise<unknown>
  performUpdate(serializer: I, instance: M): Promise<unknown>
  performDestroy(instance: M): Promise<unknown>
  performRestore(instance: M): Promise<unknown>
  performPurge(instance: M): Promise<unknown>
}

/**
 * `list`, `create`, `retrieve`, `update`, `partialUpdate` and `destroy`.
 * @example
 * class BookViewSet extends ModelViewSet<Book> {
 *   static override model = Book
 *   static override serializerClass = BookSerializer
 * }
 * new APIRouter({ prefix: '/api' }).register('books', BookViewSet)
 */
export class ModelViewSet<
  M extends Model = Model,
  S extends SerializerOfAny = Serializer<M>,
  I extends SerializerOfAny = S,
> extends AllActions {}

/** What the methods of `BulkModelViewSet` take and give. */
export interface BulkModelViewSet<
  M extends Model = Model,
  S extends SerializerOfAny = Serializer<M>,
  I extends SerializerOfAny = S,
> {
  getQueryset(): QueryBuilder<M>
  getObject(): Promise<M>
  getObjectToWrite(): Promise<M>
  getSerializer(options: AnyOptions & { readonly many: true }): OfMany<S>
  getSerializer(options: AnyOptions & { readonly partial: true }): OfPart<S>
  getSerializer(options?: AnyOptions): S
  performCreate(serializer: I): Promise<unknown>
  performUpdate(serializer: I, instance: M): Promise<unknown>
  performDestroy(instance: M): Promise<unknown>
  performRestore(instance: M): Promise<unknown>
  performPurge(instance: M): Promise<unknown>
  performBulkCreate(serializer: I): Promise<unknown>
  performBulkUpdate(serializer: I, instances: readonly M[]): Promise<unknown>
  performBulkDestroy(instances: readonly M[]): Promise<unknown>
}

/**
 * A `ModelViewSet` that also creates, updates and deletes lists of objects: `bulkCreate`, `bulkUpdate` and `bulkDestroy` under
 * `/<prefix>/bulk`. A list is written as a whole or not at all.
 * @example
 * class EntryViewSet extends BulkModelViewSet<Entry> {
 *   static override model = Entry
 *   static override serializerClass = EntrySerializer
 *   static override maxBulkSize = 500
 * }
 */
export class BulkModelViewSet<
  M extends Model = Model,
  S extends SerializerOfAny = Serializer<M>,
  I extends SerializerOfAny = S,
> extends BulkActions {}

for (const made of [ViewSet, GenericViewSet, ReadOnlyModelViewSet, ModelViewSet, BulkModelViewSet]) described(made)
