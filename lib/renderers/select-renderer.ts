/** Chooses how to answer: by suffix, then `Accept`, then the first renderer (spec section 4.9). */
import Negotiator from 'negotiator'
import type { Context } from '../context.js'
import type { BaseRenderer } from './renderer.js'

/** Parameters other than the weight say nothing about the type: `application/json; version=2` is JSON. */
const PARAMETERS = /;\s*(?!q\s*=)[^;,]*/gi

/** The renderer for a request. `renderers` has at least one entry; `format` is the suffix of the path, if it had one. */
export function selectRenderer(
  ctx: Context,
  renderers: readonly BaseRenderer[],
  format: string | undefined,
): BaseRenderer {
  const [first] = renderers as [BaseRenderer]
  if (format !== undefined) return renderers.find((renderer) => renderer.format === format) ?? first
  const accept = ctx.headers.accept
  if (renderers.length === 1 || accept === undefined) return first
  const negotiator = new Negotiator({ headers: { accept: accept.replace(PARAMETERS, '') } })
  const [chosen] = negotiator.mediaTypes(renderers.map((renderer) => renderer.mediaType))
  return renderers.find((renderer) => renderer.mediaType === chosen) ?? first
}
