/** Schemas of the OpenAPI document as those of tools: JSON Schema 2020-12 that holds all it refers to. */

import { ConfigurationError } from '../kernel/errors.js'
import { isContainer } from '../kernel/json-numerals.js'
import { pathValues } from '../openapi/parameters.js'
import { parametersOf } from '../openapi/shared-parameters.js'
import { SELECTS_FIELDS, sparseSchema } from '../openapi/sparse-schema.js'
import type { OpenAPIDocument, Operation, Parameter, Reference, Response, Schema } from '../openapi/types.js'
import type { Endpoint } from '../views/endpoint.js'
import type { ArgumentPlace } from './tools-of.js'

const JSON_TYPE = 'application/json'
const COMPONENT = '#/components/schemas/'
const DEFINITION = '#/$defs/'

/** Headers that are arguments; what else a request has is not an agent's to say. */
const HEADERS: ReadonlyMap<string, string> = new Map([
  ['If-Match', 'if_match'],
  ['Idempotency-Key', 'idempotency_key'],
])

/** The argument that is the body of the request. */
export const BODY = 'body'

export interface ToolInput {
  /** By the argument's name. */
  readonly places: ReadonlyMap<string, ArgumentPlace>
  readonly properties: Readonly<Record<string, Schema>>
  readonly required: readonly string[]
}

/** What a tool takes: path, query and header parameters by their names, and the body. Undefined for a body that is no JSON. */
export function inputOf(
  document: OpenAPIDocument,
  operation: Operation,
  { endpoint, fixed }: { readonly endpoint: Endpoint; readonly fixed: ReadonlySet<string> },
): ToolInput | undefined {
  const places = new Map<string, ArgumentPlace>()
  const properties: Record<string, Schema> = {}
  const required: string[] = []
  const add = (name: string, place: ArgumentPlace, schema: Schema, isRequired: boolean) => {
    // what is named twice is what stands in the path
    if (places.has(name)) return
    places.set(name, place)
    properties[name] = schema
    if (isRequired) required.push(name)
  }
  const { requestBody } = operation
  const parameters = parametersOf(operation, document.components)
  for (const parameter of pathValues(endpoint).filter(({ name }) => !fixed.has(name))) {
    add(parameter.name, { in: 'path', name: parameter.name }, schemaOf(parameter), true)
  }
  if (requestBody) {
    const schema = requestBody.content[JSON_TYPE]?.schema
    if (!schema) return undefined
    add(BODY, { in: 'body' }, schema, requestBody.required)
  }
  for (const parameter of parameters) {
    const { name, in: where } = parameter
    const header = where === 'header' ? HEADERS.get(name) : undefined
    if (where === 'query' && !fixed.has(name))
      add(name, { in: where, name }, schemaOf(parameter), parameter.required === true)
    else if (header !== undefined) {
      add(header, { in: 'header', name: name.toLowerCase() }, schemaOf(parameter), parameter.required === true)
    }
  }
  return { places, properties, required }
}

function schemaOf({ description, schema }: Parameter): Schema {
  return description === undefined ? schema : { ...schema, description }
}

/** What an operation answers; undefined for nothing, and where the document does not say. */
export function outputOf(document: OpenAPIDocument, operation: Operation): Schema | undefined {
  const answers = ['200', '201'].flatMap((status) => operation.responses[status] ?? [])
  const schema = answers.map((one) => jsonOf(document, one)).find((one) => one !== undefined)
  if (!schema) return undefined
  const isSparse = parametersOf(operation, document.components).some((parameter) => SELECTS_FIELDS in parameter)
  const resolve = (one: Schema) => resolved(document, one)
  return isSparse ? sparseSchema(schema, resolve) : resolve(schema)
}

function jsonOf(document: OpenAPIDocument, response: Response | Reference): Schema | undefined {
  const found = '$ref' in response ? document.components.responses[response.$ref.split('/').at(-1) ?? ''] : response
  return found?.content?.[JSON_TYPE]?.schema
}

/** What a reference leads to. */
function resolved(document: OpenAPIDocument, schema: Schema): Schema {
  const reference = schema['$ref']
  if (typeof reference !== 'string' || !reference.startsWith(COMPONENT)) return schema
  const found = document.components.schemas[reference.slice(COMPONENT.length)]
  if (!found) throw new ConfigurationError(`mcp(): the document has no ${reference}`)
  const { $ref: _, ...beside } = schema
  return resolved(document, { ...found, ...beside })
}

/** Those of JSON Schema 2020-12: of others clients warn, or refuse the tool. */
const FORMATS: ReadonlySet<string> = new Set(
  'date-time date time duration email hostname ipv4 ipv6 uri uri-reference uuid json-pointer regex'.split(' '),
)

/** What a schema says of values: of a part of it, what it becomes, undefined for nothing. */
type Saying = (key: string, part: unknown) => unknown

/** What an agent sends. */
export const asTaken: Saying = (key, part) =>
  key === 'format' && typeof part === 'string' && !FORMATS.has(part) ? undefined : part

/** Of what is said of less, these would refuse more. */
const REFUSING: ReadonlySet<string> = new Set(['not', 'if'])

/**
 * What an agent is shown: what is stored may be no date, no address and no number by JSON's words (`infinity`, `NaN`), a
 * choice of before, or a list of more levels than its column was declared with, and clients refuse an answer that does not fit.
 */
export const asShown: Saying = (key, part) => {
  if ((key === 'format' && typeof part === 'string') || (key === 'enum' && Array.isArray(part))) return undefined
  if (!isContainer(part)) return part
  if (REFUSING.has(key)) return undefined
  const { oneOf, ...others } = part as Schema
  const { type, format, $ref, properties } = others
  if (key === 'items' && !$ref && !properties) return {}
  if (Array.isArray(oneOf)) return { anyOf: oneOf, ...others }
  return format === 'float' || format === 'double' ? { ...part, type: [type, 'string'].flat() } : part
}

/** A schema with all that it refers to in `$defs`, in the order of names. */
export function selfContained(document: OpenAPIDocument, schema: Schema, say: Saying): Schema {
  const definitions = new Map<string, Schema>()
  const copy = (value: Schema): Schema => {
    const text = JSON.stringify(value, (key, part: unknown) => {
      const inner = say(key, part)
      if (key !== '$ref' || typeof inner !== 'string' || !inner.startsWith(COMPONENT)) return inner
      const name = inner.slice(COMPONENT.length)
      if (!definitions.has(name)) {
        // known before it is read, as it may refer to itself
        definitions.set(name, {})
        definitions.set(name, copy(document.components.schemas[name] ?? {}))
      }
      return DEFINITION + name
    })
    return JSON.parse(text) as Schema
  }
  const own = copy(schema)
  if (definitions.size === 0) return own
  const sorted = [...definitions].sort(([one], [other]) => (one < other ? -1 : 1))
  return { ...own, $defs: Object.fromEntries(sorted) }
}
