/** Requests that an OpenAPI document describes, and the same with one place changed. */
import fc from 'fast-check'
import type { TestedDocument } from 'koa-viewsets/testing'
import { parametersOf } from '../../../lib/openapi/shared-parameters.js'
import { MULTIPART, multipart } from '../../support/multipart.js'
import type { Shot } from './client.js'
import { NASTY, safe } from './hostile.js'

/** What is read here of a JSON schema. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly contentMediaType?: string
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: Schema
}

interface Operation {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}

interface Content {
  readonly type?: string
  readonly body?: unknown
}

/** A request in its parts, each of which a change can take. */
interface Parts {
  readonly method: string
  readonly template: string
  readonly path: Readonly<Record<string, unknown>>
  readonly query: readonly (readonly [name: string, value: unknown])[]
  readonly type?: string | undefined
  readonly body?: unknown
  readonly user: string
}

interface Change {
  readonly place: 'method' | 'path' | 'name' | 'query' | 'type' | 'body' | 'user'
  readonly how: 'replace' | 'remove' | 'double' | 'wrap' | 'rename' | 'add'
  /** Which of several. */
  readonly at: number
  readonly wrong: unknown
}

export interface DescribedOptions {
  /** Paths that are left out. */
  readonly without: readonly string[]
  /** Texts that name an object on a path: a schema only says that it is a text. */
  readonly names: readonly string[]
  /** Whether some are changed in one place. @default true */
  readonly changes?: boolean
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const
/** A document is read more often than it is deleted from. */
const WEIGHTS: Readonly<Record<string, number>> = { get: 4, post: 3, put: 3, patch: 4, delete: 1 }
const MAX_DEPTH = 6
const MAX_ITEMS = 4

/** One request of any operation of the document: half are as it says, the others but for one change. */
export function describedShot(
  document: TestedDocument,
  { without, names, changes = true }: DescribedOptions,
): fc.Arbitrary<Shot> {
  const operations = Object.entries(document.paths ?? {})
    .filter(([template]) => !without.some((path) => template.startsWith(path)))
    .flatMap(([template, item]) =>
      METHODS.flatMap((method) => {
        const operation = (item as Readonly<Record<string, Operation>>)[method]
        return operation ? [{ weight: WEIGHTS[method] ?? 1, arbitrary: partsOf(method, template, operation) }] : []
      }),
    )
  return fc
    .tuple(fc.oneof(...operations), changes ? fc.option(change, { freq: 1 }) : fc.constant(null))
    .map(([parts, one]) => toShot(one ? changed(parts, one) : parts))

  function partsOf(method: string, template: string, operation: Operation): fc.Arbitrary<Parts> {
    const { requestBody } = operation
    const parameters = parametersOf(operation as never, document.components as never) as readonly Parameter[]
    const inPath = parameters.filter((parameter) => parameter.in === 'path')
    const path = fc.record(Object.fromEntries(inPath.map(({ name, schema }) => [name, keyOf(schema)])))
    const inQuery = parameters.filter((parameter) => parameter.in === 'query')
    const pairs = inQuery.map(({ name, schema }) => valueFor(schema).map((value) => [name, value] as const))
    const query = pairs.length === 0 ? fc.constant([]) : fc.array(fc.oneof(...pairs), { maxLength: 3 })
    const contents = Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) =>
      valueFor(schema).map((body): Content => ({ type, body })),
    )
    const [json = fc.constant<Content>({}), ...forms] = contents
    const content = fc.oneof({ weight: 6, arbitrary: json }, ...forms)
    return fc
      .record({ path, query, content, user: fc.constantFrom('alice', 'alice', 'alice', 'bob', 'staff') })
      .map(({ content: { type, body }, ...rest }) => ({ method: method.toUpperCase(), template, type, body, ...rest }))
  }

  /** What names an object: mostly one that is there. */
  function keyOf(schema: Schema): fc.Arbitrary<unknown> {
    const known = [resolve(schema).type].flat().includes('integer')
      ? fc.integer({ min: 1, max: 210 })
      : fc.constantFrom(...names, 'none')
    return fc.oneof({ weight: 9, arbitrary: known }, { weight: 1, arbitrary: valueFor(schema) })
  }

  function resolve(schema: Schema): Schema {
    if (schema.$ref === undefined) return schema
    const node = schema.$ref
      .slice(2)
      .split('/')
      .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document)
    return resolve(node as Schema)
  }

  /** A value that the schema takes. */
  function valueFor(given: Schema, depth = 0): fc.Arbitrary<unknown> {
    const schema = resolve(given)
    if (schema.enum) return fc.constantFrom(...schema.enum)
    if (schema.anyOf) return fc.oneof(...schema.anyOf.map((one) => valueFor(one, depth + 1)))
    if (schema.allOf) {
      return fc.tuple(...schema.allOf.map((one) => valueFor(one, depth + 1))).map((all) => Object.assign({}, ...all))
    }
    const types = [schema.type ?? 'any'].flat()
    const [first, ...others] = types.map((type) => ofType(type, schema, depth))
    return first ? fc.oneof(first, ...others) : anything
  }

  function ofType(type: string, schema: Schema, depth: number): fc.Arbitrary<unknown> {
    switch (type) {
      case 'null':
        return fc.constant(null)
      case 'boolean':
        return fc.boolean()
      case 'integer':
        return integerOf(schema)
      case 'number':
        return fc.double({ noNaN: true, noDefaultInfinity: true })
      case 'string':
        return textOf(schema)
      case 'array':
        return fc.array(valueFor(schema.items ?? {}, depth + 1), {
          minLength: schema.minItems ?? 0,
          maxLength: Math.min(schema.maxItems ?? MAX_ITEMS, MAX_ITEMS),
        })
      case 'object':
        return depth > MAX_DEPTH ? fc.constant({}) : objectOf(schema, depth)
      default:
        return anything
    }
  }

  function objectOf({ properties = {}, required = [] }: Schema, depth: number): fc.Arbitrary<unknown> {
    const fields = Object.entries(properties).map(([name, schema]) => [name, valueFor(schema, depth + 1)] as const)
    return fc.record(Object.fromEntries(fields), { requiredKeys: [...required], noNullPrototype: true })
  }
}

