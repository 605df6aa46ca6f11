/** Throttles that count in Redis or Valkey, so that all machines share the counts. */

import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { ConfigurationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { AnonRateThrottle, ScopedRateThrottle, UserRateThrottle } from './rate-throttles.js'
import {
  Backend,
  type RequestCounter,
  SharedStore,
  type SharedStoreOptions,
  type ThrottleBackendOptions,
} from './shared-store.js'
import { SimpleRateThrottle } from './simple-rate-throttle.js'
import type { Rate, ThrottleStore } from './store.js'

/** A client of ioredis or iovalkey. */
interface IORedisClient {
  defineCommand(name: string, definition: { lua: string; numberOfKeys?: number }): unknown
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>
}

/** A client of node-redis 4 or later. */
interface NodeRedisClient {
  // as a method, for its own types are narrower
  sendCommand(...command: never[]): unknown
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
}

/** A client of Valkey GLIDE. */
interface GlideClient {
  customCommand(command: string[]): Promise<unknown>
}

/** A connected client of ioredis, node-redis, iovalkey or Valkey GLIDE; a single server's or a cluster's. */
export type RedisClient = IORedisClient | NodeRedisClient | GlideClient

/** What rate-limiter-flexible needs of a client. */
type Evaluate = (script: string, options: { keys: string[]; arguments: string[] }) => Promise<unknown>

/** On their way at once; a connection takes many. */
const MOST_COMMANDS = 200

/**
 * Counts in one step. A key without an end, or with more to go than its window's length, cannot be: the clock of the
 * server was set back, so it begins anew (promise H9).
 */
const COUNT = `
local length = tonumber(ARGV[2]) * 1000
local wait = redis.call('pttl', KEYS[1])
if wait < 0 or wait > length then
  redis.call('set', KEYS[1], ARGV[1], 'PX', length)
  return {tonumber(ARGV[1]), length}
end
return {redis.call('incrby', KEYS[1], ARGV[1]), wait}
`

/** Keeps counts in Redis, through a client of the application's. */
export class RedisStore extends SharedStore {
  /** Versions of rate-limiter-flexible before 11.4 ask for a `multi()`, with which they then do nothing. */
  readonly #client: { readonly eval: Evaluate; multi(): void }

  /** @throws {ConfigurationError} it is no client that we know */
  constructor(client: RedisClient, options: SharedStoreOptions = {}) {
    super('Redis', MOST_COMMANDS, options)
    this.#client = { eval: evaluatorOf(client), multi() {} }
  }

  protected override counterOf({ limit, seconds }: Rate): RequestCounter {
    const limiter = new RateLimiterRedis({
      storeClient: this.#client,
      useRedisPackage: true,
      customIncrTtlLuaScript: COUNT,
      keyPrefix: '',
      points: limit,
      duration: seconds,
    })
    return async (key, points) => {
      const { consumedPoints, msBeforeNext } = await limiter.consume(key, points).catch((reason: unknown) => {
        // beyond the limit
        if (reason instanceof RateLimiterRes) return reason
        throw reason
      })
      return { used: Number(consumedPoints), wait: Number(msBeforeNext) }
    }
  }
}

/** How the client runs a script: each library has arguments of its own. */
function evaluatorOf(client: RedisClient): Evaluate {
  if (has(client, 'customCommand')) {
    return (script, { keys, arguments: values }) =>
      client.customCommand(['EVAL', script, String(keys.length), ...keys, ...values])
  }
  if (has(client, 'defineCommand') && has(client, 'eval')) {
    return (script, { keys, arguments: values }) => client.eval(script, keys.length, ...keys, ...values)
  }
  if (has(client, 'sendCommand') && has(client, 'eval')) {
    return (script, options) => client.eval(script, options)
  }
  throw new ConfigurationError(
    'RedisThrottle.setBackend(client): give a client of ioredis, iovalkey, node-redis (4 or later) or Valkey GLIDE',
  )
}

function has<Name extends 'customCommand' | 'defineCommand' | 'eval' | 'sendCommand'>(
  client: RedisClient,
  name: Name,
): client is Extract<RedisClient, Record<Name, unknown>> {
  return typeof (client as Partial<Record<Name, unknown>> | null | undefined)?.[name] === 'function'
}

const redis = new Backend<RedisStore>('Redis throttles have no backend; call RedisThrottle.setBackend(client)')

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
    redis.store = new RedisStore(client, options)
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
