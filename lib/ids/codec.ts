/** The contract of external ids: one codec for each mode (wire format, section 4). */
import { userText } from '../http/caller.js'
import { type Context, isAnonymous, userId } from '../http/context.js'

/** What an id is made of: a primary key, or a stored `public_id`. Integers beyond 2^53 are bigints or digits. */
export type IDValue = number | bigint | string

/** The caller that an id is read or written for. */
export interface IDContext {
  /** The user, or the user's id; only `includeUser` looks at it. */
  readonly user?: unknown
  /** The request of that user: where it may be of users of several kinds, their ids differ by that, too. */
  readonly ctx?: Context | undefined
}

/** What an id may say besides; of signed ids only. */
export interface EncodeContext extends IDContext {
  /** The id is not found before this moment: a Date, or Unix seconds. */
  readonly notBefore?: Date | number | undefined
  /** The id is not found from this moment on: a Date, or Unix seconds. @default as `expiresIn` says */
  readonly notAfter?: Date | number | undefined
}

/** Writes and reads the ids of one model. */
export interface IDCodec {
  /** Ids differ from user to user. */
  readonly perUser: boolean
  /** @throws {AuthenticationFailed} ids are per user, and there is none @throws {TypeError} the value has no id */
  encode(value: IDValue, context: EncodeContext): string
  /** The value; undefined for every string that `encode` would not write for this caller and now. */
  decode(text: string, context: IDContext): number | string | undefined
}

/** The id of a caller as it is signed; undefined for an anonymous one, and for an id that is neither text nor number. */
export function callerId({ user, ctx }: IDContext): string | undefined {
  const id = typeof user === 'object' || isAnonymous(user) ? userId(user) : user
  const isId = typeof id === 'string' || typeof id === 'number' || typeof id === 'bigint'
  if (!isId) return undefined
  // an id that the application writes for a user names no kind
  return ctx ? userText(ctx, { id }) : String(id)
}
