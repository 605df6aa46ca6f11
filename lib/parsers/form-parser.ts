/** Reads `application/x-www-form-urlencoded` (promise F4). */

import { isUtf8 } from 'node:buffer'
import type { Context } from '../http/context.js'
import { ApiError, BadRequest } from '../kernel/errors.js'
import { getOrInsert } from '../kernel/maps.js'
import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import { lengthOfExponents } from '../kernel/parse-json.js'
import { quote } from '../kernel/quote.js'
import { asRepeated, isPlain, isRecord, isRepeated } from '../kernel/records.js'
import { type AskedForm, checkData, countNodes, type MediaType, type ParsedBody, type Parser } from './parser.js'
import { readBody, tooLarge } from './read-body.js'

export interface FormLimits {
  /** The most bytes; digits of numbers in JSON count as they are written without exponents. */
  readonly limit: number
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

/** What follows a step of a name: `[name]`, `.name`, and behind a bracket also `name`, as Django REST framework has it. */
const STEP = /\[([^[\]]*)\]|\.([^.[\]]+)|(?<=\])([^.[\]]+)/g
/** A name with steps in brackets, or behind dots: `author[name]`, `tags[0][id]`, `labels[]`, `author.name`, `tags[0].id`. */
const STEPPED = new RegExp(`^([^.[\\]]+)((?:${STEP.source})+)$`)
/** The same, where a name before brackets may have dots. */
const BRACKETS = new RegExp(`^([^[\\]]+)(\\[[^[\\]]*\\](?:${STEP.source})*)$`)

/** The values and inner names at one step of the names of a form. */
class Place {
  readonly values: unknown[] = []
  readonly inner = new Map<string, Place>()

  at(step: string): Place {
    return getOrInsert(this.inner, step, () => new Place())
  }

  /** One value as it is, those of a repeated name as a list; of what has brackets an object, or a list where they count from 0. */
  read(name: string): unknown {
    const { values, inner } = this
    if (inner.size === 0) return values.length === 1 ? values[0] : asRepeated(values)
    if (values.length > 0) throw new BadRequest(`${quote(name)} stands with brackets and without`)
    const items = inner.get('')
    if (items) {
      if (inner.size > 1 || items.inner.size > 0) throw new BadRequest(`Number what is in ${quote(name)}, as in [0]`)
      return items.values
    }
    const isList = Array.from(inner, (_, position) => String(position)).every((position) => inner.has(position))
    if (isList) return Array.from(inner, (_, position) => (inner.get(String(position)) as Place).read(name))
    return Object.fromEntries(Array.from(inner, ([step, place]) => [step, place.read(name)]))
  }
}

/** Collects the values of a form. */
export class FormFields {
  readonly #limits: FormLimits
  readonly #objects: AskedForm['objects']
  readonly #texts: JsonTexts
  readonly #root = new Place()
  #count = 0

  constructor(limits: FormLimits, objects: AskedForm['objects'] = NO_OBJECTS) {
    this.#limits = limits
    this.#objects = objects
    this.#texts = new JsonTexts(limits)
  }

