/** Entity tags in conditional requests (RFC 9110 section 13.1). */

const GAP = /[ \t,]*/y
const TAG = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")[ \t]*(?=,|$)/y

/**
 * Whether `If-None-Match` names this entity tag, or is `*`; strong and weak tags are alike (weak comparison). A header
 * that cannot be read names nothing from there on.
 */
export function matchesEntityTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  const wanted = tag.replace(/^W\//, '')
  let position = 0
  while (position < header.length) {
    GAP.lastIndex = position
    GAP.test(header)
    TAG.lastIndex = GAP.lastIndex
    const found = TAG.exec(header)
    if (!found) return false
    if (found[1] === wanted) return true
    position = TAG.lastIndex
  }
  return false
}
