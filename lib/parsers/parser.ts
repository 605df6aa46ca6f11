/** The contract of a parser, which of them reads a body, and how much may be in it, found without recursion. */

import contentType from 'content-type'
import { CLOSING } from '../http/closing.js'
import type { Context } from '../http/context.js'
import { BadRequest, ConfigurationError, UnsupportedMediaType } from '../kernel/errors.js'
import { isContainer } from '../kernel/json-numerals.js'
import { isRecord } from '../kernel/records.js'
import { isAborted } from './read-body.js'
import type { UploadedFile } from './uploads.js'

/** A media type, read once for all who ask (promise F3). */
export interface MediaType {
  /** In lower case: `multipart/form-data`. */
  readonly type: string
  /** By name in lower case. */
  readonly parameters: Readonly<Record<string, string>>
}

/** The fields of a view by which forms are read: those that take files, and those that are objects. */
export interface AskedForm {
  /** The names of its nested fields, into which a dot leads; `all` where the serializer depends on the request. */
  readonly objects: ReadonlySet<string> | 'all'
  /** The names of its fields that take files; `all` where the serializer depends on the request. */
  readonly files: ReadonlySet<string> | 'all'
  /** The most bytes that one of them may have; undefined where no field says. */
  readonly largest: number | undefined
}

/** Patch documents: of RFC 7396, of RFC 6902. */
export type PatchFormat = 'merge' | 'operations'

/** A request body as data. */
export interface ParsedBody {
  /** The value that the body stands for. */
  readonly data: unknown
  /** True when all values are strings, as in forms: a field then reads them with `fromText`. */
  readonly textual: boolean
  /** How `data` changes what there is, where it is a patch document; undefined for plain data. */
  readonly patch?: PatchFormat
  /** The files among `data` that are kept, by name, as `ctx.request.files` has them. */
  readonly files?: Readonly<Record<string, UploadedFile | readonly UploadedFile[]>>
  /** Removes what the parser left on disk. The caller of `parseBody` calls it when the request is over, whatever the outcome. */
  dispose?(): Promise<void>
}

/**
 * Reads bodies of some media types. A parser is immutable and shared by all requests; its limits are its options.
 * `parseBody` has checked the media type and the charset before.
 */
export interface Parser {
  /** In lower case, without parameters: `application/json`. */
  readonly mediaTypes: readonly string[]
  /** The patch documents that it reads, on PATCH only; undefined for a parser of plain data. */
  readonly patch?: PatchFormat
  /** False for a media type whose parameters it cannot work with: the request is answered 415. @default all are read */
  reads?(mediaType: MediaType): boolean
  /**
   * Reads and checks the body. A parser of forms keeps no file but those that are asked for; without `asked`, all.
   * @throws ApiError 400, 413 or 415
   */
  parse(ctx: Context, mediaType: MediaType, asked?: AskedForm): Promise<ParsedBody>
  /** Checks a body that the application's own middleware has read: `ctx.request.body`. @throws ApiError 400 or 413 */
  accept(ctx: Context, body: unknown, asked?: AskedForm): ParsedBody
}

/** What parsers must have. */
export const PARSER = { method: 'parse', properties: { mediaTypes: 'media types' } } as const

