/** Runs a view's action: body first, then the transaction, then the method (promises R6 and A8). */

import type { Knex } from 'knex'
import { reportError } from '../../http/answer-error.js'
import { FORMAT, isSafeMethod, queryOf } from '../../http/context.js'
import { disposeBody } from '../../http/dispose-body.js'
import type { Preferences } from '../../http/prefer.js'
import { READS_QUERY } from '../../http/problem.js'
import { mayFail, mayFailUnsent, statusOf } from '../../http/response-body.js'
import { callersKey } from '../../idempotency/rule.js'
import { ConfigurationError, NotFound } from '../../kernel/errors.js'
import { ignoreRejection, isError, isPromise, isThenable } from '../../kernel/realms.js'
import { isPlain, isRecord } from '../../kernel/records.js'
import { settled } from '../../kernel/settled.js'
import { type ParsedBody, parseBody } from '../../parsers/parser.js'
import { runAll } from '../../postgres/after-commit.js'
import { isInDoubt } from '../../postgres/database-errors.js'
import { scopedKnex, scopeOf } from '../../postgres/scoped-knex.js'
import { selectRenderer } from '../../renderers/renderer.js'
import type { SerializerClass } from '../../serializers/contract.js'
import { declaredParameters } from '../action-parameters.js'
import type { ActionPlan, GenericPlan } from '../action-plan.js'
import type { GenericView } from '../generic-view.js'
import type { Replicas } from '../replicas.js'
import { resourceOf } from '../resource.js'
import { bulkItems } from '../steps/bulk-objects.js'
import { isFound } from '../steps/object-to-write.js'
import { isList, readQueryLists } from '../steps/query-lists.js'
import { keyOnPath } from '../steps/read-object.js'
import { asksByBody, readQueryBody } from '../steps/read-query-body.js'
import type { View } from '../view.js'
import { askDeleted } from './ask-deleted.js'
import { askRelations } from './ask-relations.js'
import { checkedAnswer } from './checked-answer.js'
import { checkDatabase, databaseOf } from './database.js'
import { enclose, openEnvelope } from './enclose.js'
import { heededPreferences } from './heeded-preferences.js'
import { inViewTransaction } from './in-view-transaction.js'
import { checkParents } from './parents.js'
import { handleStrictly, preferredAnswer, refuseIgnored } from './preferences.js'
import { requireOwner } from './require-user.js'
import { runOnce } from './run-once.js'
import { resetOf } from './second-attempt.js'
import { bodyOfStored } from './stored-keys.js'

const READS_LATER = 'readsBody() has returned a promise; it says at once whether the body is read'

/** What is done, for those who put other functions in their places (`traced-dispatch.ts`). */
export const ACTION_STEPS = { parseBody, readQueryBody, call } as const

/** What the action returns, once its transaction is committed. */
export async function runAction(view: View, steps: typeof ACTION_STEPS = ACTION_STEPS): Promise<unknown> {
  const { ctx, plan } = view
  const { policies, resource, database, replicas, copies } = plan
  const key = policies.idempotency && (await callersKey(ctx, policies.idempotency))
  if (policies.strictAccept) {
    view.renderer = selectRenderer(ctx, policies.renderers, { format: FORMAT.get(ctx), strict: true })
  }
  readQueryLists(view)
  if (ctx.req.method === 'QUERY' && asksByBody(view)) {
    await steps.readQueryBody(view)
  } else if (policies.parsers.length > 0 && settled(view.readsBody(), READS_LATER)) {
    view.body = await readBody(view, steps)
    ;(ctx.request as { body?: unknown }).body = view.body.data
  }
  try {
    const own = view.getKnex()
    const asked = isPromise(own) ? await own : own
    const knex = asked && database ? await databaseOf(view, asked, database) : asked
    view.knex = knex
    resource?.refuseAssigned(view)
    if (resource?.envelope) openEnvelope(view as GenericView)
    // from here on a status of 400 and more is one that the action has set
    ctx.status = 200
    let data: unknown
    const isSafe = isSafeMethod(ctx.req.method ?? '')
    // what it refuses takes no connection
    if (!isSafe && resource) checkRequest(view as GenericView)
    if (resource?.choosesDatabase && asked && !database) await checkDatabase(view, asked)
    if (isSafe) {
      // code that knows of this.trx only has no other way to its caller's rows
      if (database) view.trx = knex as Knex.Transaction | undefined
      data = await (copies && asked ? onReplica(view, copies, { asked, steps }) : steps.call(view))
    } else {
      // what throws is undone by a transaction only
      let isKept = !key && !view.plan.viewClass.atomic
      let failure: unknown
      try {
        if (key) data = await runOnce(view, key, () => steps.call(view))
        else if (knex && view.atomic) data = await inViewTransaction(view, knex, () => steps.call(view))
        else data = await steps.call(view)
        isKept ||= Boolean(key) || ctx.status < 400
      } catch (error) {
        failure = error
        isKept ||= isInDoubt(error)
        throw error
      } finally {
        if (replicas && isKept) await replicas.wrote(ctx, { knex, failure })
      }
    }
    if (view.afterAction) runAfterAction(view)
    return data
  } finally {
    const body = view.body
    if (body.dispose) await disposeBody(ctx, body)
  }
}

