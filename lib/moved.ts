/** Names that have a door of their own, which the main one keeps for one version. */

export {
  /** @deprecated Import it from `koa-viewsets/api-keys`. */
  APIKey,
  /** @deprecated Import it from `koa-viewsets/api-keys`. */
  createApiKeysTable,
  /** @deprecated Import it from `koa-viewsets/api-keys`. */
  type GenerateApiKeyOptions,
  /** @deprecated Import it from `koa-viewsets/api-keys`. */
  generateApiKey,
  /** @deprecated Import it from `koa-viewsets/api-keys`. */
  type IssuedApiKey,
  /** @deprecated Import it from `koa-viewsets/api-keys`. */
  revokeApiKey,
} from './api-keys/api-key.js'
export {
  /** @deprecated Import it from `koa-viewsets/api-keys`. */
  APIKeyAuthentication,
  /** @deprecated Import it from `koa-viewsets/api-keys`. */
  type APIKeyAuthenticationOptions,
  /** @deprecated Import it from `koa-viewsets/api-keys`. */
  type APIKeyCredentials,
} from './api-keys/api-key-authentication.js'
export {
  /** @deprecated Import it from `koa-viewsets/api-keys`. */
  flushKeyUsage,
} from './api-keys/key-usage.js'
export {
  /** @deprecated Import it from `koa-viewsets/assets`. */
  type AppVersion,
  /** @deprecated Import it from `koa-viewsets/assets`. */
  describeAppVersion,
  /** @deprecated Import it from `koa-viewsets/assets`. */
  getAppVersion,
  /** @deprecated Import it from `koa-viewsets/assets`. */
  refreshAppVersion,
} from './assets/app-version.js'
export {
  /** @deprecated Import it from `koa-viewsets/assets`. */
  CacheBustChannel,
} from './assets/cache-bust-channel.js'
export {
  /** @deprecated Import it from `koa-viewsets/assets`. */
  CollectError,
  /** @deprecated Import it from `koa-viewsets/assets`. */
  type Collected,
  /** @deprecated Import it from `koa-viewsets/assets`. */
  type CollectOptions,
  /** @deprecated Import it from `koa-viewsets/assets`. */
  collectStatic,
} from './assets/collect-static.js'
export type {
  /** @deprecated Import it from `koa-viewsets/assets`. */
  Manifest,
} from './assets/manifest.js'
export {
  /** @deprecated Import it from `koa-viewsets/assets`. */
  UnknownAppVersion,
} from './assets/route-version.js'
export {
  /** @deprecated Import it from `koa-viewsets/assets`. */
  staticPath,
  /** @deprecated Import it from `koa-viewsets/assets`. */
  staticUrl,
  /** @deprecated Import it from `koa-viewsets/assets`. */
  type TemplateHelpers,
  /** @deprecated Import it from `koa-viewsets/assets`. */
  templateHelpers,
} from './assets/template-helpers.js'
export {
  /** @deprecated Import it from `koa-viewsets/assets`. */
  registerVersionComponent,
} from './assets/version-components.js'
export type {
  /** @deprecated Import it from `koa-viewsets/assets`. */
  VersionRoutes,
} from './assets/version-routes.js'
export type {
  /** @deprecated Import it from `koa-viewsets/tools`. */
  ExplainedInsert,
  /** @deprecated Import it from `koa-viewsets/tools`. */
  ExplainedPolicies,
  /** @deprecated Import it from `koa-viewsets/tools`. */
  ExplainedReading,
  /** @deprecated Import it from `koa-viewsets/tools`. */
  ExplainedStatement,
  /** @deprecated Import it from `koa-viewsets/tools`. */
  Explanation,
} from './explain/explanation.js'
export {
  /** @deprecated Import it from `koa-viewsets/tools`. */
  formatExplanations,
} from './explain/format-explanation.js'
export {
  /** @deprecated Import it from `koa-viewsets/views`. */
  modelView,
} from './factories/view-sets.js'
export type {
  /** @deprecated Import it from `koa-viewsets/metering`. */
  MeteringEngine,
  /** @deprecated Import it from `koa-viewsets/metering`. */
  UsageDimensions,
  /** @deprecated Import it from `koa-viewsets/metering`. */
  UsageEvent,
  /** @deprecated Import it from `koa-viewsets/metering`. */
  UsageReport,
  /** @deprecated Import it from `koa-viewsets/metering`. */
  UsageTotal,
} from './metering/engine.js'
export {
  /** @deprecated Import it from `koa-viewsets/metering`. */
  InMemoryMeteringEngine,
  /** @deprecated Import it from `koa-viewsets/metering`. */
  type InMemoryMeteringEngineOptions,
} from './metering/in-memory-metering-engine.js'
export {
  /** @deprecated Import it from `koa-viewsets/metering`. */
  type MeteringOptions,
  /** @deprecated Import it from `koa-viewsets/metering`. */
  setMeteringEngine,
} from './metering/metering-engine.js'
export {
  /** @deprecated Import it from `koa-viewsets/metering`. */
  PostgresMeteringEngine,
  /** @deprecated Import it from `koa-viewsets/metering`. */
  type PostgresMeteringEngineOptions,
} from './metering/postgres-metering-engine.js'
export {
  /** @deprecated Import it from `koa-viewsets/tools`. */
  describeModel,
  /** @deprecated Import it from `koa-viewsets/tools`. */
  prepareModels,
} from './models/describe-model.js'
export type {
  /** @deprecated Import it from `koa-viewsets/tools`. */
  ModelDescription,
} from './models/model-description.js'
export {
  /** @deprecated Import it from `koa-viewsets/views`. */
  mountView,
} from './router/mount-view.js'
export {
  /** @deprecated Import it from `koa-viewsets/storage`. */
  FileSystemStorage,
  /** @deprecated Import it from `koa-viewsets/storage`. */
  type FileSystemStorageOptions,
} from './storage/file-system-storage.js'
export {
  /** @deprecated Import it from `koa-viewsets/storage`. */
  type FlydriveDisk,
  /** @deprecated Import it from `koa-viewsets/storage`. */
  FlydriveStorage,
  /** @deprecated Import it from `koa-viewsets/storage`. */
  type FlydriveStorageOptions,
} from './storage/flydrive-storage.js'
export {
  /** @deprecated Import it from `koa-viewsets/throttling`. */
  DatabaseAnonThrottle,
  /** @deprecated Import it from `koa-viewsets/throttling`. */
  DatabaseScopedThrottle,
  /** @deprecated Import it from `koa-viewsets/throttling`. */
  DatabaseThrottle,
  /** @deprecated Import it from `koa-viewsets/throttling`. */
  DatabaseUserThrottle,
} from './throttling/database-throttles.js'
export {
  /** @deprecated Import it from `koa-viewsets/throttling`. */
  MemoryStore,
  /** @deprecated Import it from `koa-viewsets/throttling`. */
  type MemoryStoreOptions,
} from './throttling/memory-store.js'
export type {
  /** @deprecated Import it from `koa-viewsets/throttling`. */
  RedisClient,
} from './throttling/redis-store.js'
export {
  /** @deprecated Import it from `koa-viewsets/throttling`. */
  RedisAnonThrottle,
  /** @deprecated Import it from `koa-viewsets/throttling`. */
  RedisScopedThrottle,
  /** @deprecated Import it from `koa-viewsets/throttling`. */
  RedisThrottle,
  /** @deprecated Import it from `koa-viewsets/throttling`. */
  RedisUserThrottle,
} from './throttling/redis-throttles.js'
export type {
  /** @deprecated Import it from `koa-viewsets/throttling`. */
  ThrottleBackendOptions,
} from './throttling/shared-store.js'
export type {
  /** @deprecated Import it from `koa-viewsets/throttling`. */
  ThrottleCount,
  /** @deprecated Import it from `koa-viewsets/throttling`. */
  ThrottleLimiter,
  /** @deprecated Import it from `koa-viewsets/throttling`. */
  ThrottleStore,
} from './throttling/store.js'
export {
  /** @deprecated Import it from `koa-viewsets/views`. */
  CreateAPIView,
  /** @deprecated Import it from `koa-viewsets/views`. */
  DestroyAPIView,
  /** @deprecated Import it from `koa-viewsets/views`. */
  ListAPIView,
  /** @deprecated Import it from `koa-viewsets/views`. */
  ListCreateAPIView,
  /** @deprecated Import it from `koa-viewsets/views`. */
  RetrieveAPIView,
  /** @deprecated Import it from `koa-viewsets/views`. */
  RetrieveDestroyAPIView,
  /** @deprecated Import it from `koa-viewsets/views`. */
  RetrieveUpdateAPIView,
  /** @deprecated Import it from `koa-viewsets/views`. */
  RetrieveUpdateDestroyAPIView,
  /** @deprecated Import it from `koa-viewsets/views`. */
  UpdateAPIView,
} from './views/generic-views.js'
export {
  /** @deprecated Import it from `koa-viewsets/metering`. */
  MeteringMixin,
} from './views/mixins/metering-mixin.js'
