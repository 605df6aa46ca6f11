/** Bearer tokens in the `Authorization` header, and their challenges (RFC 6750). */
import type { Context } from '../http/context.js'
import { headerLines } from '../http/header-lines.js'
import { AuthenticationFailed, BadRequest } from '../kernel/errors.js'

/** What is asked for where no token was sent: without an error (RFC 6750 section 3.1). */
export const CHALLENGE = 'Bearer realm="api"'

/** The scheme's name, and what comes after it. */
const HEADER = /^Bearer(?:[ \t]+(.*))?$/is
/** RFC 6750 section 2.1. */
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/
/** RFC 6749 section 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/**
 * The token of a request; undefined where it has none, or credentials of another scheme.
 * @throws {BadRequest} there are two Authorization headers and one of them has a token, or what is sent is no single token
 * @throws {AuthenticationFailed} the header is longer than `maxLength`; it is not looked into
 */
export function bearerToken(ctx: Context, maxLength: number): string | undefined {
  // another server before us may have looked at the last
  const headers = headerLines(ctx.req, 'authorization')
  const header = headers.find(isBearer)
  if (header === undefined) return undefined
  if (headers.length > 1) throw malformed('More than one Authorization header')
  if (header.length > maxLength) throw invalidToken('The token is too long')
  const token = HEADER.exec(header)?.[1] ?? ''
  if (!TOKEN.test(token)) throw malformed('The header is no "Bearer" and a token')
  return token
}

function isBearer(header: string): boolean {
  return /^Bearer(?:[ \t]|$)/i.test(header.slice(0, 7))
}

/** 400 `invalid_request`. */
function malformed(description: string): BadRequest {
  return new BadRequest('Malformed Authorization header', {
    headers: { 'WWW-Authenticate': challengeWith('invalid_request', description) },
  })
}

/** 401 `invalid_token`. @param description what is wrong, in words that show nothing of the token or the keys */
export function invalidToken(description: string): AuthenticationFailed {
  return new AuthenticationFailed('Invalid token', challengeWith('invalid_token', description))
}

/** The challenge of a 403: what a token has to have. */
export function scopeChallenge(scopes: readonly string[]): string {
  const challenge = challengeWith('insufficient_scope', 'The token has not all scopes that are asked for')
  return scopes.every((scope) => SCOPE.test(scope)) ? `${challenge}, scope="${scopes.join(' ')}"` : challenge
}

function challengeWith(error: string, description: string): string {
  return `${CHALLENGE}, error="${error}", error_description="${description.replaceAll('"', "'")}"`
}
