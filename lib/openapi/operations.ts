/** One method of a path as a document describes it (wire format, section 13). */
import type { Context } from '../context.js'
import { externalIds } from '../ids/external-ids.js'
import { describeModel } from '../models/describe-model.js'
import type { SerializerClass } from '../serializers/contract.js'
import { NestedSerializer } from '../serializers/nested-serializer.js'
import { serializerPlan } from '../serializers/plan.js'
import { uploadField } from '../serializers/store-uploads.js'
import type { APIView } from '../views/api-view.js'
import { keyField, keyName } from '../views/bulk-objects.js'
import { GenericAPIView } from '../views/generic-api-view.js'
import { hasObjectPaths } from '../views/location.js'
import { isCacheable } from '../views/mixins/cacheable-mixin.js'
import { streamedFormats } from '../views/mixins/stream-mixin.js'
import { settleGeneric } from '../views/settle-generic.js'
import type { ParentViewClass } from '../views/view.js'
import type { Components, Side } from './components.js'
import type { DescribedEndpoint, DescribedOperation } from './endpoint.js'
import { outputValue } from './field-schema.js'
import { hasModel, pathParameters, queryParameters, toParameter } from './parameters.js'
import { contentOf, errorResponses, type HeaderName, headersOf, ownResponses, success } from './responses.js'
import { securityOf } from './security.js'
import type { MediaType, Operation, Parameter, RequestBody, Response, Schema } from './types.js'
import { nounOf, phraseOf, sentence } from './words.js'

/** What an operation is described from. */
interface Subject {
  readonly endpoint: DescribedEndpoint
  readonly operation: DescribedOperation
  readonly components: Components
  /** A view of the class, as a request would have it. */
  readonly view: APIView
  /** The serializer of the view for this action. */
  readonly serializer: SerializerClass | undefined
}

/** What is known of an action by its name. */
interface Standard {
  readonly summary: (noun: ReturnType<typeof nounOf>) => string
  readonly status: number
  readonly takes?: (subject: Subject) => Schema | undefined
  readonly answers?: (subject: Subject) => Schema | undefined
}

const takes = (side: Side) => (subject: Subject) => serialized(subject, side)

const STANDARD: Readonly<Record<string, Standard>> = {
  list: { summary: ({ many }) => `List ${many}`, status: 200, answers: pageOf },
  create: {
    summary: ({ any }) => `Create ${any}`,
    status: 201,
    takes: takes('Input'),
    answers: takes('Output'),
  },
  retrieve: { summary: ({ any }) => `Show ${any}`, status: 200, answers: takes('Output') },
  update: {
    summary: ({ any }) => `Replace ${any}`,
    status: 200,
    takes: takes('Input'),
    answers: takes('Output'),
  },
  partialUpdate: {
    summary: ({ any }) => `Change ${any}`,
    status: 200,
    takes: takes('Patch'),
    answers: takes('Output'),
  },
  destroy: { summary: ({ any }) => `Delete ${any}`, status: 204 },
  bulkCreate: {
    summary: ({ many }) => `Create several ${many}`,
    status: 201,
    takes: (subject) => listOf(serialized(subject, 'Input'), maxBulkSize(subject)),
    answers: (subject) => listOf(serialized(subject, 'Output')),
  },
  bulkUpdate: {
    summary: ({ many }) => `Change several ${many}`,
    status: 200,
    takes: (subject) => listOf(patchWithKey(subject), maxBulkSize(subject)),
    answers: (subject) => listOf(serialized(subject, 'Output')),
  },
  bulkDestroy: {
    summary: ({ many }) => `Delete several ${many}`,
    status: 200,
    takes: (subject) => listOf({ anyOf: [keyOf(subject).schema, keyObject(subject)] }, maxBulkSize(subject)),
    answers: (subject) => ({
      type: 'object',
      properties: { deleted: listOf(keyOf(subject).schema) },
      required: ['deleted'],
    }),
  },
}

export interface OperationOptions {
  readonly endpoint: DescribedEndpoint
  readonly operation: DescribedOperation
  readonly components: Components
  /** The API version that is asked for, where views tell versions apart. */
  readonly apiVersion: string | undefined
}

