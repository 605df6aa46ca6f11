/** The token of a keyset cursor: a position in a list, signed together with what it is a position of (wire format, section 2). */
import { isAscii } from 'node:buffer'
import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { Hmac } from '../kernel/hmac.js'
import { RecentMap } from '../kernel/once-per.js'
import {
  decodeBase64Url,
  derive,
  encodeBase64Url,
  equalBytes,
  frame,
  frameText,
  hmacOf,
  mac,
} from '../kernel/signing.js'
import type { PositionTag } from '../queryset/position-tags.js'
import type { Position } from './list-source.js'

/** What a token is signed for. Elsewhere it is worthless. */
export interface CursorScope {
  readonly secret: string
  /** The view's route name or class name. */
  readonly view: string
  /** The terms as property names, `-` before descending ones, joined by commas. */
  readonly ordering: string
  /** The frame of the path parameters and of what the filters were given. */
  readonly filters: string
  /** For each term, the tag of its values, and whether there may be none. */
  readonly terms: readonly CursorTerm[]
  /** The position is encrypted. */
  readonly sealed: boolean
}

export interface CursorTerm {
  readonly tag: PositionTag
  readonly nullable: boolean
}

/** A position, and on which side of it the page lies. */
export interface Cursor {
  readonly direction: 'next' | 'prev'
  readonly position: Position
}

/** The most that is issued, in characters. */
const LONGEST_ISSUED = 4096
/** The most that is read. */
const LONGEST_READ = 8192
/** Tokens that a scope remembers, of up to so many characters each. */
const MOST_KEPT = 128
const LONGEST_KEPT = 512
const NONCE_BYTES = 12
const TAG_BYTES = 16
const SIGNATURE_DIGITS = 32
/** What is encrypted stands behind this. */
const SEALED = 'sealed:'
/** What is encrypted is filled up to a multiple of this, so that the number of digits does not show. */
const BLOCK_BYTES = 32

/** What a part may be, so that nothing else reaches a cast, whatever the column has become since. */
const FORMS: Readonly<Record<PositionTag, RegExp>> = {
  int: /^-?[0-9]{1,19}$/,
  float: /^(?:-?[0-9.]+(?:e[+-]?[0-9]+)?|NaN|-?Infinity)$/,
  decimal: /^(?:-?[0-9.]+|NaN|-?Infinity)$/,
  datetime: /^(?:[0-9]+-[0-9]{2}-[0-9]{2}T[0-9:.]+(?: BC)?|-?infinity)$/,
  date: /^(?:[0-9]+-[0-9]{2}-[0-9]{2}(?: BC)?|-?infinity)$/,
  uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  bool: /^(?:true|false)$/,
  str: /^[^\0]*$/s,
}

/**
 * Writes and reads the tokens of one scope. It remembers those it has written or read last: a client comes back with the
 * token it was just given, and the first pages of a list have the same links for everyone.
 */
export class CursorTokens {
  readonly #scope: CursorScope
  readonly #hmac: Hmac
  /** What all that is signed begins with. */
  readonly #start: string
  /** Tokens by position. */
  readonly #written = { next: new RecentMap<string | null>(MOST_KEPT), prev: new RecentMap<string | null>(MOST_KEPT) }
  readonly #cursors = new RecentMap<Cursor>(MOST_KEPT)

  constructor(scope: CursorScope) {
    this.#scope = scope
    this.#hmac = hmacOf(scope.secret, 'cursor/mac/v1')
    this.#start = frameText([scope.view, scope.ordering, scope.filters])
  }

  /** The token of a position; null when it would be too long. */
  write(cursor: Cursor): string | null {
    const { direction, position } = cursor
    const written = this.#written[direction]
    const key = this.#keyOf(position)
    let token = written.get(key)
    if (token === undefined) {
      token = this.#issue(direction, positionText(this.#scope.terms, position))
      // long positions are not worth their room
      if (key.length <= LONGEST_KEPT) written.set(key, token)
      if (token !== null) this.#keep(token, cursor)
    }
    return token
  }

  /** The position a token holds; null for anything that was not written for the same scope. */
  read(token: string | undefined): Cursor | null {
    if (token === undefined || token === '' || token.length > LONGEST_READ) return null
    const known = this.#cursors.get(token)
    if (known) return known
    const cursor = this.#verify(token)
    if (cursor) this.#keep(token, cursor)
    return cursor
  }

