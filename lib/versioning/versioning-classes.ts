/** The version in the Accept header, `application/json; version=2.0`, in a parameter of the query, `?version=2.0`, or in the path, `/v2/books`. */
import { type Context, mountOf, pathOf, queryOf } from '../http/context.js'
import { ApiError, ConfigurationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { BaseVersioning, type VersionParameter } from './versioning.js'

/** One element of a list, or one part of an element; a quoted string hides the separators in it (RFC 9110 section 5.6). */
const ELEMENTS = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g
const PARTS = /(?:[^;"]|"(?:[^"\\]|\\.)*"?)+/g
const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/**
 * Takes the parameter `version` of the media type in `Accept`; of several the one with the greatest weight, then the first.
 * Answers vary by `Accept`. A version that is not allowed is 406.
 * @example static override versioningClass = new HeaderVersioning({ allowedVersions: ['1.0', '2.0'] })
 */
export class HeaderVersioning extends BaseVersioning {
  override detectVersion(ctx: Context): string | undefined {
    ctx.vary('Accept')
    const { accept } = ctx.headers
    // most requests name no version: then there is nothing to take apart
    return accept === undefined || !/version/i.test(accept) ? undefined : versionOf(accept)
  }

  override refusal(): ApiError {
    const { allowedVersions } = this
    const hint = allowedVersions.length > 0 ? `. Available versions: ${allowedVersions.join(', ')}` : ''
    return new ApiError(406, `Unknown API version${hint}`)
  }
}

takesOptions(HeaderVersioning, {})

function versionOf(accept: string): string | undefined {
  let chosen: string | undefined
  let best = 0
  for (const [element] of accept.matchAll(ELEMENTS)) {
    const parameters = readParameters(element)
    const version = parameters.get('version')
    const q = parameters.get('q') ?? '1'
    const weight = WEIGHT.test(q) ? Number(q) : 1
    if (version === undefined || weight <= best) continue
    chosen = version
    best = weight
  }
  return chosen
}

/** Parameters of a media range by lower-case name; of repeated ones the first counts. */
function readParameters(element: string): Map<string, string> {
  const parameters = new Map<string, string>()
  for (const [part] of [...element.matchAll(PARTS)].slice(1)) {
    const equals = part.indexOf('=')
    if (equals < 0) continue
    const name = part.slice(0, equals).trim().toLowerCase()
    if (!parameters.has(name)) parameters.set(name, unquote(part.slice(equals + 1).trim()))
  }
  return parameters
}

function unquote(text: string): string {
  return text.startsWith('"') ? text.replace(/^"|"$/g, '').replace(/\\(.)/g, '$1') : text
}

/**
 * Takes the query parameter `version`; of repeated ones the last counts. A version that is not allowed is 404.
 * @example static override versioningClass = new QueryParamVersioning({ allowedVersions: ['1.0', '2.0'] })
 */
export class QueryParamVersioning extends BaseVersioning {
  override detectVersion(ctx: Context): string | undefined {
    // where the target is no URL, Koa throws for its query, too
    if (pathOf(ctx) === undefined) return undefined
    const value = queryOf(ctx)['version']
    return typeof value === 'string' ? value : value?.at(-1)
  }

  override parameters(): readonly VersionParameter[] {
    const { defaultVersion, allowedVersions } = this
    const values = allowedVersions.length > 0 ? { enum: [...allowedVersions] } : {}
    // a default that is not allowed is one that no client may name
    const isNamed = allowedVersions.length === 0 || allowedVersions.includes(defaultVersion)
    return [
      {
        name: 'version',
        description: 'The version of the API.',
        schema: { type: 'string', ...values, ...(isNamed && { default: defaultVersion }) },
      },
    ]
  }

  override keepVersion(ctx: Context, path: string): string {
    const asked = this.detectVersion(ctx)
    return asked ? `${path}?version=${encodeURIComponent(asked)}` : path
  }
}

takesOptions(QueryParamVersioning, {})

/** The first segment that looks like a version. */
const SEGMENT = /(?:^|\/)v(\d+(?:\.\d+)*)(?=\/|$)/

/**
 * Takes the path parameter `{version}`; where the route has none, the first segment of its pattern, and of the path it is
 * mounted under, that looks like `v1` or `v2.1`. A leading `v` is removed. A version that is not allowed is 404.
 *
 * Before any routing, as a middleware of the whole app, the path of the request stands for the pattern.
 * @example
 * static override versioningClass = new URLPathVersioning({ allowedVersions: ['1', '2'] })
 * new APIRouter({ prefix: '/api/{version}' })
 */
export class URLPathVersioning extends BaseVersioning {
  override detectVersion(ctx: Context): string | undefined {
    const params = ctx['params'] as Record<string, unknown> | undefined
    const given = params && Object.hasOwn(params, 'version') ? params['version'] : undefined
    // without its leading "v" it would be none, and none stands for the default
    if (given === 'v') throw this.refusal()
    if (typeof given === 'string') return given.startsWith('v') ? given.slice(1) : given
    // a segment that stands in the pattern is the application's; one of the path could be an object's name
    const route: unknown = ctx['_matchedRoute']
    const path = typeof route === 'string' ? route : (pathOf(ctx) ?? '')
    const { mountPath } = ctx as { readonly mountPath?: string }
    const mount = mountPath === undefined ? '' : (mountOf(ctx) ?? mountPath)
    return SEGMENT.exec(mount + path)?.[1]
  }

  override settle(where: string): void {
    for (const version of [this.defaultVersion, ...this.allowedVersions, ...Object.keys(this.versions)]) {
      if (!version.startsWith('v')) continue
      throw new ConfigurationError(`${where}: write the version "${version}" without its leading "v"`)
    }
    super.settle(where)
  }
}

takesOptions(URLPathVersioning, {})
