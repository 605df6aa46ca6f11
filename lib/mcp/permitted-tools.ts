/** Permissions of tools: a caller may call those whose permissions would let the request pass. */

import { authenticate } from '../authentication/authentication.js'
import { rememberChallengers, reportError } from '../http/answer-error.js'
import { type Context, isAnonymous } from '../http/context.js'
import { askedContext } from '../http/in-process.js'
import { ApiError, PermissionDenied } from '../kernel/errors.js'
import { getOrInsert } from '../kernel/maps.js'
import { checkPermissions } from '../permissions/check-permissions.js'
import { toApiError } from '../postgres/database-errors.js'
import { requestSubject } from '../postgres/failed-statement.js'
import { determineVersion } from '../versioning/determine-version.js'
import type { BaseVersioning } from '../versioning/versioning.js'
import { planOf } from '../views/action-plan.js'
import type { APIView } from '../views/api-view.js'
import { policiesOf } from '../views/policies.js'
import { checkParentPermissions } from '../views/request/parents.js'
import { namedVersion } from './named-version.js'
import type { CalledOperation, Tool } from './tools-of.js'

/** A tool with the operations that are left of it. */
export interface PermittedTool {
  readonly tool: Tool
  readonly calls: readonly CalledOperation[]
}

/** What was asked of permissions, and what they have said. */
interface Said {
  readonly key: readonly unknown[]
  /** Undefined where it holds for all actions. */
  readonly action: string | undefined
  readonly refusal: Error | undefined
}

/** One request's look at the tools. Each list of schemes is asked once, however many view sets have it. */
export class ToolCaller {
  readonly #ctx: Context
  readonly #apiVersion: string | undefined
  /** What schemes have found, by the list that a class declares. */
  readonly #asked: { readonly schemes: readonly unknown[]; readonly answer: Promise<Context> }[] = []
  /** What permissions have said, by the view's class. */
  readonly #said = new Map<unknown, Said[]>()

  /** @param apiVersion the version of the API that calls ask for; undefined for each view's own */
  constructor(ctx: Context, apiVersion: string | undefined) {
    this.#ctx = ctx
    this.#apiVersion = apiVersion
  }

  /** True where some scheme of these tools knows the caller. @throws ApiError as `permitted()` does */
  async isKnown(tools: Iterable<Tool>): Promise<boolean> {
    const refusals: ApiError[] = []
    const known = new Set<Context>()
    for (const { calls } of tools) {
      for (const { operation } of calls.values()) {
        const ctx = await this.#authenticated(operation.view, refusals)
        if (ctx) known.add(ctx)
      }
    }
    const isKnown = [...known].some((ctx) => !isAnonymous(ctx.state['user']))
    if (!isKnown && refusals[0]) throw refusals[0]
    return isKnown
  }

