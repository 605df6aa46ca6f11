/** Throttles that count in Redis or Valkey, so that all machines share the counts. */
import { ConfigurationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { AnonRateThrottle, ScopedRateThrottle, UserRateThrottle } from './rate-throttles.js'
import { type RedisClient, RedisStore } from './redis-store.js'
import type { ThrottleBackendOptions } from './shared-store.js'
import { SimpleRateThrottle } from './simple-rate-throttle.js'
import type { ThrottleStore } from './store.js'

let backend: RedisStore | undefined

/** @throws {ConfigurationError} there is none yet */
function getBackend(): RedisStore {
  if (backend) return backend
  throw new ConfigurationError(
    'Redis throttles have no backend; call RedisThrottle.setBackend(client) before views and routes are registered',
  )
}

/** Counts in the backend of the moment. */
const redis: ThrottleStore = { limiter: (budget, rate) => getBackend().limiter(budget, rate) }

/**
 * The base of an application's own throttles that count in Redis or Valkey: one script for each check, exact over all
 * machines. While Redis does not count, the memory of each process does.
 * @example RedisThrottle.setBackend(new Redis(process.env.REDIS_URL))
 */
export abstract class RedisThrottle extends SimpleRateThrottle {
  /**
   * Says where to count, before views and routes are registered. The client stays the application's: it connects and
   * closes it, and listens to its `error` event.
   * @throws {ConfigurationError} it is no client of ioredis, iovalkey, node-redis or Valkey GLIDE
   */
  static setBackend(client: RedisClient, options?: ThrottleBackendOptions): void {
    backend = new RedisStore(client, options)
  }

  override store: ThrottleStore = redis
}

/** `AnonRateThrottle` with counts in Redis. */
export class RedisAnonThrottle extends AnonRateThrottle {
  static override budget = 'anon'
  override store: ThrottleStore = redis
}

/** `UserRateThrottle` with counts in Redis. */
export class RedisUserThrottle extends UserRateThrottle {
  static override budget = 'user'
  override store: ThrottleStore = redis
}

/** `ScopedRateThrottle` with counts in Redis. */
export class RedisScopedThrottle extends ScopedRateThrottle {
  static override budget = 'scope'
  override store: ThrottleStore = redis
}

for (const made of [RedisAnonThrottle, RedisUserThrottle, RedisScopedThrottle]) takesOptions(made, {})
