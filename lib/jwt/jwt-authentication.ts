/** JSON Web Tokens of an issuer as credentials (RFC 7519, RFC 6750, RFC 8725; docs/reference/jwt.md). */
import { BaseAuthentication, type Credentials, type SecurityScheme } from '../authentication/authentication.js'
import { type Context, isAnonymous } from '../http/context.js'
import { described } from '../kernel/declarations.js'
import { ConfigurationError } from '../kernel/errors.js'
import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import { bearerToken, CHALLENGE, invalidToken, scopeChallenge } from './bearer.js'
import { keysFor } from './key-list.js'
import { type JWTAuthenticationOptions, type JWTRules, resolveOptions } from './options.js'
import { type JWTClaims, readHeader, verifyToken } from './verify-token.js'

/** What `ctx.state.auth` says of a caller's token. */
export interface JWTCredentials {
  /** What the caller was known by. */
  readonly scheme: 'JWT'
  /** The verified claims of the token. */
  readonly claims: JWTClaims
  /** What `HasScope` asks about: those of the claims `scope` and `scp`. */
  readonly scopes: readonly string[]
}

/** How often keys are looked for in newer ones: in those that were on their way, in those that were asked for. */
const MOST_ROUNDS = 3

/**
 * Reads `Authorization: Bearer <token>` and verifies the token by the keys of its issuer: signature, algorithm, issuer,
 * audience and times. Whatever is wrong is 401 `invalid_token`; a header that is none is 400 `invalid_request`; where the keys
 * of the issuer are needed and cannot be had, 503 with `Retry-After`. Nothing is asked of the issuer at the start, and no
 * verified token is remembered.
 *
 * Claims are in `ctx.state.auth.claims`, scopes in `ctx.state.auth.scopes`.
 * @throws {ConfigurationError} an option is missing or wrong, or a key too weak
 * @example
 * const byToken = new JWTAuthentication({
 *   issuer: 'https://id.example.com', audience: 'https://api.example.com', algorithms: ['RS256'],
 *   jwksUri: 'https://id.example.com/.well-known/jwks.json',
 *   getUser: (claims) => User.query().findOne({ subject: claims.sub }),
 * })
 * static override authenticationClasses: Authentications = [byToken]
 */
export class JWTAuthentication extends BaseAuthentication {
  override readonly challenge: string = CHALLENGE
  override readonly vary: string = 'Authorization'
  override readonly statuses: readonly number[] = [400]
  override readonly openapi: SecurityScheme | readonly SecurityScheme[]
  /** Whose tokens it takes: a subject is one of its issuer. */
  readonly issuer: string
  readonly #rules: JWTRules
  readonly #allowNoSubject: boolean
  readonly #getUser: JWTAuthenticationOptions['getUser']

  constructor(options: JWTAuthenticationOptions) {
    super()
    if (options === undefined) {
      throw new ConfigurationError(
        `${new.target.name}: has no options; give new ${new.target.name}({ … }), or a subclass`,
      )
    }
    takeOptions(this, options)
    this.#rules = resolveOptions(new.target.name, options)
    this.#getUser = options.getUser
    this.#allowNoSubject = options.allowNoSubject ?? false
    this.issuer = [options.issuer].flat().join(' ')
    const jwt = { name: 'JWTAuth', definition: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } }
    const { openIdConnectUrl } = options
    const connect = { name: 'OpenIDConnect', definition: { type: 'openIdConnect', openIdConnectUrl } }
    this.openapi = openIdConnectUrl === undefined ? jwt : [jwt, connect]
  }

  /** The user of a token, also asynchronously; null or undefined where there is none, which is 401. */
  getUser(claims: JWTClaims, ctx: Context): unknown {
    if (this.#getUser) return this.#getUser(claims, ctx)
    return claims.sub === undefined || claims.sub === '' ? null : { id: claims.sub }
  }

  /** The scopes of a token: `scope` (RFC 9068) and `scp`, each a string with spaces between or a list. */
  getScopes(claims: JWTClaims): readonly string[] {
    return [...new Set([...scopesOf(claims['scope']), ...scopesOf(claims['scp'])])]
  }

  async authenticate(ctx: Context): Promise<Credentials | null> {
    const token = bearerToken(ctx, this.#rules.maxTokenLength)
    if (token === undefined) return null
    const claims = await this.#verify(token)
    // without one, what is made of it would be the same for all of them
    if (!this.#allowNoSubject && !(typeof claims.sub === 'string' && claims.sub !== '')) {
      throw invalidToken('The token is for nobody')
    }
    const user = await this.getUser(claims, ctx)
    if (isAnonymous(user)) throw invalidToken('The token is for nobody')
    const auth: JWTCredentials = { scheme: 'JWT', claims, scopes: this.getScopes(claims) }
    return { user, auth }
  }

  override scopeChallenge(scopes: readonly string[]): string {
    return scopeChallenge(scopes)
  }

  /** Waits for keys that are on their way. */
  override async close(): Promise<void> {
    await this.#rules.keys.close()
  }

  /** @throws {AuthenticationFailed} @throws {ServiceUnavailable} */
  async #verify(token: string): Promise<JWTClaims> {
    const { keys } = this.#rules
    const header = readHeader(token, this.#rules)
    const since = keys.begun
    let list = await keys.current()
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const candidates = keysFor(list, header)
      const claims = await verifyToken(token, candidates, this.#rules)
      if (claims) return claims
      // a key that the token names by its own name and that has not signed it: no newer one will have
      if (candidates.some(({ kid }) => kid !== undefined && kid === header.kid)) break
      const newer = await keys.newerThan(list, since)
      if (!newer) break
      list = newer
    }
    throw invalidToken('The signature is not of a known key')
  }
}

takesOptions<JWTAuthenticationOptions>(JWTAuthentication, {
  issuer: 'name or names',
  audience: 'name or names',
  algorithms: 'names',
  jwksUri: 'name',
  keySet: 'record',
  allowHttp: 'boolean',
  // not shown in messages
  key: 'any',
  clockTolerance: 'count',
  typ: 'name or names',
  maxTokenLength: 'size',
  allowNoSubject: 'boolean',
  getUser: 'function',
  openIdConnectUrl: 'name',
  now: 'function',
})

described(JWTAuthentication)

function scopesOf(claim: unknown): readonly string[] {
  const scopes: readonly unknown[] = typeof claim === 'string' ? claim.split(' ') : Array.isArray(claim) ? claim : []
  return scopes.filter((scope): scope is string => typeof scope === 'string' && scope !== '')
}
