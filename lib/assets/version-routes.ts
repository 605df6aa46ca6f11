/** Options of `versionRouter()`: the backends by version (wire format, section 8). */

import { ConfigurationError } from '../kernel/errors.js'
import { checkKinds } from '../kernel/option-kinds.js'

/** Options of `versionRouter()`. */
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

/** Checks the routes. @throws ConfigurationError */
export function checkVersionRoutes(routes: VersionRoutes): VersionTable {
  checkKinds('versionRouter()', routes, { kinds: { versionMap: 'record', defaultVersion: 'text' } })
  const { versionMap, defaultVersion }: Partial<VersionRoutes> = routes
  const backends = new Map(Object.entries(versionMap ?? {}))
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
