/** `GET /version` (wire format, section 8). */
import { checkVersionSettings, describeAppVersion } from '../lib/assets/app-version.js'
import { acceptsMethod, answerJson, isPath } from '../lib/assets/own-route.js'
import { runStep } from '../lib/http/answer-error.js'
import type { Middleware } from '../lib/http/context.js'
import { checkKinds } from '../lib/kernel/option-kinds.js'
import { setting } from '../lib/kernel/settings.js'

/** Options of `versionEndpoint()`. */
export interface VersionEndpointOptions {
  /** Where it is answered. @default '/version' */
  readonly path?: string
}

/**
 * Answers `GET /version` with the application's version, where it comes from, and how many files its components have.
 * With the setting `versionEndpoint` false the path is left to the app.
 * @throws ConfigurationError the path is none, or a setting has a value that it cannot have
 * @example app.use(versionEndpoint())
 */
export function versionEndpoint(options: VersionEndpointOptions = {}): Middleware {
  checkKinds('versionEndpoint()', options, { kinds: { path: 'path' } })
  const { path = '/version' } = options
  const enabled = setting('versionEndpoint') ?? true
  checkVersionSettings()
  return async function showVersion(ctx, next) {
    if (!enabled || !isPath(ctx, path)) return next()
    await runStep(ctx, () => {
      if (acceptsMethod(ctx, ['GET', 'HEAD'])) answerJson(ctx, describeAppVersion())
    })
  }
}
