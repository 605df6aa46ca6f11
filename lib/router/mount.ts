/** Adds an API's endpoints to an application's own @koa/router, as layers that know our path hints. */
import type Router from '@koa/router'
import type { Context } from '../context.js'
import { decodeSegment, matchesHint, type Segment } from '../path-pattern.js'
import { setFormat, splitSuffix } from '../path-suffix.js'
import type { ViewHandler } from '../views/api-view.js'

/** What is mounted. */
export interface Mounted {
  readonly segments: readonly Segment[]
  readonly actions: Readonly<Record<string, string>>
  readonly handler: ViewHandler
  readonly names: ReadonlyMap<string, string>
  readonly formats: ReadonlySet<string>
}

export interface MountOptions {
  readonly endpoint: Mounted
  readonly namespace: string | undefined
  /** The endpoint as it is now: its hints are known for certain once the catalogue was read. */
  current(): Mounted
  serve(ctx: Context, handler: ViewHandler): Promise<void>
}

/** The part of a @koa/router layer that is adapted. */
interface Layer {
  match(path: string): boolean
  captures(path: string): string[]
  paramNames: readonly { readonly name: string | number }[]
}

/** Registers one layer for each method; a value that does not fit its hint is no match, so the router goes on. */
export function mountOn(router: Router, options: MountOptions): void {
  const { endpoint, namespace } = options
  const path = writePath(endpoint.segments)
  const handle = async (ctx: Context) => {
    const suffix = splitSuffix(ctx.path, options.current().formats)
    if (suffix) setFormat(ctx, suffix.format)
    await options.serve(ctx, options.current().handler)
  }
  for (const method of [...Object.keys(endpoint.actions), 'options']) {
    const name = endpoint.names.get(method.toUpperCase())
    const layer = router.register(path, [method], handle as never, {
      sensitive: true,
      ...(name === undefined ? {} : { name: namespace === undefined ? name : `${namespace}:${name}` }),
    }) as unknown as Layer
    adapt(layer, options)
  }
}

/** Lets a layer see paths without their format suffix, and refuse values that do not fit. */
function adapt(layer: Layer, options: MountOptions): void {
  const match = layer.match.bind(layer)
  const captures = layer.captures.bind(layer)
  const plain = (path: string) => {
    const suffix = splitSuffix(path, options.current().formats)
    return suffix && fits(suffix.path) ? suffix.path : path
  }
  const fits = (path: string) => match(path) && valuesFit(layer, captures(path), options.current().segments)
  layer.match = (path) => fits(plain(path))
  layer.captures = (path) => captures(plain(path))
}

function valuesFit(layer: Layer, values: readonly string[], segments: readonly Segment[]): boolean {
  return segments.every((segment) => {
    if (segment.kind === 'literal') return true
    const raw = values[layer.paramNames.findIndex((key) => key.name === segment.name)]
    const text = raw === undefined ? null : decodeSegment(raw)
    return text !== null && matchesHint(segment.hint, text)
  })
}

/** Our pattern in the router's own syntax. */
function writePath(segments: readonly Segment[]): string {
  const parts = segments.map((segment) => {
    if (segment.kind === 'literal') return encodeURIComponent(segment.text)
    return segment.hint === 'path' ? `*${segment.name}` : `:${segment.name}`
  })
  return `/${parts.join('/')}`
}
