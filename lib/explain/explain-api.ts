/** Explains a router's paths: all, those of a name, or the one that a request is for. */

import type { Knex } from 'knex'
import { type Context, isSafeMethod } from '../http/context.js'
import type { IdempotencyRule } from '../idempotency/rule.js'
import { didYouMean } from '../kernel/near-miss.js'
import { heardChannels } from '../kernel/trace-channels.js'
import { describeModel } from '../models/describe-model.js'
import type { RelationDescription } from '../models/model-description.js'
import { type ModelClass, modelName } from '../models/objection.js'
import { areOfOneTable } from '../models/one-table.js'
import { reflectionOf } from '../models/table.js'
import { queryParameters } from '../openapi/parameters.js'
import { describedSerializer } from '../openapi/subject.js'
import { permissionName } from '../permissions/operators.js'
import { nativeSql, type Queryable } from '../postgres/pg-types.js'
import type { FieldUse, RowCondition, RowWrite } from '../queryset/visible-rows.js'
import { sendsEvents } from '../renderers/event-stream-renderer.js'
import type { RuleAction } from '../rules/rule.js'
import type { RelationGraph } from '../serializers/contract.js'
import { serializerPlan } from '../serializers/plan.js'
import { paginatorOf } from '../views/action-parameters.js'
import type { ActionPlan } from '../views/action-plan.js'
import { actionNamed, showsFigures } from '../views/actions.js'
import { isAggregating } from '../views/aggregates.js'
import type { APIView } from '../views/api-view.js'
import { overridden } from '../views/built-in.js'
import { webhooksOf } from '../views/described-webhook.js'
import { type Endpoint, operationOf } from '../views/endpoint.js'
import { GenericAPIView } from '../views/generic-api-view.js'
import { hasModel } from '../views/generic-view-class.js'
import { namedClass } from '../views/related-view-set.js'
import { recordingClass } from '../views/request/log-writes.js'
import { type Resource, resourceOf } from '../views/resource.js'
import { explainRoad } from './explain-road.js'
import type { ExplainedPolicies, Explanation } from './explanation.js'
import { type ExplainedView, type ExplainOptions, openSubject } from './subject.js'

interface Asked {
  /** A route or a basename. @default all */
  readonly name: string | undefined
  /** The tools that call each operation, by its name in the document. */
  readonly tools: ExplainOptions['tools']
}

/** @throws Error no route has the name */
export async function explainEndpoints(
  endpoints: readonly Endpoint[],
  { name, tools }: Asked,
): Promise<readonly Explanation[]> {
  const webhooks = webhooksOf(endpoints)
  const all = endpoints.flatMap((endpoint) =>
    [...endpoint.operations.values()].map((operation): ExplainOptions => ({ endpoint, operation, tools, webhooks })),
  )
  const named = all.filter((one) => name === undefined || one.operation.name === name || one.endpoint.basename === name)
  if (named.length === 0 && name !== undefined) {
    const names = new Set(all.map(({ operation }) => operation.name))
    const basenames = all.map(({ endpoint }) => endpoint.basename ?? '')
    const fix = didYouMean(name, [...basenames, ...names]) || `; there are ${[...names].join(', ')}`
    throw new Error(`APIRouter: there is no route or basename "${name}"${fix}`)
  }
  const explanations: Explanation[] = []
  for (const one of named) explanations.push(await explainOperation(one))
  return explanations
}

interface ExplainedRequest extends Pick<ExplainOptions, 'webhooks'> {
  readonly ctx: Context
  readonly params: Readonly<Record<string, string>>
  readonly tools: ExplainOptions['tools']
}

/** Nothing where the path does not take the method. */
export async function explainRequest(
  endpoint: Endpoint,
  { tools, webhooks, ...asked }: ExplainedRequest,
): Promise<readonly Explanation[]> {
  const operation = operationOf(endpoint, asked.ctx.method)
  return operation ? [await explainOperation({ endpoint, operation, tools, webhooks, asked })] : []
}

