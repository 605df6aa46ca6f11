/** Request bodies: of JSON, forms, patch documents and QUERY (docs/reference/query-method.md), as a document describes them. */
import { JSONField } from '../fields/json-field.js'
import type { ParameterDescription } from '../filters/filter.js'
import { jsonSchemaOf } from '../kernel/standard-schema.js'
import { mediaTypesFor, type Parser } from '../parsers/parser.js'
import { JsonPatchParser } from '../patches/patch-parsers.js'
import type { SerializerClass } from '../serializers/contract.js'
import { NestedSerializer } from '../serializers/nested-serializer.js'
import { serializerPlan } from '../serializers/plan.js'
import { standardSchemaOf } from '../serializers/schema-serializer.js'
import { pagingParameters } from '../views/action-parameters.js'
import { takesQuery } from '../views/actions.js'
import { GenericAPIView } from '../views/generic-api-view.js'
import { hasModel } from '../views/generic-view-class.js'
import { queryParsers } from '../views/policies.js'
import { queryMembers } from '../views/query-members.js'
import { resourceOf } from '../views/resource.js'
import { selectionParameters } from '../views/steps/selection.js'
import type { Components } from './components.js'
import { enclosedBody } from './envelope-schema.js'
import { needsFile } from './field-schema.js'
import { toParameter } from './parameters.js'
import { isJson } from './responses.js'
import { SELECTS_FIELDS } from './sparse-schema.js'
import type { Standard } from './standard-actions.js'
import type { DescribedOperation } from './subject.js'
import type { MediaType, Parameter, RequestBody, Schema } from './types.js'

/** The body of an operation; undefined where it takes none. */
export function requestBody(subject: DescribedOperation, standard: Standard | undefined): RequestBody | undefined {
  const { operation, components, view } = subject
  if (isQuery(subject)) return queryBody(view as GenericAPIView, subject.serializer)
  const { inputSerializer } = operation
  const takes = inputSerializer ?? subject.taking
  const isNew = inputSerializer !== undefined || operation.action === 'create'
  const needsForm = isNew && takes !== undefined && needsFile(takes)
  const schemaOfBody = (isForm: boolean): Schema | undefined =>
    inputSerializer
      ? { ...components.serializer(inputSerializer, isForm ? 'Input' : 'JsonInput', operation.operationId) }
      : enclosedBody(subject, standard?.takes?.(subject, isForm))
  if (view.policies.parsers.length === 0) return undefined
  const content = view.policies.parsers.flatMap((parser) =>
    mediaTypesFor(operation.method, [parser]).flatMap((mediaType): [string, MediaType][] => {
      const isForm = mediaType.startsWith('multipart/')
      if (needsForm && !isForm) return []
      const schema = parser.patch === 'operations' ? operationsSchema(components, parser) : schemaOfBody(isForm)
      if (!schema || (!isJson(mediaType) && isList(schema, inputSerializer))) return []
      return [[mediaType, { schema, ...encodingOf(mediaType, takes) }]]
    }),
  )
  if (content.length === 0) return undefined
  return { required: true, content: Object.fromEntries(content) }
}

/** True of what no form can be. */
function isList(described: Schema, serializer: SerializerClass | undefined): boolean {
  if ('type' in described) return described['type'] === 'array'
  const schema = serializer && standardSchemaOf(serializer)
  const { type } = (schema && jsonSchemaOf(schema)) ?? {}
  return type !== undefined && ![type].flat().includes('object')
}

/** What of a form is JSON. */
function encodingOf(mediaType: string, serializer: SerializerClass | undefined): Pick<MediaType, 'encoding'> {
  const written =
    serializer && !isJson(mediaType) && !standardSchemaOf(serializer) ? serializerPlan(serializer).writable : []
  const ofJson = written.filter(({ field }) => field instanceof NestedSerializer || field instanceof JSONField)
  if (ofJson.length === 0) return {}
  return { encoding: Object.fromEntries(ofJson.map(({ name }) => [name, { contentType: 'application/json' }])) }
}

/** True of a list that is asked for by a body. */
export function isQuery({ operation, view }: DescribedOperation): boolean {
  return operation.method === 'QUERY' && takesQuery(operation.action) && view instanceof GenericAPIView
}

/** The parameters of a URL that a QUERY goes to: a link to another page has them, and the version. */
export function linkParameters(view: GenericAPIView): readonly Parameter[] {
  const { policies, viewClass, action } = view
  const paging = hasModel(viewClass) ? pagingParameters(resourceOf(viewClass), action) : []
  return [...paging, ...(policies.versioning?.parameters() ?? [])].map(toParameter)
}

/** All that a QUERY of the list may ask. */
function queryBody(view: GenericAPIView, serializer: SerializerClass | undefined): RequestBody {
  const { filters, group, others } = queryMembers(view.asked, view.action)
  const selecting = selectionParameters(view, serializer).map((one): [string, ParameterDescription] => [one.name, one])
  const conditions: Record<string, Schema> = propertiesOf(filters)
  if (group !== undefined) {
    const part: Schema = { type: 'object' }
    const parts: Schema = { type: 'array', items: part, minItems: 1 }
    Object.assign(conditions, { and: parts, or: parts, not: part })
  }
  const object: Schema = { type: 'object', properties: conditions, ...(group === undefined && CLOSED) }
  const filter = group === undefined ? object : { anyOf: [object, { type: 'string' }] }
  const hasFilter = Object.keys(conditions).length > 0
  const schema: Schema = {
    type: 'object',
    properties: { ...(hasFilter && { filter }), ...propertiesOf(new Map([...others, ...selecting])) },
    ...CLOSED,
  }
  const types = queryParsers(view.policies).flatMap(({ mediaTypes }) => mediaTypes)
  return { required: true, content: Object.fromEntries(types.map((type) => [type, { schema }])) }
}

const CLOSED = { additionalProperties: false } as const

function propertiesOf(parameters: ReadonlyMap<string, ParameterDescription>): Record<string, Schema> {
  return Object.fromEntries(
    [...parameters].map(([name, { description, schema }]) => [
      name,
      { description, ...schema, ...(name === 'fields' && { [SELECTS_FIELDS]: true }) },
    ]),
  )
}

const POINTER: Schema = { type: 'string', format: 'json-pointer' }

/** A list of operations, as many as the parser takes. */
export function operationsSchema(components: Components, parser: Parser): Schema {
  const items = components.schema('JsonPatchOperation', {
    oneOf: [
      operation(['add', 'replace', 'test'], { value: {} }),
      operation(['move', 'copy'], { from: POINTER }),
      operation(['remove'], {}),
    ],
  })
  return { type: 'array', items, ...(parser instanceof JsonPatchParser && { maxItems: parser.operations }) }
}

function operation(names: readonly string[], members: Readonly<Record<string, Schema>>): Schema {
  return {
    type: 'object',
    properties: { op: { type: 'string', enum: names }, path: POINTER, ...members },
    required: ['op', 'path', ...Object.keys(members)],
  }
}
