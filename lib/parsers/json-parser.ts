/** Reads `application/json` (RFC 8259). */
import { isUtf8 } from 'node:buffer'
import { parse, scan } from 'secure-json-parse'
import type { Context } from '../http/context.js'
import { BadRequest } from '../kernel/errors.js'
import { MESSAGES } from '../kernel/messages.js'
import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import {
  keepNumerals,
  keepNumeralsInTurns,
  lengthOfExponents,
  lengthOfExponentsIn,
  mayLoseDigits,
} from '../kernel/parse-json.js'
import { nextTurn } from '../kernel/turns.js'
import { checkData, type JsonLimits, type ParsedBody, type Parser, passedByText, passedByValue } from './parser.js'
import { readBody, tooLarge } from './read-body.js'

export interface JSONParserOptions {
  /** The most bytes of a body, counted after decompression. @default 1_048_576 */
  readonly limit?: number
  /** How many bytes one compressed byte may stand for, on the whole; the first 65,536 bytes are free. @default 100 */
  readonly ratio?: number
  /** The most levels of objects and arrays. @default 64 */
  readonly depth?: number
  /** The most values, objects and arrays among them, and names of members. @default 100_000 */
  readonly nodes?: number
}

const MALFORMED = 'Malformed JSON'
const BYTE_ORDER_MARK = 0xfeff
/** Characters from which on reading is so long that other requests get a turn behind it. */
const LONG = 65_536

/**
 * Reads JSON in UTF-8, plain or compressed by gzip, deflate or br. Values keep all digits of their numbers; in a
 * body that the application's own parser has read, where that leaves its text in `ctx.request.rawBody`.
 *
 * Answers 400 `Malformed JSON` to what is no JSON, is not UTF-8, or has a key that reaches for a prototype
 * (`__proto__`, or `constructor` holding `prototype`), 400 beyond `depth` or `nodes`, and 413 beyond `limit` or `ratio`.
 * Where an update of ours sends back a JSON value that is stored with such a key, it is taken as unchanged.
 * @example static override parserClasses = [new JSONParser({ limit: 10 * 1024 * 1024 })]
 */
export class JSONParser implements Parser {
  readonly mediaTypes: readonly string[] = ['application/json']
  readonly limit: number
  readonly ratio: number
  readonly depth: number
  readonly nodes: number

  /** @throws {ConfigurationError} an option is wrong */
  constructor(options: JSONParserOptions = {}) {
    takeOptions(this, options)
    const { limit = 1024 * 1024, ratio = 100, depth = 64, nodes = 100_000 } = options
    this.limit = limit
    this.ratio = ratio
    this.depth = depth
    this.nodes = nodes
  }

  async parse(ctx: Context): Promise<ParsedBody> {
    const bytes = await readBody(ctx, { limit: this.limit, ratio: this.ratio, malformed: MALFORMED })
    // A chunked body may turn out to have nothing in it: the same as none.
    if (bytes.length === 0) return { data: {}, textual: false }
    if (!isUtf8(bytes)) throw new BadRequest(MALFORMED)
    const text = bytes.toString('utf8')
    const passed = passedByText(text, this)
    if (passed) throw tooMuch(this, passed)
    let data: unknown
    try {
      data = text.length < LONG ? read(text) : await readLong(text)
    } catch (cause) {
      throw this.#malformed(cause, () => keepNumerals(JSON.parse(withoutMark(text)), text))
    }
    // digits count as they are written: a column of JSON, or of numbers, has them all
    if (text.length + lengthOfExponents(text) > this.limit) throw tooLarge()
    return { data, textual: false }
  }

  accept(ctx: Context, body: unknown): ParsedBody {
    checkData(body)
    const passed = passedByValue(body, this)
    if (passed) throw tooMuch(this, passed)
    try {
      if (typeof body === 'object' && body !== null) scan(body)
    } catch (cause) {
      throw this.#malformed(cause, () => body)
    }
    const text = textOf(ctx, body)
    // how long its text was is the affair of who has read it
    if ((text === undefined ? lengthOfExponentsIn(body) : lengthOfExponents(text)) > this.limit) throw tooLarge()
    return { data: text === undefined ? body : keepNumerals(body, text), textual: false }
  }

  /** The parser's own message would repeat the input. */
  #malformed(cause: unknown, data: () => unknown): BadRequest {
    if (!(cause as Error).message.includes('forbidden prototype')) return new BadRequest(MALFORMED, { cause })
    // what a parser of the application's makes of its bodies is not known here
    return new ForbiddenKey(cause, this.constructor === JSONParser ? data : undefined)
  }
}

takesOptions<JSONParserOptions>(JSONParser, { limit: 'size', ratio: 'size', depth: 'size', nodes: 'size' })

/** A body with a key that reaches for a prototype. */
export class ForbiddenKey extends BadRequest {
  override readonly name = 'ForbiddenKey'
  /** The body all the same, in which such keys are members like any other; undefined where it cannot be told. */
  readonly data: (() => unknown) | undefined

  constructor(cause: unknown, data: (() => unknown) | undefined) {
    super(MALFORMED, { cause, errors: { non_field_errors: [...MESSAGES.forbidden_key] } })
    this.data = data
  }
}

function read(text: string): unknown {
  return keepNumerals(isSuspect(text) ? parse(text) : JSON.parse(text), text)
}

/** Reads a long JSON string in turns of the event loop: what is checked behind the reading may take as long as that. */
async function readLong(text: string): Promise<unknown> {
  await nextTurn()
  const data: unknown = JSON.parse(withoutMark(text))
  await nextTurn()
  if (isSuspect(text) && typeof data === 'object' && data !== null) {
    scan(data)
    await nextTurn()
  }
  const kept = await keepNumeralsInTurns(data, text)
  await nextTurn()
  return kept
}

/** The text of a body that others have read, where they have left it; undefined where the body says something else since. */
function textOf({ request }: Context, body: unknown): string | undefined {
  const { rawBody } = request as { rawBody?: unknown }
  const text = Buffer.isBuffer(rawBody) ? rawBody.toString('utf8') : rawBody
  if (typeof text !== 'string' || !mayLoseDigits(text)) return undefined
  try {
    return JSON.stringify(JSON.parse(withoutMark(text))) === JSON.stringify(body) ? text : undefined
  } catch {
    // what the text is of, or what was made of it, is not plain JSON
    return undefined
  }
}

function withoutMark(text: string): string {
  return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text
}

function tooMuch({ depth, nodes }: JsonLimits, passed: keyof JsonLimits): BadRequest {
  return new BadRequest(
    passed === 'depth' ? `JSON is nested deeper than ${depth} levels` : `JSON has more than ${nodes} values and names`,
  )
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
