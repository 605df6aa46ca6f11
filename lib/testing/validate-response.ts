/** Response validation: holds answers of an API to its OpenAPI document, for tests. */

import type { Format } from 'ajv'
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { pointerTo } from '../http/problem.js'
import { readReferenceStep } from '../kernel/json-pointer.js'
import { oncePer } from '../kernel/once-per.js'
import { SELECTS_FIELDS, sparseSchema } from '../openapi/sparse-schema.js'
import { TAKES_REST } from '../openapi/takes-rest.js'

/** An OpenAPI 3.1 document, such as `api.getSchema()` returns. */
export interface TestedDocument {
  /** The paths of the document, by template. */
  readonly paths?: Readonly<Record<string, unknown>>
  /** What the paths refer to. */
  readonly components?: unknown
}

/** A request and what came back. */
export interface Exchange {
  /** The method of the request. */
  readonly method: string
  /** The request's path as it was sent, with the query string. */
  readonly path: string
  /** The body of the request, where it says what is asked: that of a QUERY. */
  readonly requestBody?: unknown
  /** The status of the response. */
  readonly status: number
  /** Headers of the response; names in any case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The body of the response: JSON as a value, anything else as text; undefined or empty for none. */
  readonly body?: unknown
}

type Node = Readonly<Record<string, unknown>>

interface Compiled {
  readonly root: Node
  readonly routes: readonly Route[]
  readonly ajv: Ajv2020
  readonly validators: Map<string, ValidateFunction>
  /** The parameters of an operation that leave fields out, by their names. */
  readonly selecting: Map<Node, readonly string[]>
}

interface Route {
  readonly template: string
  readonly pattern: RegExp
  readonly item: Node
}

const ROOT = 'document'

/**
 * What of a response is not as the document says; empty when all is. It looks at the status, the media type, the
 * headers that must be there, and the body. An answer to a method that the path does not take must be 405 with `Allow`;
 * OPTIONS, which documents do not describe, must not be an error of the server. An answer to `?fields=` may leave fields out.
 * Needs the package `ajv`.
 * @example
 * const document = api.getSchema()
 * const response = await fetch(origin + '/api/books')
 * expect(validateResponse(document, {
 *   method: 'GET',
 *   path: '/api/books',
 *   status: response.status,
 *   headers: Object.fromEntries(response.headers),
 *   body: await response.json(),
 * })).toEqual([])
 */
export function validateResponse(document: TestedDocument, exchange: Exchange): readonly string[] {
  const compiled = compile(document)
  const [path = '', query = ''] = exchange.path.split(/\?(.*)/s)
  const method = exchange.method.toLowerCase()
  const described = method === 'head' ? 'get' : method
  const found = findRoute(compiled, path, exchange.status === 405 ? 'get' : described)
  const say = (problem: string) => `${exchange.method} ${exchange.path}: ${exchange.status}: ${problem}`
  if (!found) return [say('the document has no such path')]
  const operation = found.item[described] as Node | undefined
  if (!operation) return checkUndescribed(exchange).map(say)
  const pointer = ['paths', found.template, described, 'responses']
  return checkDescribed(compiled, { ...exchange, method }, { operation, pointer, query }).map(say)
}

/** A method that the path does not take, or OPTIONS. */
function checkUndescribed({ method, status, headers }: Exchange): readonly string[] {
  if (method.toUpperCase() === 'OPTIONS') return status < 500 || status === 503 ? [] : ['OPTIONS must not fail']
  if (status !== 405) return ['the document has no such method, so it should be 405']
  return headerOf(headers, 'allow') === undefined ? ['there is no Allow'] : []
}

interface Described {
  readonly operation: Node
  readonly pointer: readonly string[]
  readonly query: string
}

