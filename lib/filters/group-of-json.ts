/** Writes a tree of conditions in JSON as the text of a group, by docs/reference/query-method.md: `{ or: [{ n: 1 }, { not: { n: 2 } }] }`. */

import type { QueryParameters } from '../http/context.js'
import { ValidationError } from '../kernel/errors.js'
import { writeStep } from '../kernel/json-pointer.js'
import { isRecord } from '../kernel/records.js'

/** Groups of a tree, and the members that one of conditions may have in their place. */
export const GROUP_NAMES: ReadonlySet<string> = new Set(['and', 'or', 'not'])

/** Reads one value of an object as the text that a URL would have. @throws ValidationError */
export type ReadValue = (container: object, key: string) => string

/** Where a part of a text begins, in characters from 1, and the JSON pointer of what it was written from. */
interface Place {
  readonly character: number
  readonly pointer: string
}

/** A tree as text. */
export interface WrittenGroup {
  readonly text: string
  readonly places: readonly Place[]
}

/**
 * The text of a tree: conditions of one object hold together.
 * @throws ValidationError it is none, naming the place by a JSON pointer
 */
export function groupOfJson(tree: object, read: ReadValue): WrittenGroup {
  const writer = new GroupWriter(read)
  writer.all(tree, '')
  return writer
}

const PLACES = Symbol('where the parts of a group stand in the body')

/** Remembers where the text of a group among these parameters was written from. */
export function keepPlaces(parameters: object, { places }: WrittenGroup): void {
  ;(parameters as { [PLACES]?: readonly Place[] })[PLACES] = places
}

/** What is wrong with a group, told by the places of the body that its text was written from, if it was. */
export function placedInBody(parameters: QueryParameters, messages: string[]): string[] {
  const places = (parameters as { [PLACES]?: readonly Place[] })[PLACES]
  if (!places) return messages
  return messages.map((message) => {
    const [, character, text] = AT_CHARACTER.exec(message) ?? []
    const place = places.findLast((one) => one.character <= Number(character))
    return place && text !== undefined ? placed(place.pointer, text) : message
  })
}

const AT_CHARACTER = /^Character (\d+): (.+)$/s

class GroupWriter implements WrittenGroup {
  readonly places: Place[] = []
  readonly #read: ReadValue
  text = ''
  #length = 0

  constructor(read: ReadValue) {
    this.#read = read
  }

  all(tree: unknown, at: string): void {
    if (!isRecord(tree)) throw refusal(at, 'Give an object with conditions.')
    const names = Object.keys(tree)
    if (names.length === 0) throw refusal(at, 'Give at least one condition.')
    const isAnd = names.length > 1
    this.#place(at)
    if (isAnd) this.#write('and(')
    for (const [index, name] of names.entries()) {
      if (index > 0) this.#write(',')
      this.#part(tree, name, `${at}/${writeStep(name.slice(0, 64))}`)
    }
    if (isAnd) this.#write(')')
  }

  #part(tree: Readonly<Record<string, unknown>>, name: string, at: string): void {
    const value = tree[name]
    this.#place(at)
    const [, kind, relation] = RELATED.exec(name) ?? []
    if (name === 'not') this.#wrap('not(', () => this.all(value, at))
    else if (GROUP_NAMES.has(name)) this.#wrap(`${name}(`, () => this.#items(value, at))
    else if (kind !== undefined && relation !== undefined) this.#related(`${kind}(${relation}`, value, at)
    else if (NAME.test(name)) this.#write(`${name}="${this.#valueOf(tree, name, at).replace(/[\\"]/g, '\\$&')}"`)
    else throw refusal(at, 'Unknown field.')
  }

  #items(value: unknown, at: string): void {
    if (!Array.isArray(value) || value.length === 0) throw refusal(at, 'Give a list of objects with conditions.')
    for (const [index, item] of value.entries()) {
      if (index > 0) this.#write(',')
      this.all(item, `${at}/${index}`)
    }
  }

  #related(opening: string, value: unknown, at: string): void {
    const isBare = isRecord(value) && Object.keys(value).length === 0
    this.#wrap(isBare ? opening : `${opening},`, () => (isBare ? undefined : this.all(value, at)))
  }

  #valueOf(tree: object, name: string, at: string): string {
    try {
      return this.#read(tree, name)
    } catch (error) {
      if (!(error instanceof ValidationError)) throw error
      // values have no fields of their own
      throw refusal(at, Array.isArray(error.messages) ? String(error.messages[0]) : 'Invalid value.')
    }
  }

  #wrap(opening: string, inner: () => void): void {
    this.#write(opening)
    inner()
    this.#write(')')
  }

  #place(pointer: string): void {
    this.places.push({ character: this.#length + 1, pointer })
  }

  #write(text: string): void {
    this.text += text
    this.#length += Array.from(text).length
  }
}

/** Is there a related object such that …: `{ "any(reviews)": { stars__gte: 4 } }`. */
export const RELATED = /^(any|none)\((\w+)\)$/

/** What a name of a condition may be made of, `count(reviews)__gte` among them: nothing that ends it. */
const NAME = /^(?:count\(\w+\))?\w*$/

function refusal(at: string, message: string): ValidationError {
  return new ValidationError(placed(at, message))
}

function placed(at: string, message: string): string {
  return at === '' ? message : `At ${at}: ${message}`
}
