/** Consistency tokens: how far a caller's writes have come, signed, for the reads after them. */

import { getSecretKey } from '../kernel/settings.js'
import { encodeBase64Url, equalBytes, mac } from '../kernel/signing.js'

/** A place in the write-ahead log of one history of one database. */
export interface WalPlace {
  /** The system's identifier, which standbys share with their primary. */
  readonly system: string
  /** The history: each promotion begins another one. */
  readonly timeline: number
  /** The place, in bytes. */
  readonly lsn: bigint
}

/** What a token stands for: a place, or that only the primary is known to have what was written. */
export type Written = WalPlace | 'primary'

const LABEL = 'replicas/token/v1'
/** Bytes of a signature. */
const LENGTH = 16
const PLACE = /^(\d{1,20})-(\d{1,10})-([0-9a-f]{1,16})$/
const MOST = 128

/** Writes a token, of characters that cookies and headers take as they are. @throws ConfigurationError there is no secret */
export function writeToken(written: Written): string {
  const text = written === 'primary' ? written : `${written.system}-${written.timeline}-${written.lsn.toString(16)}`
  return `${text}.${encodeBase64Url(mac(getSecretKey(), LABEL, [text], LENGTH))}`
}

/** Reads a token; one that nobody here has written sends its bearer to the primary. */
export function readToken(token: string): Written {
  const dot = token.lastIndexOf('.')
  if (dot === -1 || token.length > MOST) return 'primary'
  const text = token.slice(0, dot)
  const signature = Buffer.from(token.slice(dot + 1), 'base64url')
  if (!equalBytes(signature, mac(getSecretKey(), LABEL, [text], LENGTH))) return 'primary'
  const [, system, timeline, lsn] = PLACE.exec(text) ?? []
  if (system === undefined || timeline === undefined || lsn === undefined) return 'primary'
  return { system, timeline: Number(timeline), lsn: BigInt(`0x${lsn}`) }
}

/** A place as PostgreSQL writes it: `16/B374D848`. */
export function readLsn(text: string): bigint {
  const [high = '', low = ''] = text.split('/')
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`)
}
