/** The backend of the version that a client asks for, as a header for proxies (wire format, section 8). */
import type { Context } from '../http/context.js'
import { ApiError } from '../kernel/errors.js'
import type { VersionTable } from './version-routes.js'

const COOKIE = 'app_version'

/** 409: the client asks for a version that there is not. */
export class UnknownAppVersion extends ApiError {
  override readonly name: string = 'UnknownAppVersion'
  constructor(versions: readonly string[]) {
    super(409, `Unknown app version. Available versions: ${versions.join(', ')}`, {
      members: { available_versions: versions },
    })
  }
}

/**
 * Names the backend in `x-backend-target`, for a proxy to route on.
 * @throws UnknownAppVersion
 */
export function routeVersion(ctx: Context, { backends, defaultVersion, versions }: VersionTable): void {
  ctx.vary('X-App-Requested-Version, Cookie')
  const requested = requestedVersion(ctx) || defaultVersion
  if (requested === undefined) return
  const backend = backends.get(requested)
  if (backend === undefined) throw new UnknownAppVersion(versions)
  ctx.set('x-backend-target', backend)
}

/** What the header asks for, else the cookie; a cookie that cannot be decoded asks for what there is not. */
function requestedVersion(ctx: Context): string | undefined {
  const header = ctx.get('X-App-Requested-Version')
  if (header !== '') return header
  const cookie = ctx.cookies.get(COOKIE, { signed: false })
  if (cookie === undefined || !cookie.includes('%')) return cookie
  try {
    return decodeURIComponent(cookie)
  } catch {
    return cookie
  }
}
