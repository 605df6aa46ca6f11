/** What a SQL text says by the first words of its statements. */

/** Strings, names in quotes and comments, in which no statement begins or ends; of a block only its beginning, as blocks nest. */
const OPAQUE =
  /\be'[^'\\]*(?:(?:\\[\s\S]|'')[^'\\]*)*'|'[^']*'|"[^"]*"|(?<![\w$])\$(?<tag>(?:[^\s\d$'"][^\s$'"]*)?)\$[\s\S]*?\$\k<tag>\$|--[^\n]*|\/\*/gi
const BLOCK_EDGE = /\/\*|\*\//g

/** The statements of a text, from their first words on; strings, names in quotes and comments are left out. */
export function statementsIn(text: string): readonly string[] {
  let bare = ''
  let end = 0
  for (let found = next(OPAQUE, text, 0); found; found = next(OPAQUE, text, end)) {
    bare += `${text.slice(end, found.index)} `
    end = found[0] === '/*' ? endOfBlock(text, found.index) : found.index + found[0].length
  }
  const statements = `${bare}${text.slice(end)}`.split(';').map((statement) => statement.trim())
  return statements.filter((statement) => statement !== '')
}

function endOfBlock(text: string, start: number): number {
  let depth = 0
  let end = start
  for (let edge = next(BLOCK_EDGE, text, start); edge; edge = next(BLOCK_EDGE, text, end)) {
    end = edge.index + edge[0].length
    depth += edge[0] === '/*' ? 1 : -1
    if (depth === 0) return end
  }
  return text.length
}

function next(pattern: RegExp, text: string, from: number): RegExpExecArray | null {
  pattern.lastIndex = from
  return pattern.exec(text)
}

const FIRST_WORD = /^[\s(]*(?:--[^\n]*\n\s*|\/\*(?:[^*]|\*(?!\/))*\*\/\s*)*([a-z]+)/i

/** The first word of a text, in capitals. */
export function firstWord(text: string): string {
  return FIRST_WORD.exec(text)?.[1]?.toUpperCase() ?? ''
}
