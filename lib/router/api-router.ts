/** Routes view sets under a prefix and mounts them on an application (spec sections 4.1 and 4.2). */
import type Router from '@koa/router'
import type { Knex } from 'knex'
import { answerError } from '../answer-error.js'
import type { Context, Middleware } from '../context.js'
import { ConfigurationError, MethodNotAllowed, ServiceUnavailable } from '../errors.js'
import { externalIds } from '../ids/external-ids.js'
import { describeModel, prepareModels } from '../models/describe-model.js'
import type { ModelClass } from '../models/objection.js'
import { singularize } from '../naming.js'
import { buildPath, type Hint, parsePattern, type Segment } from '../path-pattern.js'
import { guardSuffix, setFormat, splitSuffix } from '../path-suffix.js'
import { type APIView, settlePolicies, type Versioning, type ViewHandler } from '../views/api-view.js'
import { GenericAPIView } from '../views/generic-api-view.js'
import { modelsOf } from '../views/models-of.js'
import { lookupKey } from '../views/settle-generic.js'
import { type ActionMap, allowedMethods } from '../views/view.js'
import { apiRoot } from './api-root.js'
import { checkView, closeView, prepareView } from './check-view.js'
import { mountOn } from './mount.js'
import { RouteTree, writePattern } from './route-tree.js'
import { RESOURCE_ROUTES, ROUTE_NAMES, type RouteTemplate } from './routes.js'

export interface APIRouterOptions {
  /**
   * The path of the API root, such as `/api/v1`. In `/api/{version}` the parameter takes what looks like a version, `v1` or
   * `2.1`, and all other paths are left to the app; `{version:slug}` takes any name. @default ''
   */
  readonly prefix?: string
}

/** A view set class. */
export type ViewSetClass = typeof APIView

/** A route: method, pattern, handler and name. */
export type RouteTuple = readonly [method: string, pattern: string, handler: ViewHandler, name: string]

/** One path of the API, with all methods it takes. */
export interface Endpoint {
  /** The class that answers. */
  readonly view: string
  readonly segments: readonly Segment[]
  /** What requests are matched by: until the catalogue was read, a lookup takes any text. */
  readonly matched: readonly Segment[]
  readonly pattern: string
  readonly actions: ActionMap
  readonly handler: ViewHandler
  /** Route names by method in upper case. */
  readonly names: ReadonlyMap<string, string>
  /** Formats the path may end in. */
  readonly formats: ReadonlySet<string>
}

interface Registration {
  readonly prefix: readonly Segment[]
  readonly view: ViewSetClass
  readonly basename: string
}

interface Table {
  readonly endpoints: readonly Endpoint[]
  readonly tree: RouteTree<Endpoint>
  readonly byName: ReadonlyMap<string, Endpoint>
  readonly formats: ReadonlySet<string>
}

/**
 * A router of view sets.
 * @example
 * const api = new APIRouter({ prefix: '/api/v1' })
 * api.register('books', BookViewSet)
 * await api.prepare()
 * app.use(api.routes())
 */
export class APIRouter {
  readonly prefix: string
  readonly #prefix: readonly Segment[]
  readonly #registrations: Registration[] = []
  #table: Table | undefined
  #preparing: Promise<void> | undefined
  #prepared = false
  #mounted = false
  #closing = false
  #running = 0
  readonly #idle: (() => void)[] = []

  constructor(options: APIRouterOptions = {}) {
    this.prefix = options.prefix ?? ''
    this.#prefix = parsePattern(this.prefix.replace('{version}', '{version:version}'))
  }

