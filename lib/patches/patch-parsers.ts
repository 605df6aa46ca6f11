/** Parsers of patches: `application/json-patch+json` (RFC 6902) and `application/merge-patch+json` (RFC 7396). */
import type { Context } from '../http/context.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { JSONParser, type JSONParserOptions } from '../parsers/json-parser.js'
import type { ParsedBody } from '../parsers/parser.js'
import { readOperations } from './read-operations.js'

/** Options of `JsonPatchParser`; all that `copy` adds together is held to `limit`, too, in characters. */
export interface JsonPatchParserOptions extends JSONParserOptions {
  /** The most operations of one patch. @default 100 */
  readonly operations?: number
}

/**
 * Lets PATCH take JSON patches: a list of the operations `add`, `remove`, `replace`, `move`, `copy` and `test`, applied to what the
 * caller reads of the object, as it is when nobody else can change it any more. On other methods, and on bulk paths, they are 415.
 *
 * It reads JSON as `JSONParser` does, with its options and limits, and answers 400 to what is no list of operations. What they
 * mean for fields stands in docs/reference/patch-formats.md.
 * @example static override parserClasses = [JSONParser, new JsonPatchParser({ operations: 20 })]
 */
export class JsonPatchParser extends JSONParser {
  override readonly mediaTypes: readonly string[] = ['application/json-patch+json']
  readonly patch = 'operations'
  readonly operations: number

  constructor(options: JsonPatchParserOptions = {}) {
    super(options)
    const { operations = 100 } = options
    this.operations = operations
  }

  override async parse(ctx: Context): Promise<ParsedBody> {
    return this.#checked(await super.parse(ctx))
  }

  override accept(ctx: Context, body: unknown): ParsedBody {
    return this.#checked(super.accept(ctx, body))
  }

  /** @throws ValidationError it is no list of operations, or too long a list */
  #checked(body: ParsedBody): ParsedBody {
    readOperations(body.data, this.operations)
    return { ...body, patch: this.patch }
  }
}

takesOptions<JsonPatchParserOptions, JSONParserOptions>(JsonPatchParser, { operations: 'size' })

/**
 * Lets PATCH take JSON merge patches: `null` removes a member inside of a JSON column, and objects there are merged with what
 * is stored, as the row is when nobody else can change it any more. On other methods, and on bulk paths, they are 415.
 *
 * It reads JSON as `JSONParser` does, with its options and limits. What it means for fields, nested objects and what clients
 * cannot read stands in docs/reference/patch-formats.md.
 * @example static override parserClasses = [JSONParser, MergePatchParser]
 */
export class MergePatchParser extends JSONParser {
  override readonly mediaTypes: readonly string[] = ['application/merge-patch+json']
  readonly patch = 'merge'

  override async parse(ctx: Context): Promise<ParsedBody> {
    return { ...(await super.parse(ctx)), patch: this.patch }
  }

  override accept(ctx: Context, body: unknown): ParsedBody {
    return { ...super.accept(ctx, body), patch: this.patch }
  }
}

takesOptions(MergePatchParser, {})
