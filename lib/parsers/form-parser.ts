/** Reads `application/x-www-form-urlencoded` (promise F4). */
import { isUtf8 } from 'node:buffer'
import type { Context } from '../http/context.js'
import { ApiError, BadRequest } from '../kernel/errors.js'
import { acceptFields, checkLimits, FormFields } from './form-fields.js'
import type { ParsedBody, Parser } from './parser.js'
import { readBody } from './read-body.js'

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
