/** Session authentication: the user of the app's own session, and no writes of foreign pages (promises E17 and E18). */

import { type Context, isAnonymous, isSafeMethod } from '../http/context.js'
import { described } from '../kernel/declarations.js'
import { ConfigurationError, PermissionDenied } from '../kernel/errors.js'
import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import { BaseAuthentication, type Credentials, foundBy, type SecurityScheme } from './authentication.js'

/** Options of `SessionAuthentication`. */
export interface SessionAuthenticationOptions {
  /** The user of a request's session; null or undefined when nobody is logged in. @default ctx.state.user ?? ctx.session?.user */
  readonly getUser?: (ctx: Context) => unknown
  /** Other origins whose pages may write with the session, such as `https://app.example.com`. @default [] */
  readonly trustedOrigins?: readonly string[]
  /** The session's cookie, as OpenAPI names it. @default 'koa.sess' */
  readonly cookie?: string
}

/** What a browser says of a request that the page's own origin, or the user alone, has made. */
const OWN_SITES = new Set(['same-origin', 'none'])
const ORIGIN = /^https?:\/\/[^/?#@\\\s]+$/i

/**
 * Takes the user that the app has logged in, whatever it does so with.
 *
 * A browser sends a session's cookie along with requests of foreign pages. So a request of a logged-in user that writes is 403
 * when the browser says that it comes from elsewhere: by an `Origin` that is not this one (`null` included) or a
 * `Sec-Fetch-Site` other than `same-origin` and `none`. Clients that send neither header pass. Behind a proxy that ends
 * TLS, an https `Origin` of this host is taken for this one.
 * @example static override authenticationClasses: Authentications = [SessionAuthentication, TokenAuth]
 * @example new SessionAuthentication({ getUser: (ctx) => ctx.session && User.query().findById(ctx.session.userId) })
 */
export class SessionAuthentication extends BaseAuthentication {
  override readonly vary: string = 'Cookie'
  override readonly openapi: SecurityScheme
  readonly trustedOrigins: readonly string[]
  readonly #getUser: SessionAuthenticationOptions['getUser']

  constructor(options: SessionAuthenticationOptions = {}) {
    super()
    takeOptions(this, options)
    const { getUser, trustedOrigins = [], cookie = 'koa.sess' } = options
    this.#getUser = getUser
    this.trustedOrigins = trustedOrigins
    this.openapi = { name: 'SessionAuth', definition: { type: 'apiKey', in: 'cookie', name: cookie } }
  }

  /** The user of a request's session, also asynchronously; null or undefined when nobody is logged in. */
  getUser(ctx: Context): unknown {
    if (this.#getUser) return this.#getUser(ctx)
    // a user whom another scheme of ours has found came without a session
    const scheme = foundBy(ctx)
    const own =
      scheme === undefined || scheme instanceof SessionAuthentication ? (ctx.state['user'] as unknown) : undefined
    return own ?? (ctx['session'] as { user?: unknown } | null | undefined)?.user
  }

  /** @throws PermissionDenied a foreign page writes */
  async authenticate(ctx: Context): Promise<Credentials | null> {
    const user = await this.getUser(ctx)
    if (isAnonymous(user)) return null
    if (!isSafeMethod(ctx.method) && isForeign(ctx, this.trustedOrigins)) throw new PermissionDenied()
    const known = user === ctx.state['user'] ? (ctx.state['auth'] as unknown) : undefined
    return { user, auth: known ?? { scheme: 'Session' } }
  }

  /** Checks the trusted origins. @throws {ConfigurationError} */
  settle(where: string): void {
    for (const origin of this.trustedOrigins) {
      if (originOf(origin) === origin) continue
      throw new ConfigurationError(
        `${where}: trustedOrigins has ${JSON.stringify(origin)}; write scheme and host as a browser does, "https://app.example.com"`,
      )
    }
  }
}

takesOptions<SessionAuthenticationOptions>(SessionAuthentication, {
  getUser: 'function',
  trustedOrigins: 'names',
  cookie: 'name',
})

described(SessionAuthentication)

/** True when the browser says that another origin's page has made the request. */
function isForeign(ctx: Context, trusted: readonly string[]): boolean {
  const { origin } = ctx.headers
  const site = ctx.headers['sec-fetch-site']
  if (origin !== undefined && trusted.includes(origin)) return false
  if (site !== undefined && !(typeof site === 'string' && OWN_SITES.has(site))) return true
  return origin !== undefined && !isOwnOrigin(ctx, origin)
}

function isOwnOrigin(ctx: Context, origin: string): boolean {
  const theirs = originOf(origin)
  if (theirs === undefined) return false
  // where a proxy ends TLS, only the browser knows that the page came by https; the other way round it is another page
  const scheme = ctx.secure || theirs.startsWith('https:') ? 'https' : 'http'
  return theirs === originOf(`${scheme}://${ctx.host}`)
}

/** An origin in the one form that browsers write; undefined for what is none. */
function originOf(text: string): string | undefined {
  return ORIGIN.test(text) && URL.canParse(text) ? new URL(text).origin : undefined
}
