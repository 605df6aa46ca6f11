/** What the class of a generic view declares. */

import type { ParameterDescription } from '../filters/filter.js'
import { described } from '../kernel/declarations.js'
import type { Kind } from '../kernel/kinds.js'
import type { ModelClass } from '../models/objection.js'
import type { Expandable } from '../serializers/select-fields.js'
import type { StandardAction } from './actions.js'
import { APIView } from './api-view.js'
import type { FilterRelations, GenericStatic } from './generic-view-class.js'
import type { QueryDialect } from './query-dialects.js'
import type {
  Concurrency,
  Envelope,
  Filters,
  Pagination,
  Queryset,
  SoftDelete,
  Statuses,
  ViewSerializer,
} from './statics.js'

/** The statics of `GenericAPIView`. */
export class GenericViewStatics extends APIView {
  /** The model; its `query()` makes the queryset. */
  static model: ModelClass | null = null
  /** Makes the queryset, in place of `model`; called for each request. */
  static queryset: Queryset = null
  /** The serializer of answers, and of bodies unless `inputSerializerClass` is that of bodies. @default null */
  static serializerClass: ViewSerializer = null
  /**
   * The serializer of bodies, where that is another one than that of answers: what it has saved is shown by
   * `serializerClass`. @default null: serializerClass
   */
  static inputSerializerClass: ViewSerializer = null
  /** The property that the path names an object by; `id` is the external id of a model that has them. @default 'id' */
  static lookupField = 'id'
  /** The name of the path parameter, in `ctx.params` and the document. @default the name of `lookupField` */
  static lookupUrlKwarg: string | null = null
  /** How lists are cut into pages, as a class or an instance with options; null answers the whole list. @default null */
  static paginationClass: Pagination = null
  /**
   * What narrows and orders lists, in this order, as classes or instances. Without one, query parameters filter
   * nothing. @default []
   */
  static filterBackends: Filters = []
  /**
   * Columns, paths (`author__name`) and keys of JSON that a client may filter by, with `FieldFilter`. Lookups are those of the
   * column's type.
   * @see docs/reference/filter-language.md
   */
  static filtersetFields: readonly string[] = []
  /**
   * Relations that groups of filters may ask about, with the view sets that show their objects: what their lists do not show
   * the caller, and what is none of their `filtersetFields`, cannot be asked about. A view set that is declared further below
   * is named by a function.
   * @example static override filterRelations: FilterRelations = { reviews: () => ReviewViewSet }
   */
  static filterRelations: FilterRelations = {}
  /**
   * View sets from which related objects come, by the relation's name: what their lists do not show the caller is not shown
   * here, cannot be named by a key, and is not changed by what is nested; what their querysets mask is masked here. Of the
   * view sets that are named their own `related` holds below. A rule of the model needs none.
   * @example static override related: FilterRelations = { author: () => AuthorViewSet }
   * @see docs/reference/rules.md @default {}
   */
  static related: FilterRelations = {}
  /**
   * What is written may become a row that `getQueryset()` does not show; else that is refused with 403, and rolled back.
   * Where the queryset is the whole table, nothing is asked. @default false
   */
  static mayLeaveQueryset = false
  /**
   * Columns and paths that `SearchFilter` and `FullTextSearchFilter` look into. A sign before one says how `SearchFilter`
   * does: `^` begins with, `=` is, `$` matches a regular expression; without one, contains.
   */
  static searchFields: readonly string[] = []
  /** Columns, and paths to columns of one related object, that a client may order by, with `OrderingFilter`. */
  static orderingFields: readonly string[] = []
  /** PostgreSQL's text search configuration for full-text search. @default 'english' */
  static searchConfig = 'english'
  /** How a full-text query is read: `plain`, `phrase`, `raw` or `websearch`. @default 'websearch' */
  static searchType = 'websearch'
  /** The query parameter of searches. @default 'search' */
  static searchParam = 'search'
  /** Let PostgreSQL write the JSON of lists and objects, where SQL can say all that they show; `explain` tells. @default false */
  static useNativeJson = false
  /**
   * Actions that come with the class and are not routed: their methods are 405, and neither the document nor clients know them.
   * @example static override withoutActions = ['update'] as const // PATCH without PUT
   * @default []
   */
  static withoutActions: readonly StandardAction[] = []
  /** Answer 400 for query parameters that nothing reads, in place of ignoring them. @default false */
  static strictParams = false
  /**
   * Answer 400 for names in bodies that no field has, at any depth, in place of ignoring them; with `'writable'` also for
   * those of fields that no client may write.
   * @default false
   */
  static strictBody: boolean | 'writable' = false
  /**
   * Lists also answer QUERY (RFC 10008): a body of JSON says what the parameters of a GET would, however long that is.
   * @see docs/reference/query-method.md @default false
   */
  static queryMethod = false
  /**
   * Lists are asked for as clients of other APIs do, besides by the parameters of the view set: `simple-rest` as
   * `ra-data-simple-rest` of react-admin, `json-server` as `@refinedev/simple-rest` and `ra-data-json-server`. It needs a
   * `LimitOffsetPagination` with `countHeader`. @see docs/how-to/admin-front-ends.md @default null
   */
  static queryDialect: QueryDialect | null = null
  /** Query parameters that the view's own code reads, besides those of its filter backends and its paginator. */
  static queryParameters: readonly ParameterDescription[] = []
  /**
   * Columns that every write to a row changes, such as `'updated_at'` or `['version']`: objects then have a strong `ETag`,
   * and a write whose `If-Match` names another version is refused with 412. The columns are set by the database or the
   * model (a trigger, `$beforeUpdate`), never by the client. Writes of such a view are always one transaction, which
   * holds the row from before it is read.
   * @default null
   */
  static concurrency: Concurrency = null
  /** Answer 428 to a PUT, PATCH or DELETE without `If-Match`. Needs `concurrency`. @default false */
  static requireIfMatch = false
  /**
   * Related objects that `?expand=author` shows in full, by the relation's name. `?fields=title,price` leaves fields out and
   * needs no declaration. Both count for the actions as they come: an action of your own sees and answers whole objects.
   * What is expanded is shown to all who see the object, and a relation to many is shown whole, unless a `NestedSerializer`
   * with `limit` or `modify` stands for it. `count('reviews')` is a number in place of a list: of those that the view set
   * in `filterRelations` would show the caller, else of all.
   * @see docs/reference/related-lists.md
   * @example static override expandable = { author: AuthorSerializer, 'author.country': CountrySerializer, votes: count('votes') }
   */
  static expandable: Expandable = {}
  /** The query parameter that asks for what `expandable` names. @default 'expand' */
  static expandParam = 'expand'
  /**
   * DELETE marks objects as deleted by this column, a point in time that is null until then, in place of deleting their rows.
   * Lists, objects, relations to many, counts, filters over such relations, and choices of related fields leave them out, in
   * all view sets. With `permissionClasses` some callers see them by `?deleted=true` and restore them, with
   * `purgePermissionClasses` some delete their rows.
   * @see docs/reference/soft-deletes.md
   * @example static override softDelete: SoftDelete = { column: 'deleted_at', permissionClasses: [IsAdminUser] }
   * @default null
   */
  static softDelete: SoftDelete = null
  /**
   * What stands around objects and lists, in bodies and answers of the actions that come with the package. JSON only.
   * @see docs/reference/envelopes.md
   * @example static override envelope = { object: 'article', list: 'articles' }
   * @default null
   */
  static envelope: Envelope = null
  /**
   * PUT leaves fields that the body leaves out as they are, as PATCH does, in place of asking for all that are required.
   * @default false
   */
  static partialPut = false
  /** Answers POST by 200 in place of 201, and DELETE by 200 and the object in place of 204. @default {} */
  static statuses: Statuses = {}
  /** The default order, such as `['-created_at']`. The primary key is appended, so that the order is total. */
  static ordering: readonly string[] = []
}

// a mistake in one is found before any request
described(GenericViewStatics, {
  model: 'any',
  queryset: 'any',
  serializerClass: 'any',
  inputSerializerClass: 'any',
  lookupField: 'name',
  lookupUrlKwarg: 'name or null',
  paginationClass: 'any',
  filterBackends: 'any',
  filtersetFields: 'names',
  filterRelations: 'record',
  related: 'record',
  mayLeaveQueryset: 'boolean',
  searchFields: 'names',
  orderingFields: 'names',
  searchConfig: 'name',
  searchType: 'any',
  searchParam: 'name',
  useNativeJson: 'boolean',
  withoutActions: 'names',
  strictParams: 'boolean',
  strictBody: 'any',
  queryDialect: 'any',
  queryMethod: 'boolean',
  queryParameters: 'list',
  concurrency: 'names or null',
  requireIfMatch: 'boolean',
  expandable: 'record',
  expandParam: 'name',
  ordering: 'names',
  softDelete: 'any',
  envelope: 'any',
  partialPut: 'boolean',
  statuses: 'record',
} satisfies Record<GenericStatic, Kind>)
