/** The version in the path: `/api/v2/books`. */

import { type Context, pathOf } from '../http/context.js'
import { ConfigurationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { BaseVersioning } from './versioning.js'

/** The first segment that looks like a version. */
const SEGMENT = /(?:^|\/)v(\d+(?:\.\d+)*)(?=\/|$)/
/** The host of an absolute-form target is the client's to choose. */
const AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i

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
    return SEGMENT.exec(mountOf(ctx) + path)?.[1]
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

/** The path that the route's app is mounted under, by koa-mount at any depth. */
function mountOf(ctx: Context): string {
  if (ctx['mountPath'] === undefined) return ''
  const [whole = ''] = ctx.originalUrl.replace(AUTHORITY, '').split(/[?#]/, 1)
  return whole.endsWith(ctx.path) ? whole.slice(0, whole.length - ctx.path.length) : String(ctx['mountPath'])
}
