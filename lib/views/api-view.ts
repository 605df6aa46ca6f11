/** The base of all views: policies, and a method for each HTTP method. */

import type { Knex } from 'knex'
import { keepPrivate } from '../caching/cache-response.js'
import { type Context, hasContent } from '../http/context.js'
import { type DatabaseRole, type DatabaseSettings, roleRefusal } from '../http/database-role.js'
import type { IdempotencyScope, Idempotent } from '../idempotency/rule.js'
import { checkDeclarations, described, insteadOf } from '../kernel/declarations.js'
import { ConfigurationError } from '../kernel/errors.js'
import { SimpleMetadata } from '../metadata/simple-metadata.js'
import { FormParser } from '../parsers/form-parser.js'
import { JSONParser } from '../parsers/json-parser.js'
import { MultiPartParser } from '../parsers/multi-part-parser.js'
import type { AskedForm, ParsedBody } from '../parsers/parser.js'
import { checkObjectPermissions } from '../permissions/check-permissions.js'
import { AllowAny } from '../permissions/permission.js'
import { type AfterCommitWork, afterCommit } from '../postgres/after-commit.js'
import { toApiError } from '../postgres/database-errors.js'
import { requestSubject } from '../postgres/failed-statement.js'
import { lentClient, type PgClient } from '../postgres/lent-client.js'
import { JSONRenderer } from '../renderers/json-renderers.js'
import type { BaseRenderer } from '../renderers/renderer.js'
import { askedForm } from '../serializers/asked-form.js'
import type { SerializerClass, SerializerPlan } from '../serializers/contract.js'
import { DEFAULT_NESTED_OBJECTS } from '../serializers/count-nested.js'
import { serializerPlan } from '../serializers/plan.js'
import { actionsOf } from './action-options.js'
import type { ActionPlan } from './action-plan.js'
import { allowedMethods } from './actions.js'
import { markBuiltIn } from './built-in.js'
import type { Authentications, Metadata, Parsers, Permissions, Renderers, Throttles, Versioning } from './statics.js'
import { describeOptions } from './steps/describe-options.js'
import type { ActionMap, ParentLink, RegisteredRoute, ViewPolicies } from './view.js'
import { methodsOf, type ViewHandler, viewHandler } from './view-handler.js'

/**
 * A view: one instance answers one request. Statics describe it, methods act.
 * @example
 * class Report extends APIView {
 *   static override permissionClasses = [IsAdminUser]
 *   async get() { return { total: await countBooks() } }
 * }
 * router.get('/report', Report.asView())
 */
