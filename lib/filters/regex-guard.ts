/** Which regular expressions of clients are sent to PostgreSQL (promise C11; shown by regex-guard.test.ts). */

import { RecentMap } from '../kernel/once-per.js'
import {
  ANY,
  type CharacterSet,
  escapedCharacter,
  isCheap,
  literal,
  NAMED_SETS,
  type PatternNode,
  range,
  union,
} from './regex-cost.js'

/**
 * `safe` patterns are compiled and run in bounded time. `blocked` ones may be valid, but could cost too much or use
 * more of PostgreSQL's syntax than a search needs: they are taken as literal text. `expensive` ones would take too long
 * for each row. `invalid` ones mean nothing.
 */
export type Judgement = 'safe' | 'blocked' | 'expensive' | 'invalid'

/** The most repetitions that `{n}` may ask for. */
const MOST_REPETITIONS = 50

/** What a part of a pattern holds, as far as repeating it is concerned. */
interface Content {
  readonly node: PatternNode
  /** `*`, `+` or `{n}`: repeating it again is stacking. */
  readonly repeats: boolean
  /**
   * Anything that matches no character: an optional atom, an anchor, an empty branch. Fifty copies of it are thousands
   * of ways through the pattern. (`(a?b?c?…z?){50}` took over 20 s, measured.)
   */
  readonly skips: boolean
}

/** One character of a set. */
function oneOf(set: CharacterSet): Content {
  return { node: { kind: 'set', set }, repeats: false, skips: false }
}

/** Searches try one term in several fields, and clients the same search again. */
const judged = new RecentMap<Judgement>(200)

/** Judges a pattern of at most some hundred characters, before it reaches the database. */
export function judgePattern(pattern: string): Judgement {
  const known = judged.get(pattern)
  if (known !== undefined) return known
  const judgement = judge(pattern)
  judged.set(pattern, judgement)
  return judgement
}

function judge(pattern: string): Judgement {
  // a director of PostgreSQL's: the rest is read in another syntax
  if (pattern.startsWith('***')) return 'blocked'
  try {
    return isCheap(new Scan(pattern).run()) ? 'safe' : 'expensive'
  } catch (finding) {
    if (finding instanceof Finding) return finding.judgement
    throw finding
  }
}

class Finding extends Error {
  readonly judgement: Judgement

  constructor(judgement: Judgement) {
    super(judgement)
    this.judgement = judgement
  }
}

const blocked = () => new Finding('blocked')
const invalid = () => new Finding('invalid')

/** How often a part stands there. */
interface Bound {
  readonly least: number
  readonly most: number
}

const BOUNDS: ReadonlyMap<string, Bound> = new Map([
  ['*', { least: 0, most: Number.POSITIVE_INFINITY }],
  ['+', { least: 1, most: Number.POSITIVE_INFINITY }],
  ['?', { least: 0, most: 1 }],
])
const REPEATING = new Set(['*', '+'])
/** `\d`, `\w` … stand for a set of characters. */
const CLASSES = new Set(['d', 'w', 's', 'D', 'W', 'S'])
/** `\m`, `\y` … match at a place, and no character. */
const CONSTRAINTS = new Set(['m', 'M', 'y', 'Y', 'A', 'Z'])
const CONTROLS = new Set(['n', 't', 'r'])
/** Known to PostgreSQL, and of no use in a search: control characters, code points. Digits are back-references. */
const OTHER_ESCAPES = /[abBcefuUvx0-9]/
const ALPHANUMERIC = /[\p{L}\p{N}]/u
const DIGIT = /[0-9]/
const BOUND = /^\{(\d{1,5})(,(\d{1,5})?)?\}/
const NAMED_CLASS = /^\[:(alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit):\]/

/** Reads a pattern once, from left to right; the first finding ends it. */
class Scan {
  readonly #text: readonly string[]
  #at = 0

  constructor(pattern: string) {
    this.#text = Array.from(pattern)
  }

  run(): PatternNode {
    const { node } = this.#branches()
    if (this.#next !== undefined) throw invalid() // a `)` too many
    return node
  }

  get #next(): string | undefined {
    return this.#text[this.#at]
  }

