/** Keys that can be used, and for which algorithm: each key serves one only (RFC 8725 section 3.1). */

import { quote } from '../kernel/quote.js'
import { DEMANDS, type Demand, isSameAlgorithm, type JWTAlgorithm } from './algorithms.js'

/** The members of a JSON Web Key that are read (RFC 7517 section 4); null is none, as serializers of some issuers write it. */
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

/**
 * The one algorithm that a key serves (RFC 8725 section 3.1): the one that its `alg` names, or the first of those wanted that
 * it fits.
 * @throws {UnusableKey} it serves none of them, is for something else, or is too weak
 */
export function algorithmOf(key: KeyMembers, wanted: readonly JWTAlgorithm[]): JWTAlgorithm {
  const algorithm = wanted.find((name) => isSameAlgorithm(key.alg ?? name, name) && fits(key, DEMANDS[name]))
  if (algorithm === undefined) throw new UnusableKey(`${described(key)} fits none of ${wanted.join(', ')}`)
  if ((key.use ?? 'sig') !== 'sig') throw new UnusableKey('its "use" is not "sig"')
  const operations = key.key_ops ?? ['verify']
  if (!(Array.isArray(operations) && operations.includes('verify'))) {
    throw new UnusableKey('its "key_ops" have no "verify"')
  }
  refuseWeak(key, algorithm)
  return algorithm
}

function fits({ kty, crv }: KeyMembers, demand: Demand): boolean {
  return kty === demand.kty && (demand.crv === undefined || crv === demand.crv)
}

function described({ kty, crv, alg }: KeyMembers): string {
  if (typeof alg === 'string') return `a key with the "alg" ${quote(alg)}`
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
