/** Routes view sets under a prefix and mounts them on an application. */

import type { Knex } from 'knex'
import { explainEndpoints, explainRequest } from '../explain/explain-api.js'
import type { Explanation } from '../explain/explanation.js'
import type { Readiness } from '../health/readiness.js'
import { answerError } from '../http/answer-error.js'
import { type Context, isUnanswered, type Middleware, pathOf } from '../http/context.js'
import { publicPath } from '../http/public-url.js'
import { stopSweeping } from '../idempotency/table.js'
import { ConfigurationError, MethodNotAllowed } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { parsePattern, type Segment } from '../kernel/path-pattern.js'
import { atOnce, inTurns, type Steps } from '../kernel/turns.js'
import type { PreparedDatabase } from '../models/describe-model.js'
import { buildDocument, documentSteps, type SchemaOptions } from '../openapi/document.js'
import type { OpenAPIDocument } from '../openapi/types.js'
import { pendingWorkEnded } from '../postgres/pending-work.js'
import { type PrintedPolicies, printPolicies } from '../rules/policies.js'
import { classesOf } from '../views/action-options.js'
import { webhooksOf } from '../views/described-webhook.js'
import { type Endpoint, type Operation, pathTo } from '../views/endpoint.js'
import { policiesOf } from '../views/policies.js'
import { methodsTaken, type ViewHandler } from '../views/view-handler.js'
import { checkDownloads } from './check-downloads.js'
import {
  checkEndpoints,
  checkPaths,
  checkRegistrationNames,
  checkScopes,
  checkVersionParameter,
  defaultBasename,
} from './check-registration.js'
import { checkView, closeViews } from './check-view.js'
import { endpointsOf } from './endpoints-of.js'
import { type LayeredRouter, matchedEndpoint, matchedParams, mountOn } from './mount.js'
import { prepareFor, prepareViews } from './prepare.js'
import { nameBeside, type ParentRegistration, type Registration, type ViewSetClass } from './registration.js'
import { rootEndpoint } from './root-endpoint.js'
import { byFixedParts, RouteTable, writePattern } from './route-table.js'
import type { Routed } from './routed.js'
import { type APIRouterOptions, settleRouterOptions } from './router-options.js'
import { type RoutesMiddleware, RunningRequests, routesMiddleware } from './routes-middleware.js'

/** A route: method, pattern, handler and name. */
export type RouteTuple = readonly [method: string, pattern: string, handler: ViewHandler, name: string]

/** What routes view sets: a router, or one nested in it. */
export interface RouteParent {
  /** @internal The router whose paths these are. */
  // biome-ignore lint/suspicious/noExplicitAny: of any routes
  readonly root: APIRouter<any>
  /** @internal How its view sets are nested; undefined for those of the router itself. */
  readonly nesting: ParentRegistration | undefined
}

/** What is made of the paths, such as tools, which it names by operations. */
type PathsUse = (endpoints: readonly Endpoint[], tools: Map<string, readonly string[]>) => Steps<void>

/** In milliseconds. */
const CLOSE_TIMEOUT = 10_000

/**
 * A router of view sets.
 * @example
 * const api = new APIRouter({ prefix: '/api/v1' })
 * api.register('books', BookViewSet)
 * await api.prepare()
 * app.use(api.routes())
 */
