/** Tells the API version of a request. */

import { runStep } from '../lib/http/answer-error.js'
import type { Middleware } from '../lib/http/context.js'
import { type Policy, resolvePolicy } from '../lib/kernel/policy.js'
import { determineVersion } from '../lib/versioning/determine-version.js'
import type { BaseVersioning } from '../lib/versioning/versioning.js'

/**
 * Puts the version into `ctx.state.version`; answers 404, 406 or 410 for one that is not to be had.
 * @throws {ConfigurationError} an option of the versioning is wrong
 * @example router.get('/report', versioning(new HeaderVersioning({ allowedVersions: ['1.0', '2.0'] })), handler)
 */
export function versioning(policy: Policy<BaseVersioning>): Middleware {
  const settled = resolvePolicy('versioning()', policy, 'determineVersion')
  return async function determineApiVersion(ctx, next) {
    if (await runStep(ctx, () => determineVersion(ctx, settled))) await next()
  }
}
