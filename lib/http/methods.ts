/** What HTTP says of its methods. */

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
const WITH_CONTENT: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])

/** True for a method that only reads (RFC 9110 section 9.2.1), in upper case. `TRACE` is none of ours. */
export function isSafeMethod(method: string): boolean {
  return SAFE.has(method)
}

/** True for a method whose requests have content, in upper case; that of `DELETE` means nothing by itself (RFC 9110 section 9.3). */
export function hasContent(method: string): boolean {
  return WITH_CONTENT.has(method)
}
