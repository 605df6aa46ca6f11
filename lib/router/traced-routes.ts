/** Lets telemetry see the routes of `api.routes()` as it sees those of @koa/router. */
import type { Context } from '../http/context.js'
import { ConfigurationError } from '../kernel/errors.js'
import type { Endpoint } from './endpoint.js'

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
  return {
    path,
    name: first?.name,
    methods: [...operations.keys()],
    stack: [answerRoute],
    // what @koa/router reads of a layer when another router is to contain it
    get paramNames(): never {
      throw new ConfigurationError(
        'APIRouter: routes() is a middleware of an application; write app.use(api.routes()), or api.mount(router) for a @koa/router',
      )
    },
  } as TracedLayer
}