  /**
   * Routes a view set under a prefix. Checks what needs no database; the rest is checked by `prepare()`.
   * @param basename the first part of route names; by default the model's table name, singularised
   * @throws {ConfigurationError} the view set is incomplete, the prefix or basename is taken, or it comes too late
   */
  register(prefix: string, view: ViewSetClass, basename?: string): this {
    const before = this.#preparing ? 'prepare() or the first request' : this.#mounted ? 'mount()' : undefined
    if (before) throw new ConfigurationError(`APIRouter: register("${prefix}") came after ${before}; register first`)
    checkView(prefix, view)
    const registration = { prefix: parsePattern(prefix), view, basename: basename ?? defaultBasename(prefix, view) }
    for (const other of this.#registrations) {
      if (writePattern(other.prefix) === writePattern(registration.prefix)) {
        throw new ConfigurationError(
          `APIRouter: ${view.name} and ${other.view.name} are both registered under "${prefix}"; change one`,
        )
      }
      if (other.basename === registration.basename) {
        throw new ConfigurationError(
          `APIRouter: ${view.name} and ${other.view.name} both have the basename "${other.basename}"; give one as register(prefix, view, basename)`,
        )
      }
    }
    settlePolicies(view)
    this.#checkPaths(registration)
    this.#registrations.push(registration)
    this.#table = undefined
    return this
  }

  /**
   * Reads the database catalogue, compiles every serializer and finishes the routes. Call it before listening; otherwise
   * the first request does it.
   * @param options.knex where to read the catalogue; each model's own knex when missing
   * @throws {ConfigurationError} every mistake found, one a line
   */
  async prepare(options: { knex?: Knex } = {}): Promise<void> {
    this.#preparing ??= this.#prepare(options.knex)
    try {
      await this.#preparing
      this.#prepared = true
    } catch (error) {
      this.#preparing = undefined
      throw error
    }
  }

  /** A Koa middleware that answers the API's paths and leaves all others to the app. */
  routes(): Middleware {
    const router = this
    return async function apiRoutes(ctx, next) {
      const path = pathOf(ctx)
      // what cannot be one of our paths does not wait for the database
      if (path === undefined || !router.#find(path)) return next()
      if (!router.#prepared && !(await router.#prepareFor(ctx))) return
      const found = router.#find(path)
      if (!found) return next()
      const { endpoint, params, format } = found
      ctx['params'] = params
      ctx['_matchedRoute'] = endpoint.pattern
      ctx['_matchedRouteName'] = endpoint.names.get(ctx.method === 'HEAD' ? 'GET' : ctx.method)
      if (format !== undefined) setFormat(ctx, format)
      await router.#serve(ctx, endpoint.handler)
    }
  }

  /**
   * A Koa middleware that answers 405 with `Allow` for known paths. `routes()` does so itself; this one is for
   * applications that `mount()` the API on their own router, and comes after it.
   */
  allowedMethods(): Middleware {
    const router = this
    return async function apiAllowedMethods(ctx, next) {
      await next()
      if (ctx.status !== 404 || (ctx.body !== undefined && ctx.body !== null)) return
      const path = pathOf(ctx)
      const found = path === undefined ? undefined : router.#find(path)
      if (found) answerError(ctx, new MethodNotAllowed(ctx.method, allowedMethods(found.endpoint.actions)))
    }
  }

  /**
   * Adds the API's routes to an application's own @koa/router.
   * @param options.namespace put before route names: `v1:book-list`
   */
  mount(router: Router, options: { namespace?: string } = {}): this {
    this.#mounted = true
    for (const endpoint of this.#routeTable().endpoints) {
      mountOn(router, {
        endpoint,
        namespace: options.namespace,
        current: () => this.#routeTable().byName.get([...endpoint.names.values()][0] ?? '') ?? endpoint,
        prepare: async (ctx) => this.#prepared || this.#prepareFor(ctx),
        serve: (ctx, handler) => this.#serve(ctx, handler),
      })
    }
    return this
  }

  /** All routes, the API root's included. */
  getUrls(): readonly RouteTuple[] {
    return this.#routeTable().endpoints.flatMap(({ actions, pattern, handler, names }) =>
      Object.keys(actions).map((method): RouteTuple => {
        const verb = method.toUpperCase()
        return [verb, pattern, handler, names.get(verb) as string]
      }),
    )
  }

  /**
   * The path of a route.
   * @example api.url('book-retrieve', { id: 7 }) // '/api/v1/books/7'
   * @throws {Error} there is no such route, or a parameter is missing or does not fit
   */
  url(name: string, params: Readonly<Record<string, unknown>> = {}): string {
    const endpoint = this.#routeTable().byName.get(name)
    if (!endpoint) throw new Error(`APIRouter: there is no route "${name}"`)
    const path = buildPath(endpoint.segments, params)
    return endpoint.segments.at(-1)?.kind === 'param' ? guardSuffix(path, endpoint.formats) : path
  }

  /** Refuses new requests with 503, waits until those that run are answered, closes server cursors and writes usage. */
  async close(): Promise<void> {
    this.#closing = true
    if (this.#running > 0) {
      await new Promise<void>((resolve) => {
        this.#idle.push(resolve)
      })
    }
    await Promise.all(this.#registrations.map(({ view }) => closeView(view)))
  }

  async #prepare(knex: Knex | undefined): Promise<void> {
    const views = this.#registrations.map(({ view }) => view)
    const models = new Set<ModelClass>(views.flatMap((view) => (isGeneric(view) ? modelsOf(view) : [])))
    await prepareModels(models, knex)
    const mistakes: string[] = []
    for (const view of views) {
      try {
        await prepareView(view, knex)
      } catch (error) {
        if (!(error instanceof ConfigurationError)) throw error
        mistakes.push(error.message)
      }
    }
    if (mistakes.length > 0) throw new ConfigurationError([...new Set(mistakes)].join('\n'))
    this.#table = this.#build({ prepared: true })
  }

  /** Prepares on the first request. False when that failed and was answered: the next request tries again. */
  async #prepareFor(ctx: Context): Promise<boolean> {
    try {
      await this.prepare()
      return true
    } catch (error) {
      answerError(ctx, new ServiceUnavailable(5, { cause: error }))
      return false
    }
  }

