/** Keys that the application gives: secrets, PEM, JSON Web Keys or Node's own, checked at the start. */
import { createPublicKey, createSecretKey, type JsonWebKey, KeyObject } from 'node:crypto'
import type { JWK } from 'jose'
import { ConfigurationError } from '../kernel/errors.js'
import type { JWTAlgorithm } from './algorithms.js'
import type { KeyList, KeySource, VerificationKey } from './key-list.js'
import { algorithmOf, UnusableKey } from './usable-key.js'

/**
 * A key that verifies tokens: of `RS…`, `PS…`, `ES…` and `EdDSA` the public one, as PEM (also a certificate), JWK or `KeyObject`;
 * of `HS…` the secret, as bytes, as a string that counts as its UTF-8 bytes, JWK or `KeyObject`.
 */
export type JWTKey = string | Uint8Array | KeyObject | JWK

const PEM = /^\s*-----BEGIN ([A-Z0-9 ]+)-----/

/**
 * The keys of the configuration.
 * @throws {ConfigurationError} one is no key, is private, too weak, or serves none of the algorithms; or an algorithm has no key
 */
export function staticKeys(where: string, given: readonly JWTKey[], algorithms: readonly JWTAlgorithm[]): KeySource {
  if (given.length === 0) throw new ConfigurationError(`${where}: key is an empty list; give at least one key`)
  const keys = given.map((key) => readKey(where, key, algorithms))
  const idle = algorithms.find((name) => !keys.some(({ algorithm }) => algorithm === name))
  if (idle !== undefined) {
    throw new ConfigurationError(
      `${where}: no key is for ${idle}, as a key serves one algorithm only; leave ${idle} out of algorithms, or give a JWK with "alg": "${idle}"`,
    )
  }
  const list: KeyList = { keys, serial: 0 }
  return { begun: 0, current: () => list, newerThan: async () => undefined, close: async () => {} }
}

function readKey(where: string, given: JWTKey, algorithms: readonly JWTAlgorithm[]): VerificationKey {
  try {
    const key = toKeyObject(given)
    const { alg, use, key_ops, kid } = isJwk(given) ? given : ({} as JWK)
    const own = { ...(alg !== undefined && { alg }), ...(use !== undefined && { use }) }
    const members = { ...key.export({ format: 'jwk' }), ...own, ...(key_ops !== undefined && { key_ops }) }
    return { kid, algorithm: algorithmOf(members, algorithms), key }
  } catch (error) {
    // what Node says of a key may show some of it
    const reason = error instanceof UnusableKey ? error.message : 'what is given is no key that can be read'
    throw new ConfigurationError(`${where}: key cannot be used: ${reason}`)
  }
}

/** @throws a key that cannot be read, or a private one */
function toKeyObject(given: JWTKey): KeyObject {
  if (given instanceof KeyObject) return given.type === 'private' ? refusePrivate() : given
  if (isJwk(given)) {
    if (given.kty === 'oct') return createSecretKey(Buffer.from(String(given.k), 'base64url'))
    if (given.d !== undefined) refusePrivate()
    return createPublicKey({ key: given as JsonWebKey, format: 'jwk' })
  }
  if (typeof given !== 'string' && !(given instanceof Uint8Array)) {
    throw new UnusableKey('give a text, bytes, a KeyObject or a JWK')
  }
  const bytes = Buffer.from(given)
  // a public key as a string is no secret, though it has the length of one (RFC 8725 section 2.1)
  const [, kind] = PEM.exec(bytes.toString('latin1')) ?? []
  if (kind === undefined) return createSecretKey(bytes)
  return kind.includes('PRIVATE') ? refusePrivate() : createPublicKey(bytes)
}

function refusePrivate(): never {
  throw new UnusableKey('it is private; give the public key')
}

function isJwk(given: unknown): given is JWK {
  return typeof given === 'object' && given !== null && !(given instanceof Uint8Array) && 'kty' in given
}
