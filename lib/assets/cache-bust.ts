/** The token of `POST /cache/bust`: who may make the version be computed again (wire format, section 8). */
import type { Context } from '../http/context.js'
import { headerLines } from '../http/header-lines.js'
import { ApiError } from '../kernel/errors.js'
import { findSecretKey, setting } from '../kernel/settings.js'
import { derive, equalBytes, mac } from '../kernel/signing.js'

const LABEL = 'cache-bust/v1'
const TOKEN_LENGTH = 32
const LONGEST_TOKEN = 8_192

/**
 * The token of `POST /cache/bust`: the setting, else one derived from the secret key; undefined where neither is set.
 * @throws ConfigurationError either of them is too short
 */
export function cacheBustToken(): string | undefined {
  const token = setting('cacheBustToken')
  if (token !== undefined) return token
  const secret = findSecretKey()
  return secret === undefined ? undefined : derive(secret, LABEL).toString('hex').slice(0, TOKEN_LENGTH)
}

/**
 * Lets a request pass that has the token.
 * @throws ApiError 401, with the challenge of RFC 6750
 */
export function checkBustToken(ctx: Context, token: string): void {
  const headers = headerLines(ctx.req, 'authorization')
  const [given] = headers.flatMap((header) => bearerToken(header) ?? [])
  if (given === undefined) throw refusal('Bearer')
  // digests have one length, whatever was sent: the comparison tells nothing of the token's
  const same =
    headers.length === 1 &&
    given.length <= LONGEST_TOKEN &&
    equalBytes(mac(token, LABEL, [given]), mac(token, LABEL, [token]))
  if (!same) throw refusal('Bearer error="invalid_token"')
}

function refusal(challenge: string): ApiError {
  return new ApiError(401, 'Invalid token', { headers: { 'WWW-Authenticate': challenge } })
}

function bearerToken(header: string): string | undefined {
  return /^bearer +(.+)$/i.exec(header)?.[1]
}
