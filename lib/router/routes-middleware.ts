/** The middleware of an API: it answers the API's paths, counts what runs, lets telemetry see the routes, and leaves all other paths to the application. */

import { answerError } from '../http/answer-error.js'
import { CLOSING, Closing } from '../http/closing.js'
import { type Context, FORMAT, type Middleware, pathOf } from '../http/context.js'
import { ConfigurationError, ServiceUnavailable } from '../kernel/errors.js'
import { type Endpoint, operationOf } from '../views/endpoint.js'
import type { ViewHandler } from '../views/view-handler.js'
import type { FoundRoute, RouteTable } from './route-table.js'

/** The requests that an API is answering, so that its end can wait for theirs. */
export class RunningRequests {
  readonly #closing = new Closing()
  #count = 0
  readonly #waiting: (() => void)[] = []

  /** True once `end()` was called. */
  get isClosing(): boolean {
    return this.#closing.isClosing
  }

  /** Answers a request; with 503 once `end()` was called. */
  async answer(ctx: Context, handler: ViewHandler): Promise<void> {
    if (this.#closing.isClosing) {
      answerError(ctx, new ServiceUnavailable())
      return
    }
    CLOSING.set(ctx, this.#closing)
    this.#count++
    try {
      await handler(ctx)
    } finally {
      this.#count--
      if (this.#count === 0) for (const resolve of this.#waiting.splice(0)) resolve()
    }
  }

  /** Refuses new requests and those whose bodies have not come, and waits until those that run are answered. */
  async end(): Promise<void> {
    this.#closing.begin()
    if (this.#count === 0) return
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve)
    })
  }
}

/** What answers a request. */
type Answer = (ctx: Context) => Promise<void>

/** A path, with the functions that answer on it; whoever traces puts functions of its own in their place. */
export interface TracedLayer {
  readonly path: string
  readonly name: string | undefined
  readonly methods: readonly string[]
  readonly stack: Answer[]
}

/** The part of a router that telemetry reads: `stack`, and of each layer `path` and `stack`. */
export interface TracedRouter {
  readonly stack: readonly TracedLayer[]
}

/** What answers the request that a layer was called for. */
const ANSWER = Symbol('what answers the request behind its layer')

interface Answered {
  [ANSWER]?: Answer
}

/** The routes as layers. Requests go through them only where somebody has asked for them. */
export class TracedRoutes {
  #layers: Map<string, TracedLayer> | undefined

  /** The layers of these endpoints, made once. */
  router(endpoints: readonly Endpoint[]): TracedRouter {
    this.#layers ??= new Map(endpoints.map((endpoint) => [endpoint.path, makeLayer(endpoint)]))
    return { stack: [...this.#layers.values()] }
  }

  /** What was put into the layer of a path; undefined where nobody has asked for the layers. */
  traceOf(path: string): Answer | undefined {
    return this.#layers?.get(path)?.stack[0]
  }

  /** Answers through the function of a layer. */
  answer(ctx: Context, trace: Answer, answer: Answer): Promise<void> {
    ;(ctx as Answered)[ANSWER] = answer
    return trace(ctx)
  }
}

function makeLayer({ path, operations }: Endpoint): TracedLayer {
  const [first] = operations.values()
  const answerRoute: Answer = (ctx) => ((ctx as Answered)[ANSWER] as Answer)(ctx)
  const layer = { path, name: first?.name, methods: [...operations.keys()], stack: [answerRoute] }
  for (const name of OF_ROUTERS) Object.defineProperty(layer, name, { get: refuseToNest })
  return layer
}

/** What routers read of a layer of another router that is nested in them: koa-router 7 moves it, or only puts it among its own. */
const OF_ROUTERS = ['paramNames', 'setPrefix', 'match']

function refuseToNest(): never {
  throw new ConfigurationError(
    'APIRouter: routes() is a middleware of an application; write app.use(api.routes()), or api.mount(router) for a @koa/router',
  )
}

/** The middleware of `routes()`. */
export interface RoutesMiddleware extends Middleware {
  /** The routes, as telemetry reads those of @koa/router: @opentelemetry/instrumentation-koa names spans by it. */
  readonly router: TracedRouter
}

/** What the middleware needs of its API. */
export interface ServedAPI {
  /** The paths as they are known by now; undefined where nobody has asked for them since the last registration. */
  readonly table: RouteTable<Endpoint> | undefined
  readonly isPrepared: boolean
  readonly running: RunningRequests
  routes(): RouteTable<Endpoint>
  /** Reads the catalogue. False when that failed, and was answered. */
  prepare(ctx: Context): Promise<boolean>
}

export function routesMiddleware(api: ServedAPI): RoutesMiddleware {
  const traced = new TracedRoutes()
  const answer = (ctx: Context, found: FoundRoute<Endpoint>) => {
    const { endpoint, params, format } = found
    nameRoute(ctx, found)
    ctx['params'] = params
    if (format !== undefined) FORMAT.set(ctx, format)
    const trace = traced.traceOf(endpoint.path)
    const { handler } = endpoint
    if (trace === undefined) return api.running.answer(ctx, handler)
    return traced.answer(ctx, trace, (answered) => api.running.answer(answered, handler))
  }
  const prepareAndAnswer = async (ctx: Context, path: string, next: () => Promise<unknown>) => {
    if (!(await api.prepare(ctx))) return undefined
    // by now it is known which values fit
    const found = api.routes().find(path, ctx.method)
    if (found) return answer(ctx, found)
    ctx['_matchedRoute'] = undefined
    ctx['_matchedRouteName'] = undefined
    return next()
  }
  function apiRoutes(ctx: Context, next: () => Promise<unknown>) {
    const path = pathOf(ctx)
    // what cannot be one of our paths does not wait for the database
    const found = path === undefined ? undefined : (api.table ?? api.routes()).find(path, ctx.method)
    if (path === undefined || !found) return next()
    if (api.isPrepared) return answer(ctx, found)
    nameRoute(ctx, found)
    return prepareAndAnswer(ctx, path, next)
  }
  return Object.defineProperty(apiRoutes as RoutesMiddleware, 'router', {
    get: () => traced.router(api.routes().endpoints),
  })
}

function nameRoute(ctx: Context, { endpoint }: FoundRoute<Endpoint>): void {
  ctx['_matchedRoute'] = endpoint.path
  ctx['_matchedRouteName'] = operationOf(endpoint, ctx.method)?.name
}