function checkDescribed(compiled: Compiled, exchange: Exchange, { operation, pointer, query }: Described): string[] {
  const { status, headers, body } = exchange
  const responses = (operation['responses'] ?? {}) as Node
  const key = [String(status), `${Math.floor(status / 100)}XX`, 'default'].find((name) => name in responses)
  const isMinimal = headerOf(headers, 'preference-applied')?.includes('return=minimal') === true
  // which `Prefer` says, and no operation by itself
  if (key === undefined && status === 204 && isMinimal) return []
  if (key === undefined) return ['the document has no such status']
  const at = resolve(compiled, [...pointer, key])
  const response = at.value
  const problems = checkHeaders(compiled, at, headers)
  const content = response['content'] as Node | undefined
  const isEmpty = body === undefined || body === null || body === ''
  const isDescribed = Object.values(content ?? {}).some((media) => 'schema' in (media as Node))
  if (exchange.method === 'head' || (isEmpty && (isMinimal || !isDescribed))) return problems
  if (!content) return status === 304 ? problems : [...problems, 'the document has no body for this status']
  const mediaType = (headerOf(headers, 'content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if ((response['x-other-types'] as readonly string[] | undefined)?.includes(mediaType)) return problems
  const range = [mediaType, mediaType.replace(/\/.*/, '/*'), '*/*'].find((name) => name in content)
  if (range === undefined) return [...problems, `the document has no body of the type "${mediaType}"`]
  if (!('schema' in (content[range] as Node))) return problems
  const schema = [...at.pointer, 'content', range, 'schema']
  const isSparse = selectsFields(compiled, operation, query) || selectsByBody(operation, exchange.requestBody)
  return [...problems, ...checkBody(compiled, schema, body, isSparse)]
}

function checkHeaders(compiled: Compiled, at: Resolved, headers: Exchange['headers']): string[] {
  return Object.keys((at.value['headers'] ?? {}) as Node).flatMap((name) => {
    const header = resolve(compiled, [...at.pointer, 'headers', name])
    const text = headerOf(headers, name)
    if (text === undefined) return header.value['required'] === true ? [`there is no ${name}`] : []
    if (!('schema' in header.value)) return []
    const schema = [...header.pointer, 'schema']
    const { type } = resolve(compiled, schema).value
    const value = (type === 'integer' || type === 'number') && /^-?[0-9.]+$/.test(text) ? Number(text) : text
    return checkBody(compiled, schema, value, false).map((problem) => `${name}: ${problem}`)
  })
}

function checkBody(compiled: Compiled, pointer: readonly string[], body: unknown, sparse: boolean): string[] {
  const reference = `${ROOT}${pointerTo(pointer)}`
  const key = `${sparse ? 'sparse ' : ''}${reference}`
  let validate = compiled.validators.get(key)
  if (!validate) {
    const follow = (schema: Node) => followed(compiled, schema).value
    const schema = sparse ? absolute(sparseSchema(resolve(compiled, pointer).value, follow)) : { $ref: reference }
    validate = compiled.ajv.compile(schema)
    compiled.validators.set(key, validate)
  }
  return validate(body) ? [] : (validate.errors ?? []).map(writeError)
}

function writeError({ instancePath, message = 'is wrong', params }: ErrorObject): string {
  const { additionalProperty, allowedValues } = params as { additionalProperty?: string; allowedValues?: unknown }
  const detail = additionalProperty ?? (allowedValues === undefined ? undefined : JSON.stringify(allowedValues))
  return `${instancePath || 'the body'} ${message}${detail === undefined ? '' : ` (${detail})`}`
}

/** True when the request leaves fields out by the operation's parameter for it. */
function selectsFields(compiled: Compiled, operation: Node, query: string): boolean {
  if (query === '') return false
  let names = compiled.selecting.get(operation)
  if (!names) {
    const all = ((operation['parameters'] ?? []) as readonly Node[]).map((one) => followed(compiled, one).value)
    names = all.filter(isSelecting).map(({ name }) => String(name))
    compiled.selecting.set(operation, names)
  }
  const sent = new URLSearchParams(query)
  return names.some((name) => sent.has(name))
}

/** True when the body of the request leaves fields out by the member for it. */
function selectsByBody({ requestBody }: Node, sent: unknown): boolean {
  if (typeof sent !== 'object' || sent === null) return false
  const { content = {} } = (requestBody ?? {}) as { content?: Readonly<Record<string, { schema?: Node }>> }
  const schemas = Object.values(content).map(({ schema }) => (schema?.['properties'] ?? {}) as Node)
  const names = schemas.flatMap((members) => Object.keys(members).filter((name) => isSelecting(members[name])))
  return names.some((name) => name in sent)
}

function isSelecting(schema: unknown): boolean {
  return (schema as Node)[SELECTS_FIELDS] === true
}

/** A copy of a schema with references that hold outside of the document. */
function absolute(schema: Node): Node {
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === '$ref' && typeof value === 'string' && value.startsWith('#') ? ROOT + value : value,
  ) as Node
}

interface Resolved {
  readonly value: Node
  readonly pointer: readonly string[]
}

/** What stands at a place of the document, references followed. */
function resolve(compiled: Compiled, pointer: readonly string[]): Resolved {
  const value = pointer.reduce<unknown>((node, step) => (node as Node | undefined)?.[step], compiled.root) as Node
  return followed(compiled, value ?? {}, pointer)
}

/** What a part of the document refers to, or itself. */
function followed(compiled: Compiled, value: Node, pointer: readonly string[] = []): Resolved {
  const { $ref: reference } = value
  if (typeof reference !== 'string') return { value, pointer }
  return resolve(compiled, reference.slice(2).split('/').map(readReferenceStep))
}

function headerOf(headers: Exchange['headers'], name: string): string | undefined {
  const key = Object.keys(headers).find((one) => one.toLowerCase() === name.toLowerCase())
  const value = key === undefined ? undefined : headers[key]
  return value === undefined ? undefined : [value].flat().join(', ')
}

const compile = oncePer((document: TestedDocument): Compiled => {
  const root = JSON.parse(JSON.stringify(document)) as Node
  // a schema serves few answers: the meta-schema, and code that is short, cost more than they save
  const economy = { meta: false, validateSchema: false, code: { optimize: false } } as const
  const ajv = new Ajv2020({ allErrors: true, strict: false, logger: false, formats, ...economy })
  ajv.addSchema({ ...root, $id: ROOT }, ROOT, false, false)
  return { root, routes: routesOf(root), ajv, validators: new Map(), selecting: new Map() }
})

/** Fixed parts go before parameters, and these before those that take the rest, as requests are routed. */
function routesOf(root: Node): readonly Route[] {
  const routes = Object.entries((root['paths'] ?? {}) as Node).map(([template, value]) => {
    const item = value as Node
    const rest = namesOfRest(item)
    const filled = (text: string, one: string, all: string) =>
      text.replace(/\{([^{}/]+)\}/g, (_, name: string) => (rest.has(name) ? all : one))
    const plain = template.length > 1 ? template.replace(/\/$/, '') : template
    const source = filled(plain.replace(/[$()*+.?[\\\]^|]/g, '\\$&'), '[^/]+', '.+')
    const order = filled(template, '\u{10ffff}', '\u{10ffff}\u{10ffff}')
    return { route: { template, pattern: new RegExp(`^${source}$`), item }, order }
  })
  return routes.sort((one, other) => (one.order < other.order ? -1 : 1)).map(({ route }) => route)
}

/**
 * The route of a path; a slash or a format suffix at its end makes no difference, but where it is part of a key, as it is to
 * methods that write.
 */
function findRoute({ routes }: Compiled, path: string, method: string): Route | undefined {
  const plain = path.length > 1 ? path.replace(/\/$/, '') : path
  const find = (text: string) => routes.find(({ pattern }) => pattern.test(text))
  const suffix = /\.\w+$/.exec(plain)
  const stripped = suffix ? find(plain.slice(0, -suffix[0].length)) : undefined
  const whole = find(plain)
  const isKey = method !== 'get' && stripped && whole && !(method in stripped.item) && method in whole.item
  return isKey ? whole : (stripped ?? whole)
}

const DATE = String.raw`\d{4,7}-\d{2}-\d{2}`
const TIME = String.raw`\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?`
const FOREVER = '-?infinity'

const text = (source: string): RegExp => new RegExp(`^(?:${source})$`)
const integer = (bits: number) => ({
  type: 'number' as const,
  validate: (value: number) => Number.isInteger(value) && value >= -(2 ** (bits - 1)) && value < 2 ** (bits - 1),
})

/** Formats by name; the others say nothing that could be checked. */
const formats: Record<string, Format | true> = {
  date: text(`${DATE}(?: BC)?|${FOREVER}`),
  'date-time': text(`${DATE}T${TIME}(?:Z|[+-]\\d{2}:\\d{2}(?::\\d{2})?)?(?: BC)?|${FOREVER}`),
  'time-local': text(TIME),
  uuid: text('[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'),
  decimal: text(String.raw`-?\d+(?:\.\d+)?|NaN|-?Infinity`),
  'uri-reference': text(String.raw`[^\s<>"\\^{|}]*`),
  int16: integer(16),
  int32: integer(32),
  int64: true,
  float: true,
  double: true,
  binary: true,
  email: true,
  ipv4: true,
  ipv6: true,
  uri: true,
}

/** The parameters of a path that take all that is left of it. */
function namesOfRest(item: Node): ReadonlySet<unknown> {
  const parameters = Object.values(item).flatMap((operation) => ((operation as Node)['parameters'] ?? []) as Node[])
  return new Set(parameters.filter((one) => one[TAKES_REST] === true).map(({ name }) => name))
}
