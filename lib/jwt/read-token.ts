/** The header of a token, as far as it decides how the token is verified. Nothing that it says is believed. */
import { isRecord } from '../kernel/records.js'
import { isAlgorithm, type JWTAlgorithm } from './algorithms.js'
import { invalidToken } from './bearer.js'
import type { WantedKey } from './key-list.js'

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
export function jsonObject(part: string): Readonly<Record<string, unknown>> | undefined {
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