async function readBody(view: View, steps: typeof ACTION_STEPS): Promise<ParsedBody> {
  const { parsers, form } = view.plan.policies
  try {
    return await steps.parseBody(view.ctx, parsers, form)
  } catch (error) {
    return bodyOfStored(view, error)
  }
}

function call(view: View): unknown {
  const { action, inputSerializer, querySerializer, answerSchema, parents, resource, isStrict } = view.plan
  const preferences = heededPreferences(view)
  const mayBeKey = action === 'retrieve' && FORMAT.get(view.ctx) !== undefined
  const takes = inputSerializer ?? querySerializer
  if (takes || resource?.asks || mayBeKey || parents.length > 0 || answerSchema || preferences || isStrict)
    return callChecked(view, preferences)
  return runMethod(view)
}

async function callChecked(view: View, preferences: Preferences | undefined): Promise<unknown> {
  const { action, inputSerializer, querySerializer, answerSchema, parents, resource, isStrict } = view.plan
  if (parents.length > 0) await checkParents(view)
  if (resource?.asks) {
    await askDeleted(view as GenericView)
    if (resource.asksRelations) await askRelations(view as GenericView)
  }
  if (action === 'retrieve' && resource) await readWholeKey(view as GenericView)
  if (preferences?.strict || isStrict) handleStrictly(view as GenericView, preferences?.strict === true)
  const asked = querySerializer ? [await readQuery(view, querySerializer)] : []
  const taken = inputSerializer ? [await readInput(view, inputSerializer)] : []
  const result = runMethod(view, ...taken, ...asked)
  const own = answerSchema ? checkedAnswer(view, answerSchema, await result) : result
  const checked = resource?.asks ? enclose(view as GenericView, await own) : own
  return preferences?.returns ? preferredAnswer(view, preferences.returns, await checked) : checked
}

/** Takes what looks like a format for the end of the key, where a row has that key: `/files/a.json` is `a.json`, or else `a` as JSON. */
async function readWholeKey(view: GenericView): Promise<void> {
  const { ctx } = view
  const { viewClass, policies } = view.plan
  const format = FORMAT.get(ctx)
  if (format === undefined) return
  const params = ctx['params'] as Record<string, string>
  const name = viewClass.lookupUrlKwarg ?? viewClass.lookupField
  ctx['params'] = { ...params, [name]: `${params[name]}.${format}` }
  const isKey = await isFound(view).catch((error: unknown) => {
    if (error instanceof NotFound) return false
    throw error
  })
  if (!isKey) {
    ctx['params'] = params
    return
  }
  FORMAT.set(ctx, undefined)
  view.renderer = policies.strictAccept ? selectRenderer(ctx, policies.renderers, { strict: true }) : undefined
}

type Method = (...given: unknown[]) => unknown

function runMethod(view: View, ...given: unknown[]): unknown {
  const plan: Partial<Pick<GenericPlan, 'isOurs'>> & ActionPlan = view.plan
  const method = (view as unknown as Record<string, Method>)[plan.action] as Method
  const result = method.call(view, ...given)
  return plan.isOurs ? result : ownAnswer(view, result)
}

/** What code of the application has answered, which may be a stream. @throws an error that it has returned */
async function ownAnswer(view: View, answer: unknown): Promise<unknown> {
  const { ctx } = view
  const data = await answer
  if (isError(data)) throw data
  if (Array.isArray(data) || (isRecord(data) && isPlain(data))) checkAwaited(view, Object.values(data))
  mayFail(data)
  mayFailUnsent(ctx)
  const status = statusOf(data)
  // by which what the action has written is kept or not
  if (status !== undefined) ctx.status = status
  return data
}