  /** The text from here on. */
  get #rest(): string {
    return this.#text.slice(this.#at).join('')
  }

  /** Alternatives up to `)` or the end. */
  #branches(): Content {
    let repeats = false
    let skips = false
    const branches: PatternNode[] = []
    for (;;) {
      const items: PatternNode[] = []
      while (this.#next !== undefined && this.#next !== '|' && this.#next !== ')') {
        const piece = this.#piece()
        repeats ||= piece.repeats
        skips ||= piece.skips
        items.push(piece.node)
      }
      skips ||= items.length === 0
      branches.push({ kind: 'sequence', items })
      if (this.#next !== '|') return { node: { kind: 'choice', branches }, repeats, skips }
      this.#at++
    }
  }

  /** An atom and its quantifier. */
  #piece(): Content {
    const start = this.#at
    const content = this.#atom()
    if (content === 'start' || content === 'place') {
      if (this.#atQuantifier()) throw invalid()
      return { node: { kind: content }, repeats: false, skips: true }
    }
    if (!this.#atQuantifier()) return content
    const isGroup = this.#text[start] === '('
    const { least, most, repeats } = this.#quantifier(content, isGroup)
    if (this.#atQuantifier()) throw blocked()
    const node: PatternNode = { kind: 'repeat', item: content.node, least, most }
    return { node, repeats: repeats || content.repeats, skips: true }
  }

  /** Reads a quantifier: how often, and whether that counts as repeating. */
  #quantifier(content: Content, isGroup: boolean): Bound & { readonly repeats: boolean } {
    const sign = this.#text[this.#at] as string
    let bound = BOUNDS.get(sign)
    if (bound === undefined) {
      bound = this.#bound()
      if (isGroup && (content.repeats || content.skips)) throw blocked()
    } else {
      this.#at++
    }
    const repeats = sign === '{' || REPEATING.has(sign)
    if (repeats && content.repeats) throw blocked()
    // a counted part is never repeated, not even as optional
    if (this.#next === '?') this.#at++
    return { ...bound, repeats }
  }

  #bound(): Bound {
    const found = BOUND.exec(this.#rest)
    if (!found) throw invalid()
    const [text, least, range, most] = found
    const from = Number(least)
    const to = range === undefined || most === undefined ? from : Number(most)
    if (to < from) throw invalid()
    if (to > MOST_REPETITIONS) throw blocked()
    this.#at += text.length
    return { least: from, most: range !== undefined && most === undefined ? Number.POSITIVE_INFINITY : to }
  }

  #atQuantifier(): boolean {
    const sign = this.#next
    if (sign === '{') return DIGIT.test(this.#text[this.#at + 1] ?? '')
    return sign === '*' || sign === '+' || sign === '?'
  }

  #atom(): Content | 'start' | 'place' {
    if (this.#atQuantifier()) throw invalid() // nothing to repeat
    const sign = this.#text[this.#at++] as string
    if (sign === '(') return this.#group()
    if (sign === '[') return this.#bracket()
    if (sign === '\\') return this.#escape()
    if (sign === '^') return 'start'
    return sign === '$' ? 'place' : oneOf(sign === '.' ? ANY : literal(sign))
  }

  #group(): Content {
    if (this.#next === '?') {
      // options, comments and looking around
      if (this.#text[this.#at + 1] !== ':') throw blocked()
      this.#at += 2
    }
    const content = this.#branches()
    if (this.#next !== ')') throw invalid()
    this.#at++
    return content
  }

  #escape(): Content | 'start' | 'place' {
    const sign = this.#text[this.#at++]
    if (sign === undefined) throw invalid()
    if (CONSTRAINTS.has(sign)) return sign === 'A' ? 'start' : 'place'
    this.#checkEscape(sign)
    return oneOf(escapedCharacter(sign))
  }

  #checkEscape(sign: string): void {
    if (CLASSES.has(sign) || CONTROLS.has(sign)) return
    if (OTHER_ESCAPES.test(sign)) throw blocked()
    if (ALPHANUMERIC.test(sign)) throw (sign.codePointAt(0) as number) > 127 ? blocked() : invalid()
  }

  #bracket(): Content {
    const isNegated = this.#next === '^'
    if (isNegated) this.#at++
    const start = this.#at
    const sets: CharacterSet[] = []
    for (;;) {
      if (this.#next === undefined) throw invalid()
      if (this.#next === ']' && this.#at > start) break
      const first = this.#bracketItem(start)
      if (this.#next !== '-' || this.#text[this.#at + 1] === ']') {
        sets.push(typeof first === 'number' ? range(first, first) : first)
        continue
      }
      this.#at++
      const last = this.#bracketItem(-1)
      if (typeof first !== 'number' || typeof last !== 'number' || last < first) throw invalid()
      sets.push(range(first, last))
      // an end that begins the next range
      if (this.#next === '-' && this.#text[this.#at + 1] !== ']') throw invalid()
    }
    this.#at++
    return oneOf(union(sets, isNegated))
  }

  /** One item of a bracket: the number of its character, or a class of them. */
  #bracketItem(start: number): number | CharacterSet {
    const named = this.#next === '[' ? /^\[[:.=]/.test(this.#rest) : false
    if (named) {
      const found = NAMED_CLASS.exec(this.#rest)
      if (!found) throw blocked()
      this.#at += found[0].length
      return NAMED_SETS.get(found[1] as string) ?? ANY
    }
    const position = this.#at
    const sign = this.#text[this.#at++]
    if (sign === undefined) throw invalid()
    // a hyphen is itself only at either end
    if (sign === '-' && position !== start && this.#next !== ']') throw blocked()
    if (sign !== '\\') return sign.codePointAt(0) as number
    const character = this.#text[this.#at++]
    if (character === undefined) throw invalid()
    // inside brackets these are errors before PostgreSQL 14
    if (character === 'D' || character === 'W' || character === 'S') throw blocked()
    this.#checkEscape(character)
    return ALPHANUMERIC.test(character) ? escapedCharacter(character) : (character.codePointAt(0) as number)
  }
}
