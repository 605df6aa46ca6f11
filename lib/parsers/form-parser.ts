/** Reads `application/x-www-form-urlencoded` (promise F4). */

import { isUtf8 } from 'node:buffer'
import type { Context } from '../http/context.js'
import { ApiError, BadRequest, ConfigurationError } from '../kernel/errors.js'
import { quote } from '../kernel/quote.js'
import { countNodes, type ParsedBody, type Parser } from './parser.js'
import { readBody } from './read-body.js'

export interface FormLimits {
  /** The most values, repeated names included. */
  readonly fields: number
  /** The most levels of brackets in a name, the name itself included: `a[b]` has two. */
  readonly depth: number
  /** The most values and names in all strings that look like JSON, as fields may read them. */
  readonly nodes: number
}

/** Names that reach for a prototype: dropped, as nobody means them. */
const HOSTILE: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** An array or an object. */
const JSON_TEXT = /^\s*[[{]/

/** Collects the values of a form: one value as it is, those of a repeated name as a list. */
export class FormFields<Value extends string | object> {
  readonly data: Record<string, Value | Value[]> = {}
  readonly #limits: FormLimits
  readonly #texts: JsonTexts
  #count = 0

  constructor(limits: FormLimits) {
    this.#limits = limits
    this.#texts = new JsonTexts(limits)
  }

  /** Adds a value. @throws ApiError 413 too many, 400 the name is nested too deeply, or there is too much JSON */
  add(name: string, value: Value): void {
    if (++this.#count > this.#limits.fields) throw tooManyFields(this.#limits.fields)
    if (name.split('[', this.#limits.depth + 1).length > this.#limits.depth) throw tooDeep(this.#limits.depth)
    if (HOSTILE.has(name)) return
    this.#texts.add(name, value)
    const { data } = this
    const known = Object.hasOwn(data, name) ? data[name] : undefined
    if (known === undefined) data[name] = value
    else if (Array.isArray(known)) known.push(value)
    else data[name] = [known, value]
  }
}

/**
 * Checks a form that the application's own parser has read, which may have made objects of names with brackets.
 * @throws ApiError 413 too many values, 400 nested too deeply, too much JSON, or no form at all
 */
export function acceptFields(body: unknown, limits: FormLimits): Record<string, unknown> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw new BadRequest('Malformed form')
  let count = 0
  const texts = new JsonTexts(limits)
  const copy = (value: unknown, level: number, name: string): unknown => {
    if (Array.isArray(value)) return value.map((item) => copy(item, level, name))
    if (!isPlainObject(value)) {
      if (++count > limits.fields) throw tooManyFields(limits.fields)
      texts.add(name, value)
      return value
    }
    if (level >= limits.depth) throw tooDeep(limits.depth)
    const entries = Object.entries(value).filter(([name]) => !HOSTILE.has(name))
    return Object.fromEntries(entries.map(([name, item]) => [name, copy(item, level + 1, name)]))
  }
  return copy({ ...body }, 0, '') as Record<string, unknown>
}

/** The strings of a form that a field may read as JSON. */
class JsonTexts {
  readonly #limits: FormLimits
  #left: number

  constructor(limits: FormLimits) {
    this.#limits = limits
    this.#left = limits.nodes
  }

  /** @throws BadRequest with this text they have more values and names together than they may have */
  add(name: string, value: unknown): void {
    if (typeof value !== 'string' || !JSON_TEXT.test(value)) return
    this.#left -= countNodes(value, this.#left)
    if (this.#left < 0) throw new BadRequest(`More than ${this.#limits.nodes} values and names in ${quote(name)}`)
  }
}

/** @throws ConfigurationError unless each is a whole number of at least 1 */
export function checkLimits(parser: object, limits: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(limits)) {
    if (Number.isSafeInteger(value) && value >= 1) continue
    throw new ConfigurationError(`${parser.constructor.name}: ${name} must be a whole number of at least 1`)
  }
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function tooManyFields(fields: number): ApiError {
  return new ApiError(413, `More than ${fields} fields`)
}

function tooDeep(depth: number): BadRequest {
  return new BadRequest(`Form is nested deeper than ${depth} levels`)
}

/** Options of `FormParser`: limits of the body and of its fields. */
export interface FormParserOptions {
  /** The most bytes of a body, counted after decompression. @default 1_048_576 */
  readonly limit?: number
  /** How many bytes one compressed byte may stand for, on the whole; the first 65,536 bytes are free. @default 100 */
  readonly ratio?: number
  /** The most values. @default 1000 */
  readonly fields?: number
  /** The most levels of brackets in a name. @default 5 */
  readonly depth?: number
  /** The most values and names in strings that are JSON. @default 100_000 */
  readonly nodes?: number
}

const MALFORMED = 'Malformed form'

/**
 * Reads forms in UTF-8. A form is flat: `a[b]` is a name like any other. All values are strings, which fields read with
 * `fromText`; those of a repeated name are a list, of which a field that takes no lists reads the last.
 *
 * Answers 400 `Malformed form` to broken percent-encoding and to what is not UTF-8, 400 beyond `depth` or `nodes`,
 * and 413 beyond `limit`, `ratio` or `fields`. Names that reach for a prototype are dropped.
 * @example static override parserClasses = [JSONParser, new FormParser({ fields: 50 })]
 */
export class FormParser implements Parser {
  readonly mediaTypes: readonly string[] = ['application/x-www-form-urlencoded']
  readonly limit: number
  readonly ratio: number
  readonly fields: number
  readonly depth: number
  readonly nodes: number

  constructor({ limit = 1024 * 1024, ratio = 100, fields = 1000, depth = 5, nodes = 100_000 }: FormParserOptions = {}) {
    this.limit = limit
    this.ratio = ratio
    this.fields = fields
    this.depth = depth
    this.nodes = nodes
    checkLimits(this, { limit, ratio, fields, depth, nodes })
  }

  async parse(ctx: Context): Promise<ParsedBody> {
    const bytes = await readBody(ctx, { limit: this.limit, ratio: this.ratio, malformed: MALFORMED })
    if (!isUtf8(bytes)) throw new BadRequest(MALFORMED)
    const form = new FormFields<string>(this)
    const pairs = bytes.toString('utf8').split('&', this.fields + 2)
    if (pairs.length > this.fields + 1) throw new ApiError(413, `More than ${this.fields} fields`)
    for (const pair of pairs) {
      if (pair === '') continue
      const equals = pair.indexOf('=')
      const [name, value] = equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
      form.add(decode(name), decode(value))
    }
    return { data: form.data, textual: true }
  }

  accept(_ctx: Context, body: unknown): ParsedBody {
    return { data: acceptFields(body, this), textual: true }
  }
}

/** @throws BadRequest a percent sign stands for nothing, or for what is not UTF-8 */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch (cause) {
    throw new BadRequest(MALFORMED, { cause })
  }
}