  async #serve(ctx: Context, handler: ViewHandler): Promise<void> {
    if (this.#closing) {
      answerError(ctx, new ServiceUnavailable())
      return
    }
    this.#running++
    try {
      await handler(ctx)
    } finally {
      this.#running--
      if (this.#running === 0) for (const resolve of this.#idle.splice(0)) resolve()
    }
  }

  #find(path: string): { endpoint: Endpoint; params: Record<string, string>; format?: string } | undefined {
    const { tree, formats } = this.#routeTable()
    const suffix = splitSuffix(path, formats)
    if (suffix) {
      const found = tree.find(suffix.path)
      if (found?.value.formats.has(suffix.format)) {
        return { endpoint: found.value, params: found.params, format: suffix.format }
      }
    }
    const found = tree.find(path)
    return found && { endpoint: found.value, params: found.params }
  }

  #routeTable(): Table {
    this.#table ??= this.#build({ prepared: false })
    return this.#table
  }

  #build(options: { prepared: boolean }): Table {
    const resources = this.#registrations.flatMap((entry) => this.#endpointsOf(entry, options))
    const endpoints = [this.#rootEndpoint(), ...resources]
    const tree = new RouteTree<Endpoint>()
    const byName = new Map<string, Endpoint>()
    for (const endpoint of endpoints) {
      const other = tree.add(endpoint.matched, endpoint)
      if (other && options.prepared) {
        throw new ConfigurationError(
          `${other.view} and ${endpoint.view} both have the path ${endpoint.pattern}; give one of them another prefix`,
        )
      }
      for (const name of endpoint.names.values()) byName.set(name, endpoint)
    }
    return { endpoints, tree, byName, formats: new Set(endpoints.flatMap((endpoint) => [...endpoint.formats])) }
  }

  #rootEndpoint(): Endpoint {
    const collections = new Map(
      this.#registrations
        .filter(({ prefix }) => prefix.every((segment) => segment.kind === 'literal'))
        .map(({ basename, prefix }) => [basename, buildPath(prefix, {})]),
    )
    return {
      view: 'The API root',
      segments: this.#prefix,
      matched: this.#prefix,
      pattern: writePattern(this.#prefix),
      actions: { get: 'get' },
      handler: apiRoot(() => collections, commonVersioning(this.#registrations)),
      names: new Map([['GET', 'api-root']]),
      formats: new Set(),
    }
  }

  /** The whole pattern is read, too: no name may occur twice, and nothing follows `{…:path}`. */
  #checkPaths({ prefix, view }: Registration): void {
    const templates = RESOURCE_ROUTES.filter((template) => Object.keys(actionsOf(view, template)).length > 0)
    if (templates.length === 0) {
      throw new ConfigurationError(`${view.name}: has no action; add list(), retrieve() … or extend ModelViewSet`)
    }
    for (const { detail } of templates) {
      const segments = [...this.#prefix, ...prefix, ...(detail ? [lookupSegment(view)] : [])]
      try {
        parsePattern(writePattern(segments))
      } catch (error) {
        const name = detail ? `lookupUrlKwarg "${lookupSegment(view).name}" does not fit: ` : ''
        throw new ConfigurationError(`${view.name}: ${name}${(error as Error).message}`)
      }
    }
  }

  #endpointsOf({ prefix, view, basename }: Registration, { prepared }: { prepared: boolean }): Endpoint[] {
    return RESOURCE_ROUTES.flatMap((template) => {
      const actions = actionsOf(view, template)
      if (Object.keys(actions).length === 0) return []
      const collection = [...this.#prefix, ...prefix]
      const lookup = lookupSegment(view)
      const segments = template.detail ? [...collection, lookup] : collection
      const names = Object.entries(actions).map(
        ([method, action]) => [method.toUpperCase(), `${basename}-${ROUTE_NAMES[action] ?? action}`] as const,
      )
      return [
        {
          view: view.name,
          segments,
          matched: prepared || !template.detail ? segments : [...collection, { ...lookup, hint: 'str' }],
          pattern: writePattern(segments),
          actions,
          handler: view.asView(actions, basename),
          names: new Map(names),
          formats: new Set(settlePolicies(view).renderers.map((renderer) => renderer.format)),
        },
      ]
    })
  }
}

/** The versioning that all view sets declare, which then holds for the API root, too. */
function commonVersioning(registrations: readonly Registration[]): Versioning {
  const [first = null, ...others] = new Set(registrations.map(({ view }) => view.versioningClass))
  return others.length === 0 ? first : null
}

/** The path of a request; undefined for a target that has none, such as `http://[`. */
function pathOf(ctx: Context): string | undefined {
  try {
    const path: string | null = ctx.path
    return path ?? undefined
  } catch {
    return undefined
  }
}

function actionsOf(view: ViewSetClass, { actions }: RouteTemplate): ActionMap {
  const prototype = view.prototype as unknown as Record<string, unknown>
  return Object.fromEntries(Object.entries(actions).filter(([, action]) => typeof prototype[action] === 'function'))
}

const HINTS: Readonly<Record<string, Hint>> = { int2: 'int', int4: 'int', int8: 'int', uuid: 'uuid' }

/** The path parameter of a detail route; its hint is the type of the column that objects are looked up by. */
function lookupSegment(view: ViewSetClass): Segment & { kind: 'param' } {
  if (!isGeneric(view)) return { kind: 'param', name: 'id', hint: 'str' }
  const { lookupField } = view
  const { columns, prepared } = describeModel(view.modelClass())
  const isStored = externalIds(view.modelClass())?.stored === true
  const isKnown = prepared || (!isStored && (lookupField === 'id' || columns.has(lookupField)))
  const key = isKnown ? lookupKey(view) : undefined
  // a text that is no external id is a missing object, not a missing path
  const hint = key?.ids ? undefined : HINTS[key?.column.type ?? '']
  return { kind: 'param', name: view.lookupUrlKwarg ?? lookupField, hint: hint ?? 'str' }
}

function defaultBasename(prefix: string, view: ViewSetClass): string {
  if (isGeneric(view)) return singularize(view.modelClass().tableName)
  throw new ConfigurationError(
    `APIRouter: ${view.name} has no model; name it: register("${prefix}", ${view.name}, basename)`,
  )
}

function isGeneric(view: ViewSetClass): view is typeof GenericAPIView {
  return view.prototype instanceof GenericAPIView
}