/** @throws ApiError the request that is given is refused before its action */
async function explainOperation(options: ExplainOptions): Promise<Explanation> {
  const { endpoint, operation } = options
  const subject = await openSubject(options)
  const { view, notes } = subject
  const { parsers, renderers } = view.policies
  const generic = view instanceof GenericAPIView ? view : undefined
  const { filters = [], paginator } = generic && hasModel(generic.viewClass) ? listOf(generic, operation.action) : {}
  const road = generic
    ? await explainRoad(subject as ExplainedView<GenericAPIView>)
    : { reading: null, insert: null, statements: [] }
  const knex = await askedKnex(subject)
  const records = generic ? recordsOf(generic, options) : {}
  if (records.records && road.insert?.by !== 'statement' && road.write?.by !== 'statement')
    notes.push('objects that change are read before and after, and recorded by one INSERT')
  if (!generic || !actionNamed(operation.action)) notes.push(`answered by ${view.constructor.name}.${view.action}()`)
  return {
    name: operation.name,
    method: operation.method,
    path: endpoint.path,
    answeredBy: `${view.constructor.name}.${operation.action}`,
    policies: policiesOf(view),
    input: operation.inputSerializer?.name ?? null,
    parsers: view.readsBody() ? parsers.map(nameOf) : [],
    renderers: renderers.map(nameOf),
    filters: filters.map(nameOf),
    pagination: paginator ? nameOf(paginator) : null,
    parameters: generic ? parametersOf(subject as ExplainedView<GenericAPIView>) : [],
    relations: readsList(operation.action) && generic && hasModel(generic.viewClass) ? relationsOf(generic) : [],
    ...(generic && isSafeMethod(operation.method) && foreignKeysOf(generic)),
    ...(generic?.plan.limitsRows && { rules: explainRules(subject as ExplainedView<GenericAPIView>) }),
    ...records,
    ...road,
    database: view.plan.database?.described ?? null,
    idempotency: isSafeMethod(operation.method) ? null : describeRule(view.policies.idempotency),
    transaction: road.transaction ?? (!isSafeMethod(operation.method) && knex !== undefined && view.atomic),
    replicas: isSafeMethod(operation.method) ? replicasOf(view.plan, knex) : 0,
    traced: heardChannels(),
    tools: options.tools.get(operation.operationId) ?? [],
    notes: [...new Set(notes)],
  }
}

/** The database that the action asks; null where the application decides that on each request. */
async function askedKnex({ view, isAsked }: ExplainedView): Promise<Knex | null | undefined> {
  return !isAsked && overridden(view, 'getKnex') !== undefined ? null : view.getKnex()
}

/** How many replicas it reads on: they are copies of one database. */
function replicasOf({ copies }: ActionPlan, knex: Knex | null | undefined): number {
  const isCopied = knex === null || knex === copies?.primary
  return copies && isCopied ? copies.size : 0
}

/** What is recorded of a write, and who is told of it. */
function recordsOf(
  { plan, policies }: GenericAPIView,
  { operation, webhooks }: ExplainOptions,
): Pick<Explanation, 'records' | 'tells' | 'seenBy'> {
  const recording = recordingClass(plan.viewClass)
  if (!recording) return {}
  if (sendsEvents(policies.renderers)) return { seenBy: recording.decidingColumns(plan) }
  if (isSafeMethod(operation.method)) return {}
  const model = plan.viewClass.modelClass()
  // whichever view set has made a change, those of its table are told
  const tells = webhooks.filter(({ shown }) => areOfOneTable(serializerPlan(shown).model?.model, model))
  return {
    records: recording.recordedFields(plan),
    ...(tells.length > 0 && { tells: tells.map(({ event }) => event) }),
  }
}

function readsList(action: string): boolean {
  return action === 'list' || showsFigures(action)
}

/** What narrows the list that an action reads, and cuts it into pages; nothing of an action that reads none. */
function listOf({ viewClass }: GenericAPIView, action: string): Partial<Pick<Resource, 'filters' | 'paginator'>> {
  if (action !== 'list' && !(showsFigures(action) && isAggregating(viewClass))) return {}
  const resource = resourceOf(viewClass)
  return { filters: resource.filters, paginator: paginatorOf(resource, action) }
}

function parametersOf({ view }: ExplainedView<GenericAPIView>): readonly string[] {
  return queryParameters(view, describedSerializer(view)).map(({ name }) => name)
}

function relationsOf({ viewClass }: GenericAPIView): readonly string[] {
  const named = Object.entries(viewClass.filterRelations)
  return named.map(([relation, view]) => `${relation} (${namedClass(view)?.name})`)
}

/** `author: Author by author_id`; of a list, the foreign key is the other table's. */
function foreignKeysOf({ viewClass }: GenericAPIView): Pick<Explanation, 'foreignKeys'> {
  if (!hasModel(viewClass) || !reflectionOf(viewClass.modelClass())) return {}
  const relations = [...describeModel(viewClass.modelClass()).relations.values()]
  return { foreignKeys: relations.map((one) => `${one.name}: ${modelName(one.model)} by ${keyOf(one)}`) }
}

