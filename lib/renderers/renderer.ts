/** The contract of a renderer, how one is chosen (by suffix, then `Accept`, then the first), and how it writes the answer. */

import { preferredType } from '../http/accept.js'
import type { Context } from '../http/context.js'
import { isStreamed, readByRequest } from '../http/response-body.js'
import { described } from '../kernel/declarations.js'
import { ApiError, ConfigurationError } from '../kernel/errors.js'
import { ignoreRejection, isPromise } from '../kernel/realms.js'

/** What a renderer may know of the answer besides its data. */
export interface RenderContext {
  /** What the answer is of: the first part of the route's name, or the view's class name. */
  readonly basename?: string | undefined
}

/** Turns data into text. Immutable and shared by all requests. */
export abstract class BaseRenderer {
  /** The media type it is asked for by, without parameters. */
  abstract readonly mediaType: string
  /** The path suffix it is asked for by, without the dot. */
  abstract readonly format: string
  /** The value of `Content-Type`. */
  abstract readonly contentType: string
  /** True where of a page only its `results` are written, so that the client gets no link and no cursor. @default false */
  readonly resultsOnly: boolean = false
  /** The whole body. */
  abstract render(data: unknown, context: RenderContext): string | Uint8Array

  /** Headers besides `Content-Type`. @default none */
  headers(_context: RenderContext): Readonly<Record<string, string>> | undefined {
    return undefined
  }
}

described(BaseRenderer)

/** What renderers must have. */
export const RENDERER = {
  method: 'render',
  properties: { mediaType: 'name', format: 'suffix', contentType: 'name' },
} as const

/**
 * Sets body, `Content-Type` and what other headers the renderer has; a type of JSON that the handler has set stays. Bytes
 * are the body as they are where they would be made a text.
 * @throws {ConfigurationError} the renderer gives no text and no bytes: nothing would be sent, or JSON under another type
 */
export function renderBody(ctx: Context, renderer: BaseRenderer, data: unknown, context: RenderContext): void {
  if (data instanceof Uint8Array && writesText(renderer)) {
    ctx.body = bufferOf(data)
    return
  }
  const body: unknown = renderer.render(data, context)
  if (!(typeof body === 'string' || body instanceof Uint8Array || isStreamed(body))) {
    // what it rejects with would end the process
    ignoreRejection(body)
    const returned = isPromise(body) ? 'a promise' : body === null ? 'null' : typeof body
    throw new ConfigurationError(
      `${renderer.constructor.name}: render() returned ${returned}; return the body, as text or bytes`,
    )
  }
  if (!(ctx.res.headersSent || saysWhichJson(ctx, renderer))) ctx.res.setHeader('Content-Type', renderer.contentType)
  const headers = renderer.headers(context)
  if (headers) ctx.set(headers as Record<string, string>)
  ctx.body = body instanceof Uint8Array ? bufferOf(body) : body
  if (isStreamed(body)) readByRequest(ctx)
}

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** An image, or an archive, may be what a renderer of its type makes of bytes. */
const writesText = ({ contentType }: BaseRenderer): boolean => /^text\/|json\b/i.test(contentType)

/** True for JSON whose type says more than that it is JSON, such as `application/geo+json`: only the handler knows of it. */
function saysWhichJson({ res }: Context, { mediaType }: BaseRenderer): boolean {
  const type = res.getHeader('Content-Type')
  return mediaType === 'application/json' && typeof type === 'string' && /^[^;]+\+json\s*(;|$)/i.test(type)
}

export interface SelectOptions {
  /** The suffix of the path, if it had one. */
  readonly format?: string | undefined
  /** Refuse what no renderer writes, in place of the first. @default false */
  readonly strict?: boolean
}

/**
 * The renderer for a request. `renderers` has at least one entry.
 * @throws ApiError 406 `Accept` names nothing that a renderer writes, with `strict`
 */
export function selectRenderer(
  ctx: Context,
  renderers: readonly BaseRenderer[],
  { format, strict = false }: SelectOptions = {},
): BaseRenderer {
  const [first] = renderers as [BaseRenderer]
  if (format !== undefined) return renderers.find((renderer) => renderer.format === format) ?? first
  if (renderers.length === 1 && !strict) return first
  const accept = ctx.headers.accept
  if (accept === undefined) return first
  const types = renderers.map((renderer) => renderer.mediaType)
  const chosen = preferredType(accept, types)
  const renderer = renderers.find(({ mediaType }) => mediaType === chosen)
  if (renderer) return renderer
  if (strict) throw new ApiError(406, 'Not acceptable')
  return first
}

/** A portion of a list. */
export interface StreamedRows {
  /** How many rows there are. */
  readonly length: number
  /** A row as JSON. */
  json(index: number): string
  /** A row as the cells of a table, in the order of the columns; not quoted yet. */
  cells(index: number): readonly string[]
}

/** A renderer that needs no more than a portion of a list at a time. */
export interface StreamingRenderer extends BaseRenderer {
  /** What stands before the rows. */
  begin(columns: readonly string[]): string
  /** A portion; `first` for the one after the beginning. */
  writeRows(rows: StreamedRows, first: boolean): string
  /** What stands after the rows. */
  end(): string
}

export function canStream(renderer: BaseRenderer): renderer is StreamingRenderer {
  const { begin, writeRows, end } = renderer as Partial<StreamingRenderer>
  return [begin, writeRows, end].every((method) => typeof method === 'function')
}

/** Calls `write` for each row of a portion. */
export function mapRows<T>({ length }: StreamedRows, write: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => write(index))
}

/** A column of an output. The one object that a field shows has columns itself. */
export interface OutputColumn {
  readonly name: string
  readonly field?: { readonly shownFields?: readonly OutputColumn[] | undefined }
}

const columns = new WeakMap<object, readonly OutputColumn[]>()

/** Remembers the columns of an output: a list of objects, or one. */
export function nameColumns<Data extends object>(data: Data, fields: readonly OutputColumn[]): Data {
  columns.set(data, fields)
  return data
}

/** The columns of an output; none where no serializer has made it. */
export function columnsOf(data: object): readonly OutputColumn[] {
  return columns.get(data) ?? []
}
