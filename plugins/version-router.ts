/** Names the backend of the version that a client asks for (wire format, section 8). */
import { routeVersion } from '../lib/assets/route-version.js'
import { checkVersionRoutes, type VersionRoutes } from '../lib/assets/version-routes.js'
import { runStep } from '../lib/http/answer-error.js'
import type { Middleware } from '../lib/http/context.js'

/**
 * Sets the response header `x-backend-target` to the backend of the version in `X-App-Requested-Version`, in the cookie
 * `app_version`, or else of the default. An unknown version is 409 and goes no further.
 * @throws ConfigurationError the map is empty or has values that no header can have, or the default is not in it
 * @example app.use(versionRouter({ versionMap: { v1: 'blue', v2: 'green' }, defaultVersion: 'v1' }))
 */
export function versionRouter(routes: VersionRoutes): Middleware {
  const table = checkVersionRoutes(routes)
  return async function routeByVersion(ctx, next) {
    if (await runStep(ctx, () => routeVersion(ctx, table))) await next()
  }
}