const anything = fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }).filter((value) => !hasNul(value))

/** A NUL is no text of PostgreSQL's: no document can say so of "any value". */
const hasNul = (value: unknown) => JSON.stringify(value).includes('\\u0000')

function integerOf({ format, minimum, maximum }: Schema): fc.Arbitrary<unknown> {
  const limit = format === 'int64' ? Number.MAX_SAFE_INTEGER : 2 ** 31 - 1
  const [min, max] = [minimum ?? -limit, maximum ?? limit]
  const small = fc.integer({ min: Math.max(min, -3), max: Math.min(max, Math.max(min, 0) + 10) })
  return fc.oneof(
    small,
    fc.maxSafeInteger().map((one) => min + (Math.abs(one) % (max - min + 1))),
  )
}

const words = fc.oneof(
  fc.constantFrom('title', 'title 1', 'a b', 'Ünïcode 💥', "O'Reilly", '100 %', 'x'.repeat(200), 'ﬁ', 'null', '0'),
  fc.string({ unit: 'grapheme-ascii', maxLength: 30 }),
)

const isoDate = fc
  .date({ min: new Date('0001-01-01'), max: new Date('9999-12-30'), noInvalidDate: true })
  .map((date) => date.toISOString())

/** By their format. */
const TEXTS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  date: isoDate.map((text) => text.slice(0, 10)),
  'date-time': isoDate,
  uuid: fc.uuid(),
  int64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  decimal: fc.integer({ min: -999_999, max: 999_999 }).map((cents) => (cents / 100).toFixed(2)),
}

function textOf({ format = '', minLength = 0, maxLength = 300, contentMediaType }: Schema): fc.Arbitrary<unknown> {
  if (contentMediaType !== undefined) return fc.constantFrom(PNG)
  const own = TEXTS[format]
  return own ?? words.filter((text) => text.length >= minLength && text.length <= maxLength)
}

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3])

// One change.

const change: fc.Arbitrary<Change> = fc.record({
  place: fc.constantFrom('method', 'path', 'path', 'name', 'query', 'query', 'type', 'body', 'body', 'body', 'user'),
  how: fc.constantFrom('replace', 'replace', 'remove', 'double', 'wrap', 'rename', 'add'),
  at: fc.nat(),
  wrong: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...NASTY) },
    { weight: 1, arbitrary: fc.constantFrom(0, -1, 2 ** 31, 2 ** 53, 1e308, 1.5, true, null, [], {}, [[]], { id: 1 }) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  ),
})

