/** Reads groups of conditions, `or(price__lt=10,not(title="a b"))`, by the grammar of docs/reference/filter-language.md. */

import { ValidationError } from '../kernel/errors.js'

/** A group, as it was written. Places are indexes in its text. */
export type Group =
  | { readonly kind: 'and' | 'or' | 'not'; readonly parts: readonly Group[] }
  | {
      readonly kind: 'leaf'
      readonly name: string
      readonly nameAt: number
      readonly value: string
      readonly valueAt: number
    }

/** What one group may cost. */
export interface GroupLimits {
  /** The most `and`, `or` and `not` around a condition. */
  readonly maxDepth: number
  /** The most conditions. */
  readonly maxConditions: number
}

/** The most characters of a group. */
export const LONGEST_GROUP = 8_192

const OPERATORS: ReadonlySet<string> = new Set(['and', 'or', 'not'])
/** What ends a name, or a value without quotation marks. */
const ENDS_NAME: ReadonlySet<string> = new Set([' ', '"', '(', ')', ',', '='])
const ENDS_VALUE: ReadonlySet<string> = new Set([' ', '"', '(', ')', ','])

/** @throws ValidationError it is none, or costs too much */
export function parseGroup(text: string, limits: GroupLimits): Group {
  if (text.length > LONGEST_GROUP) throw new ValidationError(`Give at most ${LONGEST_GROUP} characters.`)
  return new GroupParser(text, limits).parse()
}

/** A message that names the place, counted in characters from 1. */
export function messageAt(text: string, at: number, message: string): string {
  return `Character ${Array.from(text.slice(0, at)).length + 1}: ${message}`
}

/** Goes over the text once; how deep it calls itself is limited. */
class GroupParser {
  readonly #text: string
  readonly #limits: GroupLimits
  #at = 0
  #conditions = 0

  constructor(text: string, limits: GroupLimits) {
    this.#text = text
    this.#limits = limits
  }

  parse(): Group {
    const group = this.#expression(0)
    if (this.#at < this.#text.length) throw this.#refusal('Expected nothing more.')
    return group
  }

  #expression(depth: number): Group {
    this.#skipSpace()
    const start = this.#at
    const name = this.#until(ENDS_NAME)
    const isGroup = this.#text[this.#at] === '(' && OPERATORS.has(name)
    const group = isGroup
      ? this.#group(name as 'and' | 'or' | 'not', { start, depth: depth + 1 })
      : this.#leaf(name, start)
    this.#skipSpace()
    return group
  }

  #group(kind: 'and' | 'or' | 'not', { start, depth }: { start: number; depth: number }): Group {
    const { maxDepth } = this.#limits
    if (depth > maxDepth) throw this.#refusal(`Give at most ${maxDepth} groups in each other.`, start)
    const parts: Group[] = []
    do {
      this.#at++
      parts.push(this.#expression(depth))
    } while (this.#text[this.#at] === ',' && kind !== 'not')
    if (this.#text[this.#at] !== ')') throw this.#refusal(kind === 'not' ? 'Expected ")".' : 'Expected "," or ")".')
    this.#at++
    return { kind, parts }
  }

  #leaf(name: string, nameAt: number): Group {
    if (name === '') throw this.#refusal('Expected a condition such as name=value, or and(…), or(…), not(…).')
    if (this.#text[this.#at] !== '=') throw this.#refusal('Expected "=" behind a name.')
    const { maxConditions } = this.#limits
    if (++this.#conditions > maxConditions) throw this.#refusal(`Give at most ${maxConditions} conditions.`, nameAt)
    const valueAt = ++this.#at
    return { kind: 'leaf', name, nameAt, value: this.#value(), valueAt }
  }

  #value(): string {
    if (this.#text[this.#at] === '"') return this.#quoted()
    const value = this.#until(ENDS_VALUE)
    const end = this.#text[this.#at]
    if (end === '"' || end === '(') throw this.#refusal(`Put a value that holds ${end} into quotation marks.`)
    return value
  }

  #quoted(): string {
    const start = this.#at++
    let value = ''
    for (let from = this.#at; ; this.#at++) {
      const sign = this.#text[this.#at]
      if (sign === undefined) throw this.#refusal('The quotation mark is not closed.', start)
      if (sign !== '"' && sign !== '\\') continue
      value += this.#text.slice(from, this.#at)
      if (sign === '"') {
        this.#at++
        return value
      }
      const escaped = this.#text[this.#at + 1]
      if (escaped !== '"' && escaped !== '\\')
        throw this.#refusal('Write \\\\ for \\ in quotation marks, and \\" for ".')
      from = ++this.#at
    }
  }

  #until(ends: ReadonlySet<string>): string {
    const start = this.#at
    while (this.#at < this.#text.length && !ends.has(this.#text[this.#at] as string)) this.#at++
    return this.#text.slice(start, this.#at)
  }

  #skipSpace(): void {
    while (this.#text[this.#at] === ' ') this.#at++
  }

  #refusal(message: string, at = this.#at): ValidationError {
    return new ValidationError(messageAt(this.#text, at, message))
  }
}
