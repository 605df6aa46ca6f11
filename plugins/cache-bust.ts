/** `POST /cache/bust` (wire format, section 8). */
import { checkVersionSettings, refreshAppVersion } from '../lib/assets/app-version.js'
import { cacheBustToken, checkBustToken } from '../lib/assets/cache-bust.js'
import type { CacheBustChannel } from '../lib/assets/cache-bust-channel.js'
import { acceptsMethod, answerJson, isPath } from '../lib/assets/own-route.js'
import { runStep } from '../lib/http/answer-error.js'
import type { Middleware } from '../lib/http/context.js'
import { checkKinds } from '../lib/kernel/option-kinds.js'

/** Options of `cacheBust()`. */
export interface CacheBustOptions {
  /** Where it is answered. @default '/cache/bust' */
  readonly path?: string
  /** Through which other processes hear of it. @default none: only this process computes its version again */
  readonly channel?: CacheBustChannel | undefined
}

/**
 * Answers `POST /cache/bust`: reads the manifest and the components again, and has the other processes do so. It asks for
 * `Authorization: Bearer <token>`, the setting `cacheBustToken` or a token derived from the secret key; where neither is
 * set there is no endpoint.
 * @throws ConfigurationError an option is wrong, the token or the secret key has under 16 characters, or a setting has a value
 * that it cannot have
 * @example app.use(cacheBust({ channel }))
 */
export function cacheBust(options: CacheBustOptions = {}): Middleware {
  checkKinds('cacheBust()', options, { kinds: { path: 'path', channel: 'record' } })
  const { path = '/cache/bust', channel } = options
  const token = cacheBustToken()
  checkVersionSettings()
  return async function bustCache(ctx, next) {
    if (token === undefined || !isPath(ctx, path)) return next()
    await runStep(ctx, async () => {
      if (!acceptsMethod(ctx, ['POST'])) return
      checkBustToken(ctx, token)
      const version = refreshAppVersion()
      await channel?.publish()
      answerJson(ctx, { status: 'ok', version })
    })
  }
}
