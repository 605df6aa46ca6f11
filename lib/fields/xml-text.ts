/**
 * Whether a text is XML, before PostgreSQL reads it: its parser writes a report for each fault and each warning, and compares
 * each attribute with all others of its element, and nobody can stop it. A megabyte takes minutes, and gigabytes.
 */

import { ValidationError } from '../kernel/errors.js'
import { counted } from './string-field.js'

const START =
  ':A-Z_a-z\\u{C0}-\\u{D6}\\u{D8}-\\u{F6}\\u{F8}-\\u{2FF}\\u{370}-\\u{37D}\\u{37F}-\\u{1FFF}\\u{200C}-\\u{200D}' +
  '\\u{2070}-\\u{218F}\\u{2C00}-\\u{2FEF}\\u{3001}-\\u{D7FF}\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFFD}\\u{10000}-\\u{EFFFF}'
const NAME = `[${START}][${START}\\-.0-9\\u{B7}\\u{300}-\\u{36F}\\u{203F}-\\u{2040}]*`
const SPACE = '[ \\t\\r\\n]'
const QUOTED = `"[^"<]*"|'[^'<]*'`

const NO_CHARACTER = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/u
const REFERENCE = /&(?:#(?:x([\da-f]{1,8})|(\d{1,9}))|[^;&<\s]+)?;?/giu
const PLAIN = new Set(['&lt;', '&gt;', '&amp;', '&quot;', '&apos;'])
const TEXT = /[^<]+/y
const TYPE = new RegExp(
  `<!DOCTYPE${SPACE}+${NAME}(?:${SPACE}+(?:SYSTEM|PUBLIC${SPACE}+(?:"[^"]*"|'[^']*'))${SPACE}+(?:"[^"]*"|'[^']*'))?${SPACE}*>`,
  'uy',
)
/** A document type with declarations of its own. */
const DECLARING = /<!DOCTYPE[^>[]*\[/y
const INSTRUCTION = new RegExp(`<\\?(${NAME})(?=${SPACE}|\\?>)`, 'uy')
const OPENING = new RegExp(`<(${NAME})`, 'uy')
const ATTRIBUTE = new RegExp(`${SPACE}+(${NAME})${SPACE}*=${SPACE}*(${QUOTED})`, 'uy')
const OPENED = new RegExp(`${SPACE}*(/?)>`, 'uy')
const CLOSING = new RegExp(`</(${NAME})${SPACE}*>`, 'uy')
/** Targets beginning with these letters are for standards, which have these. */
const RESERVED = /^xml(?!-(?:stylesheet|model)$)/i
const MOST_ATTRIBUTES = 1_000

/** @throws ValidationError it is none, or more than PostgreSQL is asked to read */
export function checkXml(text: string): void {
  if (NO_CHARACTER.test(text)) throw malformed()
  new XmlScanner(text).scan()
}

function malformed(): ValidationError {
  return new ValidationError('Invalid value.')
}

/** A text, and how far it was read. */
class XmlScanner {
  readonly #text: string
  readonly #open: string[] = []
  #at = 0
  #hasType = false

  constructor(text: string) {
    this.#text = text
  }

  scan(): void {
    while (this.#at < this.#text.length) {
      const words = this.#match(TEXT)
      if (words) checkWords(words[0])
      else if (this.#startsWith('<!--')) this.#comment()
      else if (this.#startsWith('<![CDATA[')) this.#skip(']]>')
      else if (this.#startsWith('<?')) this.#instruction()
      else if (this.#startsWith('<!')) this.#type()
      else if (this.#startsWith('</')) this.#close()
      else this.#element()
    }
    if (this.#open.length > 0) throw malformed()
  }

  #startsWith(mark: string): boolean {
    return this.#text.startsWith(mark, this.#at)
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)
    if (found) this.#at = pattern.lastIndex
    return found
  }

  #take(pattern: RegExp): RegExpExecArray {
    const found = this.#match(pattern)
    if (!found) throw malformed()
    return found
  }

  #skip(end: string): void {
    const found = this.#text.indexOf(end, this.#at)
    if (found === -1) throw malformed()
    this.#at = found + end.length
  }

  #comment(): void {
    this.#at += '<!--'.length
    this.#skip('--')
    if (!this.#startsWith('>')) throw malformed()
    this.#at++
  }

  #instruction(): void {
    const start = this.#at
    const [, target = ''] = this.#take(INSTRUCTION)
    if (RESERVED.test(target) && !(target === 'xml' && start === 0)) throw malformed()
    this.#skip('?>')
  }

  #type(): void {
    if (this.#match(DECLARING)) throw new ValidationError(ENTITIES)
    this.#take(TYPE)
    if (this.#hasType) throw malformed()
    this.#hasType = true
  }

  #element(): void {
    const [, name = ''] = this.#take(OPENING)
    const names = new Set<string>()
    for (let found = this.#match(ATTRIBUTE); found; found = this.#match(ATTRIBUTE)) {
      const [, attribute = '', value = ''] = found
      if (names.has(attribute) || (attribute === 'xml:space' && !SPACES.test(value))) throw malformed()
      checkReferences(value)
      if (names.add(attribute).size > MOST_ATTRIBUTES) {
        throw new ValidationError(`Ensure this field has no more than ${counted(MOST_ATTRIBUTES, 'attribute')}.`)
      }
    }
    const [, isEmpty] = this.#take(OPENED)
    if (isEmpty !== '/') this.#open.push(name)
  }

  #close(): void {
    const [, name] = this.#take(CLOSING)
    if (this.#open.pop() !== name) throw malformed()
  }
}

const SPACES = /^.(?:default|preserve).$/
/** They stand for texts of any length, which PostgreSQL writes out. */
const ENTITIES = 'Entities are not allowed.'

/** @throws ValidationError as `checkReferences()`, or it ends what has not begun */
function checkWords(text: string): void {
  if (text.includes(']]>')) throw malformed()
  checkReferences(text)
}

/** @throws ValidationError one stands for no character, or for what an entity says */
function checkReferences(text: string): void {
  for (const [reference, hexadecimal, decimal] of text.matchAll(REFERENCE)) {
    if (PLAIN.has(reference)) continue
    const digits = hexadecimal === undefined ? decimal : `0x${hexadecimal}`
    if (!reference.endsWith(';') || reference === '&;') throw malformed()
    if (digits === undefined) throw reference.startsWith('&#') ? malformed() : new ValidationError(ENTITIES)
    if (reference.startsWith('&#X') || !isCharacter(Number(digits))) throw malformed()
  }
}

const LAST_CHARACTER = 0x10_ff_ff

function isCharacter(code: number): boolean {
  return code <= LAST_CHARACTER && !NO_CHARACTER.test(String.fromCodePoint(code))
}
