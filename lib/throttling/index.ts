/** Throttles that count for all processes together, and what a store of one's own has to do: `koa-viewsets/throttling`. */
export {
  DatabaseAnonThrottle,
  DatabaseScopedThrottle,
  DatabaseThrottle,
  DatabaseUserThrottle,
} from './database-throttles.js'
export { MemoryStore, type MemoryStoreOptions } from './memory-store.js'
export {
  RedisAnonThrottle,
  type RedisClient,
  RedisScopedThrottle,
  RedisThrottle,
  RedisUserThrottle,
} from './redis-throttles.js'
export type { ThrottleBackendOptions } from './shared-store.js'
export type { ThrottleCount, ThrottleLimiter, ThrottleStore } from './store.js'
