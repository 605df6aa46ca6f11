/** Adds an API's endpoints to an application's own @koa/router, as layers that know our path hints. */

import { METHODS } from 'node:http'
import { type Context, FORMAT, NAMESPACE, splitSuffix } from '../http/context.js'
import { ConfigurationError } from '../kernel/errors.js'
import { decodeSegment, parsePattern, patternOf, type Segment, writePath } from '../kernel/path-pattern.js'
import type { APIView } from '../views/api-view.js'
import type { ViewHandler } from '../views/view-handler.js'
import type { Routable } from './route-table.js'
import { literalText, RouteTable } from './route-table.js'

/** An application's own @koa/router, of version 8 to 15, as far as it is used. */
export interface LayeredRouter {
  /** Adds a route for these methods. */
  register(path: string, methods: string[], middleware: never, options?: object): object
}

/** An endpoint as it is mounted: its view, its actions, and the handler of its requests. */
export interface Mounted extends Routable {
  readonly view: typeof APIView
  readonly actions: Readonly<Record<string, string>>
  readonly handler: ViewHandler
}

export interface MountOptions {
  /** Whose endpoint it is. */
  readonly owner: object
  readonly endpoint: Mounted
  readonly namespace: string | undefined
  /** The endpoint as it is now: its hints are known for certain once the catalogue was read. */
  current(): Mounted
  /** The endpoint of a path below the router, as its own routes find it. */
  find(path: string, method: string): Found | undefined
  /** False when the catalogue could not be read and the request was answered. */
  prepare(ctx: Context): Promise<boolean>
  serve(ctx: Context, handler: ViewHandler): Promise<void>
}

/** The layer's router and endpoint. A symbol, because a router copies the layers of one nested in it. */
const MOUNTED = Symbol('what a layer was mounted with')

/** The part of a @koa/router layer that is adapted. */
interface Layer {
  [MOUNTED]?: MountOptions
  match: (this: Layer, path: string) => boolean
  captures: (this: Layer, path: string) => string[]
  params: (this: Layer, path: string, captures: readonly string[], known: object) => Record<string, string>
  paramNames: readonly { readonly name: string | number }[]
}

/** Whose paths a layer answers. */
interface Adapted {
  current(): Pick<Mounted, 'matched'>
  /** The endpoint of a path, as everywhere. */
  find(path: string, method: string): Found | undefined
}

interface Found {
  readonly endpoint: Pick<Mounted, 'matched'>
  readonly format?: string
}

/** How a layer's paths are matched, whatever the router's own are: case counts, a slash at the end does not. */
const MATCHING = { sensitive: true, strict: false }

/** What answers the paths of a layer. */
interface Handled {
  readonly methods: string[]
  readonly handle: unknown
  readonly name?: string | undefined
}

const NO_ROUTER =
  'mount(), mountView(): give a @koa/router, such as new Router(); for an application write app.use(api.routes()), for a koa-joi-router its .router'

/** Adds a layer. Up to version 13 a router has another syntax for the rest of a path, which later ones refuse. */
export function addLayer(
  router: LayeredRouter,
  segments: readonly Segment[],
  { methods, handle, name }: Handled,
): object {
  const { register: adds, use } = (router ?? {}) as { readonly register?: unknown; readonly use?: unknown }
  if (typeof adds !== 'function' || typeof use !== 'function') throw new ConfigurationError(NO_ROUTER)
  const options = { ...MATCHING, ...(name === undefined ? {} : { name }) }
  const register = (path: string) => router.register(path, methods, handle as never, options)
  const hasRest = segments.some((segment) => segment.kind === 'param' && segment.hint === 'path')
  if (!hasRest) return register(layerPath(segments))
  try {
    return register(layerPath(segments, (rest) => `:${rest}(.*)`))
  } catch {
    return register(layerPath(segments))
  }
}

/** Registers one layer for each method; a value that does not fit its hint is no match, so the router goes on. */
export function mountOn(router: LayeredRouter, options: MountOptions): void {
  const { endpoint, namespace } = options
  const handle = async (ctx: Context, next: () => Promise<unknown>) => {
    if (!(await options.prepare(ctx))) return
    const { matched, formats, handler } = options.current()
    // only now is it known what type a key has
    if (!paramsFit(ctx['params'] as Record<string, string>, matched)) return next()
    const suffix = splitSuffix(ctx.path, formats)
    if (suffix && !endsInKey(matched, ctx)) FORMAT.set(ctx, suffix.format)
    if (namespace !== undefined) NAMESPACE.set(ctx, namespace)
    await options.serve(ctx, handler)
  }
  for (const method of [...Object.keys(endpoint.actions), 'options']) {
    const name = endpoint.operations.get(method.toUpperCase())?.name
    const named = name === undefined ? {} : { name: namespace === undefined ? name : `${namespace}:${name}` }
    const layer = addLayer(router, endpoint.segments, { methods: [method], handle, ...named })
    adaptLayer(layer, options, method)
    ;(layer as Layer)[MOUNTED] = options
  }
}

/** The owner's endpoint that a @koa/router has found for the request's path, under whatever prefix and for any method. */
export function matchedEndpoint(ctx: Context, owner: object): Mounted | undefined {
  return matchedLayer(ctx, owner)?.[MOUNTED]?.current()
}

