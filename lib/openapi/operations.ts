/** One method of a path as a document describes it (wire format, section 13). */
import { hasContent, isSafeMethod } from '../http/context.js'
import { needsKey } from '../idempotency/rule.js'
import { isRange } from '../pagination/counted-page.js'
import { sendsEvents } from '../renderers/event-stream-renderer.js'
import { actionNamed, isRead, showsObject, takesPart } from '../views/actions.js'
import type { APIView } from '../views/api-view.js'
import { GenericAPIView } from '../views/generic-api-view.js'
import { isCacheable } from '../views/mixins/cacheable-mixin.js'
import { hasObjectPaths } from '../views/mixins/create-mixin.js'
import { heedsPreferences } from '../views/request/heeded-preferences.js'
import { resourceOf } from '../views/resource.js'
import { pageDescription } from './aggregate-schema.js'
import { enclosedAnswer } from './envelope-schema.js'
import { pathParameters, queryParameters, toParameter } from './parameters.js'
import { isQuery, linkParameters, requestBody } from './request-bodies.js'
import { contentOf, errorResponses, type HeaderName, headersOf, ownResponses, success } from './responses.js'
import { securityOf } from './security.js'
import { STANDARD, type Standard, successStatus } from './standard-actions.js'
import { isConditional, refusesAnonymous, statusesOf } from './statuses.js'
import { type DescribedOperation, type OperationOptions, subjectOf } from './subject.js'
import type { Header, Operation, Parameter, Reference, Response, Schema } from './types.js'
import { nounOf, phraseOf, sentence } from './words.js'

/** Describes an operation. @throws {ConfigurationError} two of its parts have one name */
export function describeOperation(options: OperationOptions): Operation {
  const subject = subjectOf(options)
  const { endpoint, operation, components, view } = subject
  if (endpoint.kind === 'root') return describeRoot(subject)
  // a PUT of a part is a PATCH
  const isPatch = operation.action === 'update' && takesPart(view.plan)
  const named = actionNamed(operation.action) && STANDARD[isPatch ? 'partialUpdate' : operation.action]
  // what a view without a model answers, only its own code knows
  const standard = view instanceof GenericAPIView ? named : undefined
  const body = requestBody(subject, standard)
  const places = pathParameters(endpoint)
  const parameters = [
    ...places,
    // what the path decides is asked of no query, and generators of clients have one name for both
    ...readParameters(subject).filter(({ name }) => !places.some((place) => place.name === name)),
    ...conditionParameters(subject),
    ...keyParameters(subject),
    ...preferParameters(subject),
  ]
  const { description } = operation.view
  const isOwn = description !== '' && (!named || description !== endpoint.view.description)
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
        others: !body && policies.parsers.length > 0 && hasContent(operation.method),
      }),
      ...ownResponses(components, operation.view.responses, mediaTypes(view)),
    },
    security: securityOf(subject, { needsUser: refusesAnonymous(subject) }),
  }
}

function describeRoot(subject: DescribedOperation): Operation {
  const { components, operation, view, endpoint } = subject
  const schema = { type: 'object', additionalProperties: { type: 'string', format: 'uri-reference' } }
  const parameters = [...pathParameters(endpoint), ...readParameters(subject)]
  return {
    operationId: operation.operationId,
    tags: [ROOT_TAG],
    summary: 'Show where each resource is',
    ...(parameters.length > 0 && { parameters }),
    responses: {
      '200': success('The path of each collection, by name.', contentOf(mediaTypes(view), schema)),
      ...errorResponses(components, [...(view.policies.versioning?.statuses() ?? []), 503]),
    },
    security: securityOf(subject, { needsUser: false }),
  }
}

/** The tag of the API root. */
export const ROOT_TAG = 'api'

function readParameters(subject: DescribedOperation): readonly Parameter[] {
  const { view, serializer } = subject
  if (isQuery(subject)) return linkParameters(view as GenericAPIView)
  if (view instanceof GenericAPIView) return queryParameters(view, serializer)
  return (view.policies.versioning?.parameters() ?? []).map(toParameter)
}

function conditionParameters(subject: DescribedOperation): readonly Parameter[] {
  const { view } = subject
  const isRead = subject.operation.action === 'retrieve'
  if (!(isConditional(subject) || isRead)) return []
  if (!(view instanceof GenericAPIView) || view.viewClass.concurrency === null) return []
  // an action may change nothing that has a version
  const required = view.viewClass.requireIfMatch && !isRead && actionNamed(subject.operation.action) !== undefined
  const description = 'The `ETag` that the object was read with.'
  return [{ name: 'If-Match', in: 'header', description, required, schema: { type: 'string' } }]
}

