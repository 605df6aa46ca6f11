/** Reads groups of conditions, `or(price__lt=10,not(title="a b"))`, by the grammar of docs/reference/filter-language.md. */

import { ValidationError } from '../kernel/errors.js'

/** A condition, as it was written. */
export interface Leaf {
  readonly kind: 'leaf'
  readonly name: string
  readonly nameAt: number
  readonly value: string
  readonly valueAt: number
}

/** Is there a related object, or none, such that …, as it was written. */
export interface AnyQuestion {
  readonly kind: 'any'
  /** True of `none(…)`. */
  readonly negated: boolean
  readonly relation: string
  readonly relationAt: number
  readonly part: Group | undefined
}

/** How many related objects there are, as it was written. */
export interface CountQuestion {
  readonly kind: 'count'
  readonly relation: string
  readonly relationAt: number
  /** The lookup behind the parenthesis, with its separator; empty for none. */
  readonly lookup: string
  readonly lookupAt: number
  readonly value: string
  readonly valueAt: number
}

/** Conditions in a group, as they were written. */
interface Operator {
  readonly kind: 'and' | 'or' | 'not'
  readonly parts: readonly Group[]
}

/** A group, as it was written. Places are indexes in its text. */
export type Group = Operator | Leaf | AnyQuestion | CountQuestion

/** What one group may cost. */
export interface GroupLimits {
  /** The most `and`, `or`, `not`, `any` and `none` around a condition. */
  readonly maxDepth: number
  /** The most conditions. */
  readonly maxConditions: number
}

/** The most characters of a group. */
export const LONGEST_GROUP = 8_192

const OPERATORS: ReadonlySet<string> = new Set(['and', 'or', 'not', 'any', 'none', 'count'])
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

/** Where an operator begins, and how many stand around what is in it. */
interface Place {
  readonly start: number
  readonly depth: number
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
    const group = isGroup ? this.#operator(name, { start, depth: depth + 1 }) : this.#leaf(name, start)
    this.#skipSpace()
    return group
  }

  #operator(name: string, place: Place): Group {
    if (name === 'count') return this.#count(place)
    if (name === 'any' || name === 'none') return this.#any(name === 'none', place)
    return this.#group(name as 'and' | 'or' | 'not', place)
  }

  #group(kind: 'and' | 'or' | 'not', place: Place): Group {
    this.#checkDepth(place)
    const parts: Group[] = []
    do {
      this.#at++
      parts.push(this.#expression(place.depth))
    } while (this.#text[this.#at] === ',' && kind !== 'not')
    if (this.#text[this.#at] !== ')') throw this.#refusal(kind === 'not' ? 'Expected ")".' : 'Expected "," or ")".')
    this.#at++
    return { kind, parts }
  }

  #any(negated: boolean, place: Place): Group {
    const asked = this.#relation()
    let part: Group | undefined
    if (this.#text[this.#at] === ',') {
      this.#checkDepth(place)
      this.#at++
      part = this.#expression(place.depth)
      if (this.#text[this.#at] !== ')') throw this.#refusal('Expected ")".')
    } else {
      if (this.#text[this.#at] !== ')') throw this.#refusal('Expected "," or ")".')
      this.#countCondition(place.start)
    }
    this.#at++
    return { kind: 'any', negated, ...asked, part }
  }

  #count({ start }: Place): Group {
    const asked = this.#relation()
    if (this.#text[this.#at] !== ')') throw this.#refusal('Expected ")".')
    const lookupAt = ++this.#at
    const lookup = this.#until(ENDS_NAME)
    return { kind: 'count', ...asked, lookup, lookupAt, ...this.#compared(start) }
  }

  /** The name behind an opening parenthesis. */
  #relation(): { relation: string; relationAt: number } {
    this.#at++
    this.#skipSpace()
    const relationAt = this.#at
    const relation = this.#until(ENDS_NAME)
    if (relation === '') throw this.#refusal('Expected the name of a relation.')
    this.#skipSpace()
    return { relation, relationAt }
  }

  #checkDepth({ start, depth }: Place): void {
    const { maxDepth } = this.#limits
    if (depth > maxDepth) throw this.#refusal(`Give at most ${maxDepth} groups in each other.`, start)
  }

  #countCondition(start: number): void {
    const { maxConditions } = this.#limits
    if (++this.#conditions > maxConditions) throw this.#refusal(`Give at most ${maxConditions} conditions.`, start)
  }

  #leaf(name: string, nameAt: number): Group {
    if (name === '') throw this.#refusal('Expected a condition such as name=value, or and(…), or(…), not(…).')
    return { kind: 'leaf', name, nameAt, ...this.#compared(nameAt) }
  }

  /** The value that a condition compares with. @param start where the condition begins */
  #compared(start: number): { value: string; valueAt: number } {
    if (this.#text[this.#at] !== '=') throw this.#refusal('Expected "=" behind a name.')
    this.#countCondition(start)
    const valueAt = ++this.#at
    return { value: this.#value(), valueAt }
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
