/** The body of a QUERY as a document of OpenAPI 3.2 describes it: docs/reference/query-method.md. */

import type { ParameterDescription } from '../filters/filter.js'
import type { SerializerClass } from '../serializers/contract.js'
import { pagingParameters } from '../views/action-parameters.js'
import type { GenericAPIView } from '../views/generic-api-view.js'
import { hasModel } from '../views/generic-view-class.js'
import { queryParsers } from '../views/policies.js'
import { queryMembers } from '../views/query-members.js'
import { selectionParameters } from '../views/steps/selection.js'
import { SELECTS_FIELDS, toParameter } from './parameters.js'
import type { Parameter, RequestBody, Schema } from './types.js'

/** The parameters of a URL that a QUERY goes to: a link to another page has them, and the version. */
export function linkParameters(view: GenericAPIView): readonly Parameter[] {
  const { policies, viewClass, action } = view
  const paging = hasModel(viewClass) ? pagingParameters(viewClass, action) : []
  return [...paging, ...(policies.versioning?.parameters() ?? [])].map(toParameter)
}

/** All that a QUERY of the list may ask. */
export function queryBody(view: GenericAPIView, serializer: SerializerClass | undefined): RequestBody {
  const { filters, group, others } = queryMembers(view.viewClass, view.action)
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
