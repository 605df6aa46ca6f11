/** Tells clients the application's version (wire format, section 8). */
import { announceVersion } from '../lib/assets/announce-version.js'
import { checkVersionSettings, getAppVersion } from '../lib/assets/app-version.js'
import { VersionScript, type VersionScriptOptions } from '../lib/assets/version-script.js'
import type { Middleware } from '../lib/http/context.js'
import { checkKinds } from '../lib/kernel/option-kinds.js'
import { setting } from '../lib/kernel/settings.js'

/** Options of `appVersion()`. */
export interface AppVersionOptions extends VersionScriptOptions {
  /** Send `X-App-Version`. @default the setting `appVersionHeader`, true */
  readonly header?: boolean | undefined
}

/**
 * Sends `X-App-Version` with every response of the middleware after it, errors included, and puts a script into HTML
 * pages that finds out, after a partial navigation (`ajaxnav:afterRequest`), that the server has another version by now.
 * `mismatch` says what it does then: reload the page, once for each version, or warn in the console; `ignore` leaves
 * pages alone. Before that it fires `koa-viewsets:version-mismatch` on `document`, which a page may cancel.
 *
 * Mount it right after `errors()`; mount what compresses before it.
 * @throws ConfigurationError an option is wrong, or a setting has a value that it cannot have
 * @example app.use(appVersion({ mismatch: 'warn', nonce: (ctx) => ctx.state.nonce }))
 */
export function appVersion(options: AppVersionOptions = {}): Middleware {
  checkKinds('appVersion()', options, { kinds: { header: 'boolean', mismatch: 'any', nonce: 'function' } })
  const header = options.header ?? setting('appVersionHeader') ?? true
  const script = new VersionScript(options)
  checkVersionSettings()
  return async function sendAppVersion(ctx, next) {
    const version = getAppVersion()
    if (header) announceVersion(ctx, version)
    await next()
    script.inject(ctx, version)
  }
}
