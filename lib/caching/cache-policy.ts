/** `Cache-Control`: its options, and the value they stand for. */
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

/**
 * The options as `Cache-Control` says them; made once.
 * @param where what a mistake is reported for
 * @throws {ConfigurationError} an option is wrong
 */
export function cachePolicy(where: string, options: CacheOptions = {}): string {
  checkKinds(where, options, { kinds: { maxAge: 'count', private: 'boolean', noCache: 'boolean' } })
  const { maxAge = 0, private: isPrivate = true, noCache = false } = options
  return `${noCache ? 'no-cache, ' : ''}${isPrivate ? 'private' : 'public'}${maxAge > 0 ? `, max-age=${maxAge}` : ''}`
}