/** @throws {ConfigurationError} a promise, which would be `{}`, or a query stands among the members of an answer, or in a list of them */
function checkAwaited(view: View, members: readonly unknown[]): void {
  const lists = [members, ...members.filter(Array.isArray)] as readonly (readonly unknown[])[]
  if (!lists.some((list) => list.some(isThenable))) return
  // what they reject with would end the process
  for (const list of lists) list.forEach(ignoreRejection)
  const where = `${view.constructor.name}.${view.plan.action}()`
  throw new ConfigurationError(
    `${where} returned a promise or a query inside of its answer; await it, or use Promise.all()`,
  )
}

/** The body, validated for the action. @throws ValidationError */
async function readInput(view: View, serializerClass: SerializerClass): Promise<unknown> {
  const { data, textual } = view.body
  const validated = await validatedBy(serializerClass, view, { data, textual })
  view.validatedData = validated
  view.ctx.state['validatedData'] = validated
  return validated
}

/** What the action has declared of the query, validated: texts, as in a form. @throws ValidationError */
async function readQuery(view: View, serializerClass: SerializerClass): Promise<unknown> {
  const { viewClass, action } = view.plan as GenericPlan
  const query = queryOf(view.ctx)
  const asked = declaredParameters(viewClass, action).flatMap((parameter): [string, unknown][] => {
    const given = query[parameter.name]
    if (given === undefined) return []
    return [[parameter.name, isList(parameter) && typeof given === 'string' ? itemsOf(given) : given]]
  })
  READS_QUERY.set(view.ctx, true)
  const validated = await validatedBy(serializerClass, view, { data: Object.fromEntries(asked), textual: true })
  READS_QUERY.set(view.ctx, false)
  return validated
}

function itemsOf(text: string): readonly string[] {
  return text === '' ? [] : text.split(',')
}

async function validatedBy(
  serializerClass: SerializerClass,
  view: View,
  { data, textual }: Pick<ParsedBody, 'data' | 'textual'>,
): Promise<unknown> {
  const { ctx, trx, knex } = view
  const context = (view as Partial<GenericView>).getSerializerContext?.() ?? {
    ctx,
    view,
    user: ctx.state['user'],
    knex: trx ?? knex,
  }
  const serializer = new serializerClass({ inputData: data, textual, context })
  await serializer.isValid({ raiseException: true })
  return serializer.validatedData
}

/**
 * Checks the keys on the path, the length of a list, and the names of `fields` and `expand`, for actions as they come with
 * the package: what code of the application looks at is its own affair.
 * @throws NotFound a key that no row can have
 * @throws ValidationError, BadRequest no list, one that is too long, or an unknown name
 */
function checkRequest(view: GenericView): void {
  const { ctx, plan } = view
  const { parents, resource } = plan
  const params = ctx['params'] as Record<string, string> | undefined
  for (const { view: parent, param } of parents) {
    const viewClass = parent as typeof parent & GenericView['viewClass']
    const text = params?.[param]
    const { overrides, lookup, seenBy } = resourceOf(viewClass)
    if (text === undefined || overrides.has('getObject')) continue
    if (lookup.fromText(text, { user: ctx.state['user'], ctx }) === undefined) throw new NotFound()
    if (view.visibleFields && !seenBy(view.visibleFields).namesObjects) throw new NotFound()
  }
  const isPreferred = heededPreferences(view)?.strict === true
  if (isPreferred || plan.isStrict) refuseIgnored(view, isPreferred)
  if (!plan.isOurs) return
  if (plan.isBulk) bulkItems(view)
  if (!plan.hasKey) return
  keyOnPath(view)
  if (resource.namesPerUser) requireOwner(view)
}

interface ReplicaRequest {
  /** The database that the view has chosen. */
  readonly asked: Knex
  readonly steps: { call(view: View): unknown }
}

/** Runs the action on a replica; on the view's own database where that is another than the replicas'. */
function onReplica(view: View, replicas: Replicas, { asked, steps }: ReplicaRequest): unknown {
  if (asked !== replicas.primary) return steps.call(view)
  const reset = resetOf(view)
  const settings = view.knex && scopeOf(view.knex)?.settings
  return replicas.read(view.ctx, async (knex) => {
    // that the tables are there was asked of the primary, of which this is a copy
    const own = settings ? scopedKnex(knex, settings) : knex
    reset()
    view.knex = own
    if (settings) view.trx = own as Knex.Transaction
    return steps.call(view)
  })
}

/** Does what was to be done once the action is over, unless its answer is a refusal. */
export function runAfterAction({ afterAction = [], ctx }: View): void {
  if (ctx.status < 400) runAll(afterAction.splice(0), (error) => reportError(ctx, error))
}
