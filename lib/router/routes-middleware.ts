/** The middleware of an API: it answers the API's paths and leaves all others to the application. */
import type { Context, Middleware } from '../http/context.js'
import { pathOf, setFormat } from '../http/request-path.js'
import type { ViewHandler } from '../views/view-handler.js'
import type { FoundRoute, RouteTable } from './route-table.js'
import { type TracedRouter, TracedRoutes } from './traced-routes.js'

/** The middleware of `routes()`. */
export interface RoutesMiddleware extends Middleware {
  /** The routes, as telemetry reads those of @koa/router: @opentelemetry/instrumentation-koa names spans by it. */
  readonly router: TracedRouter
}

/** What the middleware needs of its API. */
export interface ServedAPI {
  /** The paths as they are known by now. */
  routes(): RouteTable
  isPrepared(): boolean
  /** Reads the catalogue. False when that failed, and was answered. */
  prepare(ctx: Context): Promise<boolean>
  serve(ctx: Context, handler: ViewHandler): Promise<void>
}

export function routesMiddleware(api: ServedAPI): RoutesMiddleware {
  const traced = new TracedRoutes()
  const answer = (ctx: Context, found: FoundRoute) => {
    const { endpoint, params, format } = found
    nameRoute(ctx, found)
    ctx['params'] = params
    if (format !== undefined) setFormat(ctx, format)
    const trace = traced.traceOf(endpoint.path)
    const { handler } = endpoint
    if (trace === undefined) return api.serve(ctx, handler)
    return traced.answer(ctx, trace, (answered) => api.serve(answered, handler))
  }
  const prepareAndAnswer = async (ctx: Context, path: string, next: () => Promise<unknown>) => {
    if (!(await api.prepare(ctx))) return undefined
    // by now it is known which values fit
    const found = api.routes().find(path)
    if (found) return answer(ctx, found)
    ctx['_matchedRoute'] = undefined
    ctx['_matchedRouteName'] = undefined
    return next()
  }
  function apiRoutes(ctx: Context, next: () => Promise<unknown>) {
    const path = pathOf(ctx)
    // what cannot be one of our paths does not wait for the database
    const found = path === undefined ? undefined : api.routes().find(path)
    if (path === undefined || !found) return next()
    if (api.isPrepared()) return answer(ctx, found)
    nameRoute(ctx, found)
    return prepareAndAnswer(ctx, path, next)
  }
  return Object.defineProperty(apiRoutes as RoutesMiddleware, 'router', {
    get: () => traced.router(api.routes().endpoints),
  })
}

function nameRoute(ctx: Context, { endpoint }: FoundRoute): void {
  ctx['_matchedRoute'] = endpoint.path
  ctx['_matchedRouteName'] = endpoint.operations.get(ctx.method === 'HEAD' ? 'GET' : ctx.method)?.name
}
