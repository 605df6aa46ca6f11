/** Every public name, by what it is for. */

// Policies
export { hashToken } from './api-keys/api-key.js'
export { BaseAuthentication, type Credentials, type SecurityScheme } from './authentication/authentication.js'
export { SessionAuthentication, type SessionAuthenticationOptions } from './authentication/session-authentication.js'
export { TokenAuthentication, type TokenAuthenticationOptions } from './authentication/token-authentication.js'
// Classes by factories
// What declarations name that compilers write of an application's own classes
export type { ActionTypes, ViewSetAction } from './factories/actions.js'
export { type ActionSpec, listAction, objectAction } from './factories/actions.js'
export { downloadAction } from './factories/download-action.js'
export type { MixedIn } from './factories/mixin-types.js'
export type { ModelSerializerClass } from './factories/model-serializer.js'
export { modelSerializer } from './factories/model-serializer.js'
export type {
  BulkStatics,
  GenericStatics,
  ModelStatics,
  ModelViewMethods,
  ReadOnlyStatics,
  ViewTypes,
} from './factories/view-sets.js'
export {
  bulkModelViewSet,
  genericViewSet,
  modelViewSet,
  nestedViewSet,
  readOnlyModelViewSet,
} from './factories/view-sets.js'
// Fields
export { ArrayField } from './fields/array-field.js'
export { BinaryField } from './fields/binary-field.js'
export { BooleanField } from './fields/boolean-field.js'
export { ChoiceField, MultipleChoiceField } from './fields/choice-fields.js'
export { DateField, DateTimeField, DurationField, TimeField } from './fields/date-time-fields.js'
export { DecimalField } from './fields/decimal-field.js'
export {
  type ContextDefault,
  type FieldOptions,
  type FieldSchema,
  type SerializerContext,
  SerializerField,
  type Validator,
} from './fields/field.js'
export {
  FileUploadField,
  type FileUploadFieldOptions,
  ImageUploadField,
  type ImageUploadFieldOptions,
} from './fields/file-upload-field.js'
export { FloatField } from './fields/float-field.js'
export { EmailField, IPAddressField, URLField, UUIDField } from './fields/formatted-text-fields.js'
export { BigIntegerField, IntegerField } from './fields/integer-fields.js'
export { JSONField } from './fields/json-field.js'
export { PrimaryKeyRelatedField, SlugRelatedField } from './fields/key-related-fields.js'
export { CurrentUserDefault, HiddenField, ReadOnlyField } from './fields/own-value-fields.js'
export type { Key } from './fields/related-field.js'
export { StringField } from './fields/string-field.js'
export type { StorableFile, Upload, UploadStorage } from './fields/upload-storage.js'
// Filters
export { FieldFilter, type FieldFilterOptions } from './filters/field-filter.js'
export type { Where } from './filters/field-path.js'
export {
  BaseFilter,
  type FilterCondition,
  type FilterSettings,
  type ParameterDescription,
  type QueryParameters,
} from './filters/filter.js'
export type { FullTextOptions } from './filters/full-text.js'
export { FullTextSearchFilter, SearchRankOrderingFilter } from './filters/full-text-filters.js'
export { OrderingFilter, type OrderingFilterOptions } from './filters/ordering-filter.js'
export { SearchFilter, type SearchFilterOptions } from './filters/search-filter.js'
// Errors
export { answerError } from './http/answer-error.js'
export type { Context, Middleware } from './http/context.js'
export type { DatabaseOptions, DatabaseRole, DatabaseScope, DatabaseSettings } from './http/database-role.js'
export type { Preferences } from './http/prefer.js'
export type { StoredFile } from './http/send-file.js'
// External ids
export type { EncodeContext, IDContext, IDValue } from './ids/codec.js'
export type { IDConfig, PublicIDConfig } from './ids/id-config.js'
export {
  IDMixin,
  type Identified,
  PublicIDMixin,
  type WithIDConfig,
  type WithPublicIDConfig,
} from './ids/id-mixin.js'
export {
  ApiError,
  type ApiErrorOptions,
  AuthenticationFailed,
  BadRequest,
  ClientGone,
  ConfigurationError,
  Conflict,
  type ErrorMessages,
  type GivenErrors,
  MethodNotAllowed,
  NotFound,
  PermissionDenied,
  ServiceUnavailable,
  Throttled,
  UnsupportedMediaType,
  ValidationError,
} from './kernel/errors.js'
export { configure, type Settings } from './kernel/settings.js'
// Schemas of other libraries
export type { StandardSchema } from './kernel/standard-schema.js'
// Metadata
export { BaseMetadata, type DescribedView } from './metadata/metadata.js'
export { SimpleMetadata } from './metadata/simple-metadata.js'
export type { Generated, GeneratedMark, Interval } from './models/model-types.js'
export type { AnyQueryBuilder } from './models/objection.js'
// Models
export { type TableModel, type TableOptions, type TableRelation, table } from './models/table.js'
export { type WithClientOptions, withClient } from './models/with-client.js'
// Names of other doors
// OpenAPI
export type { SchemaOptions } from './openapi/document.js'
export type { OpenAPIDocument } from './openapi/types.js'
// Pagination
export { CursorPagination, type CursorPaginationOptions } from './pagination/cursor-pagination.js'
export { LimitOffsetPagination, type LimitOffsetPaginationOptions } from './pagination/limit-offset-pagination.js'
export type {
  CountKind,
  ListPool,
  ListSource,
  Position,
  RowCursor,
  RowCursorOptions,
  Rows,
  Slice,
} from './pagination/list-source.js'
export { PageNumberPagination, type PageNumberPaginationOptions } from './pagination/page-number-pagination.js'
export { BasePagination, type PageDescription, type PagedView, type PageRequest } from './pagination/pagination.js'
export { ServerCursorPagination, type ServerCursorPaginationOptions } from './pagination/server-cursor-pagination.js'
export { cleanupExpiredServerCursors } from './pagination/server-cursor-store.js'
export { FormParser, type FormParserOptions } from './parsers/form-parser.js'
export { JSONParser } from './parsers/json-parser.js'
export { MultiPartParser, type MultiPartParserOptions } from './parsers/multi-part-parser.js'
export type { MediaType, ParsedBody, Parser } from './parsers/parser.js'
export { UploadedFile } from './parsers/uploads.js'
export { HasScope } from './permissions/has-scope.js'
export { ModelPermission, type ModelPermissionOptions } from './permissions/model-permission.js'
export { ObjectPermission, type ObjectPermissionOptions } from './permissions/object-permission.js'
export { and, not, or } from './permissions/operators.js'
export { AllowAny, BasePermission, type GuardedView, type GuardedViewClass } from './permissions/permission.js'
export { IsAdminUser, IsAuthenticated, IsAuthenticatedOrReadOnly } from './permissions/user-permissions.js'
// After COMMIT
export { type AfterCommitWork, afterCommit } from './postgres/after-commit.js'
export { toApiError } from './postgres/database-errors.js'
export type { PgClient } from './postgres/lent-client.js'
export type { Queryable } from './postgres/pg-types.js'
// Queries
export type { VisibleFields } from './queryset/visible-fields.js'
export type { VisibleRows } from './queryset/visible-rows.js'
export { whereRaw } from './queryset/where-raw.js'
export { CSVRenderer } from './renderers/csv-renderer.js'
export { JSONRenderer, NDJSONRenderer } from './renderers/json-renderers.js'
export type { StreamedRows, StreamingRenderer } from './renderers/renderer.js'
export { BaseRenderer, type RenderContext } from './renderers/renderer.js'
// Router
export { APIRouter, type RouteTuple } from './router/api-router.js'
export type { LayeredRouter } from './router/mount.js'
export { NestedRouter, type NestedRouterOptions } from './router/nested-router.js'
export type { APIRouterOptions } from './router/router-options.js'
// Serializers
export type { DeclaredFields, SerializerClass, SerializerOptions, SerializerPlan } from './serializers/contract.js'
export { type ExtraKwargs, type FieldNames, ModelSerializer } from './serializers/model-serializer.js'
export { NestedSerializer } from './serializers/nested-serializer.js'
export type { Expandable, Selection } from './serializers/select-fields.js'
export type { SerializerOfAny } from './serializers/serializer.js'
export { Serializer } from './serializers/serializer.js'
export { SerializerMethodField } from './serializers/serializer-method-field.js'
export type { FieldMethods, Input, Output, Typed } from './serializers/types.js'
export {
  AnonRateThrottle,
  ScopedRateThrottle,
  type ScopedRateThrottleOptions,
  UserRateThrottle,
} from './throttling/rate-throttles.js'
export { type CacheKey, type RateThrottleOptions, SimpleRateThrottle } from './throttling/simple-rate-throttle.js'
// Throttling
export type { Rate } from './throttling/store.js'
export {
  BaseThrottle,
  type ThrottleAnswer,
  type ThrottledView,
  type ThrottleRate,
  type ThrottleState,
} from './throttling/throttle.js'
export type { VersionLifecycle } from './versioning/lifecycle.js'
export { BaseVersioning, type VersioningOptions, type VersionParameter } from './versioning/versioning.js'
export { HeaderVersioning, QueryParamVersioning, URLPathVersioning } from './versioning/versioning-classes.js'
// Views and view sets
export { type ActionDecorator, type ActionOptions, action } from './views/action.js'
export type { AnswerSchema } from './views/action-options.js'
export type { ActionPlan, GenericPlan } from './views/action-plan.js'
export { APIView } from './views/api-view.js'
export type { Endpoint, Operation } from './views/endpoint.js'
export { GenericAPIView } from './views/generic-api-view.js'
export type { FilterRelations, RelatedViewClass } from './views/generic-view-class.js'
export { BulkCreateMixin } from './views/mixins/bulk-create-mixin.js'
export { BulkDestroyMixin } from './views/mixins/bulk-destroy-mixin.js'
export { BulkUpdateMixin } from './views/mixins/bulk-update-mixin.js'
export { CacheableMixin } from './views/mixins/cacheable-mixin.js'
export { CreateMixin } from './views/mixins/create-mixin.js'
export { DestroyMixin } from './views/mixins/destroy-mixin.js'
export { ListMixin } from './views/mixins/list-mixin.js'
export { NestedViewSetMixin } from './views/mixins/nested-view-set-mixin.js'
export { RetrieveMixin } from './views/mixins/retrieve-mixin.js'
export { StreamMixin } from './views/mixins/stream-mixin.js'
export { UpdateMixin } from './views/mixins/update-mixin.js'
export type { Replicas } from './views/replicas.js'
export type { Resource } from './views/resource.js'
export type { DeletedRows } from './views/soft-delete.js'
export type {
  Authentications,
  Concurrency,
  Envelope,
  Filters,
  Metadata,
  Pagination,
  Parsers,
  Permissions,
  Queryset,
  Renderers,
  SoftDelete,
  Statuses,
  Throttles,
  Versioning,
  ViewSerializer,
} from './views/statics.js'
export type { ActionMap, ParentLink, View, ViewPolicies } from './views/view.js'
export { BulkModelViewSet, GenericViewSet, ModelViewSet, ReadOnlyModelViewSet, ViewSet } from './views/view-set.js'