/** What the path names for that endpoint. */
export function matchedParams(ctx: Context, owner: object): Readonly<Record<string, string>> {
  const layer = matchedLayer(ctx, owner)
  return layer ? layer.params(ctx.path, layer.captures(ctx.path), { ...(ctx['params'] as object) }) : {}
}

function matchedLayer(ctx: Context, owner: object): Layer | undefined {
  const layers = (ctx['matched'] ?? []) as readonly Layer[]
  return layers.find((layer) => layer[MOUNTED]?.owner === owner)
}

/**
 * Lets a layer see paths without their format suffix, and refuse values that do not fit.
 * A router copies the layers of a router nested in it and gives the copies a prefix: so nothing is bound to this layer.
 */
export function adaptLayer(adapted: object, options: Adapted, method = 'get'): void {
  const layer = adapted as Layer
  const { match, captures } = layer
  const encoded = encodedParts(options.current().matched)
  const respelled = (self: Layer, asked: string) => {
    // up to version 13 a strict router's layers are strict whatever they say
    const path = asked.replace(/(?<=[^/])\/$/, '')
    return encoded.size === 0 || match.call(self, path) ? path : respell(path, encoded)
  }
  /** The path as the layer reads it, without the suffix that is none of its key. */
  const read = (self: Layer, asked: string): string | undefined => {
    const suffix = /\.\w+$/.exec(asked)?.[0] ?? ''
    for (const end of new Set(['', suffix])) {
      const path = respelled(self, asked.slice(0, asked.length - end.length))
      if (!match.call(self, path)) continue
      const texts = captures.call(self, path)
      const values = new Map(self.paramNames.map(({ name }, index) => [name, texts[index]]))
      // without what the application's routers have before it, its parameters as the client wrote them
      const below = writePath(options.current().matched, ({ name }) => values.get(name) ?? '')
      const found = options.find(below + end, method.toUpperCase())
      if (found?.endpoint === options.current() && (found.format !== undefined) === (end !== '')) return path
    }
    return undefined
  }
  layer.match = function (path) {
    return read(this, path) !== undefined
  }
  layer.captures = function (path) {
    return captures.call(this, read(this, path) ?? path)
  }
}

/** The fixed parts that have more than one spelling: a client may leave `:` as it is, or write `%3a`. */
function encodedParts(segments: readonly Segment[]): ReadonlySet<string> {
  const texts = segments.flatMap((segment) => (segment.kind === 'literal' ? [segment.text] : []))
  return new Set(texts.filter((text) => encodeURIComponent(text) !== text))
}

/** Spells these parts of a path as `layerPath()` does. */
function respell(path: string, parts: ReadonlySet<string>): string {
  const spell = (raw: string) => {
    const text = literalText(raw)
    return parts.has(text) ? encodeURIComponent(text) : raw
  }
  return path.split('/').map(spell).join('/')
}

/** True when each of our parameters has a value that fits its hint; a router's prefix may have brought others. */
function paramsFit(params: Readonly<Record<string, string | null | undefined>>, segments: readonly Segment[]): boolean {
  return segments.every((segment) => {
    if (segment.kind === 'literal') return true
    const text = params[segment.name]
    return typeof text === 'string' && patternOf(segment).test(text)
  })
}

/** True where the last parameter has all of the last part of the path, so that its end is no format. */
function endsInKey(segments: readonly Segment[], ctx: Context): boolean {
  const last = segments.at(-1)
  if (last?.kind !== 'param') return false
  const text = decodeSegment(ctx.path.slice(ctx.path.lastIndexOf('/') + 1))
  return (ctx['params'] as Record<string, string>)[last.name] === text
}

/** Our pattern in the router's own syntax. */
function layerPath(segments: readonly Segment[], rest = (name: string) => `*${name}`): string {
  const parts = segments.map((segment) => {
    // what stays as it is and has a meaning in the router's syntax
    if (segment.kind === 'literal') return encodeURIComponent(segment.text).replace(/[!()]/g, String.raw`\$&`)
    return segment.hint === 'path' ? rest(segment.name) : `:${segment.name}`
  })
  return `/${parts.join('/')}`
}

/**
 * Routes a view by a pattern such as `/books/{id:int}`: a value that does not fit its hint is no match, so the router goes
 * on. The view answers all methods, 405 included. With the router's own patterns, `router.all('/books/:id', view)` does.
 * @param options.name the route's name, for `router.url()`
 * @throws {ConfigurationError} the pattern cannot be read, or it is no @koa/router
 * @example mountView(router, '/books/{id:int}', BookDetail.asView(), { name: 'book' })
 */
export function mountView(
  router: LayeredRouter,
  pattern: string,
  view: ViewHandler,
  options: { readonly name?: string } = {},
): void {
  const matched = parsePattern(pattern)
  const own = { matched, segments: matched, formats: new Set<string>(), operations: new Map() }
  const table = new RouteTable([own])
  const methods = METHODS.map((method) => method.toLowerCase())
  const layer = addLayer(router, matched, { methods, handle: (ctx: Context) => view(ctx), ...options })
  adaptLayer(layer, { current: () => own, find: (path) => table.find(path) })
}
