/** Content negotiation for hand-written routes: the same parsers, renderers and answers as on views. */

import { type Context, requestedFormat, WITH_CONTENT } from '../../http/context.js'
import { disposeBody } from '../../http/dispose-body.js'
import { isStreamed } from '../../http/response-body.js'
import { atResponseEnd } from '../../http/response-end.js'
import { ConfigurationError } from '../../kernel/errors.js'
import { checkKinds } from '../../kernel/option-kinds.js'
import { type Policies, resolvePolicies } from '../../kernel/policy.js'
import { FormParser } from '../../parsers/form-parser.js'
import { JSONParser } from '../../parsers/json-parser.js'
import { MultiPartParser } from '../../parsers/multi-part-parser.js'
import { PARSER, type Parser, parseBody } from '../../parsers/parser.js'
import { JSONRenderer } from '../../renderers/json-renderers.js'
import { type BaseRenderer, RENDERER, renderBody, selectRenderer } from '../../renderers/renderer.js'
import type { ViewPolicies } from '../view.js'

/** Options of `contentNegotiation()`: which bodies a hand-written route reads, and how it answers. */
export interface NegotiationOptions {
  /** Which bodies are read. @default [JSONParser, FormParser, MultiPartParser] */
  readonly parsers?: Policies<Parser>
  /** How answers are written; the first is the default. @default [JSONRenderer] */
  readonly renderers?: Policies<BaseRenderer>
  /** Methods whose body is read. @default ['POST', 'PUT', 'PATCH'] */
  readonly methods?: readonly string[]
  /** Answer 406 where no renderer writes what the client accepts, before the route runs. @default false */
  readonly strictAccept?: boolean
  /** What downloads are called, without their ending. @default 'data' */
  readonly basename?: string
}

/** The options with instances in place of classes. */
export interface Negotiation extends Pick<ViewPolicies, 'parsers' | 'renderers' | 'strictAccept'> {
  /** The suffixes of the renderers. */
  readonly formats: ReadonlySet<string>
  readonly methods: ReadonlySet<string>
  readonly basename: string
}

const PARSERS: Policies<Parser> = [JSONParser, FormParser, MultiPartParser]
const RENDERERS: Policies<BaseRenderer> = [JSONRenderer]

/** @throws {ConfigurationError} an option is wrong, or there is no renderer */
export function settleNegotiation(options: NegotiationOptions): Negotiation {
  checkKinds('contentNegotiation()', options, {
    kinds: { parsers: 'any', renderers: 'any', methods: 'names', strictAccept: 'boolean', basename: 'text' },
  })
  const {
    parsers = PARSERS,
    renderers = RENDERERS,
    methods = [...WITH_CONTENT],
    strictAccept = false,
    basename = 'data',
  } = options
  if (renderers.length === 0) throw new ConfigurationError('contentNegotiation: renderers is empty; give at least one')
  const settled = resolvePolicies('contentNegotiation: renderers', renderers, RENDERER)
  return {
    parsers: resolvePolicies('contentNegotiation: parsers', parsers, PARSER),
    renderers: settled,
    formats: new Set(settled.map(({ format }) => format)),
    methods: new Set(methods.map((method) => method.toUpperCase())),
    strictAccept,
    basename,
  }
}

/**
 * Leaves the body as data in `ctx.request.body`, and its files in `ctx.request.files` too. They are removed when the
 * response is finished or its client is gone.
 * @throws ApiError 400, 406, 413 or 415
 */
export async function readRequest(ctx: Context, negotiation: Negotiation): Promise<void> {
  const { parsers, renderers, formats, methods, strictAccept } = negotiation
  if (strictAccept) selectRenderer(ctx, renderers, { format: requestedFormat(ctx, formats), strict: true })
  if (!methods.has(ctx.method) || parsers.length === 0) return
  const body = await parseBody(ctx, parsers)
  if (body.dispose) atResponseEnd(ctx, () => void disposeBody(ctx, body))
  Object.assign(ctx.request, { body: body.data, ...(body.files && { files: body.files }) })
}

/** Renders a body that is plain data; streams, strings and buffers stay as they are. */
export function renderAnswer(ctx: Context, { renderers, formats, basename }: Negotiation): void {
  const data: unknown = ctx.body
  if (!isData(data) || ctx.headerSent || ctx.respond === false) return
  const renderer = selectRenderer(ctx, renderers, { format: requestedFormat(ctx, formats) })
  if (renderers.length > 1) ctx.vary('Accept')
  if (ctx.status >= 400 && !ctx.res.hasHeader('Cache-Control')) ctx.set('Cache-Control', 'no-store')
  ctx.set('X-Content-Type-Options', 'nosniff')
  renderBody(ctx, renderer, data, { basename })
}

/** What Koa would write as JSON. */
function isData(body: unknown): body is object {
  return typeof body === 'object' && body !== null && !(body instanceof Uint8Array) && !isStreamed(body)
}
