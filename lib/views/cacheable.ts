/** What a view class with `CacheableMixin` says of its answers. */
import { type CachePolicy, cachePolicy } from '../caching/cache-policy.js'
import { oncePer } from '../kernel/once-per.js'

/** What the mixin adds to a class. */
export interface Cacheable {
  readonly name: string
  readonly cacheMaxAge: number
  readonly cachePrivate: boolean
  readonly cacheNoCache: boolean
}

/** True for a view class with the mixin. */
export function isCacheable(view: object): view is Cacheable {
  return 'cachePrivate' in view && 'cacheMaxAge' in view && 'cacheNoCache' in view
}

/** How the answers of a class may be kept; settled once. @throws {ConfigurationError} */
export const policyOf = oncePer(
  (view: Cacheable): CachePolicy =>
    cachePolicy(view.name, { maxAge: view.cacheMaxAge, private: view.cachePrivate, noCache: view.cacheNoCache }),
)
