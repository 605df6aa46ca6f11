/** Which tools a caller may call: those whose permissions would let the request pass. */
import { authenticate } from '../authentication/authenticate.js'
import { rememberChallengers, reportError } from '../http/answer-error.js'
import { type Context, isAnonymous } from '../http/context.js'
import { askedContext } from '../http/in-process.js'
import { ApiError } from '../kernel/errors.js'
import { checkPermissions } from '../permissions/check-permissions.js'
import { toApiError } from '../postgres/database-errors.js'
import { subjectOf } from '../postgres/failed-statement.js'
import { determineVersion } from '../versioning/determine-version.js'
import type { APIView } from '../views/api-view.js'
import { policiesOf } from '../views/policies.js'
import { checkParentPermissions } from '../views/request/parents.js'
import type { CalledOperation, Tool } from './tool.js'

/** A tool with the operations that are left of it. */
export interface PermittedTool {
  readonly tool: Tool
  readonly calls: readonly CalledOperation[]
}

/** One request's look at the tools. Each list of schemes is asked once, however many view sets have it. */
export class Caller {
  readonly #ctx: Context
  /** What schemes have found, by the list that a class declares. */
  readonly #asked: { readonly schemes: readonly unknown[]; readonly answer: Promise<Context> }[] = []

  constructor(ctx: Context) {
    this.#ctx = ctx
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
        if (await permits(ctx, call)) calls.push(call)
      }
      if (calls.length > 0) found.push({ tool, calls })
    }
    // else tools would go without a word when a token ends
    if (!isKnown && refusals[0]) throw refusals[0]
    return found
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

/** @throws ApiError the database is away */
async function permits(authenticated: Context, { endpoint, operation }: CalledOperation): Promise<boolean> {
  const ctx = forOperation(authenticated, operation.method)
  const { basename, parents, actions } = endpoint
  try {
    const view = operation.view.open(ctx, { action: operation.action, actions, basename, parents })
    const { versioning, permissions } = view.policies
    if (versioning) determineVersion(ctx, versioning)
    await checkPermissions(ctx, view, permissions)
    if (parents.length > 0) await checkParentPermissions(view)
    return true
  } catch (error) {
    return isNoRefusal(ctx, error)
  }
}

const REFUSALS: ReadonlySet<number> = new Set([401, 403])

/** What is about an object that nobody has named yet is none. @throws ApiError the database is away */
function isNoRefusal(ctx: Context, error: unknown): boolean {
  const shown = error instanceof ApiError ? error : toApiError(error, subjectOf(ctx.method))
  if (!shown) {
    reportError(ctx, error)
    return false
  }
  if (shown.status >= 500) throw shown
  return !REFUSALS.has(shown.status)
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((scheme, index) => scheme === other[index])
}

/** A request of the same caller; what permissions leave with it stays with it. */
function forOperation(ctx: Context, method: string): Context {
  const own = { method: { value: method } }
  return Object.create(ctx, {
    ...own,
    request: { value: Object.create(ctx.request, own) },
    req: { value: Object.create(ctx.req, own) },
    state: { value: { ...ctx.state }, writable: true },
    params: { value: {}, writable: true },
  }) as Context
}
