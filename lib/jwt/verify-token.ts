/** Signature and claims of a token: by jose, and what it leaves open. */
import { errors, jwtVerify } from 'jose'
import { invalidToken } from './bearer.js'
import type { VerificationKey } from './key-list.js'
import { jsonObject } from './read-token.js'

/** The claims of a token whose signature and times are right (RFC 7519 section 4). */
export interface JWTClaims {
  /** The issuer (RFC 7519 section 4.1.1). */
  readonly iss: string
  /** The audience (RFC 7519 section 4.1.3). */
  readonly aud: string | readonly string[]
  /** In seconds since 1970, as `nbf` and `iat`. */
  readonly exp: number
  /** The subject (RFC 7519 section 4.1.2). */
  readonly sub?: string
  /** Unix seconds before which the token does not count (RFC 7519 section 4.1.5). */
  readonly nbf?: number
  /** Unix seconds at which the token was issued (RFC 7519 section 4.1.6). */
  readonly iat?: number
  readonly [claim: string]: unknown
}

/** What claims must be. */
export interface ClaimRules {
  readonly issuers: readonly string[]
  readonly audiences: readonly string[]
  /** In seconds. */
  readonly clockTolerance: number
  /** In Unix milliseconds. */
  readonly now: () => number
}

/** The last second of the year 9999: times in milliseconds lie beyond it. */
const LATEST = 253_402_300_799

/**
 * The claims of a token; undefined where none of the keys has signed it.
 * @throws {AuthenticationFailed} one has, and a claim is wrong
 */
export async function verifyToken(
  token: string,
  keys: readonly VerificationKey[],
  rules: ClaimRules,
): Promise<JWTClaims | undefined> {
  const now = rules.now()
  for (const { key, algorithm } of keys) {
    try {
      await jwtVerify(token, key, {
        algorithms: [algorithm],
        issuer: [...rules.issuers],
        audience: [...rules.audiences],
        requiredClaims: ['exp'],
        clockTolerance: rules.clockTolerance,
        currentDate: new Date(now),
      })
    } catch (error) {
      if (error instanceof errors.JWSSignatureVerificationFailed) continue
      if (error instanceof errors.JOSEError) throw invalidToken(describe(error))
      throw error
    }
    return checkClaims(token, Math.floor(now / 1000) + rules.clockTolerance)
  }
  return undefined
}

/** What jose does not ask of claims that it has read. @param latest the latest second that a token may come from */
function checkClaims(token: string, latest: number): JWTClaims {
  const claims = jsonObject(token.slice(token.indexOf('.') + 1, token.lastIndexOf('.'))) as JWTClaims | undefined
  if (claims === undefined) throw invalidToken(MALFORMED_CLAIMS)
  for (const name of ['exp', 'nbf', 'iat'] as const) {
    const time: unknown = claims[name]
    if (time === undefined) continue
    if (typeof time !== 'number' || !(time >= 0 && time <= LATEST)) throw invalidToken('A time in the token is no time')
  }
  if (claims.iat !== undefined && claims.iat > latest) throw invalidToken('The token comes from the future')
  if (claims.sub !== undefined && typeof claims.sub !== 'string') throw invalidToken('The subject is no text')
  return claims
}

/** Said by jose, or by us where its version reads on: before 6.2 it takes bytes that are no UTF-8. */
const MALFORMED_CLAIMS = 'The claims of the token are malformed'

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  iss: 'The token comes from another issuer',
  aud: 'The token is for another audience',
  exp: 'The token has no time of expiry',
  nbf: 'The token is not valid yet',
}

function describe(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'The token has expired'
  if (error instanceof errors.JWTInvalid) return MALFORMED_CLAIMS
  if (!(error instanceof errors.JWTClaimValidationFailed)) return 'The token is malformed'
  if (error.reason === 'invalid') return 'A time in the token is no time'
  return DESCRIPTIONS[error.claim] ?? 'A claim of the token is wrong'
}
