/** Messages about names in a request that nothing reads: bounded in number, the list of what there is in one of them only. */

import type { ErrorMessages } from './errors.js'
import { nearestTo } from './near-miss.js'

/** The most unknown names of a request that an answer tells. */
const MOST_NAMES = 20
/** How many of them are compared with the names that there are. */
const MOST_COMPARED = 5
/** The most names that are listed where none is near. */
const MOST_LISTED = 30

/** A name of a query that is shown again: characters that can be seen. */
const PLAIN = /^[^\p{C}\p{Z}]{1,64}$/u
/** How much of a name that stands where a field might is shown again. */
const MOST_CHARACTERS = 64

/** What is unknown, and how the names that there are begin where none is near. Bodies get no list: it is the document's. */
const KINDS = {
  argument: { noun: 'argument', list: '; there are ' },
  body: { noun: 'field', list: undefined },
  field: { noun: 'field', list: '. Use one of: ' },
  filter: { noun: 'filter', list: '. Use ' },
  lookup: { noun: 'lookup', list: '. Use one of: ' },
  member: { noun: 'member', list: '. Use ' },
  name: { noun: 'name', list: '. Use ' },
  operation: { noun: 'operation', list: '. Use one of: ' },
  parameter: { noun: 'parameter', list: '. Use ' },
  relation: { noun: 'relation', list: '. Use one of: ' },
} as const

const MEMBER = { enumerable: true, configurable: true, writable: true }

/** Notes the unknown names of one request. */
export class UnknownNames {
  readonly #kind: keyof typeof KINDS
  #told = 0
  #isListed = false

  constructor(kind: keyof typeof KINDS) {
    this.#kind = kind
  }

  /** True once the answer has as many unknown names as it may have. */
  get isFull(): boolean {
    return this.#told >= MOST_NAMES
  }

  /** Adds the message about a name to the errors, under the name itself where that may be shown. */
  note(name: string, known: () => Iterable<string>, errors: ErrorMessages): void {
    if (this.isFull) return
    const value = [this.message(name, known)]
    const place = this.#kind === 'body' ? name.slice(0, MOST_CHARACTERS).toWellFormed() : shownName(name)
    // a name may be that of a member of all objects, or __proto__
    if (!Object.hasOwn(errors, place)) Object.defineProperty(errors, place, { ...MEMBER, value })
  }

  /** The message about an unknown name: with the known name nearest to it, or else, once, with a list of all. */
  message(name: string, known: () => Iterable<string>, mayList = true): string {
    const { noun, list } = KINDS[this.#kind]
    const told = `Unknown ${noun}`
    const isCompared = this.#told++ < MOST_COMPARED
    const lists = mayList && list !== undefined && !this.#isListed
    if (!(isCompared || lists)) return `${told}.`
    const names = [...known()]
    const near = isCompared ? nearestTo(name, names) : undefined
    if (near !== undefined) return `${told}; did you mean "${near}"?`
    if (!lists || names.length === 0) return `${told}.`
    this.#isListed = true
    const rest = names.length - MOST_LISTED
    const shown = rest > 0 ? [...namesOf(firstPart(name), names), ...names] : names
    return `${told}${list}${[...new Set(shown)].slice(0, MOST_LISTED).join(', ')}${rest > 0 ? `, and ${rest} more` : ''}.`
  }
}

/** `author` of `author__name__contains`. */
const firstPart = (name: string): string => name.split('__', 1)[0] as string
const namesOf = (part: string, names: readonly string[]) => names.filter((one) => firstPart(one) === part)

/** The message about the first unknown name; undefined where all are known. */
export function unknownAmong(names: Iterable<string>, known: Iterable<string>): string | undefined {
  const all = new Set(known)
  for (const name of names) if (!all.has(name)) return new UnknownNames('name').message(name, () => all)
  return undefined
}

/** The key of errors about a parameter of a query: its name, or `non_field_errors` for one that is not plain. */
export function shownName(name: string): string {
  return PLAIN.test(name) ? name : 'non_field_errors'
}