/** Describes an operation. @throws {ConfigurationError} two of its parts have one name */
export function describeOperation({ endpoint, operation, components, apiVersion }: OperationOptions): Operation {
  const view = openView(endpoint, operation, apiVersion)
  const subject = { endpoint, operation, components, view, serializer: serializerOf(view) }
  if (endpoint.kind === 'root') return describeRoot(subject)
  const named = endpoint.kind === 'action' ? undefined : STANDARD[operation.action]
  // what a view without a model answers, only its own code knows
  const standard = view instanceof GenericAPIView ? named : undefined
  const body = requestBody(subject, standard)
  const parameters = [...pathParameters(endpoint), ...readParameters(subject), ...conditionParameters(subject)]
  const { description } = operation.view
  const isOwn = description !== '' && (endpoint.kind === 'action' || description !== endpoint.view.description)
  const notes = [...(isOwn ? [description] : []), ...suffixNote(subject)]
  const { policies } = view
  return {
    operationId: operation.operationId,
    tags: [endpoint.basename],
    summary: named ? named.summary(nounOf(endpoint.basename)) : sentence(phraseOf(operation.action)),
    ...(notes.length > 0 && { description: notes.join('\n\n') }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: body }),
    responses: {
      ...successes(subject, standard),
      ...errorResponses(components, statusesOf(subject, body !== undefined, parameters), {
        bulk: endpoint.kind === 'bulk',
        throttled: policies.throttles.length > 0,
        // a body is parsed whether the action asks for one or not
        others: !body && policies.parsers.length > 0 && PARSED.has(operation.method),
      }),
      ...ownResponses(components, operation.view.responses, mediaTypes(view)),
    },
    security: securityOf(components, policies, endpoint, operation, { needsUser: refusesAnonymous(subject) }),
  }
}

function describeRoot(subject: Subject): Operation {
  const { components, operation, view, endpoint } = subject
  const schema = { type: 'object', additionalProperties: { type: 'string', format: 'uri-reference' } }
  const parameters = [...pathParameters(endpoint), ...readParameters(subject)]
  return {
    operationId: operation.operationId,
    tags: [ROOT_TAG],
    summary: 'Show where each resource is',
    ...(parameters.length > 0 && { parameters }),
    responses: {
      '200': success('The path of each collection, by name.', { content: contentOf(mediaTypes(view), schema) }),
      ...errorResponses(components, [...(view.policies.versioning?.statuses() ?? []), 503]),
    },
    security: securityOf(components, view.policies, endpoint, operation, { needsUser: false }),
  }
}

/** The tag of the API root. */
export const ROOT_TAG = 'api'

/** A view that answers nothing, made to ask it what it would do. */
function openView(
  endpoint: DescribedEndpoint,
  { view, action, method }: DescribedOperation,
  version?: string,
): APIView {
  const actions = Object.fromEntries(
    [...endpoint.operations].map(([name, operation]) => [name.toLowerCase(), operation.action]),
  )
  const ctx = {
    method,
    state: { version },
    query: {},
    querystring: '',
    params: {},
    headers: {},
    request: {},
    get: () => '',
  } as unknown as Context
  return view.open(ctx, { action, actions, basename: endpoint.basename, parents: endpoint.parents })
}

/** The serializer of a view's action. A view that chooses it by what only a request knows has that of its class. */
function serializerOf(view: APIView): SerializerClass | undefined {
  if (!(view instanceof GenericAPIView)) return undefined
  try {
    return view.getSerializerClass()
  } catch {
    return view.viewClass.serializerClass ?? undefined
  }
}

function serialized({ components, serializer }: Subject, side: Side): Schema | undefined {
  return serializer && { ...components.serializer(serializer, side) }
}

function listOf(items: Schema | undefined, maxItems?: number): Schema {
  return { type: 'array', items: items ?? {}, ...(maxItems !== undefined && { maxItems }) }
}

/** A list, or the envelope that the paginator puts around it. */
function pageOf(subject: Subject): Schema {
  const { components, serializer } = subject
  const view = subject.view as GenericAPIView
  const item = serialized(subject, 'Output')
  const { paginator } = settleGeneric(view.viewClass)
  if (!paginator || streamedFormats(view.viewClass).includes('json')) return listOf(item)
  const page = paginator.describePage(item ?? {})
  if (!page) return { type: 'object' }
  return serializer ? { ...components.page(serializer, page.suffix, page.schema) } : page.schema
}

function maxBulkSize({ view }: Subject): number | undefined {
  return (view.constructor as { readonly maxBulkSize?: number }).maxBulkSize
}

/** What names an object in a bulk body. */
function keyOf({ view }: Subject): { readonly name: string; readonly schema: Schema } {
  const generic = view as GenericAPIView
  const field = keyField(generic)
  return { name: keyName(generic), schema: field ? outputValue(field) : {} }
}

function keyObject(subject: Subject): Schema {
  const { name, schema } = keyOf(subject)
  return { type: 'object', properties: { [name]: schema }, required: [name] }
}

function patchWithKey(subject: Subject): Schema {
  const patch = serialized(subject, 'Patch')
  return patch ? { allOf: [patch, keyObject(subject)] } : keyObject(subject)
}

