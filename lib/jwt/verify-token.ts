/** Tokens: their parts, their signature and claims, by jose and what it leaves open. */
import { errors, jwtVerify } from 'jose'
import { isRecord } from '../kernel/records.js'
import { isAlgorithm, isSameAlgorithm, type JWTAlgorithm, NAMES } from './algorithms.js'
import { invalidToken } from './bearer.js'
import type { VerificationKey, WantedKey } from './key-list.js'

/** Three parts of base64url (RFC 7515 section 7.1). An encrypted token has five, an unsigned one an empty third. */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/
/** What a token may be where `typ` does not say it: an access token (RFC 9068), or one that does not say. */
const USUAL_TYPES: readonly string[] = ['jwt', 'at+jwt']

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** What tokens must be. */
export interface HeaderRules {
  readonly algorithms: readonly JWTAlgorithm[]
  /** In the form of `typeName()`; undefined for `JWT`, `at+jwt` and none. */
  readonly types: readonly string[] | undefined
}

/**
 * The algorithm and the name of the key of a token. Keys and addresses of keys in it (`jwk`, `jku`, `x5c`, `x5u`) are not read.
 * @throws {AuthenticationFailed} it is no signed token, or not of an algorithm or a type that is taken
 */
export function readHeader(token: string, { algorithms, types }: HeaderRules): WantedKey {
  if (!COMPACT.test(token)) throw invalidToken('The token is no signed JWT')
  const header = jsonObject(token.slice(0, token.indexOf('.')))
  if (header === undefined) throw invalidToken('The header of the token is malformed')
  const { alg, typ, kid, cty, crit } = header
  if (typeof alg !== 'string' || !isAlgorithm(alg) || !algorithms.includes(alg)) {
    throw invalidToken('The algorithm of the token is not accepted')
  }
  if (crit !== undefined) throw invalidToken('The token has critical parameters that are not understood')
  if (cty !== undefined) throw invalidToken('Tokens within tokens are not accepted')
  if (!isOfType(typ, types)) throw invalidToken('The token is of another type')
  if (kid !== undefined && typeof kid !== 'string') throw invalidToken('The header of the token is malformed')
  return { alg, kid }
}

/** A part of a token; undefined where it is no JSON object, or has a name twice. */
function jsonObject(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const text = utf8.decode(Buffer.from(part, 'base64url'))
    const value: unknown = JSON.parse(text)
    return isRecord(value) && hasUniqueMembers(text) ? value : undefined
  } catch {
    return undefined
  }
}

/** A media type as `typ` has it: in any case, `application/` left out (RFC 7515 section 4.1.9). */
export function typeName(type: string): string {
  return type.toLowerCase().replace(/^application\//, '')
}

function isOfType(typ: unknown, types: readonly string[] | undefined): boolean {
  if (typ === undefined) return types === undefined
  return typeof typ === 'string' && (types ?? USUAL_TYPES).includes(typeName(typ))
}

/** A string, or a character that JSON is built of. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]/g

/** True where each object in a valid JSON text has every name once, and none that is `__proto__`. */
export function hasUniqueMembers(text: string): boolean {
  const open: Set<string>[] = []
  let last = ''
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === '{' || token === '[') open.push(new Set())
    else if (token === '}' || token === ']') open.pop()
    else if (token === ':') {
      const names = open.at(-1)
      const name = JSON.parse(last) as string
      if (name === '__proto__' || names?.has(name)) return false
      names?.add(name)
    }
    last = token
  }
  return true
}

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
        algorithms: NAMES.filter((name) => isSameAlgorithm(algorithm, name)),
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
