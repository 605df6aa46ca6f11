/** The contract of API versioning (spec section 9.1). */
import type { Context } from '../context.js'

/** Reads the API version a request asks for. Immutable and shared by all requests. */
export abstract class BaseVersioning {
  /** The version, which becomes `ctx.state.version`. @throws ApiError when it is not allowed */
  abstract determineVersion(ctx: Context): string | undefined
}
