/** Adds a single view to an application's own @koa/router under a pattern with hints. */
import { METHODS } from 'node:http'
import type { Context } from '../http/context.js'
import { parsePattern } from '../kernel/path-pattern.js'
import type { ViewHandler } from '../views/view-handler.js'
import { adaptLayer, addLayer, type LayeredRouter } from './mount.js'
import { RouteTable } from './route-table.js'

/**
 * Routes a view by a pattern such as `/books/{id:int}`: a value that does not fit its hint is no match, so the router goes
 * on. The view answers all methods, 405 included. With the router's own patterns, `router.all('/books/:id', view)` does.
 * @param options.name the route's name, for `router.url()`
 * @throws {ConfigurationError} the pattern cannot be read
 * @example mountView(router, '/books/{id:int}', BookDetail.asView(), { name: 'book' })
 */
export function mountView(
  router: LayeredRouter,
  pattern: string,
  view: ViewHandler,
  options: { readonly name?: string } = {},
): void {
  const matched = parsePattern(pattern)
  const own = { matched, segments: matched, formats: new Set<string>(), operations: new Map() }
  const table = new RouteTable([own])
  const methods = METHODS.map((method) => method.toLowerCase())
  const layer = addLayer(router, matched, { methods, handle: (ctx: Context) => view(ctx), ...options })
  adaptLayer(layer, { current: () => own, find: (path) => table.find(path) })
}
