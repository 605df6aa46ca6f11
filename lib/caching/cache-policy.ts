/** `Cache-Control`: its options, and the values they stand for. */
import { checkKinds } from '../kernel/option-kinds.js'

/** What caches may do with an answer (RFC 9111). */
export interface CacheOptions {
  /** How long an answer may be used again without asking, in seconds; 0 leaves `max-age` out. @default 0 */
  readonly maxAge?: number
  /** Only the caller's own cache may keep the answer, no shared one. @default true */
  readonly private?: boolean
  /** A kept answer must be checked with the server before it is used. @default false */
  readonly noCache?: boolean
}

/** The options as headers say them; made once. */
export interface CachePolicy {
  /** The value of `Cache-Control`. */
  readonly control: string
  /** The value of `Cache-Control` for an answer that must stay with its caller. */
  readonly privateControl: string
}

/**
 * Settles the options.
 * @param where what a mistake is reported for
 * @throws {ConfigurationError} an option is wrong
 */
export function cachePolicy(where: string, options: CacheOptions = {}): CachePolicy {
  checkKinds(where, options, { kinds: { maxAge: 'count', private: 'boolean', noCache: 'boolean' } })
  const { maxAge = 0, private: isPrivate = true, noCache = false } = options
  const write = (scope: string) => `${noCache ? 'no-cache, ' : ''}${scope}${maxAge > 0 ? `, max-age=${maxAge}` : ''}`
  return { control: write(isPrivate ? 'private' : 'public'), privateControl: write('private') }
}
