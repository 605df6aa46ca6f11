/** Keys that verify tokens, and which of them a token asks for. */
import { createPublicKey, createSecretKey, type JsonWebKey, KeyObject } from 'node:crypto'
import type { CryptoKey, JWK } from 'jose'
import { ConfigurationError } from '../kernel/errors.js'
import { isSameAlgorithm, type JWTAlgorithm } from './algorithms.js'
import { algorithmOf, UnusableKey } from './usable-key.js'

/** A key and the one algorithm that it serves. */
export interface VerificationKey {
  /** Its name; a key without one may have signed any token. */
  readonly kid: string | undefined
  readonly algorithm: JWTAlgorithm
  readonly key: CryptoKey | KeyObject
}

/** The keys at one time. */
export interface KeyList {
  readonly keys: readonly VerificationKey[]
  /** The number of the request to the issuer that has brought them; 0 for keys of the configuration. */
  readonly serial: number
}

/** Where keys come from. */
export interface KeySource {
  /** How many requests to the issuer were begun by now. */
  readonly begun: number
  /** The keys to verify by. @throws {ServiceUnavailable} there are none for the moment */
  current(): KeyList | Promise<KeyList>
  /**
   * Newer keys than those of a list, for a token that none of them has signed; undefined where there are none.
   * @param since what `begun` was when the token came: an answer that was asked for later knows all of its keys
   */
  newerThan(list: KeyList, since: number): Promise<KeyList | undefined>
  /** Waits for what is asked of the issuer. */
  close(): Promise<void>
}

/** What the header of a token says of its key. */
export interface WantedKey {
  readonly alg: JWTAlgorithm
  readonly kid: string | undefined
}

/** How many keys are tried for one token; a name fits one key, or few. */
const MOST_TRIED = 10

/** The keys that may have signed a token: those of its algorithm that have its `kid`, or no name, where either has none. */
export function keysFor({ keys }: KeyList, { alg, kid }: WantedKey): readonly VerificationKey[] {
  const fitting = keys.filter(({ algorithm }) => isSameAlgorithm(algorithm, alg))
  const named = kid === undefined ? [] : fitting.filter((key) => key.kid === kid)
  if (named.length > 0) return named.slice(0, MOST_TRIED)
  return fitting.filter((key) => kid === undefined || key.kid === undefined).slice(0, MOST_TRIED)
}

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
  const idle = algorithms.find((name) => !keys.some(({ algorithm }) => isSameAlgorithm(algorithm, name)))
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
