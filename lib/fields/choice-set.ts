/** The values that a field may choose from. */

import { ValidationError } from '../kernel/errors.js'
import { quote } from '../kernel/quote.js'
import type { FieldSchema } from './field.js'
import { optionError } from './options.js'

/** What PostgreSQL writes for numbers that a choice can be; no longer than a number is exact. */
const DECIMAL = /^-?(?=[\d.]{1,16}$)\d+(?:\.\d+)?$/

/** A value to choose; `1` and `'1'` are two values. */
export type Choice = string | number

/** The choices of a field: what is one of them, and how it is shown. */
export class ChoiceSet {
  readonly schema: FieldSchema
  readonly #values: ReadonlySet<unknown>
  readonly #byText: ReadonlyMap<string, Choice>

  constructor(field: object, choices: readonly Choice[]) {
    if (!Array.isArray(choices)) throw optionError(field, 'choices is no list; give a list of values')
    if (choices.length === 0) throw optionError(field, 'choices is empty; give at least one value')
    const wrong: unknown = choices.find((choice) => typeof choice !== 'string' && typeof choice !== 'number')
    if (wrong !== undefined) throw optionError(field, `choices has ${quote(wrong)}; give texts and numbers`)
    const types = new Set(choices.map((choice) => typeof choice))
    this.#values = new Set(choices)
    // Where 1 and '1' are both choices, a string means the string: what comes later in a Map wins.
    const texts = choices.filter((choice) => typeof choice === 'string')
    const numbers = choices.filter((choice) => typeof choice === 'number')
    this.#byText = new Map([...numbers, ...texts].map((choice) => [String(choice), choice]))
    this.schema = { type: types.size === 1 ? [...types].join() : [...types], enum: [...this.#values] }
  }

  has(value: unknown): boolean {
    return this.#values.has(value)
  }

  check(value: unknown): Choice {
    if (!this.#values.has(value)) throw new ValidationError(`${quote(value)} is not a valid choice.`)
    return value as Choice
  }

  /** The choice that is stored: a driver reads large and decimal numbers as strings, such as `7.00`. */
  show(value: unknown): unknown {
    if (this.#values.has(value)) return value
    const named = this.#byText.get(String(value))
    if (named !== undefined) return named
    const number = typeof value === 'string' && DECIMAL.test(value) ? Number(value) : undefined
    return this.#values.has(number) ? number : value
  }

  fromText(text: string): Choice {
    return this.#byText.get(text) ?? text
  }
}
