/** Authentication schemes: their contract. */

import type { Context } from '../http/context.js'
import { described } from '../kernel/declarations.js'

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
  readonly userKind?: string
  /** The challenge of a 401, such as `Token realm="api"`; absent where the scheme has none. */
  readonly challenge?: string
  /** The request header that carries the credentials; answers vary by it. */
  readonly vary?: string
  /** What OpenAPI says of the scheme, or of several ways to come by its credentials; absent where it is not to be listed. */
  readonly openapi?: SecurityScheme | readonly SecurityScheme[]
  /** With which statuses besides 401 it refuses, for OpenAPI. */
  readonly statuses?: readonly number[]

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
