/** Messages about names in a request that nothing reads: bounded in number, the list of what there is in one of them only. */

import type { ErrorMessages } from './errors.js'
import { nearestTo } from './near-miss.js'

/** The most unknown names of a request that an answer tells. */
const MOST_NAMES = 20
/** How many of them are compared with the names that there are. */
const MOST_COMPARED = 5
/** Of more names, the one that was meant is told in place of all. */
const MOST_LISTED = 30

/** A name of a query that is shown again: characters that can be seen. */
const PLAIN = /^[^\p{C}\p{Z}]{1,64}$/u
/** How much of a name that stands where a field might is shown again. */
const MOST_CHARACTERS = 64

/** What is unknown, and whether a near miss takes the place of the list: agents read no long lists. */
const KINDS = {
  argument: { list: '; there are ', nearFirst: true },
  field: undefined,
  filter: { list: '. Use ', nearFirst: false },
  member: { list: '. Use ', nearFirst: false },
  name: { list: '. Use ', nearFirst: false },
  parameter: { list: '. Use ', nearFirst: false },
} as const

const MEMBER = { enumerable: true, configurable: true, writable: true }

/** Notes the unknown names of one request. */
export class UnknownNames {
  readonly #kind: keyof typeof KINDS
  readonly #known: () => Iterable<string>
  #told = 0
  #isListed = false

  /** @param known the names that there are, asked for once a name is unknown; those of fields are not told */
  constructor(kind: keyof typeof KINDS, known: () => Iterable<string> = () => []) {
    this.#kind = kind
    this.#known = known
  }

  /** No more are told. */
  get isFull(): boolean {
    return this.#told >= MOST_NAMES
  }

  /** Puts what is told of the name under its place. */
  note(name: string, errors: ErrorMessages): void {
    if (this.isFull) return
    const value = [this.message(name)]
    const place = this.#kind === 'field' ? name.slice(0, MOST_CHARACTERS).toWellFormed() : shownName(name)
    // a name may be that of a member of all objects, or __proto__
    if (!Object.hasOwn(errors, place)) Object.defineProperty(errors, place, { ...MEMBER, value })
    this.#told++
  }

  /** What is told of the name, wherever it stands. */
  message(name: string): string {
    const told = `Unknown ${this.#kind}`
    const kind = KINDS[this.#kind]
    if (!kind || (this.#isListed && this.#told >= MOST_COMPARED)) return `${told}.`
    const known = [...this.#known()]
    const isNearFirst = kind.nearFirst || this.#isListed || known.length > MOST_LISTED
    const near = isNearFirst && this.#told < MOST_COMPARED ? nearestTo(name, known) : undefined
    if (near !== undefined) return `${told}; did you mean "${near}"?`
    if (this.#isListed) return `${told}.`
    this.#isListed = true
    const rest = known.length - MOST_LISTED
    const listed = known.slice(0, MOST_LISTED).join(', ') || 'none'
    return `${told}${kind.list}${listed}${rest > 0 ? `, and ${rest} more` : ''}.`
  }
}

/** What is told of names in one parameter. */
export function unknownName(known: Iterable<string>): string {
  return new UnknownNames('name', () => known).message('')
}

/** Where what is wrong with a name of a query stands. */
export function shownName(name: string): string {
  return PLAIN.test(name) ? name : 'non_field_errors'
}
