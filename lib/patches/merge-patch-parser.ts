/** Reads `application/merge-patch+json` (RFC 7396). */
import type { Context } from '../http/context.js'
import { JSONParser } from '../parsers/json-parser.js'
import type { ParsedBody } from '../parsers/parser.js'

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
