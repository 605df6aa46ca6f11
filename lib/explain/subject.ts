/** The view that an explanation is about, opened as a request would open it. */

import type { Knex } from 'knex'
import { authenticate } from '../authentication/authentication.js'
import { type Context, describingContext } from '../http/context.js'
import { AuthenticationFailed } from '../kernel/errors.js'
import { isWatchable } from '../postgres/watch-statements.js'
import { determineVersion } from '../versioning/determine-version.js'
import { planOf } from '../views/action-plan.js'
import { actionNamed } from '../views/actions.js'
import type { APIView } from '../views/api-view.js'
import { isBuiltIn, overridden } from '../views/built-in.js'
import type { DescribedWebhook } from '../views/described-webhook.js'
import type { Endpoint, Operation } from '../views/endpoint.js'
import { GenericAPIView, isGeneric } from '../views/generic-api-view.js'
import { askDeleted } from '../views/request/ask-deleted.js'
import { resourceOf } from '../views/resource.js'
import { readQueryLists } from '../views/steps/query-lists.js'

export interface ExplainOptions {
  readonly endpoint: Endpoint
  readonly operation: Operation
  /** The tools that call each operation, by its name in the document. */
  readonly tools: ReadonlyMap<string, readonly string[]>
  /** What is told of changes. */
  readonly webhooks: readonly DescribedWebhook[]
  /** A request for this path; without one, nothing is called that depends on a request. */
  readonly asked?: { readonly ctx: Context; readonly params: Readonly<Record<string, string>> } | undefined
}

/** A view and what may be asked of it. */
export interface ExplainedView<View extends APIView = APIView> {
  readonly view: View
  /** The view has a request to answer. */
  readonly isAsked: boolean
  readonly notes: string[]
}

/** In whose name keys are named where each caller has other ids. */
const SOMEBODY = { id: 1 }
/** Keys that a path may have where nobody has asked for any. */
const SAMPLES: Readonly<Record<string, unknown>> = { uuid: '00000000-0000-4000-8000-000000000000' }
const NUMBERS = new Set(['int2', 'int4', 'int8', 'numeric', 'float4', 'float8'])

/** @throws ApiError the caller is not who he says he is, or asks for what there is not, or he may not */
export async function openSubject({ endpoint, operation, asked }: ExplainOptions): Promise<ExplainedView> {
  const { method, view: viewClass, route } = operation
  const ctx = asked ? ownContext(asked.ctx, asked.params) : sampleContext(method, endpoint)
  const view = viewClass.open(ctx, planOf(route))
  if (asked) {
    const { versioning, authentication } = view.policies
    if (versioning) determineVersion(ctx, versioning)
    if (authentication.length > 0) await authenticate(ctx, authentication)
    readQueryLists(view)
    if (view instanceof GenericAPIView && view.plan.resource.asks) await askDeleted(view)
  }
  return { view, isAsked: asked !== undefined, notes: [] }
}

/** What is said of the request here does not stay with it. */
function ownContext(ctx: Context, params: Readonly<Record<string, string>>): Context {
  const state = { ...ctx.state }
  return Object.create(ctx, {
    params: { value: params, writable: true },
    state: { value: state, writable: true },
  }) as Context
}

function sampleContext(method: string, { path, view, lookup, parents }: Endpoint): Context {
  const named = [
    ...parents.map(({ view: parent, param }) => [param, parent] as const),
    ...(lookup === undefined ? [] : [[lookup, view] as const]),
  ]
  const paramsFor = (user?: object) =>
    Object.fromEntries(named.map(([param, owner]) => [param, sampleKey(owner as typeof GenericAPIView, user)]))
  try {
    return describingContext({ method, path, params: paramsFor() })
  } catch (error) {
    if (!(error instanceof AuthenticationFailed)) throw error
    const ctx = describingContext({ method, path, params: paramsFor(SOMEBODY) })
    ctx.state['user'] = SOMEBODY
    return ctx
  }
}

/** @throws {AuthenticationFailed} each caller has other ids, and there is none */
function sampleKey(view: typeof GenericAPIView, user: object | undefined): string {
  if (!isGeneric(view)) return 'x'
  const { lookup } = resourceOf(view)
  const values = lookup.columns.map(({ type }) => (NUMBERS.has(type) ? 1 : (SAMPLES[type] ?? 'x')))
  return String(lookup.toText(values, { user }))
}

/** Which of these methods decides on each request; noted, where there is no request to ask it about. */
export function isDecided({ view, isAsked, notes }: ExplainedView, ...names: readonly string[]): boolean {
  const writes = actionNamed(view.plan.action)?.writes
  const isRuled = () =>
    view instanceof GenericAPIView &&
    view.plan.rules?.asksCaller(view.viewClass.modelClass(), writes === undefined ? ['read'] : undefined)
  if (!isAsked && isRuled()) {
    notes.push('decided by rules, which are functions of the caller, on each request')
    return true
  }
  const name = isAsked ? undefined : overridden(view, ...names)
  if (name === undefined) return false
  notes.push(`decided by ${view.constructor.name}.${name}() on each request`)
  return true
}

/** True where a view set that the path names an object of before decides on each request; noted. */
export function isDecidedOutside({ view, isAsked, notes }: ExplainedView): boolean {
  if (isAsked) return false
  const names = ['getQueryset', 'getObject']
  const outer = view.parents.find(({ view: parent }) => {
    const { prototype } = parent as typeof GenericAPIView
    return !isBuiltIn(prototype, ...names)
  })
  if (!outer) return false
  const { name, prototype } = outer.view as typeof GenericAPIView
  notes.push(`decided by ${name}.${overridden(prototype, ...names)}() on each request`)
  return true
}

/** The database of the view's queries; undefined where that is not known. */
export async function explainedKnex(subject: ExplainedView): Promise<Knex | undefined> {
  if (isDecided(subject, 'getKnex')) return undefined
  const knex = await subject.view.getKnex()
  if (!knex) subject.notes.push('its model has no knex: Model.knex(knex) tells where its queries run')
  else if (!isWatchable(knex))
    subject.notes.push("its statements are not traced, nor timed: the pool is neither knex's nor pg's")
  return knex
}
