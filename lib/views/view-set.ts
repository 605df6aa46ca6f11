/** View sets: several actions of one resource in one class, routed by `APIRouter`. */
import type { Model, QueryBuilder } from 'objection'
import { described } from '../kernel/declarations.js'
import type { SerializerOptions } from '../serializers/contract.js'
import type { Serializer, SerializerOfAny } from '../serializers/serializer.js'
import { APIView } from './api-view.js'
import { markBuiltIn } from './built-in.js'
import { GenericAPIView } from './generic-api-view.js'
import { BulkCreateMixin } from './mixins/bulk-create-mixin.js'
import { BulkDestroyMixin } from './mixins/bulk-destroy-mixin.js'
import { BulkUpdateMixin } from './mixins/bulk-update-mixin.js'
import { CreateMixin } from './mixins/create-mixin.js'
import { DestroyMixin } from './mixins/destroy-mixin.js'
import { ListMixin } from './mixins/list-mixin.js'
import { RetrieveMixin } from './mixins/retrieve-mixin.js'
import { UpdateMixin } from './mixins/update-mixin.js'

/** A view set without model and actions: add methods named as the routes' actions (`list`, `retrieve` …). */
export class ViewSet extends APIView {}

/** A view set over a model, without actions: add mixins or methods. */
export class GenericViewSet<M extends Model = Model> extends GenericAPIView<M> {}

// biome-ignore lint/suspicious/noExplicitAny: the classes below name the model
const ReadOnlyActions = RetrieveMixin(ListMixin(GenericViewSet<any>))
const AllActions = DestroyMixin(UpdateMixin(CreateMixin(ReadOnlyActions)))
const BulkActions = BulkDestroyMixin(BulkUpdateMixin(BulkCreateMixin(AllActions)))

/** `list` and `retrieve`. */
export class ReadOnlyModelViewSet<
  M extends Model = Model,
  S extends SerializerOfAny = Serializer<M>,
> extends ReadOnlyActions {
  override getQueryset(): QueryBuilder<M> {
    return super.getQueryset() as QueryBuilder<M>
  }

  override getObject(): Promise<M> {
    return super.getObject() as Promise<M>
  }

  override getObjectToWrite(): Promise<M> {
    return super.getObjectToWrite() as Promise<M>
  }

  // biome-ignore lint/suspicious/noExplicitAny: the type of an action does not always say what it has read
  override getSerializer(options: SerializerOptions<any> = {}): S {
    return super.getSerializer(options) as S
  }
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
export class ModelViewSet<M extends Model = Model, S extends SerializerOfAny = Serializer<M>> extends AllActions {
  override getQueryset(): QueryBuilder<M> {
    return super.getQueryset() as QueryBuilder<M>
  }

  override getObject(): Promise<M> {
    return super.getObject() as Promise<M>
  }

  override getObjectToWrite(): Promise<M> {
    return super.getObjectToWrite() as Promise<M>
  }

  // biome-ignore lint/suspicious/noExplicitAny: the type of an action does not always say what it has read
  override getSerializer(options: SerializerOptions<any> = {}): S {
    return super.getSerializer(options) as S
  }

  override performCreate(serializer: S): Promise<unknown> {
    return super.performCreate(serializer)
  }

  override performUpdate(serializer: S, instance: M): Promise<unknown> {
    return super.performUpdate(serializer, instance)
  }

  override performDestroy(instance: M): Promise<unknown> {
    return super.performDestroy(instance)
  }
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
export class BulkModelViewSet<M extends Model = Model, S extends SerializerOfAny = Serializer<M>> extends BulkActions {
  override getQueryset(): QueryBuilder<M> {
    return super.getQueryset() as QueryBuilder<M>
  }

  override getObject(): Promise<M> {
    return super.getObject() as Promise<M>
  }

  override getObjectToWrite(): Promise<M> {
    return super.getObjectToWrite() as Promise<M>
  }

  // biome-ignore lint/suspicious/noExplicitAny: the type of an action does not always say what it has read
  override getSerializer(options: SerializerOptions<any> = {}): S {
    return super.getSerializer(options) as S
  }

  override performCreate(serializer: S): Promise<unknown> {
    return super.performCreate(serializer)
  }

  override performUpdate(serializer: S, instance: M): Promise<unknown> {
    return super.performUpdate(serializer, instance)
  }

  override performDestroy(instance: M): Promise<unknown> {
    return super.performDestroy(instance)
  }

  override performBulkCreate(serializer: S): Promise<unknown> {
    return super.performBulkCreate(serializer)
  }

  override performBulkUpdate(serializer: S, instances: readonly M[]): Promise<unknown> {
    return super.performBulkUpdate(serializer, instances)
  }

  override performBulkDestroy(instances: readonly M[]): Promise<unknown> {
    return super.performBulkDestroy(instances)
  }
}

for (const made of [ViewSet, GenericViewSet, ReadOnlyModelViewSet, ModelViewSet, BulkModelViewSet]) described(made)

// these overrides only name the model: a view that has them is as it comes
for (const { prototype } of [ReadOnlyModelViewSet, ModelViewSet, BulkModelViewSet]) markBuiltIn(prototype)
