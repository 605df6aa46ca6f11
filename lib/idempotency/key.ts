/** The key of a request (draft-ietf-httpapi-idempotency-key-header-07, section 2.1). */

import type { Context } from '../http/context.js'
import { BadRequest } from '../kernel/errors.js'

const HEADER = 'idempotency-key'
const LONGEST = 255

/** A String of RFC 9651, section 3.3.3, with parameters, which mean nothing here. */
const QUOTED = /^"(?<text>(?:[ !#-[\]-~]|\\["\\])*)"(?: *;[ -~]*)?$/
/** As most clients send it: without quotes. */
const BARE = /^[\w!#$%&'*+./:=@^`|~-]+$/

/**
 * The key, quotes taken off, so that `"abc"` and `abc` are one; undefined where the request has none.
 * @throws {BadRequest} it comes twice, is empty, longer than 255 characters, or neither a string nor a word
 */
export function keyOf({ req }: Context): string | undefined {
  const value = req.headers[HEADER]
  if (value === undefined) return undefined
  // Node joins what comes twice
  const names = req.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === HEADER)
  if (names.length > 1) throw new BadRequest('Idempotency-Key must be sent once')
  const key = read(String(value).trim())
  if (key === undefined || key === '') throw new BadRequest('Malformed Idempotency-Key')
  if (key.length > LONGEST) throw new BadRequest(`Idempotency-Key has more than ${LONGEST} characters`)
  return key
}

function read(value: string): string | undefined {
  if (BARE.test(value)) return value
  return QUOTED.exec(value)?.groups?.['text']?.replace(/\\(.)/g, '$1')
}
