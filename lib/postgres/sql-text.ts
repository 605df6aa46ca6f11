/** What a SQL text says by the first words of its statements. */

/** Strings, names in quotes and comments, in which no statement begins or ends; of a block only its beginning, as blocks nest. */
const OPAQUE =
  /\be'[^'\\]*(?:(?:\\[\s\S]|'')[^'\\]*)*'|'[^']*'|"[^"]*"|(?<![\w$])\$(?<tag>(?:[^\s\d$'"][^\s$'"]*)?)\$[\s\S]*?\$\k<tag>\$|--[^\n]*|\/\*/gi
const BLOCK_EDGE = /\/\*|\*\//g
/** The body of a function in SQL, whose statements are its own; a CASE in it has an END, too. */
const BODY = /\bbegin\s+atomic\b/gi
const BODY_EDGE = /\b(?:begin\s+atomic|case|end)\b/gi
const CLOSING: ReadonlySet<string> = new Set(['*/', 'end'])

/** The statements of a text, from their first words on; strings, names in quotes, comments and bodies are left out. */
export function statementsIn(text: string): readonly string[] {
  const bare = without(OPAQUE, text, (found) =>
    found[0] === '/*' ? endOf(BLOCK_EDGE, text, found.index) : found.index + found[0].length,
  )
  const outer = without(BODY, bare, ({ index }) => endOf(BODY_EDGE, bare, index))
  const statements = outer.split(';').map((statement) => statement.trim())
  return statements.filter((statement) => statement !== '')
}

function without(pattern: RegExp, text: string, endsAt: (found: RegExpExecArray) => number): string {
  let rest = ''
  let end = 0
  for (let found = next(pattern, text, 0); found; found = next(pattern, text, end)) {
    rest += `${text.slice(end, found.index)} `
    end = endsAt(found)
  }
  return `${rest}${text.slice(end)}`
}

/** Where ends what begins here, and may hold others of its kind. */
function endOf(edges: RegExp, text: string, start: number): number {
  let depth = 0
  let end = start
  for (let edge = next(edges, text, start); edge; edge = next(edges, text, end)) {
    end = edge.index + edge[0].length
    depth += CLOSING.has(edge[0].toLowerCase()) ? -1 : 1
    if (depth === 0) return end
  }
  return text.length
}

function next(pattern: RegExp, text: string, from: number): RegExpExecArray | null {
  pattern.lastIndex = from
  return pattern.exec(text)
}

const BLANKS = /(?:[\s(]|--[^\n]*)*/y
const WORD = /[a-z]*/iy

/** The first word of a text, in capitals. */
export function firstWord(text: string): string {
  const start = next(BLANKS, text, 0)?.[0].length ?? 0
  if (text.startsWith('/*', start)) return firstWord(text.slice(endOf(BLOCK_EDGE, text, start)))
  return next(WORD, text, start)?.[0].toUpperCase() ?? ''
}