  /**
   * The tools that the caller may call, as far as that is not about an object.
   * @throws ApiError credentials are wrong, and nobody knows the caller by them, or the database that a scheme or permission asks is away
   */
  async permitted(tools: Iterable<Tool>): Promise<readonly PermittedTool[]> {
    const found: PermittedTool[] = []
    const refusals: ApiError[] = []
    let isKnown = false
    for (const tool of tools) {
      const calls: CalledOperation[] = []
      for (const call of tool.calls.values()) {
        const ctx = await this.#authenticated(call.operation.view, refusals)
        if (!ctx) continue
        isKnown ||= !isAnonymous(ctx.state['user'])
        if (!(await this.#refusal(ctx, call))) calls.push(call)
      }
      if (calls.length > 0) found.push({ tool, calls })
    }
    // else tools would go without a word when a token ends
    if (!isKnown && refusals[0]) throw refusals[0]
    return found
  }

  /** Why the caller may call none of these; undefined where one may be called, as far as that is not about an object. */
  async refusal(calls: Iterable<CalledOperation>): Promise<Error | undefined> {
    const refusals: Error[] = []
    for (const call of calls) {
      const wrong: ApiError[] = []
      const ctx = await this.#authenticated(call.operation.view, wrong)
      const refusal = ctx ? await this.#refusal(ctx, call) : wrong[0]
      if (!refusal) return undefined
      refusals.push(refusal)
    }
    return refusals[0]
  }

  /** @throws ApiError the database is away */
  async #refusal(authenticated: Context, call: CalledOperation): Promise<Error | undefined> {
    const { method, route, view: viewClass } = call.operation
    const ctx = forOperation(authenticated, call, this.#apiVersion)
    try {
      const view = viewClass.open(ctx, planOf(route))
      const { parents } = view
      const { versioning, permissions } = view.policies
      const refusal =
        (versioning && refusedVersion(ctx, versioning)) ??
        (await this.#once(viewClass, [...permissions, method], view, () => checkPermissions(ctx, view, permissions)))
      if (refusal || parents.length === 0) return refusal
      const path = [...parents.map((one) => one.view), authenticated]
      return await this.#once(parents.at(-1)?.view, path, view, () => checkParentPermissions(view))
    } catch (error) {
      return refusalOf(ctx, error)
    }
  }

  /** Asks by (permissions, class, method, version): of each action only those that look at it. */
  async #once(
    viewClass: unknown,
    asked: readonly unknown[],
    view: APIView,
    ask: () => Promise<void>,
  ): Promise<Error | undefined> {
    const { action, ctx } = view
    const key = [...asked, ctx.state['version']]
    const said = getOrInsert(this.#said, viewClass, () => [])
    const known = said.find((one) => isSame(one.key, key) && (one.action === undefined || one.action === action))
    if (known) return known.refusal
    let isRead = false
    Object.defineProperty(view, 'action', {
      configurable: true,
      get() {
        isRead = true
        return action
      },
    })
    const refusal = await ask().then(
      () => undefined,
      (error: unknown) => refusalOf(ctx, error),
    )
    said.push({ key, action: isRead ? action : undefined, refusal })
    return refusal
  }

  /** Undefined where the credentials are wrong for the view. */
  async #authenticated(view: typeof APIView, refusals: ApiError[]): Promise<Context | undefined> {
    try {
      return await this.#authenticate(view)
    } catch (error) {
      const refusal = error instanceof ApiError ? error : toApiError(error)
      if (!refusal || refusal.status >= 500) throw refusal ?? error
      refusals.push(refusal)
      return undefined
    }
  }

  #authenticate(view: typeof APIView): Promise<Context> {
    const { authenticationClasses: schemes } = view
    const known = this.#asked.find((one) => isSame(one.schemes, schemes))
    if (known) return known.answer
    const answer = openAs(this.#ctx, view)
    this.#asked.push({ schemes, answer })
    return answer
  }
}

async function openAs(outer: Context, view: typeof APIView): Promise<Context> {
  const schemes = policiesOf(view).authentication
  // whoever answers 401 for all of them names their challenges
  rememberChallengers(outer, schemes)
  const ctx = askedContext(outer, { method: 'GET', url: outer.path })
  await authenticate(ctx, schemes)
  return ctx
}

const REFUSALS: ReadonlySet<number> = new Set([401, 403])

/** An error of the application's own refuses, too. Object permissions need an object: they do not hide a tool. @throws ApiError the database is away */
function refusalOf(ctx: Context, error: unknown): Error | undefined {
  const shown = error instanceof ApiError ? error : toApiError(error, requestSubject(ctx.method))
  if (!shown) {
    reportError(ctx, error)
    return new PermissionDenied()
  }
  if (shown.status >= 500) throw shown
  return REFUSALS.has(shown.status) ? shown : undefined
}

/** Undefined for a version that there is not, or no more: of that the call is told. */
function refusedVersion(ctx: Context, versioning: BaseVersioning): Error | undefined {
  try {
    determineVersion(ctx, versioning)
    return undefined
  } catch (error) {
    return refusalOf(ctx, error)
  }
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((scheme, index) => scheme === other[index])
}

/** The request of a call by the same caller, as far as it is known; what permissions leave with it stays with it. */
function forOperation(ctx: Context, call: CalledOperation, apiVersion: string | undefined): Context {
  const { accept, params, query } = namedVersion(call, apiVersion)
  const { endpoint, operation } = call
  const search = new URLSearchParams(query).toString()
  const own = { method: { value: operation.method } }
  const req = Object.create(ctx.req, {
    ...own,
    url: { value: ctx.url + (search === '' ? '' : `?${search}`), writable: true },
    headers: { value: { ...ctx.req.headers, accept } },
  }) as Context['req']
  return Object.create(ctx, {
    ...own,
    request: { value: Object.create(ctx.request, { ...own, req: { value: req } }) },
    req: { value: req },
    state: { value: { ...ctx.state }, writable: true },
    params: { value: { ...params }, writable: true },
    _matchedRoute: { value: endpoint.path, writable: true },
  }) as Context
}
