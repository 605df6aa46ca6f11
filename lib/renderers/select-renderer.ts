/** Chooses how to answer: by suffix, then `Accept`, then the first renderer. */
import Negotiator from 'negotiator'
import type { Context } from '../http/context.js'
import { ApiError } from '../kernel/errors.js'
import type { BaseRenderer } from './renderer.js'

/** Parameters other than the weight say nothing about the type: `application/json; version=2` is JSON. */
const PARAMETERS = /;(?!\s*q\s*=)[^;,]*/gi

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
  const negotiator = new Negotiator({ headers: { accept: accept.replace(PARAMETERS, '') } })
  const [chosen] = negotiator.mediaTypes(renderers.map((renderer) => renderer.mediaType))
  const renderer = renderers.find(({ mediaType }) => mediaType === chosen)
  if (renderer) return renderer
  if (strict) throw new ApiError(406, 'Not acceptable')
  return first
}
