/** JWT algorithms, and which key each takes (RFC 7518 section 3, RFC 8037 and RFC 9864). */

/** What a key must be. */
export interface Demand {
  /** `kty` of a JWK. */
  readonly kty: 'oct' | 'RSA' | 'EC' | 'OKP'
  readonly crv?: string
  /** Of a secret. */
  readonly leastBytes?: number
}

const rsa: Demand = { kty: 'RSA' }
const edwards: Demand = { kty: 'OKP', crv: 'Ed25519' }

/** What the key of each algorithm must be. */
export const DEMANDS = {
  HS256: { kty: 'oct', leastBytes: 32 },
  HS384: { kty: 'oct', leastBytes: 48 },
  HS512: { kty: 'oct', leastBytes: 64 },
  RS256: rsa,
  RS384: rsa,
  RS512: rsa,
  PS256: rsa,
  PS384: rsa,
  PS512: rsa,
  ES256: { kty: 'EC', crv: 'P-256' },
  ES384: { kty: 'EC', crv: 'P-384' },
  ES512: { kty: 'EC', crv: 'P-521' },
  EdDSA: edwards,
  Ed25519: edwards,
} as const satisfies Record<string, Demand>

/** How a token is signed. `none` is no algorithm. */
export type JWTAlgorithm = keyof typeof DEMANDS

export const NAMES = Object.keys(DEMANDS) as readonly JWTAlgorithm[]

export function isAlgorithm(name: string): name is JWTAlgorithm {
  return Object.hasOwn(DEMANDS, name)
}

/** True for one algorithm, also by its other name: `EdDSA` with a key of Ed25519 is `Ed25519` (RFC 9864). */
export function isSameAlgorithm(one: unknown, other: JWTAlgorithm): boolean {
  const fullName = (name: unknown) => (name === 'EdDSA' ? 'Ed25519' : name)
  return fullName(one) === fullName(other)
}

/** True for algorithms whose key both signs and verifies. */
export function isSymmetric(algorithm: JWTAlgorithm): boolean {
  return DEMANDS[algorithm].kty === 'oct'
}
