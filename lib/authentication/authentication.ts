/** Authentication schemes: their contract, and who asks them, the first step of dispatch. */
import { rememberChallengers } from '../http/answer-error.js'
import { finderOf, rememberFinder } from '../http/challenges.js'
import type { Context } from '../http/context.js'
import { described, insteadOf } from '../kernel/declarations.js'
import { ConfigurationError } from '../kernel/errors.js'
import { ignoreRejection, isThenable } from '../kernel/realms.js'

/**
 * Who a request comes from: `user` becomes `ctx.state.user`, `auth` becomes `ctx.state.auth`. `authInfo` and `auth_info`
 * are other names for `auth`; any other property is an error.
 */
export interface Credentials {
  /** The caller; becomes `ctx.state.user`. */
  readonly user: unknown
  /** What is known of the credentials, such as their scopes; never the secret itself. */
  readonly auth?: unknown
  /** Another name for `auth`. */
  readonly authInfo?: unknown
  /** Another name for `auth`. */
  readonly auth_info?: unknown
}

/** How OpenAPI names and describes a scheme (`components.securitySchemes`). */
export interface SecurityScheme {
  /** What the OpenAPI document calls it, such as `TokenAuth`. */
  readonly name: string
  /** The Security Scheme Object (OpenAPI 3.1 section 4.8.27). */
  readonly definition: Readonly<Record<string, unknown>>
}

/**
 * Recognises the caller of a request. Immutable and shared by all requests.
 * @example
 * class SignedURL extends BaseAuthentication {
 *   override async authenticate(ctx: Context) {
 *     const text = ctx.query['signature']
 *     if (text === undefined) return null
 *     const user = await userOfSignature(text)
 *     if (!user) throw new AuthenticationFailed('Invalid signature')
 *     return { user, auth: { scheme: 'Signature' } }
 *   }
 * }
 */
export abstract class BaseAuthentication {
  /**
   * Whose ids its users have. Users of two schemes who have one id are two callers, to throttles, kept answers of
   * idempotency keys, server cursors and ids of each user, unless both schemes say the same here.
   * @default the name of the class, with the keyword of a token
   * @example override readonly userKind = 'users'
   */
  declare readonly userKind?: string
  /** The challenge of a 401, such as `Token realm="api"`; absent where the scheme has none. */
  declare readonly challenge?: string
  /** The request header that carries the credentials; answers vary by it. @default `Authorization, Cookie`, where an answer may be kept */
  declare readonly vary?: string
  /** What OpenAPI says of the scheme, or of several ways to come by its credentials; absent where it is not to be listed. */
  declare readonly openapi?: SecurityScheme | readonly SecurityScheme[]
  /** With which statuses besides 401 it refuses, for OpenAPI. */
  declare readonly statuses?: readonly number[]

  /**
   * The caller, or null when the request has no credentials of this kind. Anything but `{ user, auth }` and null is an error
   * of the application, answered 500: nobody is let in by it.
   * @throws AuthenticationFailed they are wrong
   */
  abstract authenticate(ctx: Context): Credentials | null | Promise<Credentials | null>

  /** The challenge of a 403 where credentials of this scheme lack scopes; absent where the scheme has none. */
  scopeChallenge?(scopes: readonly string[]): string

  /** Finishes what the scheme does beside requests; `api.close()` calls it. */
  close?(): Promise<void>
}

described(BaseAuthentication)

insteadOf(BaseAuthentication, { authenticateHeader: 'set challenge' })

/**
 * Tries each scheme in order; the first that knows the caller sets `ctx.state.user` and `ctx.state.auth`. Where none does,
 * both stay as the application has set them.
 * @throws AuthenticationFailed credentials are wrong, on an open view too
 * @throws {ConfigurationError} a scheme has returned what is neither null nor `{ user, auth }`
 */
export async function authenticate(ctx: Context, schemes: readonly BaseAuthentication[]): Promise<void> {
  rememberChallengers(ctx, schemes)
  for (const scheme of schemes) {
    const credentials = await scheme.authenticate(ctx)
    if (credentials === null || credentials === undefined) continue
    const { user, auth } = readCredentials(scheme, credentials)
    ctx.state['user'] = user
    ctx.state['auth'] = auth
    rememberFinder(ctx, scheme, schemes)
    return
  }
}

const NAMES: ReadonlySet<string> = new Set(['user', 'auth', 'authInfo', 'auth_info'])

/** @throws {ConfigurationError} the scheme has returned something else: its user, a list, or a name that nobody reads */
function readCredentials(scheme: BaseAuthentication, given: Credentials): { user: unknown; auth: unknown } {
  const fail = (problem: string) => {
    throw new ConfigurationError(
      `${scheme.constructor.name}: authenticate() returned ${problem}; return { user, auth }, or null where there are no credentials`,
    )
  }
  if (typeof given !== 'object' || Array.isArray(given)) fail(Array.isArray(given) ? 'a list' : `a ${typeof given}`)
  let auth: unknown
  for (const name in given) {
    if (!NAMES.has(name)) fail(`the property "${name}", which nobody reads`)
    if (name !== 'user' && given[name as keyof Credentials] !== undefined) auth = given[name as keyof Credentials]
  }
  const { user } = given
  if (user === undefined) fail('no user')
  // whoever it is, or nobody, it would be somebody
  if (isThenable(user)) {
    ignoreRejection(user)
    fail('a user who was not awaited')
  }
  // an empty one, too, of a query without first()
  if (Array.isArray(user)) fail('a list as the user')
  return { user, auth }
}

/** The scheme that has set `ctx.state.user`; undefined when the application did, or nobody. */
export function foundBy(ctx: Context): BaseAuthentication | undefined {
  return finderOf(ctx) as BaseAuthentication | undefined
}
