/** Escapes names and strings of a database for generated TypeScript, so that none of them can end what it stands in. */

/** The most characters of a line. */
const WIDTH = 120

/** What a reader cannot see, or what ends a line: controls, marks of direction, separators, lone surrogates. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu
const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u
const CONTROL = /\p{C}/u

/** A string as a literal. */
export function stringLiteral(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const body = text.replaceAll('\\', '\\\\').replaceAll(quote, `\\${quote}`)
  return `${quote}${escapeInvisible(body)}${quote}`
}

/** A name in a message, in quotes. */
export function quoted(name: string): string {
  return `"${escapeInvisible(name)}"`
}

/** A name as that of a property. */
export function propertyKey(name: string): string {
  return isIdentifier(name) ? name : stringLiteral(name)
}

/** True for what can stand where the language asks for a name, and hides nothing. */
export function isIdentifier(name: string): boolean {
  return IDENTIFIER.test(name) && !CONTROL.test(name)
}

/** A string inside a comment of either kind, in one line. */
export function commentText(text: string): string {
  const line = text.replace(/\s+/gu, ' ').trim()
  const closed = escapeInvisible(line).replaceAll('*/', '*\\/').replaceAll('/*', '/\\*')
  // what compilers take for an order
  return closed.replace(/@(?=ts-|jsx)/g, '\\@')
}

/** A doc comment with one sentence, on one line where it fits. */
export function docComment(text: string, indent: string): string {
  return `${indent}/** ${commentText(text)} */\n`
}

/** A list between brackets: on the line that begins with `head` where it fits, else an item on each line. */
export function list(head: string, items: readonly string[], { open = '[', close = ']', indent = '', end = '' } = {}) {
  const pad = open === '{' ? ' ' : ''
  const line = `${head}${open}${pad}${items.join(', ')}${pad}${close}${end}`
  if (line.length <= WIDTH || items.length === 0) return line
  return `${head}${open}\n${items.map((item) => `${indent}  ${item},\n`).join('')}${indent}${close}${end}`
}

/** A union of types: on the line that begins with `head` where it fits. */
export function unionType(head: string, members: readonly string[]): string {
  const line = `${head} ${members.join(' | ')}`
  return line.length <= WIDTH ? line : `${head}\n${members.map((member) => `  | ${member}`).join('\n')}`
}

/** An import of names, in order. */
export function importOf(names: readonly string[], from: string, { typeOnly = false } = {}): string {
  const sorted = [...names].sort((a, b) => compare(bare(a), bare(b)))
  const head = typeOnly ? 'import type ' : 'import '
  if (sorted.length === 1) return `${head}{ ${sorted[0]} } from ${stringLiteral(from)}\n`
  return `${list(head, sorted, { open: '{', close: '}', end: ` from ${stringLiteral(from)}` })}\n`
}

/** Imports in the order of where they come from. */
export function sortImports(imports: ReadonlyMap<string, string>): string {
  return [...imports]
    .sort(([a], [b]) => Number(a.startsWith('.')) - Number(b.startsWith('.')) || compare(distance(a), distance(b)))
    .map(([, text]) => text)
    .join('')
}

/** Folders further up come first. */
function distance(from: string): string {
  return from.replace(/^\.\//, '~/').replace(/\.js$/, '')
}

function bare(name: string): string {
  return name.replace(/^type /, '')
}

function compare(a: string, b: string): number {
  const [x, y] = [a.toLowerCase(), b.toLowerCase()]
  if (x !== y) return x < y ? -1 : 1
  return a < b ? -1 : Number(a > b)
}

function escapeInvisible(text: string): string {
  return text.replace(UNSEEN, (character) => {
    const code = character.codePointAt(0) as number
    return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
  })
}
