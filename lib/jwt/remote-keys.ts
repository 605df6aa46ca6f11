/** The keys of an issuer as they are needed: of a key set, those that verify tokens of the accepted algorithms. */
import { importJWK, type JWK } from 'jose'
import type { JWTAlgorithm } from './algorithms.js'
import type { VerificationKey } from './key-list.js'
import { algorithmOf } from './usable-key.js'

/** The members of a public key; all others, private ones above all, are left behind. */
const PUBLIC = ['kty', 'crv', 'n', 'e', 'x', 'y'] as const

/**
 * The usable keys among the entries of a key set. One that is malformed, of an unknown kind, private, secret, for another use
 * or too weak is passed over, so that it takes none of the others with it (RFC 7517 section 5).
 */
export async function usableKeys(
  entries: readonly unknown[],
  algorithms: readonly JWTAlgorithm[],
): Promise<readonly VerificationKey[]> {
  const keys = await Promise.all(entries.map((entry) => readEntry(entry, algorithms)))
  return keys.filter((key) => key !== undefined)
}

async function readEntry(entry: unknown, algorithms: readonly JWTAlgorithm[]): Promise<VerificationKey | undefined> {
  if (typeof entry !== 'object' || entry === null) return undefined
  const jwk = entry as JWK
  // whose private part is published, is everybody's
  if (jwk.d !== undefined || jwk.kty === 'oct') return undefined
  try {
    const algorithm = algorithmOf(jwk, algorithms)
    const members = Object.fromEntries(PUBLIC.flatMap((name) => (jwk[name] === undefined ? [] : [[name, jwk[name]]])))
    const key = await importJWK({ ...(members as JWK), alg: algorithm }, algorithm)
    if (key instanceof Uint8Array) return undefined
    return { kid: typeof jwk.kid === 'string' ? jwk.kid : undefined, algorithm, key }
  } catch {
    return undefined
  }
}
