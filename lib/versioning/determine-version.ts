/** API version of a request, the first step of dispatch. */
import type { Context } from '../http/context.js'
import { type BaseVersioning, versionText } from './versioning.js'

/** Puts the version into `ctx.state.version`. @throws ApiError when it is not allowed, or gone */
export function determineVersion(ctx: Context, versioning: BaseVersioning): void {
  ctx.state['version'] = versionText(versioning, 'determineVersion', versioning.determineVersion(ctx))
}
