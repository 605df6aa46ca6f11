/** The contract of authentication (spec section 5). */
import type { Context } from '../context.js'

/** Who a request comes from: `user` becomes `ctx.state.user`, `auth` becomes `ctx.state.auth`. */
export interface Credentials {
  readonly user: unknown
  readonly auth?: unknown
}

/** One way of telling who a request comes from. Immutable and shared by all requests. */
export abstract class BaseAuthentication {
  /** The challenge of a 401, such as `Token realm="api"`; absent where the scheme has none. */
  readonly challenge?: string

  /** The caller, or null when the request has no credentials of this kind. @throws AuthenticationFailed they are wrong */
  abstract authenticate(ctx: Context): Credentials | null | Promise<Credentials | null>
}
