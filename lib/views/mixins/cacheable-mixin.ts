/** Validators and `Cache-Control` for lists and objects. */
import { cachePolicy } from '../../caching/cache-policy.js'
import { cacheResponse, ROW_VERSION } from '../../caching/cache-response.js'
import { CONTROL_BEFORE } from '../../caching/control-before.js'
import { described, exclusiveTo } from '../../kernel/declarations.js'
import { oncePer } from '../../kernel/once-per.js'
import { isRead } from '../actions.js'
import type { ViewConstructor } from './mixin.js'

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
export const policyOf = oncePer((view: Cacheable): string =>
  cachePolicy(view.name, { maxAge: view.cacheMaxAge, private: view.cachePrivate, noCache: view.cacheNoCache }),
)

const KINDS = { cacheMaxAge: 'count', cachePrivate: 'boolean', cacheNoCache: 'boolean' } as const
exclusiveTo('CacheableMixin', 'view', KINDS)

/**
 * Adds `ETag` and `Cache-Control` to `list` and `retrieve`, and answers 304 to a client that has the representation. A
 * `Cache-Control` that the view itself sets stays. Pages of a server cursor are `no-store`, as each can be read only once.
 * @example
 * class BookViewSet extends CacheableMixin(ModelViewSet<Book>) {
 *   static override cacheMaxAge = 60
 * }
 */
export function CacheableMixin<Base extends ViewConstructor>(base: Base) {
  const mixed = class extends base {
    /** Seconds of `max-age`; 0 leaves it out. @default 0 */
    static cacheMaxAge = 0
    /** `private` or, when false, `public`. An answer that sets a cookie is never public. @default true */
    static cachePrivate = true
    /** Sends `no-cache`: caches ask before they use what they have. @default false */
    static cacheNoCache = false

    override finalizeResponse(): void {
      const { ctx } = this
      const putBack = CONTROL_BEFORE.get(ctx)
      if (isRead(this.action)) {
        const keep = ctx.res.hasHeader('Cache-Control')
        if (ctx.status !== 200) putBack?.()
        cacheResponse(ctx, policyOf(this.viewClass as typeof this.viewClass & Cacheable), {
          row: ROW_VERSION.get(ctx),
          keep,
        })
      }
      putBack?.()
      super.finalizeResponse()
    }
  }
  return described(mixed, KINDS)
}
