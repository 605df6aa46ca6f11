/** What a client accepts (RFC 9110 section 12.5.1). */

import Negotiator from 'negotiator'

/** Parameters other than the weight say nothing about the type: `application/json; version=2` is JSON. A comma in quotes separates nothing. */
const PARAMETERS = /;(?!\s*q\s*=)(?:[^;,"]|"(?:[^"\\]|\\.)*"?)*/gi

/** The media type that a client would rather have, of some without parameters; undefined where it takes none of them. */
export function preferredType(accept: string, types: readonly string[]): string | undefined {
  return new Negotiator({ headers: { accept: accept.replace(PARAMETERS, '') } }).mediaType([...types])
}