function keyOf({ kind, model, through, ownerProperties, relatedProperties }: RelationDescription): string {
  if (kind === 'belongs-to-one') return ownerProperties.join(', ')
  return through ? through.model.tableName : relatedProperties.map((name) => `${model.tableName}.${name}`).join(', ')
}

function policiesOf({ policies }: APIView): ExplainedPolicies {
  const { versioning, authentication, permissions, throttles } = policies
  return {
    versioning: versioning ? nameOf(versioning) : null,
    authentication: authentication.map(nameOf),
    permissions: permissions.map(permissionName),
    throttles: throttles.map(nameOf),
  }
}

function describeRule(rule: IdempotencyRule | undefined): string | null {
  if (!rule) return null
  const caller = rule.scope ? 'idempotencyScope' : 'the id of ctx.state.user'
  return `Idempotency-Key ${rule.isRequired ? 'required with POST and PATCH' : 'taken'}, one transaction with it; callers by ${caller}`
}

function nameOf(policy: object): string {
  return policy.constructor.name
}

/** A sentence for each rule of the models that an action reads and writes, as they are for the caller; without a request, for those that ask none. */
function explainRules({ view, isAsked }: ExplainedView<GenericAPIView>): readonly string[] {
  const { rules, viewClass, action } = view.plan
  const own = viewClass.modelClass()
  const shown = describedSerializer(view)
  const relations = shown ? serializerPlan(shown).relations : {}
  const told: string[] = []
  const tell = (verb: string, model: ModelClass, action: RuleAction) => {
    const condition = rules?.ruleOf(model)?.conditionOf(action)
    if (!rules || condition === undefined) return
    const isOpen = !isAsked && condition !== true && rules.asksCaller(model, action === 'read' ? ['read'] : undefined)
    const rows = isOpen ? undefined : rules.of(view.ctx).rows(model, action)
    told.push(
      `${verb} ${modelName(model)} where ${isOpen ? 'its rule says so' : rows ? sqlOf(view, model, rows) : 'true'}`,
    )
  }
  const write = WRITES[actionNamed(action)?.writes ?? 'nothing']
  for (const model of new Set([own, ...modelsIn(own, relations)])) {
    tell('reads', model, 'read')
    told.push(...explainFields(view, model, { isAsked, use: 'read' }))
  }
  if (write) {
    tell(write.verb, own, write.write)
    if (write.write !== 'delete') told.push(...explainFields(view, own, { isAsked, use: 'write' }))
  }
  for (const [relation, named] of Object.entries(viewClass.related))
    told.push(`${relation} from ${namedClass(named)?.name}`)
  return told
}

/** A sentence for each field of a model that the caller may not read, or set, of all rows. */
function explainFields(
  view: GenericAPIView,
  model: ModelClass,
  { isAsked, use }: { readonly isAsked: boolean; readonly use: FieldUse },
): readonly string[] {
  const { rules } = view.plan
  const visible = isAsked ? rules?.of(view.ctx).fields : rules?.fields.described
  const rule = rules?.ruleOf(model)
  if (!rule) return []
  return Object.keys(rule.options.fields ?? {}).flatMap((name) => {
    const access = visible?.of(rule.model, name)
    const extent = access?.[use] ?? 'all'
    if (extent === 'all') return []
    const field = `${modelName(model)}.${name}`
    const verb = use === 'read' ? (access?.mask ? 'masks' : 'hides') : 'keeps'
    if (extent === 'none') return [`${verb} ${field}`]
    const rows = isAsked ? rules?.of(view.ctx).fieldRows(rule.model, name, use) : undefined
    return [`${verb} ${field} unless ${rows ? sqlOf(view, model, rows) : 'its rule says otherwise'}`]
  })
}

const WRITES: Readonly<Record<string, { readonly verb: string; readonly write: RowWrite } | undefined>> = {
  insert: { verb: 'creates', write: 'create' },
  update: { verb: 'changes', write: 'update' },
  delete: { verb: 'deletes', write: 'delete' },
}

function modelsIn(owner: ModelClass, graph: RelationGraph): readonly ModelClass[] {
  const { relations } = describeModel(owner)
  return Object.entries(graph).flatMap(([name, inner]) => {
    const relation = relations.get(name)
    if (!relation) return []
    const { model, through } = relation
    return [model, ...(through ? [through.model] : []), ...modelsIn(model, inner)]
  })
}

function sqlOf({ trx, knex }: GenericAPIView, model: ModelClass, rows: RowCondition): string {
  const { sql, bindings } = rows.where(model.tableName)
  return nativeSql(((trx ?? knex ?? model.knex()) as Queryable).raw(sql, bindings as never)).text
}