export class APIView {
  /** A sentence for people, in OPTIONS and OpenAPI. */
  static description = ''
  /**
   * What the view's own code answers besides, by status: a sentence each, for OpenAPI.
   * @example static override responses = { 409: 'The book is published already.' }
   */
  static responses: Readonly<Record<number, string>> = {}
  /** Who may: classes or instances, asked in order. All must pass, else 403, or 401 for an anonymous caller. @default [AllowAny] */
  static permissionClasses: Permissions = [AllowAny]
  /** Who asks: classes or instances, tried in order; the first that knows the caller counts. Wrong credentials are 401. @default [] */
  static authenticationClasses: Authentications = []
  /** How often: classes or instances, all of which must allow, else 429. @default [] */
  static throttleClasses: Throttles = []
  /** The budget that a `ScopedRateThrottle` without a scope of its own counts in. @default undefined, the scope `default` */
  static throttleScope: string | undefined = undefined
  /** How a request names the API version. @default null */
  static versioningClass: Versioning = null
  /** Which bodies are read, by their media type; others are 415. @default [JSONParser, FormParser, MultiPartParser] */
  static parserClasses: Parsers = [JSONParser, FormParser, MultiPartParser]
  /** How answers are written; the first is the default. @default [JSONRenderer] */
  static rendererClasses: Renderers = [JSONRenderer]
  /** Answer 406 where no renderer writes what the client accepts, in place of using the first. @default false */
  static strictAccept = false
  /** What OPTIONS answers about the view; null answers 405, as any method that the path does not take. @default SimpleMetadata */
  static metadataClass: Metadata = SimpleMetadata
  /** Run a request that writes in one transaction. @default true */
  static atomic = true
  /**
   * Do a write once for each `Idempotency-Key` of a caller: who sends it again gets the answer of the first time. With
   * `'required'` POST and PATCH without a key are refused with 400. The answers are kept in a table, in the transaction of the
   * write: `ensureIdempotencyTable()` makes it. See docs/reference/idempotency.md.
   * @default false
   */
  static idempotent: Idempotent = false
  /**
   * What tells callers apart whose keys are kept: a text for each, null for nobody. Needed where callers have no
   * `ctx.state.user` with an `id`.
   * @default null, the user's `id`
   * @example static override idempotencyScope = (ctx: Context) => ctx.get('X-Terminal') || null
   */
  static idempotencyScope: IdempotencyScope = null
  /**
   * The database role that the statements of a request run as, or a function of the request that names it: what its caller
   * may see and change is then decided by PostgreSQL, by grants and row level security. The login of the connection must be
   * a member of it. A function that returns none refuses the request. See docs/reference/row-level-security.md.
   * @default null, the login itself
   * @example static override databaseRole = (ctx: Context) => (ctx.state.user ? 'web_user' : 'web_anon')
   */
  static databaseRole: DatabaseRole = null
  /**
   * Settings that the statements of a request run with, which policies read by `current_setting('app.tenant', true)`, or a
   * function of the request that makes them. They are sent as values, never as SQL. Of a setting that the router has, too,
   * the view's own counts.
   * @default null
   * @example static override databaseSettings = (ctx: Context) => ({ 'app.tenant': ctx.state.user?.tenant_id })
   */
  static databaseSettings: DatabaseSettings = null
  /**
   * Answer 400 with the message of a `RAISE EXCEPTION` in a trigger, in place of a 500 that says nothing. The messages of
   * all triggers that a write of the view sets off are then for its clients; `DETAIL` and `HINT` never are. A code that it
   * is raised with changes that only where it has a meaning of its own: 40001 stays 503.
   * @default false
   */
  static exposeTriggerMessages = false
  /** How many nested objects, and keys in lists, the body of a request may hold, all of its objects together. @default 1000 */
  static maxNestedObjects = DEFAULT_NESTED_OBJECTS
  /** Which method answers which HTTP method, beside those named `get`, `post` …; for `asView()` without actions. */
  static actions: ActionMap = {}

  /** The request. */
  declare ctx: Context
  /** @internal What its action does. */
  declare plan: ActionPlan
  /** @internal */
  declare parentKey: readonly unknown[] | undefined
  /** What the action's input serializer has validated. */
  declare validatedData: unknown
  /** The request's body; empty until the policies have passed. */
  declare body: ParsedBody
  /** The renderer for this request, once it was chosen. */
  declare renderer: BaseRenderer | undefined
  /** The pool of queries outside a transaction; undefined for the models' own. */
  declare knex: Knex | undefined
  /**
   * The transaction of a request that writes; hooks give it to their queries. Where the view has a `databaseRole` or
   * `databaseSettings`, requests that read have it, too: each statement of theirs is then a transaction of its own.
   */
  declare trx: Knex.Transaction | undefined
  /**
   * pg's client of the request's transaction, for Drizzle, Kysely and plain `query()`: what they write is committed or rolled
   * back with it. It is never theirs to end, or to keep: a transaction that they begin is a savepoint.
   * @throws {ConfigurationError} the request has no transaction: it only reads, or the view is not `atomic`
   * @example await drizzle(this.client as PoolClient).insert(audits).values({ text: 'sold' })
   */
  get client(): PgClient {
    const client = lentClient(this.trx ?? this.knex)
    if (client) return client
    throw new ConfigurationError(
      `${this.constructor.name}.${this.action}(): this.client is of the request's transaction, and there is none; a request that reads has a pool only`,
    )
  }
  /** @internal */
  declare afterAction: AfterCommitWork[] | undefined

