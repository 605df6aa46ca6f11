/** What the steps of a request know of a generic view. */

import type { Knex } from 'knex'
import type { SerializerContext } from '../fields/field.js'
import type { Where } from '../filters/field-path.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import type { SerializerClass, SerializerOptions } from '../serializers/contract.js'
import type { Serializer } from '../serializers/serializer.js'
import type { GenericPlan } from './action-plan.js'
import type { GenericViewClass } from './generic-view-class.js'
import type { Resource } from './resource.js'
import type { DeletedRows } from './soft-delete.js'
import type { View } from './view.js'

/** One request's generic view. */
export interface GenericView extends View {
  readonly viewClass: GenericViewClass
  readonly plan: GenericPlan
  /** What is decided of its class. */
  readonly resource: Resource
  knex: Knex | undefined
  trx: Knex.Transaction | undefined
  /** Which rows the request is about, where the view marks them as deleted. */
  deletedRows: DeletedRows
  /** A row that is looked up is held until the transaction ends. */
  holds: boolean
  // biome-ignore lint/suspicious/noExplicitAny: a query of the view's own model
  getQueryset(): any
  filterQueryset(query: AnyQueryBuilder): AnyQueryBuilder
  /** The condition that objects belong to the one on the path; undefined where there is none. */
  parentScope(): Where | undefined
  /** The conditions on all objects of the request: that they belong to the one on the path, and are not deleted. */
  scope(): Where | undefined
  // biome-ignore lint/suspicious/noExplicitAny: any serializer
  performCreate?(serializer: any): Promise<unknown>
  checkObjectPermissions(object: object): Promise<void>
  loadRelated(objects: readonly object[], knex?: Queryable): Promise<void>
  // biome-ignore lint/suspicious/noExplicitAny: an object of the view's own model
  getObject(): Promise<any>
  getSerializerClass(): SerializerClass
  // biome-ignore lint/suspicious/noExplicitAny: objects of the view's own model
  getSerializer(options?: SerializerOptions<any>): Serializer<any>
  // biome-ignore lint/suspicious/noExplicitAny: objects of the view's own model
  getInputSerializer(options?: SerializerOptions<any>): Serializer<any>
  getSerializerContext(): SerializerContext
}
