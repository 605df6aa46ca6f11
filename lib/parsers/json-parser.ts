/** Reads `application/json` (spec section 4.9, RFC 8259). */
import { isUtf8 } from 'node:buffer'
import { parse, scan } from 'secure-json-parse'
import type { Context } from '../context.js'
import { BadRequest, ConfigurationError } from '../errors.js'
import { isTextDeeper, isValueDeeper } from './nesting.js'
import type { ParsedBody, Parser } from './parser.js'
import { readBody } from './read-body.js'

export interface JSONParserOptions {
  /** The most bytes of a body, counted after decompression. @default 1_048_576 */
  readonly limit?: number
  /** The most levels of objects and arrays. @default 64 */
  readonly depth?: number
}

const MALFORMED = 'Malformed JSON'
const BYTE_ORDER_MARK = 0xfeff

/**
 * Reads JSON in UTF-8, plain or compressed by gzip, deflate or br.
 *
 * Answers 400 `Malformed JSON` to what is no JSON, is not UTF-8, or has a key that reaches for a prototype
 * (`__proto__`, or `constructor` holding `prototype`), 400 beyond `depth`, and 413 beyond `limit`.
 * @example static override parserClasses = [new JSONParser({ limit: 10 * 1024 * 1024 })]
 */
export class JSONParser implements Parser {
  readonly mediaTypes: readonly string[] = ['application/json']
  readonly limit: number
  readonly depth: number

  constructor({ limit = 1024 * 1024, depth = 64 }: JSONParserOptions = {}) {
    this.limit = atLeastOne('limit', limit)
    this.depth = atLeastOne('depth', depth)
  }

  async parse(ctx: Context): Promise<ParsedBody> {
    const bytes = await readBody(ctx, { limit: this.limit, malformed: MALFORMED })
    // A chunked body may turn out to have nothing in it: the same as none.
    if (bytes.length === 0) return { data: {}, textual: false }
    if (!isUtf8(bytes)) throw new BadRequest(MALFORMED)
    const text = bytes.toString('utf8')
    if (isTextDeeper(text, this.depth)) throw this.#tooDeep()
    try {
      return { data: isSuspect(text) ? parse(text) : JSON.parse(text), textual: false }
    } catch (cause) {
      throw malformed(cause)
    }
  }

  accept(_ctx: Context, body: unknown): ParsedBody {
    if (isValueDeeper(body, this.depth)) throw this.#tooDeep()
    try {
      if (typeof body === 'object' && body !== null) scan(body)
    } catch (cause) {
      throw malformed(cause)
    }
    return { data: body, textual: false }
  }

  #tooDeep(): BadRequest {
    return new BadRequest(`JSON is nested deeper than ${this.depth} levels`)
  }
}

/** A key that reaches for a prototype, anything escaped, and a byte order mark: all that `JSON.parse` is not enough for. */
function isSuspect(text: string): boolean {
  return (
    text.includes('\\') ||
    text.includes('__proto__') ||
    text.includes('constructor') ||
    text.charCodeAt(0) === BYTE_ORDER_MARK
  )
}

/** The parser's own message would repeat the input. */
function malformed(cause: unknown): BadRequest {
  return new BadRequest(MALFORMED, { cause })
}

function atLeastOne(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw new ConfigurationError(`JSONParser: ${name} must be a whole number of at least 1`)
}
