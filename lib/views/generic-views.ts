/** Views of one endpoint, ready made. */
import type { Model, QueryBuilder } from 'objection'
import { markBuiltIn } from './built-in.js'
import { GenericAPIView } from './generic-api-view.js'
import { CreateMixin } from './mixins/create-mixin.js'
import { DestroyMixin } from './mixins/destroy-mixin.js'
import { ListMixin } from './mixins/list-mixin.js'
import { RetrieveMixin } from './mixins/retrieve-mixin.js'
import { UpdateMixin } from './mixins/update-mixin.js'

// biome-ignore lint/suspicious/noExplicitAny: the classes below name the model
const Base = GenericAPIView<any>

/**
 * `POST`.
 * @example
 * class SignUp extends CreateAPIView<User> {
 *   static override model = User
 *   static override serializerClass = SignUpSerializer
 * }
 * router.post('/sign-up', SignUp.asView())
 */
export class CreateAPIView<M extends Model = Model> extends CreateMixin(Base) {
  static override actions = { post: 'create' }

  override getQueryset(): QueryBuilder<M> {
    return super.getQueryset() as QueryBuilder<M>
  }
}

/** `GET` of a list. */
export class ListAPIView<M extends Model = Model> extends ListMixin(Base) {
  static override actions = { get: 'list' }

  override getQueryset(): QueryBuilder<M> {
    return super.getQueryset() as QueryBuilder<M>
  }
}

/**
 * `GET` of one object.
 * @example router.get('/books/:id', BookDetail.asView())
 */
export class RetrieveAPIView<M extends Model = Model> extends RetrieveMixin(Base) {
  static override actions = { get: 'retrieve' }

  override getQueryset(): QueryBuilder<M> {
    return super.getQueryset() as QueryBuilder<M>
  }

  override getObject(): Promise<M> {
    return super.getObject() as Promise<M>
  }
}

/** `DELETE`. */
export class DestroyAPIView<M extends Model = Model> extends DestroyMixin(Base) {
  static override actions = { delete: 'destroy' }

  override getQueryset(): QueryBuilder<M> {
    return super.getQueryset() as QueryBuilder<M>
  }

  override getObject(): Promise<M> {
    return super.getObject() as Promise<M>
  }
}

/** `PUT` and `PATCH`. */
export class UpdateAPIView<M extends Model = Model> extends UpdateMixin(Base) {
  static override actions = { put: 'update', patch: 'partialUpdate' }

  override getQueryset(): QueryBuilder<M> {
    return super.getQueryset() as QueryBuilder<M>
  }

  override getObject(): Promise<M> {
    return super.getObject() as Promise<M>
  }
}

/** `GET` of a list, and `POST`. */
export class ListCreateAPIView<M extends Model = Model> extends CreateMixin(ListMixin(Base)) {
  static override actions = { get: 'list', post: 'create' }

  override getQueryset(): QueryBuilder<M> {
    return super.getQueryset() as QueryBuilder<M>
  }
}

/** `GET` of one object, `PUT` and `PATCH`. */
export class RetrieveUpdateAPIView<M extends Model = Model> extends UpdateMixin(RetrieveMixin(Base)) {
  static override actions = { get: 'retrieve', put: 'update', patch: 'partialUpdate' }

  override getQueryset(): QueryBuilder<M> {
    return super.getQueryset() as QueryBuilder<M>
  }

  override getObject(): Promise<M> {
    return super.getObject() as Promise<M>
  }
}

/** `GET` of one object, `PUT`, `PATCH` and `DELETE`. */
export class RetrieveUpdateDestroyAPIView<M extends Model = Model> extends DestroyMixin(
  UpdateMixin(RetrieveMixin(Base)),
) {
  static override actions = { get: 'retrieve', put: 'update', patch: 'partialUpdate', delete: 'destroy' }

  override getQueryset(): QueryBuilder<M> {
    return super.getQueryset() as QueryBuilder<M>
  }

  override getObject(): Promise<M> {
    return super.getObject() as Promise<M>
  }
}

/** `GET` of one object, and `DELETE`. */
export class RetrieveDestroyAPIView<M extends Model = Model> extends DestroyMixin(RetrieveMixin(Base)) {
  static override actions = { get: 'retrieve', delete: 'destroy' }

  override getQueryset(): QueryBuilder<M> {
    return super.getQueryset() as QueryBuilder<M>
  }

  override getObject(): Promise<M> {
    return super.getObject() as Promise<M>
  }
}

// these overrides only name the model: a view that has them is as it comes
for (const { prototype } of [
  CreateAPIView,
  ListAPIView,
  RetrieveAPIView,
  DestroyAPIView,
  UpdateAPIView,
  ListCreateAPIView,
  RetrieveUpdateAPIView,
  RetrieveUpdateDestroyAPIView,
  RetrieveDestroyAPIView,
]) {
  markBuiltIn(prototype, 'getQueryset', 'getObject')
}