  /** The name of the method that answers, such as `list` or `get`. */
  get action(): string {
    return (this.plan as ActionPlan | undefined)?.action ?? ''
  }

  /** The first part of the route's name; undefined for a view that no router has registered. */
  get basename(): string | undefined {
    return this.plan.basename
  }

  /** Which action answers which method of this path. */
  get actionMap(): ActionMap {
    return this.plan.actions
  }

  /** The policies of the class, settled before any request. */
  get policies(): ViewPolicies {
    return this.plan.policies
  }

  /** The view sets that this one is nested in, the outermost first. */
  get parents(): readonly ParentLink[] {
    return this.plan.parents
  }

  /** Validates the body before the action is called: the action's own input serializer. */
  get inputSerializer(): SerializerClass | undefined {
    return this.plan.inputSerializer
  }

  /**
   * A Koa handler for this view.
   * @param actions which method answers which HTTP method; by default `get`, `post` … where the class has them, and static actions
   * @param route how a router has registered the view; of a route of one's own `rules` say who sees and writes which rows
   * @throws {ConfigurationError} a method does not exist, or a policy list holds something else
   * @example router.all('/books', BookViewSet.asView({ get: 'list', post: 'create' }))
   * @example router.get('/books/:id', BookDetail.asView({ get: 'retrieve' }, { rules }))
   */
  static asView(actions: ActionMap = methodsOf(this), route: RegisteredRoute = {}): ViewHandler {
    checkDeclarations(this, Object.values(actions))
    return viewHandler(this, actions, route)
  }

  /** @internal What the serializers of the view and its actions take of forms. */
  static askedForm(): AskedForm {
    return askedForm(this.takingSerializers())
  }

  /** @internal Those that say which objects and files a form may bring. */
  static takingSerializers(): SerializerClass[] {
    return [...actionsOf(this).values()].flatMap(({ inputSerializer }) => inputSerializer ?? [])
  }

  /** @internal The view that answers a request. */
  static open(ctx: Context, plan: ActionPlan): APIView {
    // in one call, which is never compiled for some shapes of view
    return Object.assign(new this(), { ctx, plan, body: { data: {}, textual: false } })
  }

  /** The methods this path takes. */
  get allowed(): readonly string[] {
    return allowedMethods(this.actionMap, this.policies.metadata !== undefined)
  }

  /** Whether the request, where it writes, runs in one transaction. */
  get atomic(): boolean {
    return (this.constructor as typeof APIView).atomic
  }

  /** The budget of throttles that have no scope of their own. */
  get throttleScope(): string | undefined {
    return (this.constructor as typeof APIView).throttleScope
  }

  /**
   * The database of this request, for applications that have several; asked once, before the action.
   * Undefined runs queries on the models' own.
   */
  getKnex(): Knex | undefined | Promise<Knex | undefined> {
    return undefined
  }

  /**
   * Whether the body of this request is read: that of POST, PUT and PATCH. A body means nothing on DELETE (RFC 9110
   * section 9.3.5) but to an action that asks for one.
   * @example override readsBody() { return this.action === 'bulkDestroy' || super.readsBody() }
   */
  readsBody(): boolean {
    const { method = '' } = this.ctx.req
    return hasContent(method) || (method === 'DELETE' && this.inputSerializer !== undefined)
  }

  /** Answers OPTIONS: a promise of what the path takes. Touches no database, unless a permission does. */
  options(): unknown {
    return describeOptions(this)
  }

  /** @internal The fields of the objects that the action takes, for OPTIONS. */
  describeInput(): SerializerPlan | undefined {
    return this.inputSerializer && serializerPlan(this.inputSerializer)
  }