/** What JSON may have. */
export interface JsonLimits {
  /** The most levels of objects and arrays. */
  readonly depth: number
  /** The most values, objects and arrays among them, and names of members. */
  readonly nodes: number
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
/** The characters that a node takes at least, with what stands between it and the next: `0,`. */
const SHORTEST = 2

const TOO_DEEP = -1

/** The limit that this JSON text passes; undefined for none. Reads no further than it must, and parses nothing. */
export function passedByText(text: string, limits: JsonLimits): keyof JsonLimits | undefined {
  const isShort = text.length <= limits.nodes * SHORTEST
  if (isShort && !opensMore(text, limits.depth)) return undefined
  const found = measure(text, limits)
  if (found === TOO_DEEP) return 'depth'
  return found > limits.nodes ? 'nodes' : undefined
}

/** The nodes of this JSON text; any number above `most` where they are more. */
export function countNodes(text: string, most: number): number {
  return measure(text, { depth: Number.POSITIVE_INFINITY, nodes: most })
}

function measure(text: string, { depth, nodes }: JsonLimits): number {
  let level = 0
  let found = 1
  // an array or object that is closed as soon as it is opened has no node in it
  let isOpened = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code <= 0x20) continue
    switch (code) {
      case 0x5b: // [
      case 0x7b: // {
        if (++level > depth) return TOO_DEEP
        found++
        isOpened = true
        break
      case 0x5d: // ]
      case 0x7d: // }
        level--
        if (isOpened) found--
        isOpened = false
        break
      case COMMA:
      case COLON:
        found++
        break
      case QUOTE:
        at = endOfString(text, at)
        isOpened = false
        break
      default:
        isOpened = false
    }
    // the one above may be of an array that is closed at once
    if (found > nodes + 1) return found
  }
  return found
}

/** True when the text has more opening brackets than this, in strings or not: most bodies have few, which is soon seen. */
function opensMore(text: string, most: number): boolean {
  let left = most
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (left-- === 0) return true
    }
  }
  return false
}

/** The limit that this value passes; undefined for none. */
export function passedByValue(value: unknown, { depth, nodes }: JsonLimits): keyof JsonLimits | undefined {
  let found = 1
  let containers: readonly object[] = [value].filter(isContainer)
  for (let level = 1; containers.length > 0; level++) {
    if (level > depth) return 'depth'
    const inner: object[] = []
    for (const container of containers) {
      const members: readonly unknown[] = Array.isArray(container) ? container : Object.values(container)
      found += Array.isArray(container) ? members.length : 2 * members.length
      if (found > nodes) return 'nodes'
      for (const member of members) if (isContainer(member)) inner.push(member)
    }
    containers = inner
  }
  return undefined
}

function endOfString(text: string, start: number): number {
  let at = text.indexOf('"', start + 1)
  while (at !== -1 && isEscaped(text, at)) at = text.indexOf('"', at + 1)
  return at === -1 ? text.length : at
}

/** True behind an odd number of backslashes. */
function isEscaped(text: string, at: number): boolean {
  let before = at - 1
  while (text.charCodeAt(before) === BACKSLASH) before--
  return (at - 1 - before) % 2 === 1
}

/**
 * Reads the body with the parser for its media type; a request without a body counts as `{}`.
 * A body that the application's own parser has read before (koa-body, @koa/bodyparser) is taken from `ctx.request.body` and checked.
 * @param asked what the view asks of forms; without it, all files are kept
 * @throws UnsupportedMediaType no parser reads the media type, it is missing or malformed, or the charset is not UTF-8
 * @throws ApiError what the parser throws: 400, 413 or 415; 503 where the API closes before the body has come
 */
export function parseBody(
  ctx: Context,
  parsers: readonly Parser[],
  asked?: AskedForm,
): ParsedBody | Promise<ParsedBody> {
  if (!hasBody(ctx)) return { data: {}, textual: false }
  const mediaType = mediaTypeOf(ctx)
  const parser = mediaType && parserOf(mediaType, ctx, parsers)
  if (!mediaType || !parser) throw unsupported(ctx, parsers)
  if (!isBodyRead(ctx)) {
    const coming = Promise.resolve(parser.parse(ctx, mediaType, asked)).then((body) => parsedBy(parser, body))
    return CLOSING.get(ctx)?.bodyOf(ctx, coming) ?? coming
  }
  return parsedBy(parser, parser.accept(ctx, leftBody(ctx), asked))
}

/**
 * What has been read of the body, as it is in `ctx.request.body`; undefined where the request brings none.
 * @throws {BadRequest} it breaks off
 * @throws Error whatever has read it has left nothing
 */