function requestBody(subject: Subject, standard: Standard | undefined): RequestBody | undefined {
  const { operation, components, view } = subject
  const { inputSerializer } = operation
  const own = inputSerializer && { ...components.serializer(inputSerializer, 'Input') }
  const schema = own ?? standard?.takes?.(subject)
  if (!schema || view.policies.parsers.length === 0) return undefined
  const types = view.policies.parsers.flatMap((parser) => parser.mediaTypes)
  const reads =
    'type' in schema && schema['type'] === 'array'
      ? isJson
      : isBodyOf(inputSerializer ?? subject.serializer, !inputSerializer && operation.action === 'partialUpdate')
  const content = types.filter(reads).map((mediaType): [string, MediaType] => [mediaType, { schema }])
  return { required: true, content: Object.fromEntries(content) }
}

/** A form has no lists of objects. */
function isJson(mediaType: string): boolean {
  return /[/+]json$/.test(mediaType)
}

/** Only a multipart body can bring a file. */
function isBodyOf(serializer: SerializerClass | undefined, isPartial: boolean): (mediaType: string) => boolean {
  const written = serializer && !isPartial ? serializerPlan(serializer).writable : []
  const needsFile = written.some(({ field, required }) => required && uploadField(field) !== undefined)
  return (mediaType) => !needsFile || mediaType.startsWith('multipart/')
}

function readParameters({ view, serializer }: Subject): readonly Parameter[] {
  if (view instanceof GenericAPIView) return queryParameters(view, serializer)
  return (view.policies.versioning?.parameters() ?? []).map(toParameter)
}

const CONDITIONAL = new Set(['update', 'partialUpdate', 'destroy'])

function isConditional({ endpoint, operation }: Subject): boolean {
  return endpoint.kind === 'resource' && CONDITIONAL.has(operation.action)
}

function conditionParameters(subject: Subject): readonly Parameter[] {
  const { view } = subject
  const isRead = subject.operation.action === 'retrieve'
  if (!(isConditional(subject) || isRead)) return []
  if (!(view instanceof GenericAPIView) || view.viewClass.concurrency === null) return []
  const required = view.viewClass.requireIfMatch && !isRead
  const description = 'The `ETag` that the object was read with.'
  return [{ name: 'If-Match', in: 'header', description, required, schema: { type: 'string' } }]
}

/** The answers that succeed. */
function successes(subject: Subject, standard: Standard | undefined): Record<string, Response> {
  const { operation, components, view } = subject
  const headers = headersOf(components, successHeaders(subject))
  const described = (schema: Schema | undefined) => ({ headers, content: contentOf(mediaTypes(view), schema) })
  if (!standard) {
    const { outputSerializer, outputsList } = operation
    const one = outputSerializer && { ...components.serializer(outputSerializer, 'Output') }
    const schema: Schema | undefined = one && outputsList ? { type: 'array', items: one } : one
    return {
      '200': success('Done.', described(schema)),
      ...(operation.method === 'POST' && { '201': success('Created.', described(schema)) }),
      ...(!outputSerializer && { '204': success('Done; there is nothing to show.', { headers }) }),
    }
  }
  if (standard.status === 204) return { '204': success('Deleted.', { headers }) }
  const schema = standard.answers?.(subject)
  const text = standard.status === 201 ? 'Created.' : 'Done.'
  return {
    [standard.status]: success(operation.method === 'GET' ? 'What was asked for.' : text, described(schema)),
    ...(isValidated(subject) && { '304': success('Not changed since the client read it.', { headers }) }),
  }
}

/** True where `If-None-Match` may spare an answer. */
function isValidated({ endpoint, operation, view }: Subject): boolean {
  if (endpoint.kind !== 'resource' || !(view instanceof GenericAPIView)) return false
  if (operation.action === 'retrieve' && view.viewClass.concurrency !== null) return true
  if (operation.action === 'list' && settleGeneric(view.viewClass).keepsConnections) return false
  return ['list', 'retrieve'].includes(operation.action) && isCacheable(view.viewClass)
}

function successHeaders(subject: Subject): readonly HeaderName[] {
  const { operation, view, endpoint } = subject
  const names: HeaderName[] = []
  const isVersioned = view instanceof GenericAPIView && view.viewClass.concurrency !== null
  if (endpoint.kind === 'resource' && operation.action === 'create' && hasObjectPaths(view)) names.push('Location')
  if (isValidated(subject)) names.push('Cache-Control')
  if (isValidated(subject) || (isVersioned && ['create', 'update', 'partialUpdate'].includes(operation.action))) {
    names.push('ETag')
  }
  if (view.policies.throttles.length > 0) names.push('RateLimit', 'RateLimit-Policy')
  return names
}

const PARSED = new Set(['POST', 'PUT', 'PATCH'])