  /**
   * Calls `work` once the request's transaction is committed, never where it is rolled back, also by a status of 400 or
   * more. Works are done in the order they were asked for. The answer waits for none of them, and an error in one is
   * reported by the `error` event of the app. Without a transaction they are done when the action has succeeded.
   * `afterCommit()` is the same for code that has no view; docs/reference/after-commit.md says what may get lost.
   * @throws {Error} the transaction has ended
   * @example
   * override async performCreate(serializer: OrderSerializer) {
   *   await super.performCreate(serializer)
   *   this.afterCommit(() => mailer.confirm(serializer.obj))
   * }
   */
  afterCommit(work: AfterCommitWork): void {
    if (this.trx?.isTransaction) {
      afterCommit(this.trx, work)
      return
    }
    this.afterAction ??= []
    this.afterAction.push(work)
  }

  /** The permissions on one object. @throws AuthenticationFailed, PermissionDenied */
  async checkObjectPermissions(object: object): Promise<void> {
    await checkObjectPermissions(this.ctx, this, this.plan.policies.permissions, object)
  }

  /**
   * The last step of an answer: status, headers and the rendered body are in `this.ctx`, and nothing is sent yet. Override
   * it to add to the headers: `super.finalizeResponse()` first. Errors that were thrown do not come this way. It may be async: the answer waits.
   */
  finalizeResponse(): void {
    const { authentication } = this.plan.policies
    // nobody is told apart
    if (authentication.length === 0 && !this.ctx.state['user']) return
    keepPrivate(this.ctx, authentication)
  }

  /**
   * The answer for an error. What is known of it is an `ApiError` already, with the error of PostgreSQL as its `cause`:
   * `code` is its SQLSTATE, `constraint` the name. Any other error is as it was thrown. It may be async.
   */
  toError(error: unknown): unknown {
    return (
      (this.plan.database && roleRefusal(this.ctx, error)) ??
      toApiError(error, requestSubject(this.ctx.method, this)) ??
      error
    )
  }
}

described(
  APIView,
  {
    description: 'text',
    responses: 'record',
    permissionClasses: 'any',
    authenticationClasses: 'any',
    throttleClasses: 'any',
    throttleScope: 'any',
    versioningClass: 'any',
    parserClasses: 'any',
    rendererClasses: 'any',
    strictAccept: 'boolean',
    metadataClass: 'any',
    atomic: 'boolean',
    idempotent: 'any',
    idempotencyScope: 'any',
    databaseRole: 'any',
    databaseSettings: 'any',
    exposeTriggerMessages: 'boolean',
    maxNestedObjects: 'size',
    actions: 'record',
  },
  'view',
  (view: typeof APIView, name) => actionsOf(view).has(name) || Object.values(view.actions).includes(name),
)

insteadOf(APIView, {
  initial: 'set static permissionClasses, or put middleware before the routes',
  dispatch: 'put middleware before the routes',
  checkPermissions: 'set static permissionClasses, of the view set or of one action',
  checkThrottles: 'set static throttleClasses, of the view set or of one action',
  performAuthentication: 'set static authenticationClasses',
  getPermissions: 'set static permissionClasses, of the view set or of one action',
  getAuthenticators: 'set static authenticationClasses',
  getThrottles: 'set static throttleClasses, of the view set or of one action',
  getParsers: 'set static parserClasses',
  getRenderers: 'set static rendererClasses',
  paginateQueryset: 'set static paginationClass',
  getPaginatedResponse: 'set static paginationClass',
  handleException: 'override toError(error)',
  httpMethodNames: 'set static withoutActions, or extend a class without these actions',
  filterFields: 'set static filtersetFields, with FieldFilter among filterBackends',
  filtersetClass: 'set static filtersetFields, with FieldFilter among filterBackends',
})

// what a request begins with: on the prototype, so that it takes no time to set
Object.assign(APIView.prototype, {
  parentKey: undefined,
  validatedData: undefined,
  renderer: undefined,
  knex: undefined,
  trx: undefined,
  afterAction: undefined,
})

markBuiltIn(APIView.prototype, 'checkObjectPermissions', 'getKnex')
