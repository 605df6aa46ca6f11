/** One request's generic view, as the steps of the package know it: of any model. */

import { NotFound } from '../kernel/errors.js'
import type { Queryable } from '../postgres/pg-types.js'
import type { SerializerOptions } from '../serializers/contract.js'
import type { Serializer } from '../serializers/serializer.js'
import type { GenericAPIView } from './generic-api-view.js'

/** What the application's own types of model and serializer have a say in. */
type OfModel = 'getInputSerializer' | 'getObject' | 'getObjectToWrite' | 'getQueryset' | 'getSerializer'

export interface GenericView extends Omit<GenericAPIView, OfModel> {
  // biome-ignore lint/suspicious/noExplicitAny: a query of the view's own model
  getQueryset(): any
  // biome-ignore lint/suspicious/noExplicitAny: an object of the view's own model
  getObject(): Promise<any>
  // biome-ignore lint/suspicious/noExplicitAny: objects of the view's own model
  getSerializer(options?: SerializerOptions<any>): Serializer<any>
  // biome-ignore lint/suspicious/noExplicitAny: objects of the view's own model
  getInputSerializer(options?: SerializerOptions<any>): Serializer<any>
}

/** The knex that the view's statements go to: its transaction, or the one that its model is bound to. */
export function knexOf(view: GenericView): Queryable {
  return (view.trx ?? view.knex ?? view.plan.viewClass.modelClass().knex()) as Queryable
}

/** The object that `getObject()` finds. @throws NotFound an application's own finds none */
export async function foundObject(view: GenericView): Promise<object> {
  const object: unknown = await view.getObject()
  if (object === undefined || object === null) throw new NotFound()
  return object
}