  /** A value by itself where there is one: no string of PostgreSQL's begins as the others do. */
  #keyOf(position: Position): string {
    const [value] = position
    return position.length === 1 && typeof value === 'string' ? value : `\0${positionText(this.#scope.terms, position)}`
  }

  #keep(token: string, cursor: Cursor): void {
    if (token.length <= LONGEST_KEPT) this.#cursors.set(token, cursor)
  }

  #issue(direction: Cursor['direction'], plain: string): string | null {
    const payload = `${direction}:${this.#scope.sealed ? SEALED + seal(this.#scope, direction, plain) : plain}`
    const token = encodeBase64Url(`${payload}:${this.#sign(payload)}`)
    return token.length > LONGEST_ISSUED ? null : token
  }

  #verify(token: string): Cursor | null {
    const bytes = decodeBase64Url(token)
    const text = bytes && decodeUtf8(bytes)
    if (bytes === null || text === null || !text.endsWith(':', text.length - SIGNATURE_DIGITS)) return null
    const payload = text.slice(0, -SIGNATURE_DIGITS - 1)
    if (!equalBytes(bytes.subarray(-SIGNATURE_DIGITS), Buffer.from(this.#sign(payload), 'latin1'))) return null
    const colon = payload.indexOf(':')
    const direction = payload.slice(0, Math.max(0, colon))
    if (direction !== 'next' && direction !== 'prev') return null
    const rest = payload.slice(colon + 1)
    const plain = this.#scope.sealed ? unseal(this.#scope, direction, rest) : rest
    const position = plain === null ? null : readPosition(this.#scope.terms, plain)
    return position && { direction, position }
  }

  #sign(payload: string): string {
    return this.#hmac.hex(this.#start + frameText([payload])).slice(0, SIGNATURE_DIGITS)
  }
}

/** The types of the values, and the values. */
function positionText(terms: readonly CursorTerm[], position: Position): string {
  let types = ''
  let parts = ''
  for (let index = 0; index < terms.length; index++) {
    const separator = index === 0 ? '' : ','
    const part = position[index] ?? null
    types += separator + (part === null ? 'null' : (terms[index] as CursorTerm).tag)
    parts += separator + (part === null ? '' : escapePart(part))
  }
  return `${types}:${parts}`
}

function escapePart(part: string): string {
  return part.includes('%') || part.includes(',') ? part.replaceAll('%', '%25').replaceAll(',', '%2C') : part
}

function readPosition(terms: readonly CursorTerm[], plain: string): Position | null {
  const colon = plain.indexOf(':')
  const types = plain.slice(0, colon).split(',')
  const parts = plain.slice(colon + 1).split(',')
  if (types.length !== terms.length || parts.length !== terms.length) return null
  const position: (string | null)[] = []
  for (const [index, term] of terms.entries()) {
    const value = readPart(term, types[index] as string, parts[index] as string)
    if (value === undefined) return null
    position.push(value)
  }
  return position
}

/** One value: null for NULL, undefined for what cannot be one. */
function readPart({ tag, nullable }: CursorTerm, type: string, part: string): string | null | undefined {
  if (type === 'null') return nullable && part === '' ? null : undefined
  if (type !== tag) return undefined
  const value = part.includes('%') ? unescapePart(part) : part
  return value !== undefined && FORMS[tag].test(value) ? value : undefined
}

function unescapePart(part: string): string | undefined {
  if (/%(?!25|2C)/.test(part)) return undefined
  return part.replaceAll(/%25|%2C/g, (code) => (code === '%25' ? '%' : ','))
}

function seal(scope: CursorScope, direction: string, plain: string): string {
  const bytes = Buffer.from(plain)
  const filled = Buffer.alloc(Math.ceil(bytes.length / BLOCK_BYTES) * BLOCK_BYTES)
  bytes.copy(filled)
  const context = [scope.view, scope.ordering, scope.filters, direction]
  // a function of what is encrypted: the same page always has the same links
  const nonce = mac(scope.secret, 'cursor/nonce/v1', [...context, filled], NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', derive(scope.secret, 'cursor/seal/v1'), nonce)
  cipher.setAAD(frame(...context))
  return encodeBase64Url(Buffer.concat([nonce, cipher.update(filled), cipher.final(), cipher.getAuthTag()]))
}

function unseal(scope: CursorScope, direction: string, text: string): string | null {
  const bytes = text.startsWith(SEALED) ? decodeBase64Url(text.slice(SEALED.length)) : null
  if (!bytes || bytes.length < NONCE_BYTES + TAG_BYTES) return null
  const key = derive(scope.secret, 'cursor/seal/v1')
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(frame(scope.view, scope.ordering, scope.filters, direction))
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  try {
    const filled = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
    return decodeUtf8(filled)?.replace(/\0+$/, '') ?? null
  } catch {
    // not encrypted with this key, or not whole
    return null
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeUtf8(bytes: Buffer): string | null {
  if (isAscii(bytes)) return bytes.toString('latin1')
  try {
    return utf8.decode(bytes)
  } catch {
    return null
  }
}