  /** Adds a value. @throws ApiError 413 too many, 400 the name is nested too deeply, or there is too much JSON */
  add(name: string, value: unknown): void {
    const { depth } = this.#limits
    if (name.split('[', depth + 1).length > depth) throw tooDeep(depth)
    const [first, ...steps] = stepsOf(name, this.#objects)
    if (steps.length >= depth) throw tooDeep(depth)
    const copied = this.#copy(value, steps.length + 1, first)
    if ([first, ...steps].some((step) => HOSTILE.has(step))) return
    const place = [first, ...steps].reduce((around, step) => around.at(step), this.#root)
    place.values.push(copied)
  }

  /** The values by name. @throws BadRequest brackets that contradict each other */
  get data(): Record<string, unknown> {
    return Object.fromEntries(Array.from(this.#root.inner, ([name, place]) => [name, place.read(name)]))
  }

  /** A value; the application's own parser may have made lists and objects of names with brackets. */
  #copy(value: unknown, level: number, name: string): unknown {
    const { depth, fields } = this.#limits
    if (Array.isArray(value)) {
      const items = value.map((item) => this.#copy(item, level, name))
      return isRepeated(value) ? asRepeated(items) : items
    }
    if (!isRecord(value) || !isPlain(value)) {
      if (++this.#count > fields) throw tooManyFields(fields)
      this.#texts.add(name, value)
      return value
    }
    if (level >= depth) throw tooDeep(depth)
    const entries = Object.entries(value).filter(([inner]) => !HOSTILE.has(inner))
    return Object.fromEntries(entries.map(([inner, item]) => [inner, this.#copy(item, level + 1, inner)]))
  }
}

const NO_OBJECTS: ReadonlySet<string> = new Set()

/** The steps of a name in a form. Dots alone are steps where they lead into an object that is asked for: else they may be part of a name. */
export function stepsOf(name: string, objects: AskedForm['objects'] = NO_OBJECTS): [string, ...string[]] {
  const stepped = STEPPED.exec(name)
  const isAsked = stepped !== null && (objects === 'all' || objects.has(stepped[1] as string))
  const [, first, rest] = (isAsked ? stepped : BRACKETS.exec(name)) ?? []
  if (first === undefined || rest === undefined) return [name]
  return [first, ...Array.from(rest.matchAll(STEP), ([, inner, dotted, bare]) => inner ?? dotted ?? (bare as string))]
}

/**
 * Checks a form that the application's own parser has read, its values and its files.
 * @throws ApiError 413 too many values, 400 nested too deeply, too much JSON, or no form at all
 */
export function acceptFields(
  parts: readonly unknown[],
  limits: FormLimits,
  asked?: AskedForm,
): Record<string, unknown> {
  const form = new FormFields(limits, asked?.objects)
  for (const part of parts) {
    if (!isRecord(part)) throw new BadRequest('Malformed form')
    for (const [name, value] of Object.entries(part)) form.add(name, value)
  }
  return form.data
}

/** The strings of a form that a field may read as JSON. */
class JsonTexts {
  readonly #limits: FormLimits
  #left: number
  #length = 0

  constructor(limits: FormLimits) {
    this.#limits = limits
    this.#left = limits.nodes
  }

  /** @throws ApiError with this text they have more values and names together than they may have, or longer numbers */
  add(name: string, value: unknown): void {
    if (typeof value !== 'string' || !JSON_TEXT.test(value)) return
    this.#left -= countNodes(value, this.#left)
    if (this.#left < 0) throw new BadRequest(`More than ${this.#limits.nodes} values and names in ${quote(name)}`)
    this.#length += value.length + lengthOfExponents(value)
    if (this.#length > this.#limits.limit) throw tooLarge()
  }
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
 * Reads forms in UTF-8. All values are strings, which fields read with `fromText`; those of a repeated name are a list, of
 * which a field that takes no lists reads the last. Names with brackets are objects and lists: `author[name]`,
 * `tags[0][id]`, `labels[]`; so are those with dots, `author.name`, where a nested field of the view is called `author`.
 *
 * Answers 400 `Malformed form` to broken percent-encoding and to what is not UTF-8, 400 beyond `depth` or `nodes` and to
 * brackets that contradict each other, and 413 beyond `limit`, `ratio` or `fields`. Names that reach for a prototype are dropped.
 * @example static override parserClasses = [JSONParser, new FormParser({ fields: 50 })]
 */
export class FormParser implements Parser {
  readonly mediaTypes: readonly string[] = ['application/x-www-form-urlencoded']
  readonly limit: number
  readonly ratio: number
  readonly fields: number
  readonly depth: number
  readonly nodes: number

  /** @throws {ConfigurationError} an option is wrong */
  constructor(options: FormParserOptions = {}) {
    takeOptions(this, options)
    const { limit = 1024 * 1024, ratio = 100, fields = 1000, depth = 5, nodes = 100_000 } = options
    this.limit = limit
    this.ratio = ratio
    this.fields = fields
    this.depth = depth
    this.nodes = nodes
  }

  async parse(ctx: Context, _mediaType?: MediaType, asked?: AskedForm): Promise<ParsedBody> {
    const bytes = await readBody(ctx, { limit: this.limit, ratio: this.ratio, malformed: MALFORMED })
    if (!isUtf8(bytes)) throw new BadRequest(MALFORMED)
    const form = new FormFields(this, asked?.objects)
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

  accept(_ctx: Context, body: unknown, asked?: AskedForm): ParsedBody {
    checkData(body)
    return { data: acceptFields([body], this, asked), textual: true }
  }
}

takesOptions<FormParserOptions>(FormParser, {
  limit: 'size',
  ratio: 'size',
  fields: 'size',
  depth: 'size',
  nodes: 'size',
})

/** @throws BadRequest a percent sign stands for nothing, or for what is not UTF-8 */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch (cause) {
    throw new BadRequest(MALFORMED, { cause })
  }
}
