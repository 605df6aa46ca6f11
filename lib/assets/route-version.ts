/** Which backend answers for the version of the application that a client asks for (wire format, section 8). */
import type { Context } from '../http/context.js'
import { ApiError, ConfigurationError } from '../kernel/errors.js'

export interface VersionRoutes {
  /** Backends by version. */
  readonly versionMap: Readonly<Record<string, string>>
  /** The version of clients that ask for none. @default none: nothing is set for them */
  readonly defaultVersion?: string | undefined
}

/** Routes that are checked. */
export interface VersionTable {
  readonly backends: ReadonlyMap<string, string>
  readonly defaultVersion: string | undefined
  /** In code-unit order. */
  readonly versions: readonly string[]
}

const VISIBLE = /^[!-~]+$/
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

/** Checks the routes. @throws ConfigurationError */
export function checkVersionRoutes({ versionMap, defaultVersion }: VersionRoutes): VersionTable {
  const backends = new Map(Object.entries(versionMap))
  if (backends.size === 0) throw new ConfigurationError('versionRouter(): versionMap has no version; add one')
  for (const [version, backend] of backends) {
    if (VISIBLE.test(version) && typeof backend === 'string' && VISIBLE.test(backend)) continue
    throw new ConfigurationError(
      `versionRouter(): versionMap has ${JSON.stringify({ [version]: backend })}; give both as characters from ! to ~`,
    )
  }
  if (defaultVersion !== undefined && !backends.has(defaultVersion)) {
    throw new ConfigurationError(
      `versionRouter(): defaultVersion ${JSON.stringify(defaultVersion)} is not in versionMap; add it`,
    )
  }
  return { backends, defaultVersion, versions: [...backends.keys()].sort() }
}

/**
 * Names the backend in `x-backend-target`, for a proxy to route on.
 * @throws UnknownAppVersion
 */
export function routeVersion(ctx: Context, { backends, defaultVersion, versions }: VersionTable): void {
  const requested = requestedVersion(ctx) || defaultVersion
  if (requested === undefined) return
  const backend = backends.get(requested)
  if (backend === undefined) throw new UnknownAppVersion(versions)
  ctx.set('x-backend-target', backend)
  ctx.vary('X-App-Requested-Version, Cookie')
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
