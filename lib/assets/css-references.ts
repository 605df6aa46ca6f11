/** References of a style sheet, by `url(…)` and `@import` (CSS Syntax Level 3; wire format, section 7). */
import { posix } from 'node:path'
import { encodeAssetName, encodeSuffix } from './asset-name.js'

/** A reference to another file of the site. */
export interface FileReference {
  /** Where its text begins and ends in the sheet, quotes not included. */
  readonly start: number
  readonly end: number
  /** As the sheet writes it. */
  readonly text: string
  /** The file it names, from the root of all files; undefined where it leads out of it or cannot be read. */
  readonly target: string | undefined
  /** What follows the file: `?#iefix`, `#icon`. */
  readonly suffix: string
}

/** White space and comments. A comment can be read in one way only, so that no sheet takes long. */
const GAP = String.raw`(?:[ \t\r\n\f]|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)*`
const BLANK = String.raw`[ \t\r\n\f]*`
const DOUBLE = String.raw`"((?:[^"\\\r\n\f]|\\[\s\S])*)"`
const SINGLE = String.raw`'((?:[^'\\\r\n\f]|\\[\s\S])*)'`
const BARE = String.raw`((?:[^\s"'()\\]|\\[^\r\n\f])+)`
/** What a name may go on with: `my-url(` is no `url(`. */
const NAME = String.raw`[\w\\\x80-\xff-]`

/** In this order: a comment; `@import "…"`; `url(…)`; a string, which may hold anything. */
const TOKENS = new RegExp(
  [
    String.raw`/\*[\s\S]*?(?:\*/|$)`,
    `@import(?!${NAME})${GAP}(?:${DOUBLE}|${SINGLE})`,
    String.raw`(?<!${NAME})url\(${BLANK}(?:${DOUBLE}|${SINGLE}|${BARE})${BLANK}\)`,
    DOUBLE.replace('(', '(?:'),
    SINGLE.replace('(', '(?:'),
  ].join('|'),
  'dgi',
)
const ESCAPE = /\\(?:([0-9a-f]{1,6})(?:\r\n|[ \t\r\n\f])?|(\r\n|[\r\n\f])|([\s\S]))/giu

/**
 * All references to files of the site: not those with a scheme or a host, `data:`, from the server's root, or of only a
 * fragment.
 * @param sheet the sheet's bytes, one character each ("latin1"), so that whatever its encoding nothing of it changes
 * @param name the sheet's own name, which references are relative to
 */
export function findReferences(sheet: string, name: string): FileReference[] {
  const references: FileReference[] = []
  for (const { indices } of sheet.matchAll(TOKENS)) {
    const [start, end] = indices?.slice(1).find((range) => range !== undefined) ?? []
    if (start === undefined || end === undefined) continue
    const text = unescapeCss(Buffer.from(sheet.slice(start, end), 'latin1').toString('utf8'))
    const [, path = '', suffix = ''] = /^([^?#]*)(.*)$/s.exec(text) ?? []
    if (path === '' || path.startsWith('/') || /^[a-z][a-z0-9+.-]*:/i.test(path)) continue
    references.push({ start, end, text, target: resolveTarget(path, name), suffix })
  }
  return references
}

/** The sheet with other texts for its references; those that `nameOf` has no name for stay as they are. */
export function replaceReferences(
  sheet: string,
  name: string,
  references: readonly FileReference[],
  nameOf: (target: string) => string | undefined,
): string {
  let result = ''
  let done = 0
  for (const { start, end, target, suffix } of references) {
    const hashed = target === undefined ? undefined : nameOf(target)
    if (hashed === undefined) continue
    const path = encodeAssetName(posix.relative(`/${posix.dirname(name)}`, `/${hashed}`))
    result += sheet.slice(done, start) + path + encodeSuffix(suffix)
    done = end
  }
  return result + sheet.slice(done)
}

function resolveTarget(path: string, name: string): string | undefined {
  const decoded = decode(path)
  if (decoded === undefined || decoded.includes('\\')) return undefined
  const target = posix.join(posix.dirname(name), decoded)
  return target.startsWith('../') || target === '..' ? undefined : target
}

function decode(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}

function unescapeCss(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(ESCAPE, (_all, hex?: string, lineBreak?: string, character?: string) => {
    if (lineBreak !== undefined) return ''
    if (hex === undefined) return character ?? ''
    const code = Number.parseInt(hex, 16)
    return code === 0 || code > 0x10ffff ? '\uFFFD' : String.fromCodePoint(code)
  })
}

/** The line number of a position, from 1. */
export function lineOf(sheet: string, position: number): number {
  let line = 1
  for (let at = sheet.indexOf('\n'); at !== -1 && at < position; at = sheet.indexOf('\n', at + 1)) line++
  return line
}