export function leftBody(ctx: Context): unknown {
  if (isAborted(ctx.req)) throw new BadRequest('Request aborted')
  const { body } = ctx.request as { body?: unknown }
  if (body !== undefined || !hasBody(ctx)) return body
  if (!ctx.req.readableDidRead) throw new BadRequest('Request aborted')
  throw new Error('Something has read the request body and left no ctx.request.body')
}

/** @throws {ConfigurationError} an application's parser returns something else, such as the data alone */
function parsedBy({ constructor: { name } }: Parser, body: ParsedBody): ParsedBody {
  if (isRecord(body) && 'data' in body) return body
  throw new ConfigurationError(`${name} returned no body; let parse() and accept() return { data, textual: false }`)
}

/** @throws Error what other middleware has left of a body is an object without members, such as a `Uint8Array` or a `FormData` */
export function checkData(body: unknown): void {
  const kind = Object.prototype.toString.call(body).slice(8, -1)
  if (typeof body !== 'object' || ['Object', 'Array', 'Null'].includes(kind)) return
  throw new Error(`Something has read the request body and left a ${kind} in ctx.request.body, not its data`)
}

/** Whether the request brings a body, from its framing alone: `ctx.request.body` may be an empty object without one. */
function hasBody({ req }: Context): boolean {
  if (req.headers['transfer-encoding'] !== undefined) return true
  const length = req.headers['content-length']
  if (length !== undefined) return Number(length) > 0
  // HTTP/2 frames a body without either header.
  const { stream } = req as { stream?: { endAfterHeaders?: boolean } }
  return req.httpVersionMajor >= 2 && stream?.endAfterHeaders === false
}

/** True where nothing of the body is left to read. `readable` tells nothing of it: adapters of cloud functions set it. */
export function isBodyRead({ req }: Context): boolean {
  return req.readableDidRead || req.destroyed
}

function parserOf(mediaType: MediaType, { method }: Context, parsers: readonly Parser[]): Parser | undefined {
  const isFor = (parser: Parser) =>
    parser.mediaTypes.includes(mediaType.type) && isOf(method, parser) && parser.reads?.(mediaType) !== false
  return parsers.find(isFor)
}

/** True for a parser that reads bodies of the method: patch documents are of PATCH. */
function isOf(method: string, { patch }: Parser): boolean {
  return patch === undefined || method === 'PATCH'
}

/** Which header names the media types of a method's bodies (RFC 5789 section 3.1, RFC 10008). */
const ACCEPTS: Readonly<Record<string, string>> = { PATCH: 'Accept-Patch', QUERY: 'Accept-Query' }

function unsupported({ method }: Context, parsers: readonly Parser[]): UnsupportedMediaType {
  const header = ACCEPTS[method] ?? 'Accept-Post'
  return new UnsupportedMediaType({ [header]: mediaTypesFor(method, parsers).join(', ') })
}

/** The media types of the bodies that are read for a method. */
export function mediaTypesFor(method: string, parsers: readonly Parser[]): readonly string[] {
  return parsers.flatMap((parser) => (isOf(method, parser) ? parser.mediaTypes : []))
}

const JSON_TYPE: MediaType = { type: 'application/json', parameters: {} }

/** Undefined when it is missing, malformed, or in a charset other than UTF-8. */
function mediaTypeOf({ req }: Context): MediaType | undefined {
  const header = (req.headers['content-type'] ?? '').trim()
  if (header === JSON_TYPE.type) return JSON_TYPE
  try {
    // The package refuses the empty parameter of `application/json;`.
    const mediaType = contentType.parse(header.endsWith(';') ? header.slice(0, -1) : header)
    return isUtf8Name(mediaType.parameters['charset'] ?? 'utf-8') ? mediaType : undefined
  } catch {
    return undefined
  }
}

function isUtf8Name(charset: string): boolean {
  return UTF_8.has(charset.toLowerCase())
}

const UTF_8: ReadonlySet<string> = new Set(['utf-8', 'utf8'])
