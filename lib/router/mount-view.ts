/** Adds a single view to an application's own @koa/router under a pattern with hints. */
import { METHODS } from 'node:http'
import type Router from '@koa/router'
import type { Context } from '../http/context.js'
import { parsePattern } from '../kernel/path-pattern.js'
import type { ViewHandler } from '../views/view-handler.js'
import { adaptLayer, MATCHING, writePath } from './mount.js'

/**
 * Routes a view by a pattern such as `/books/{id:int}`: a value that does not fit its hint is no match, so the router goes
 * on. The view answers all methods, 405 included. With the router's own patterns, `router.all('/books/:id', view)` does.
 * @param options.name the route's name, for `router.url()`
 * @throws {ConfigurationError} the pattern cannot be read
 * @example mountView(router, '/books/{id:int}', BookDetail.asView(), { name: 'book' })
 */
export function mountView(
  router: Router,
  pattern: string,
  view: ViewHandler,
  options: { readonly name?: string } = {},
): void {
  const matched = parsePattern(pattern)
  const own = { matched, formats: new Set<string>() }
  const layer = router.register(
    writePath(matched),
    METHODS.map((method) => method.toLowerCase()),
    ((ctx: Context) => view(ctx)) as never,
    { ...MATCHING, ...options },
  )
  adaptLayer(layer, { current: () => own, rivals: () => [] })
}
