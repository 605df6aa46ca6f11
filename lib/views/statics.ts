/** The types of a view's statics: annotate with them what subclasses are to set freely. */

import type { QueryBuilder } from 'objection'
import type { BaseAuthentication } from '../authentication/authentication.js'
import type { BaseFilter } from '../filters/filter.js'
import type { Policies, Policy } from '../kernel/policy.js'
import type { BaseMetadata } from '../metadata/metadata.js'
import type { BasePagination } from '../pagination/pagination.js'
import type { Parser } from '../parsers/parser.js'
import type { BasePermission } from '../permissions/permission.js'
import type { BaseRenderer } from '../renderers/renderer.js'
import type { SerializerClass } from '../serializers/contract.js'
import type { BaseThrottle } from '../throttling/throttle.js'
import type { BaseVersioning } from '../versioning/versioning.js'

/** A list of permissions. Annotate with this type to leave subclasses free. */
export type Permissions = Policies<BasePermission>
/** A list of authentication schemes. */
export type Authentications = Policies<BaseAuthentication>
/** A list of throttles. */
export type Throttles = Policies<BaseThrottle>
/** A list of parsers. */
export type Parsers = Policies<Parser>
/** A list of renderers. */
export type Renderers = Policies<BaseRenderer>
/** What OPTIONS answers about a view, or null. Annotate with this type to leave subclasses free. */
export type Metadata = Policy<BaseMetadata> | null
/** How versions are named by requests, or null. */
export type Versioning = Policy<BaseVersioning> | null

/** How lists are cut into pages, or null. Annotate with this type to leave subclasses free. */
export type Pagination = Policy<BasePagination> | null
/** A list of filter backends. */
export type Filters = Policies<BaseFilter>
/** The serializer of a view, or null. */
export type ViewSerializer = SerializerClass | null
/** A function that makes the view's query, or null. */
// biome-ignore lint/suspicious/noExplicitAny: a query of any model and result
export type Queryset = (() => QueryBuilder<any, any>) | null

/**
 * How objects are marked as deleted, or null where their rows go: the column, and who may see, restore and purge them.
 * Annotate with this type to leave subclasses free.
 */
export type SoftDelete =
  | string
  | {
      /** The column, a point in time that is null until then. */
      readonly column: string
      /** Who may see deleted objects (`?deleted=true`) and restore them, besides what the view set asks. @default nobody */
      readonly permissionClasses?: Permissions
      /** Who may purge them: delete their rows. @default nobody */
      readonly purgePermissionClasses?: Permissions
    }
  | null

/**
 * What stands around objects and lists, or null: `'data'` for `{ data: … }` and `{ data: […], meta: … }`, or a name for each.
 * Annotate with this type to leave subclasses free.
 */
export type Envelope =
  | string
  | {
      /** The member that holds one object, in bodies and answers. @default none: the object itself */
      readonly object?: string
      /** The member that holds a list of objects. @default none: the list, or the page of the paginator */
      readonly list?: string
      /** The member that holds what a page has besides. @default none: it stands beside the list */
      readonly meta?: string
    }
  | null

/** Statuses of actions that have a choice. Annotate with this type to leave subclasses free. */
export interface Statuses {
  /** Of POST. @default 201 */
  readonly create?: 200 | 201
  /** Of DELETE; 200 answers the object as it was deleted. @default 204 */
  readonly destroy?: 200 | 204
}

/** The columns that distinguish versions of a row, or null. Annotate with this type to leave subclasses free. */
export type Concurrency = string | readonly string[] | null
