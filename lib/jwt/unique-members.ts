/** Names that stand twice in JSON: one reader takes the first and another the last (RFC 7515 section 4, RFC 7519 section 4). */

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