export class APIRouter<Routes extends object = {}> implements RouteParent, Routed<Routes> {
  /** @internal Types only. */
  declare readonly routed?: Routes
  readonly prefix: string
  readonly #prefix: readonly Segment[]
  readonly #options: ReturnType<typeof settleRouterOptions>
  readonly #registrations: Registration[] = []
  readonly #uses: PathsUse[] = []
  readonly #tools = new Map<string, readonly string[]>()
  #preparing: Promise<void> | undefined
  #databases: readonly PreparedDatabase[] = []
  #mounted = false
  /** Another router has taken what it has registered. */
  #part = false
  /** What its middleware reads: the paths as they are known by now, and the requests that run. */
  readonly #served = {
    table: undefined as RouteTable<Endpoint> | undefined,
    isPrepared: false,
    running: new RunningRequests(),
    routes: () => this.#routes(),
    prepare: (ctx: Context) => prepareFor(this, ctx),
  }

  constructor(options: APIRouterOptions = {}) {
    this.#options = settleRouterOptions(options)
    this.prefix = this.#options.prefix
    this.#prefix = parsePattern(this.prefix.replace('{version}', '{version:version}'))
  }

  /** @internal */
  readonly nesting = undefined
  /** @internal */
  get root(): this {
    return this
  }

  /**
   * Routes a view set under a prefix, and returns the router, which remembers its type for `createClient()`. Checks what
   * needs no database; the rest is checked by `prepare()`.
   * @param basename the first part of route names; by default the model's table name, singularised
   * @throws {ConfigurationError} the view set is incomplete, the prefix or basename is taken, or it comes too late
   */
  register<const Prefix extends string, View extends ViewSetClass>(
    prefix: Prefix,
    view: View,
    basename?: string,
  ): APIRouter<Routes & { readonly [P in Prefix]: View }> {
    this.registerUnder(this, prefix, view, basename)
    return this as never
  }

  /**
   * Takes what another router has registered, nested view sets too, and its types: a part of an API, such as the tables of
   * one schema. To a compiler parts of some fifty view sets are less than one chain of a thousand.
   * @param part a router without options, that nothing is registered with any more
   * @throws {ConfigurationError} the part has options, is mounted or prepared, or has a prefix or basename that is taken
   * @example new APIRouter({ prefix: '/api' }).include(salesRoutes()).include(stockRoutes())
   */
  include<More extends object>(part: APIRouter<More>): APIRouter<Routes & More> {
    const { prefix, database, closeTimeout, replicas, rules, strict } = part.#options
    const { databaseRole, databaseSettings } = database
    if ([prefix, databaseRole, databaseSettings, closeTimeout, replicas, rules, strict].some(Boolean)) {
      throw new ConfigurationError(
        'APIRouter: include() takes routers without options; give them to the one that includes',
      )
    }
    part.#refuseAfter('include()')
    if (part.#uses.length > 0) {
      throw new ConfigurationError(
        'APIRouter: include() of a router after docs(), mcp() or the like of it; give them the one that includes',
      )
    }
    for (const registration of part.#registrations) {
      this.#refuseAfter(`include() of "${writePattern(registration.prefix)}"`)
      this.#add(registration)
    }
    part.#part = true
    return this as never
  }

  /** @internal Routes a view set of this router or of one that is nested in it. */
  registerUnder({ nesting }: RouteParent, prefix: string, view: ViewSetClass, basename?: string): void {
    this.#refuseAfter(`register("${prefix}")`)
    checkRegistrationNames(prefix, basename)
    checkView(prefix, view, nesting !== undefined)
    const registration: Registration = {
      prefix: parsePattern(prefix),
      view,
      basename: basename ?? defaultBasename(prefix, view),
      parent: nesting,
    }
    this.#add(registration)
  }

  #refuseAfter(what: string): void {
    const before = this.#preparing ? 'prepare() or the first request' : this.#mounted ? 'mount()' : undefined
    const late = before ?? (this.#part ? 'include()' : undefined)
    if (late) throw new ConfigurationError(`APIRouter: ${what} came after ${late}; register first`)
  }

  #add(registration: Registration): void {
    const { view, parent } = registration
    const path = writePattern(registration.prefix)
    for (const other of this.#registrations) {
      if (other.parent === parent && writePattern(other.prefix) === path) {
        throw new ConfigurationError(
          `APIRouter: ${view.name} and ${other.view.name} are both registered under "${path.slice(1)}"; change one`,
        )
      }
      if (other.basename === registration.basename) {
        throw new ConfigurationError(
          `APIRouter: ${view.name} and ${other.view.name} both have the basename "${other.basename}"; give one as register(prefix, view, basename)`,
        )
      }
    }
    for (const one of classesOf(view)) policiesOf(one)
    for (const other of this.#registrations) {
      nameBeside(other, registration)
      nameBeside(registration, other)
    }
    checkPaths(registration, this.#prefix)
    checkVersionParameter(registration)
    this.#registrations.push(registration)
    this.#served.table = undefined
  }

  /** @internal The prefixes of view sets of this router or of one nested in it. */
  prefixesOf({ nesting }: RouteParent): readonly string[] {
    return this.#registrations.flatMap((one) =>
      one.parent === nesting ? writePattern(one.prefix).replace(/^\//, '') : [],
    )
  }

  /** @internal The view set that is registered under a prefix of this router or of one nested in it. */
  registrationOf({ nesting }: RouteParent, prefix: string): Registration | undefined {
    const path = writePattern(parsePattern(prefix))
    return this.#registrations.find((one) => one.parent === nesting && writePattern(one.prefix) === path)
  }

  /**
   * Reads the database catalogue, compiles every serializer and finishes the routes. Call it before listening; otherwise
   * the first request does it. Where `docs()` serves the document, it is built, too.
   * @param options.knex where to read the catalogue; each model's own knex when missing
   * @throws {ConfigurationError} every mistake found, one a line
   */
  async prepare(options: { knex?: Knex } = {}): Promise<void> {
    this.#preparing ??= this.#prepare(options.knex)
    try {
      await this.#preparing
      this.#served.isPrepared = true
    } catch (error) {
      this.#preparing = undefined
      throw error
    }
  }

  /**
   * A Koa middleware that answers the API's paths and leaves all others to the app. Before anything else it sets
   * `ctx._matchedRoute`, the path as the OpenAPI document has it, and `ctx._matchedRouteName`. Its `router` has the routes
   * that are registered by then, for telemetry.
   */
  routes(): RoutesMiddleware {
    return routesMiddleware(this.#served)
  }

  /**
   * A Koa middleware that answers 405 with `Allow` for known paths. `routes()` does so itself; this one is for
   * applications that `mount()` the API on their own router. Use it last: of several, also other routers'
   * `allowedMethods()`, the innermost answers first.
   */
  allowedMethods(): Middleware {
    const router = this
    return async function apiAllowedMethods(ctx, next) {
      await next()
      if (!isUnanswered(ctx)) return
      // what it is mounted on may have a prefix: then our paths by themselves are the application's
      const path = router.#mounted ? undefined : pathOf(ctx)
      const endpoint =
        matchedEndpoint(ctx, router) ?? (path === undefined ? undefined : router.#routes().find(path)?.endpoint)
      if (endpoint) answerError(ctx, new MethodNotAllowed(ctx.method, methodsTaken(endpoint.view, endpoint.actions)))
    }
  }

  /**
   * Adds the API's routes to an application's own @koa/router.
   * @param options.namespace put before route names: `v1:book-list`
   * @throws {ConfigurationError} it is no @koa/router, or the API has tools, which would go past the router's own middleware
   */
  mount(router: LayeredRouter, options: { namespace?: string } = {}): this {
    this.#mounted = true
    this.#refuseMountedTools()
    const { endpoints } = this.#routes()
    for (const endpoint of [...endpoints].sort(byFixedParts)) {
      const [{ name }] = [...endpoint.operations.values()] as [Operation]
      const current = () => this.#routes().named(name) ?? endpoint
      mountOn(router, {
        owner: this,
        endpoint,
        namespace: options.namespace,
        current,
        find: (path, asked) => this.#routes().find(path, asked),
        prepare: async (ctx) => this.#served.isPrepared || prepareFor(this, ctx),
        serve: (ctx, handler) => this.#served.running.answer(ctx, handler),
      })
    }
    return this
  }

  /** All routes, the API root's included. */
  getUrls(): readonly RouteTuple[] {
    return this.#routes().endpoints.flatMap(({ operations, pattern, handler }) =>
      [...operations].map(([method, { name }]): RouteTuple => [method, pattern, handler, name]),
    )
  }

  /** All paths with all that is known of them; complete once the catalogue was read. */
  get endpoints(): readonly Endpoint[] {
    return this.#routes().endpoints
  }

  /**
   * The path of a route, as clients write it: behind the setting `forwardedPrefix`, where that is set.
   * @example api.url('book-retrieve', { id: 7 }) // '/api/v1/books/7'
   * @throws {Error} there is no such route, or a parameter is missing or does not fit
   */
  url(name: string, params: Readonly<Record<string, unknown>> = {}): string {
    const routes = this.#routes()
    const endpoint = routes.named(name)
    if (!endpoint) throw new Error(`APIRouter: there is no route "${name}"${didYouMean(name, routes.names)}`)
    return publicPath(pathTo(endpoint, params))
  }

  /**
   * The API as an OpenAPI document, of 3.1 or of 3.2 (`openapi: '3.2'`), which alone describes the method QUERY. Call it
   * after `prepare()`, which knows the types of columns. Each call builds it anew; `docs()` builds it once.
   * @throws {ConfigurationError} two serializers or security schemes have one name
   * @example api.getSchema({ title: 'Books', version: '1.2.0', license: { name: 'MIT', identifier: 'MIT' } })
   */
  getSchema(options: SchemaOptions = {}): OpenAPIDocument {
    return buildDocument(this.endpoints, options)
  }

  /**
   * What each method of each path does: the policies that a request passes, in order, how its answer is read and why not in
   * a faster way, the SQL that is sent, and what a client may ask for. It holds names of classes, columns and parameters, and
   * no values, secrets or settings. Nothing is sent to the database but the catalogue's question, and nothing is called of
   * the application that depends on a request; with a `ctx` it says what that request would do, and what chooses objects
   * by the caller (`getQueryset()`, filter backends) is asked.
   * @param asked the name of a route (`book-list`), a basename (`book`), or a request; by default all
   * @returns nothing for a request whose path or method is not the API's
   * @throws {Error} no route has the name
   * @throws {ConfigurationError} as `prepare()` does
   * @throws {ApiError} the request that is given is not authenticated, of no version, or asks for what it may not
   * @example console.log(formatExplanations(await api.explain('book-list')))
   */
  async explain(asked?: string | { readonly ctx: Context }): Promise<readonly Explanation[]> {
    await this.prepare()
    if (typeof asked !== 'object') return explainEndpoints(this.endpoints, { name: asked, tools: this.#tools })
    const { ctx } = asked
    const path = pathOf(ctx)
    if (path === undefined) return []
    const mounted = matchedEndpoint(ctx, this) as Endpoint | undefined
    const found = mounted
      ? { endpoint: mounted, params: matchedParams(ctx, this) }
      : this.#routes().find(path, ctx.method)
    if (!found) return []
    const webhooks = webhooksOf(this.endpoints)
    return explainRequest(found.endpoint, { ctx, params: found.params, tools: this.#tools, webhooks })
  }

  /** @internal The rules as statements of PostgreSQL, for `koa-viewsets policies`. */
  async policies(role?: string): Promise<PrintedPolicies> {
    await this.prepare()
    const { rules } = this.#options
    if (!rules)
      throw new ConfigurationError('APIRouter: there are no rules to print; give them as new APIRouter({ rules })')
    return printPolicies(rules, role)
  }

  /** @internal The document that will be served: `prepare()` builds it, and reports what is wrong with it. */
  servedSchema(options: SchemaOptions): { document?: OpenAPIDocument } {
    const served: { document?: OpenAPIDocument } = {}
    this.whenPrepared(function* (endpoints) {
      served.document = yield* documentSteps(endpoints, options)
    })
    return served
  }

  /** @internal Makes something of the paths once the catalogue was read: in `prepare()`, which reports what is wrong, or now. */
  whenPrepared(use: PathsUse): void {
    if (!this.#served.isPrepared) return void this.#uses.push(use)
    atOnce(use(this.endpoints, this.#tools))
    this.#refuseMountedTools()
  }

  /** A router of somebody else's may be nested, and have a prefix and guards: a tool would go past them. */
  #refuseMountedTools(): void {
    if (this.#mounted && this.#tools.size > 0) {
      throw new ConfigurationError(
        'mcp(): the API is mounted by mount() on a router whose prefix and middleware, guards too, a tool would go past; write app.use(api.routes()), and make permissionClasses of what the router permits',
      )
    }
  }

  /** @internal What `health()` tells of it. */
  get readiness(): Readiness {
    const { isPrepared, running } = this.#served
    return { isPrepared, isClosing: running.isClosing, databases: this.#databases }
  }

  /**
   * Refuses with 503 new requests and those whose bodies have not come, waits until those that run are answered, and at most `closeTimeout` for what is done
   * after their commits; then closes server cursors and writes usage.
   */
  async close(): Promise<void> {
    await this.#served.running.end()
    await pendingWorkEnded(this.#options.closeTimeout ?? CLOSE_TIMEOUT)
    stopSweeping()
    await closeViews(this.#viewClasses())
  }

  async #prepare(knex: Knex | undefined): Promise<void> {
    this.#databases = await prepareViews(this.#viewClasses(), this.#registrations, {
      knex,
      rules: this.#options.rules,
      strict: this.#options.strict,
    })
    const table = this.#build({ prepared: true })
    checkEndpoints(table.endpoints)
    checkScopes(table.endpoints)
    checkDownloads(table.endpoints)
    for (const use of this.#uses) await inTurns(use(table.endpoints, this.#tools))
    this.#refuseMountedTools()
    this.#served.table = table
  }

  /** The registered classes, and those that answer single actions. */
  #viewClasses(): readonly ViewSetClass[] {
    return this.#registrations.flatMap(({ view }) => classesOf(view))
  }

  #routes(): RouteTable<Endpoint> {
    this.#served.table ??= this.#build({ prepared: false })
    return this.#served.table
  }

  #build({ prepared }: { prepared: boolean }): RouteTable<Endpoint> {
    const options = { ...this.#options, prefix: this.#prefix, prepared }
    return new RouteTable([
      rootEndpoint(this.#registrations, this.#prefix),
      ...this.#registrations.flatMap((registration) => endpointsOf(registration, options)),
    ])
  }
}
