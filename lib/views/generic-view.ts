/** What the steps of a request know of a generic view. */

import type { Knex } from 'knex'
import type { SerializerContext } from '../fields/field.js'
import type { KeyValues } from '../fields/object-key.js'
import type { Where } from '../filters/field-path.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import type { Inserter } from '../rows/inserter.js'
import type { SerializerClass, SerializerOptions } from '../serializers/contract.js'
import type { Selection } from '../serializers/select-fields.js'
import type { Serializer } from '../serializers/serializer.js'
import type { GenericPlan } from './action-plan.js'
import type { GenericViewClass } from './generic-view-class.js'
import type { Resource } from './resource.js'
import type { DeletedRows } from './soft-delete.js'
import type { View } from './view.js'

/** @internal What the path names an object by. */
export interface PathKey {
  readonly text: string
  readonly values: KeyValues
}

/** One request's generic view. */
export interface GenericView extends View {
  readonly viewClass: GenericViewClass
  readonly plan: GenericPlan
  /** What is decided of its class. */
  readonly resource: Resource
  /** The key on the path of a request that writes, so that an external id is decoded once. */
  pathKey: PathKey | undefined
  knex: Knex | undefined
  trx: Knex.Transaction | undefined
  /** The version of the object's row, for its tag. */
  rowVersion: string | undefined
  /** Which rows the request is about, where the view marks them as deleted. */
  deletedRows: DeletedRows
  /** A row that is looked up is held until the transaction ends. */
  holds: boolean
  /** The key of the row that is held, as JSON. */
  heldKey: string | undefined
  /** The version of a row that is to be deleted and cannot be held. */
  rowMark: string | undefined
  /** What a create inserts by, once that was asked; null where it needs instances. */
  inserter: Inserter | null | undefined
  /** What of its objects the client wants to see, once that was read; null for all. */
  clientSelection: Selection | null | undefined
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
