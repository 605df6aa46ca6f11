/** Which key an algorithm takes (RFC 7518 section 3, RFC 8037 and RFC 9864): each key serves one algorithm only. */
import { quote } from '../kernel/quote.js'

/** What a key must be. */
interface Demand {
  /** `kty` of a JWK. */
  readonly kty: 'oct' | 'RSA' | 'EC' | 'OKP'
  readonly crv?: string
  /** Of a secret. */
  readonly leastBytes?: number
}

const rsa: Demand = { kty: 'RSA' }
const edwards: Demand = { kty: 'OKP', crv: 'Ed25519' }

const DEMANDS = {
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

/** The members of a JSON Web Key that are read (RFC 7517 section 4). */
export interface KeyMembers {
  readonly kty?: unknown
  readonly crv?: unknown
  readonly alg?: unknown
  readonly use?: unknown
  readonly key_ops?: unknown
  readonly n?: unknown
  readonly e?: unknown
  readonly k?: unknown
}

/** Why a key cannot be used; the message says nothing of its content. */
export class UnusableKey extends Error {
  override readonly name = 'UnusableKey'
}

const LEAST_RSA_BITS = 2048
export const NAMES = Object.keys(DEMANDS) as readonly JWTAlgorithm[]

export function isAlgorithm(name: string): name is JWTAlgorithm {
  return Object.hasOwn(DEMANDS, name)
}

/** True for algorithms whose key both signs and verifies. */
export function isSymmetric(algorithm: JWTAlgorithm): boolean {
  return DEMANDS[algorithm].kty === 'oct'
}

/**
 * The one algorithm that a key serves (RFC 8725 section 3.1): the one that its `alg` names, or the first of those wanted that
 * it fits.
 * @throws {UnusableKey} it serves none of them, is for something else, or is too weak
 */
export function algorithmOf(key: KeyMembers, wanted: readonly JWTAlgorithm[]): JWTAlgorithm {
  const algorithm = wanted.find((name) => (key.alg === undefined || key.alg === name) && fits(key, DEMANDS[name]))
  if (algorithm === undefined) throw new UnusableKey(`${described(key)} fits none of ${wanted.join(', ')}`)
  if (key.use !== undefined && key.use !== 'sig') throw new UnusableKey('its "use" is not "sig"')
  if (key.key_ops !== undefined && !(Array.isArray(key.key_ops) && key.key_ops.includes('verify'))) {
    throw new UnusableKey('its "key_ops" have no "verify"')
  }
  refuseWeak(key, algorithm)
  return algorithm
}

function fits({ kty, crv }: KeyMembers, demand: Demand): boolean {
  return kty === demand.kty && (demand.crv === undefined || crv === demand.crv)
}

function described({ kty, crv, alg }: KeyMembers): string {
  if (alg !== undefined) return `a key with the "alg" ${quote(alg)}`
  if (kty === 'oct') return 'a secret'
  return `a key of the kind ${[kty, crv].filter((part) => typeof part === 'string').join(' ')}`
}

/** @throws {UnusableKey} */
function refuseWeak({ n, e, k }: KeyMembers, algorithm: JWTAlgorithm): void {
  const demand: Demand = DEMANDS[algorithm]
  if (demand.kty === 'RSA') {
    const bits = bitsOf(n)
    if (bits < LEAST_RSA_BITS) throw new UnusableKey(`an RSA key of ${bits} bits; ${algorithm} takes ${LEAST_RSA_BITS}`)
    if (bitsOf(e) < 2) throw new UnusableKey('an RSA key with the exponent 1')
  }
  if (demand.leastBytes === undefined) return
  const { length } = Buffer.from(String(k), 'base64url')
  if (length < demand.leastBytes) {
    throw new UnusableKey(`a secret of ${length} bytes; ${algorithm} takes ${demand.leastBytes} random bytes or more`)
  }
}

/** The length of a number that is written in base64url. */
function bitsOf(text: unknown): number {
  if (typeof text !== 'string') return 0
  const hex = Buffer.from(text, 'base64url').toString('hex').replace(/^0+/, '')
  return hex === '' ? 0 : (hex.length - 1) * 4 + Number.parseInt(hex.charAt(0), 16).toString(2).length
}
