/** Token authentication: tokens in the `Authorization` header (RFC 9110 section 11.4). */

import { type Context, isAnonymous } from '../http/context.js'
import { headerLines } from '../http/header-lines.js'
import { described } from '../kernel/declarations.js'
import { AuthenticationFailed, ConfigurationError } from '../kernel/errors.js'
import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import { BaseAuthentication, type Credentials, type SecurityScheme } from './authentication.js'

/** Options of `TokenAuthentication`. */
export interface TokenAuthenticationOptions {
  /** The user of a token; null or undefined when there is none. */
  readonly getUserForToken?: (token: string, ctx: Context) => unknown
  /** The word before the token. @default 'Token' */
  readonly keyword?: string
}

/** An authentication scheme's name (RFC 9110 section 5.6.2). */
const WORD = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** The scheme's name, and what comes after it. */
const HEADER = /^([^ \t]*)[ \t]*(.*)$/s
const VISIBLE = /^[!-~]+$/
const MOST_CHARACTERS = 8192

/**
 * Reads `Authorization: Token <token>`. The application knows whose it is: give `getUserForToken`, or override it. Store
 * tokens as `hashToken(token)` and look them up by that.
 *
 * The keyword is matched in any case. A header with another one is left to the next scheme; a token that is malformed,
 * nobody's, or beside a second header is 401 `Invalid token`.
 * @example
 * class TokenAuth extends TokenAuthentication {
 *   override getUserForToken(token: string) { return User.query().findOne({ token_hash: hashToken(token) }) }
 * }
 */
export class TokenAuthentication extends BaseAuthentication {
  declare challenge?: string
  override readonly vary: string = 'Authorization'
  declare openapi?: SecurityScheme
  /** The word before the token. */
  readonly keyword: string
  readonly #find: TokenAuthenticationOptions['getUserForToken']

  constructor(options: TokenAuthenticationOptions = {}) {
    super()
    takeOptions(this, options)
    this.keyword = options.keyword ?? 'Token'
    this.#find = options.getUserForToken
  }

  /** The user of a token, also asynchronously; null or undefined when there is none. */
  getUserForToken(token: string, ctx: Context): unknown {
    return this.#find?.(token, ctx)
  }

  async authenticate(ctx: Context): Promise<Credentials | null> {
    // another server before us may have looked at the last
    const headers = headerLines(ctx.req, 'authorization')
    const header = headers.find((line) => HEADER.exec(line)?.[1]?.toLowerCase() === this.keyword.toLowerCase())
    if (header === undefined) return null
    const token = HEADER.exec(header)?.[2] ?? ''
    if (headers.length > 1 || header.length > MOST_CHARACTERS || !VISIBLE.test(token)) throw this.#failure()
    const user = await this.getUserForToken(token, ctx)
    if (isAnonymous(user)) throw this.#failure()
    return { user, auth: { scheme: this.keyword } }
  }

  /** Checks that tokens can be looked up. @throws {ConfigurationError} */
  settle(where: string): void {
    if (!this.#find && this.getUserForToken === TokenAuthentication.prototype.getUserForToken) {
      throw new ConfigurationError(
        `${where}: ${this.constructor.name} knows no tokens; override getUserForToken(), or give it as an option`,
      )
    }
    if (!WORD.test(this.keyword)) {
      throw new ConfigurationError(`${where}: the keyword ${JSON.stringify(this.keyword)} is no single word`)
    }
    this.challenge ??= `${this.keyword} realm="api"`
    this.openapi ??= describe(this.keyword)
  }

  #failure(): AuthenticationFailed {
    return new AuthenticationFailed('Invalid token')
  }
}

takesOptions<TokenAuthenticationOptions>(TokenAuthentication, { getUserForToken: 'function', keyword: 'any' })

described(TokenAuthentication)

function describe(keyword: string): SecurityScheme {
  const name = `${keyword.charAt(0).toUpperCase()}${keyword.slice(1)}Auth`.replace(/[^A-Za-z0-9._-]/g, '_')
  if (keyword.toLowerCase() === 'bearer') return { name, definition: { type: 'http', scheme: 'bearer' } }
  return {
    name,
    definition: { type: 'apiKey', in: 'header', name: 'Authorization', description: `\`${keyword} <token>\`` },
  }
}