const OTHER_METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND']
const OTHER_TYPES = ['text/plain', 'application/xml', 'application/json; charset=utf-16', 'multipart/form-data', '']

const pick = <One>(list: readonly One[], at: number): One => list[at % list.length] as One
const asText = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** The same request but for one place. */
function changed(parts: Parts, one: Change): Parts {
  const { place, at, wrong } = one
  switch (place) {
    case 'method':
      return { ...parts, method: pick(OTHER_METHODS, at) }
    case 'path': {
      const names = Object.keys(parts.path)
      return names.length === 0 ? parts : { ...parts, path: { ...parts.path, [pick(names, at)]: wrong } }
    }
    case 'name':
      return { ...parts, query: [...parts.query, [asText(wrong), 'x']] }
    case 'query':
      return { ...parts, query: changedQuery(parts.query, one) }
    case 'type':
      return { ...parts, type: pick(OTHER_TYPES, at) }
    case 'user':
      return { ...parts, user: pick(['', 'nobody', 'alice, bob', "' OR 1=1"], at) }
    default:
      return { ...parts, body: changedValue(parts.body, one) }
  }
}

function changedQuery(query: Parts['query'], { how, at, wrong }: Change): Parts['query'] {
  if (query.length === 0) return [['page', wrong]]
  const index = at % query.length
  const [name, value] = query[index] as readonly [string, unknown]
  if (how === 'remove') return query.toSpliced(index, 1, [name, ''])
  if (how === 'double' || how === 'add') return [...query, [name, wrong]]
  if (how === 'rename') return query.toSpliced(index, 1, [`${name}${asText(wrong)}`, value])
  return query.toSpliced(index, 1, [name, wrong])
}

/** Changes one node of a value, however deep it is. */
function changedValue(value: unknown, one: Change): unknown {
  const { how, at, wrong } = one
  const inside = at % 4 > 0
  if (Array.isArray(value) && value.length > 0 && inside) {
    const index = at % value.length
    if (how === 'double') return [...value, value[index]]
    if (how === 'remove') return value.toSpliced(index, 1)
    return value.toSpliced(index, 1, changedValue(value[index], { ...one, at: at >> 2 }))
  }
  if (typeof value === 'object' && value !== null && !Buffer.isBuffer(value) && inside) {
    const names = Object.keys(value)
    const name = names.length === 0 ? 'x' : pick(names, at >> 2)
    const { [name]: old, ...others } = value as Record<string, unknown>
    if (how === 'remove') return others
    if (how === 'rename') return { ...others, [asText(wrong)]: old }
    if (how === 'add') return { ...value, [asText(wrong)]: wrong }
    return { ...value, [name]: changedValue(old, { ...one, at: at >> 4 }) }
  }
  if (how === 'wrap') return [value]
  if (how === 'add') return { id: value }
  return how === 'remove' ? null : wrong
}

// What is sent.

function toShot({ method, template, path, query, type, body, user }: Parts): Shot {
  const where = template.replace(/\{(\w+)\}/g, (_, name: string) => safe(asText(path[name])))
  const what = query.map(([name, value]) => `${safe(name)}=${safe([value].flat().map(asText).join(','))}`).join('&')
  const headers = user === '' ? {} : { Authorization: `Token ${user}`, Cookie: `session=${safe(user)}` }
  const shot = { method, path: what === '' ? where : `${where}?${what}`, headers }
  if (type === undefined) return shot
  if (type === 'multipart/form-data' && isObject(body)) {
    return { ...shot, headers: { ...headers, ...MULTIPART }, body: multipart(...Object.entries(body).map(toPart)) }
  }
  const typed = { ...shot, headers: type === '' ? headers : { ...headers, 'Content-Type': type } }
  if (type === 'application/x-www-form-urlencoded' && isObject(body)) {
    return {
      ...typed,
      body: Object.entries(body)
        .map(([name, value]) => `${safe(name)}=${safe(inForm(value))}`)
        .join('&'),
    }
  }
  return { ...typed, body: JSON.stringify(body) ?? '' }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value)

/** Nothing is how a form says null. */
const inForm = (value: unknown) => (value === null ? '' : asText(value))

function toPart([name, value]: [string, unknown]) {
  const part = { name: name.replace(/["\r\n]/g, '~') }
  if (Buffer.isBuffer(value)) return { ...part, filename: 'a.png', type: 'image/png', content: value }
  return { ...part, content: inForm(value) }
}
