/** PostgreSQL's text of an array, `{a,"b c",NULL}`: pg leaves that of enums, citext and domains unread. */

/** A quoted item, an item, or a sign. Outside quotes a backslash takes the next character as it is. */
const TOKEN = /"((?:[^"\\]|\\.)*)"|((?:[^{}",\\]|\\.)+)|([{},])/gsy
const ESCAPE = /\\(.)/gs
/** An array whose first index is not 1 begins with its bounds: `[0:1]={a,b}`. */
const BOUNDS = /^[[\]:\d+-]+=/

/** The items as strings, null for NULL, lists for further dimensions; undefined for a string that is no array. */
export function readArrayText(text: string): unknown[] | undefined {
  const body = text.replace(BOUNDS, '')
  const open: unknown[][] = []
  let last: unknown[] | undefined
  let position = 0
  for (const [token, quoted, plain] of body.matchAll(TOKEN)) {
    position += token.length
    const list = open.at(-1)
    if (quoted !== undefined) list?.push(quoted.replace(ESCAPE, '$1'))
    else if (plain !== undefined) list?.push(plain === 'NULL' ? null : plain.replace(ESCAPE, '$1'))
    else if (token === '{') {
      const inner: unknown[] = []
      list?.push(inner)
      open.push(inner)
    } else if (token === '}') last = open.pop()
  }
  return position === body.length && open.length === 0 ? last : undefined
}
