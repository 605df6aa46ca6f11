/** Keys that verify tokens, and which of them a token asks for. */
import type { KeyObject } from 'node:crypto'
import type { CryptoKey } from 'jose'
import type { JWTAlgorithm } from './algorithms.js'

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
  const fitting = keys.filter(({ algorithm }) => algorithm === alg)
  const named = kid === undefined ? [] : fitting.filter((key) => key.kid === kid)
  if (named.length > 0) return named.slice(0, MOST_TRIED)
  return fitting.filter((key) => kid === undefined || key.kid === undefined).slice(0, MOST_TRIED)
}
