/** View sets: several actions of one resource in one class, routed by `APIRouter` (spec section 4.1). */
import type { Model, QueryBuilder } from 'objection'
import type { Serializer } from '../serializers/serializer.js'
import { APIView } from './api-view.js'
import { GenericAPIView } from './generic-api-view.js'
import { CreateMixin } from './mixins/create-mixin.js'
import { DestroyMixin } from './mixins/destroy-mixin.js'
import { ListMixin } from './mixins/list-mixin.js'
import { RetrieveMixin } from './mixins/retrieve-mixin.js'
import { UpdateMixin } from './mixins/update-mixin.js'
import { markStandard } from './standard.js'

/** A view set without model and actions: add methods named as the routes' actions (`list`, `retrieve` …). */
export class ViewSet extends APIView {}

/** A view set over a model, without actions: add mixins or methods. */
export class GenericViewSet<M extends Model = Model> extends GenericAPIView<M> {}

// biome-ignore lint/suspicious/noExplicitAny: the classes below name the model
const ReadOnlyActions = RetrieveMixin(ListMixin(GenericViewSet<any>))
const AllActions = DestroyMixin(UpdateMixin(CreateMixin(ReadOnlyActions)))

/** `list` and `retrieve`. */
export class ReadOnlyModelViewSet<M extends Model = Model> extends ReadOnlyActions {
  override getQueryset(): QueryBuilder<M> {
    return super.getQueryset() as QueryBuilder<M>
  }

  override getObject(): Promise<M> {
    return super.getObject() as Promise<M>
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
export class ModelViewSet<M extends Model = Model> extends AllActions {
  override getQueryset(): QueryBuilder<M> {
    return super.getQueryset() as QueryBuilder<M>
  }

  override getObject(): Promise<M> {
    return super.getObject() as Promise<M>
  }

  override performCreate(serializer: Serializer<M>): Promise<unknown> {
    return super.performCreate(serializer)
  }

  override performUpdate(serializer: Serializer<M>, instance: M): Promise<unknown> {
    return super.performUpdate(serializer, instance)
  }

  override performDestroy(instance: M): Promise<unknown> {
    return super.performDestroy(instance)
  }
}

// these overrides only name the model: a view that has them is as it comes
for (const { prototype } of [ReadOnlyModelViewSet, ModelViewSet]) markStandard(prototype, 'getQueryset', 'getObject')
markStandard(ModelViewSet.prototype, 'performCreate', 'performUpdate', 'performDestroy')