/** The statuses of errors that the operation may answer with. */
function statusesOf(subject: Subject, hasBody: boolean, parameters: readonly Parameter[]): ReadonlySet<number> {
  const { endpoint, operation, view, serializer } = subject
  const { ctx, policies } = view
  const { authentication, permissions, throttles, versioning, strictAccept } = policies
  const statuses = new Set([503])
  if (hasBody || isQueryChecked(subject, parameters)) statuses.add(400)
  if (authentication.length + permissions.length > 0) statuses.add(401).add(403)
  if (endpoint.detail || endpoint.parents.length > 0) statuses.add(404)
  if (hasBody) statuses.add(413).add(415)
  if (operation.method === 'DELETE' || mayConflict(serializer, operation)) statuses.add(409)
  // an object that the database keeps, or that is gone by now
  const changesMany = endpoint.kind === 'bulk' && operation.method !== 'POST'
  if (changesMany) statuses.add(404)
  if (isConditional(subject) || changesMany) statuses.add(412)
  if (endpoint.parents.some(({ view: parent }) => guardsObjects(parent, ctx))) statuses.add(401).add(403)
  if (throttles.length > 0) statuses.add(429)
  if (strictAccept) statuses.add(406)
  for (const status of versioning?.statuses() ?? []) statuses.add(status)
  if (!(view instanceof GenericAPIView)) return statuses
  const { viewClass } = view
  if (hasModel(viewClass) && describeModel(viewClass.modelClass()).secured) statuses.add(403)
  if (needsUser(viewClass, serializer)) statuses.add(401)
  if (isConditional(subject) && viewClass.requireIfMatch) statuses.add(428)
  if (operation.action === 'retrieve' && viewClass.concurrency !== null) statuses.add(412)
  if (operation.action === 'list') {
    const page = settleGeneric(viewClass).paginator?.describePage({})
    for (const status of page?.statuses ?? []) statuses.add(status)
    if (streamedFormats(viewClass).length > 0) statuses.add(429)
  }
  return statuses
}

/** True where a parent on the path is checked for the caller. */
function guardsObjects(parent: ParentViewClass, ctx: Context): boolean {
  const { policies } = parent.open(ctx, { action: 'retrieve', actions: { get: 'retrieve' } })
  return policies.permissions.some((permission) => permission.guardsObjects())
}

/** True where ids are written that only users have. */
function needsUser(view: typeof GenericAPIView, serializer: SerializerClass | undefined): boolean {
  return (
    showsIdsOfUsers(view, serializer) || Object.values(view.expandable).some((other) => serializerPlan(other).needsUser)
  )
}

function showsIdsOfUsers(view: typeof GenericAPIView, serializer: SerializerClass | undefined): boolean {
  if (serializer && serializerPlan(serializer).needsUser) return true
  return hasModel(view) && externalIds(view.modelClass())?.perUser === true
}

const ASKING_FIRST = new Set(['list', 'create', 'bulkCreate'])

/** True where only users have the ids that the answer shows: it is refused before anything is done. */
function refusesAnonymous({ operation, view, serializer }: Subject): boolean {
  return (
    ASKING_FIRST.has(operation.action) && view instanceof GenericAPIView && showsIdsOfUsers(view.viewClass, serializer)
  )
}

/** True where a parameter of the query may be wrong. The names of `fields` and `expand` are, only where all are checked. */
function isQueryChecked({ operation, view }: Subject, parameters: readonly Parameter[]): boolean {
  if (!(view instanceof GenericAPIView)) return false
  if (operation.action !== 'list' && !view.viewClass.strictParams) return false
  return parameters.some((parameter) => parameter.in === 'query')
}

/** An update of nested objects meets those that another request has moved; a changed key, those that refer to it. */
function mayConflict(serializer: SerializerClass | undefined, { action }: DescribedOperation): boolean {
  if (!serializer || !['update', 'partialUpdate', 'bulkUpdate'].includes(action)) return false
  const { model, writable } = serializerPlan(serializer)
  return writable.some(
    ({ field, column }) => field instanceof NestedSerializer || (column && model?.referenced.has(column.property)),
  )
}

function mediaTypes(view: APIView): readonly string[] {
  return view.policies.renderers.map((renderer) => renderer.mediaType)
}

/** Where a view writes several formats, each is also a path of its own. */
function suffixNote({ endpoint, view }: Subject): readonly string[] {
  const formats = new Set(view.policies.renderers.map(({ format }) => format))
  if (formats.size < 2 || !endpoint.operations.has('GET')) return []
  const suffixes = [...formats].map((format) => `\`.${format}\``)
  return [
    `The path may end in ${suffixes.slice(0, -1).join(', ')} or ${suffixes.at(-1)}, which goes before \`Accept\`.`,
  ]
}