/** The key of a write that is done once. */
function keyParameters({ view, operation }: DescribedOperation): readonly Parameter[] {
  const { idempotency } = view.policies
  if (!idempotency || isSafeMethod(operation.method)) return []
  return [
    {
      name: 'Idempotency-Key',
      in: 'header',
      description:
        'Does the write once, however often it is sent with this key: a new one for each write, such as a UUID.',
      required: idempotency.isRequired && needsKey(operation.method),
      schema: { type: 'string', minLength: 1, maxLength: 257 },
    },
  ]
}

/** What a client may prefer. */
function preferParameters({ operation, view }: DescribedOperation): readonly Parameter[] {
  if (!heedsPreferences(view.plan)) return []
  return [actionNamed(operation.action) ? PREFER : { ...PREFER, description: STRICT }]
}

const STRICT = '`handling=strict` refuses parameters and names that nothing reads.'
/** Said here alone: a second answer of each operation would be a second type for its clients. */
const PREFER: Parameter = {
  name: 'Prefer',
  in: 'header',
  description: `${STRICT} With \`return=minimal\` a write answers without a body: 204, or 201 where it created an object.`,
  schema: { type: 'string' },
}

/** The answers that succeed. */
function successes(subject: DescribedOperation, standard: Standard | undefined): Record<string, Response> {
  const { operation, components, view } = subject
  const headers = { ...headersOf(components, successHeaders(subject)), ...countHeader(subject) }
  const described = (schema: Schema | undefined) => ({ headers, ...contentOf(mediaTypes(view), schema) })
  if (!standard) {
    const { outputSerializer, outputsList } = operation
    const one = outputSerializer && { ...components.serializer(outputSerializer, 'Output', operation.operationId) }
    const schema: Schema | undefined = one && outputsList ? { type: 'array', items: one } : one
    return {
      '200': success('Done.', described(schema)),
      ...(operation.method === 'POST' && { '201': success('Created.', described(schema)) }),
      ...(!outputSerializer &&
        !sendsEvents(view.policies.renderers) && { '204': success('Done; there is nothing to show.', { headers }) }),
    }
  }
  const status = successStatus(standard, subject)
  if (status === 204) return { '204': success('Deleted.', { headers }) }
  const schema = enclosedAnswer(subject, standard.answers?.(subject))
  const text = status === 201 ? 'Created.' : 'Done.'
  return {
    [status]: success(isSafeMethod(operation.method) ? 'What was asked for.' : text, described(schema)),
    ...(isValidated(subject) && { '304': success('Not changed since the client read it.', { headers }) }),
  }
}

/** True where `If-None-Match` may spare an answer. */
function isValidated({ endpoint, operation, view }: DescribedOperation): boolean {
  if (endpoint.kind !== 'resource' || !(view instanceof GenericAPIView)) return false
  if (operation.action === 'retrieve' && view.viewClass.concurrency !== null) return true
  if (operation.action === 'list' && resourceOf(view.viewClass).keepsConnections) return false
  return isRead(operation.action) && isCacheable(view.viewClass)
}

/** The header that has the count of a list. */
function countHeader(subject: DescribedOperation): Record<string, Reference> {
  const name = pageDescription(subject)?.countHeader
  if (name === undefined) return {}
  const header: Header = isRange(name)
    ? { description: 'Which objects of how many these are: `items 0-9/30`.', schema: { type: 'string' } }
    : { description: 'The number of objects on all pages.', schema: { type: 'integer', minimum: 0 } }
  return { [name]: subject.components.header(name, header) }
}

function successHeaders(subject: DescribedOperation): readonly HeaderName[] {
  const { operation, view, endpoint } = subject
  const names: HeaderName[] = []
  const isVersioned = view instanceof GenericAPIView && view.viewClass.concurrency !== null
  if (endpoint.kind === 'resource' && operation.action === 'create' && hasObjectPaths(view)) names.push('Location')
  if (isValidated(subject)) names.push('Cache-Control')
  if (pageDescription(subject)?.hasLinks) names.push('Link')
  if (isValidated(subject) || (isVersioned && showsObject(operation.action) && !isRead(operation.action))) {
    names.push('ETag')
  }
  if (heedsPreferences(view.plan)) names.push('Preference-Applied')
  if (view.policies.throttles.length > 0) names.push('RateLimit', 'RateLimit-Policy')
  if (view.policies.idempotency && !isSafeMethod(operation.method)) names.push('Idempotency-Replayed')
  return names
}

function mediaTypes(view: APIView): readonly string[] {
  return view.policies.renderers.map((renderer) => renderer.mediaType)
}

/** Where a view writes several formats, each is also a path of its own. */
function suffixNote({ endpoint, view }: DescribedOperation): readonly string[] {
  const formats = new Set(view.policies.renderers.map(({ format }) => format))
  if (formats.size < 2 || !endpoint.operations.has('GET')) return []
  const suffixes = [...formats].map((format) => `\`.${format}\``)
  return [
    `The path may end in ${suffixes.slice(0, -1).join(', ')} or ${suffixes.at(-1)}, which goes before \`Accept\`.`,
  ]
}
