/**
 * Tells of one method of a path what a request passes, how its answer is read and which SQL is sent. Statements are recorded
 * on the way that a request takes, by a copy of the application's knex that sends nothing: what is described is what is done.
 */
import { isSafeMethod } from '../http/context.js'
import type { IdempotencyRule } from '../idempotency/rule.js'
import { heardChannels } from '../kernel/trace-channels.js'
import { describeModel } from '../models/describe-model.js'
import type { RelationDescription } from '../models/model-description.js'
import { modelName } from '../models/objection.js'
import { reflectionOf } from '../models/table.js'
import { queryParameters } from '../openapi/parameters.js'
import { permissionName } from '../permissions/operators.js'
import type { ActionPlan } from '../views/action-plan.js'
import { actionNamed, showsFigures } from '../views/actions.js'
import { aggregatesOf, isAggregating } from '../views/aggregates.js'
import type { APIView } from '../views/api-view.js'
import { GenericAPIView } from '../views/generic-api-view.js'
import { hasModel } from '../views/generic-view-class.js'
import { namedClass } from '../views/related-view-set.js'
import { type Resource, resourceOf } from '../views/resource.js'
import { explainRoad } from './explain-road.js'
import { explainRules } from './explain-rules.js'
import type { ExplainedPolicies, Explanation } from './explanation.js'
import { type ExplainOptions, openSubject, type Subject } from './subject.js'

/** @throws ApiError the request that is given is refused before its action */
export async function explainOperation(options: ExplainOptions): Promise<Explanation> {
  const { endpoint, operation } = options
  const subject = await openSubject(options)
  const { view, notes } = subject
  const { parsers, renderers } = view.policies
  const generic = view instanceof GenericAPIView ? view : undefined
  const { filters = [], paginator } = generic && hasModel(generic.viewClass) ? listOf(generic, operation.action) : {}
  const road = generic
    ? await explainRoad(subject as Subject<GenericAPIView>)
    : { reading: null, insert: null, statements: [] }
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
    parameters: generic ? parametersOf(subject as Subject<GenericAPIView>) : [],
    relations: readsList(operation.action) && generic && hasModel(generic.viewClass) ? relationsOf(generic) : [],
    ...(generic && isSafeMethod(operation.method) && foreignKeysOf(generic)),
    ...(generic?.plan.limitsRows && { rules: explainRules(subject as Subject<GenericAPIView>) }),
    ...road,
    database: view.plan.database?.described ?? null,
    idempotency: isSafeMethod(operation.method) ? null : describeRule(view.policies.idempotency),
    transaction: road.transaction ?? false,
    replicas: isSafeMethod(operation.method) ? replicasOf(view.plan) : 0,
    traced: heardChannels(),
    tools: options.tools.get(operation.operationId) ?? [],
    notes: [...new Set(notes)],
  }
}

/** How many replicas it reads on: a server cursor stays on the primary. */
function replicasOf({ replicas, resource }: ActionPlan): number {
  return resource?.keepsConnections ? 0 : (replicas?.size ?? 0)
}

function readsList(action: string): boolean {
  return action === 'list' || showsFigures(action)
}

/** What narrows the list that an action reads, and cuts it into pages; nothing of an action that reads none. */
function listOf({ viewClass }: GenericAPIView, action: string): Partial<Pick<Resource, 'filters' | 'paginator'>> {
  const { filters, paginator } = resourceOf(viewClass)
  if (action === 'list') return { filters, paginator }
  if (!showsFigures(action) || !isAggregating(viewClass)) return {}
  return { filters, paginator: action === 'aggregate' ? aggregatesOf(resourceOf(viewClass)).paginator : undefined }
}

function parametersOf({ view }: Subject<GenericAPIView>): readonly string[] {
  const { serializerClass } = view.viewClass
  return queryParameters(view, serializerClass ?? undefined).map(({ name }) => name)
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
