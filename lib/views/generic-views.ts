/** Views of one endpoint, ready made. */
import type { Model, QueryBuilder } from 'objection'
import { GenericAPIView } from './generic-api-view.js'
import { CreateMixin } from './mixins/create-mixin.js'
import { DestroyMixin } from './mixins/destroy-mixin.js'
import { ListMixin } from './mixins/list-mixin.js'
import { RetrieveMixin } from './mixins/retrieve-mixin.js'
import { UpdateMixin } from './mixins/update-mixin.js'

// biome-ignore lint/suspicious/noExplicitAny: the classes below name the model
const Base = GenericAPIView<any>

/** What methods of a view of a model return. */
interface Found<M extends Model> {
  getQueryset(): QueryBuilder<M>
  getObject(): Promise<M>
}

/** The class of a view whose methods know the model. */
type OfModel<Made extends abstract new () => object> = Omit<Made, 'prototype'> &
  (new <M extends Model>() => Found<M> & InstanceType<Made>)

function ofModel<Made extends abstract new () => object>(made: Made): OfModel<Made> {
  return made as never
}

/**
 * `POST`.
 * @example
 * class SignUp extends CreateAPIView<User> {
 *   static override model = User
 *   static override serializerClass = SignUpSerializer
 * }
 * router.post('/sign-up', SignUp.asView())
 */
export class CreateAPIView<M extends Model = Model> extends ofModel(CreateMixin(Base))<M> {
  static override actions = { post: 'create' }
}

/** `GET` of a list. */
export class ListAPIView<M extends Model = Model> extends ofModel(ListMixin(Base))<M> {
  static override actions = { get: 'list' }
}

/**
 * `GET` of one object.
 * @example router.get('/books/:id', BookDetail.asView())
 */
export class RetrieveAPIView<M extends Model = Model> extends ofModel(RetrieveMixin(Base))<M> {
  static override actions = { get: 'retrieve' }
}

/** `DELETE`. */
export class DestroyAPIView<M extends Model = Model> extends ofModel(DestroyMixin(Base))<M> {
  static override actions = { delete: 'destroy' }
}

/** `PUT` and `PATCH`. */
export class UpdateAPIView<M extends Model = Model> extends ofModel(UpdateMixin(Base))<M> {
  static override actions = { put: 'update', patch: 'partialUpdate' }
}

/** `GET` of a list, and `POST`. */
export class ListCreateAPIView<M extends Model = Model> extends ofModel(CreateMixin(ListMixin(Base)))<M> {
  static override actions = { get: 'list', post: 'create' }
}

/** `GET` of one object, `PUT` and `PATCH`. */
export class RetrieveUpdateAPIView<M extends Model = Model> extends ofModel(UpdateMixin(RetrieveMixin(Base)))<M> {
  static override actions = { get: 'retrieve', put: 'update', patch: 'partialUpdate' }
}

/** `GET` of one object, `PUT`, `PATCH` and `DELETE`. */
export class RetrieveUpdateDestroyAPIView<M extends Model = Model> extends ofModel(
  DestroyMixin(UpdateMixin(RetrieveMixin(Base))),
)<M> {
  static override actions = { get: 'retrieve', put: 'update', patch: 'partialUpdate', delete: 'destroy' }
}

/** `GET` of one object, and `DELETE`. */
export class RetrieveDestroyAPIView<M extends Model = Model> extends ofModel(DestroyMixin(RetrieveMixin(Base)))<M> {
  static override actions = { get: 'retrieve', delete: 'destroy' }
}
