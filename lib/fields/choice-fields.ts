/** Fields whose value is one of a list, or several of it. */
import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { quote } from '../kernel/quote.js'
import { readArrayText } from './array-field.js'
import { writeDateTimeOf, writeOther } from './date-time-text.js'
import { writeDuration } from './duration-text.js'
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'
import { readItems, readJson } from './json-text.js'
import { type ClosedOptions, checkNotEmpty, optionError } from './options.js'

/** What PostgreSQL writes for numbers that a choice can be; no longer than a number is exact. */
const DECIMAL = /^-?(?=[\d.]{1,16}$)\d+(?:\.\d+)?$/

/** A value to choose; `1` and `'1'` are two values. */
type Choice = string | number

/** The choices of a field: what is one of them, and how it is shown. */
class ChoiceSet {
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

  /** The choice that a stored value is: a driver makes texts of large and decimal numbers, such as `7.00`. */
  show(given: unknown): unknown {
    const value = asChosen(given)
    if (this.#values.has(value)) return value
    const named = this.#byText.get(String(value))
    if (named !== undefined) return named
    const number = typeof value === 'string' && DECIMAL.test(value) ? Number(value) : undefined
    return this.#values.has(number) ? number : value
  }

  /**
   * A default is stored as it is, and shown where the document has choices only.
   * @throws ConfigurationError it is a value, or has one, that is none of the choices
   */
  checkDefault(field: object, { default: given, validators = [] }: FieldOptions): void {
    // what checks may make another value of
    if (validators.length > 0) return
    const odd = [given].flat().find((one) => isPlain(one) && !this.#values.has(one))
    if (odd !== undefined) throw optionError(field, `default ${quote(odd)} is none of its choices; give one of them`)
  }

  fromText(text: string): Choice {
    return this.#byText.get(text) ?? text
  }
}

/** What a driver reads as a Date, a number or an object: a day or a point in time, one of infinity, an interval. */
function asChosen(given: unknown): unknown {
  if (given instanceof Date) return writeDateTimeOf(given)
  const isInterval = typeof (given as { toPostgres?: unknown } | null)?.toPostgres === 'function'
  return isInterval ? writeDuration(given as object) : writeOther(given)
}

/** True for a value that is stored as it is given, and is not null. */
function isPlain(value: unknown): boolean {
  return ['string', 'number', 'boolean', 'bigint'].includes(typeof value)
}

export interface ChoiceFieldOptions extends FieldOptions {
  /** The values to choose from. */
  readonly choices: readonly Choice[]
}

/**
 * A value that is one of `choices`.
 * @throws ConfigurationError when there are no choices, or the default is none of them
 * @example status: new ChoiceField({ choices: ['draft', 'open'], default: 'draft' })
 */
export class ChoiceField<const Options extends ChoiceFieldOptions = ChoiceFieldOptions> extends SerializerField<
  Options['choices'][number],
  Options & FieldOptions
> {
  readonly #choices: ChoiceSet

  constructor(options: ClosedOptions<Options, ChoiceFieldOptions>) {
    super(options)
    this.#choices = new ChoiceSet(this, options.choices)
    if (this.toInternalValue === ChoiceField.prototype.toInternalValue) this.#choices.checkDefault(this, options)
  }

  override toInternalValue(value: unknown): Options['choices'][number] {
    return this.#choices.check(value)
  }

  override toRepresentation(value: unknown): unknown {
    return this.#choices.show(value)
  }

  override fromText(text: string): Choice {
    return this.#choices.fromText(text)
  }

  override get takesEmptyText(): boolean {
    return this.#choices.has('')
  }

  override schema(): FieldSchema {
    return this.#choices.schema
  }
}

takesOptions<ChoiceFieldOptions, FieldOptions>(ChoiceField, { choices: 'list' })

export interface MultipleChoiceFieldOptions extends ChoiceFieldOptions {
  /** An empty list is accepted. @default true */
  readonly allowEmpty?: boolean
}

/**
 * Several of `choices`. Values given twice are taken once, in the order they first appear.
 * In a form the name is repeated, or its text is a JSON array.
 * @throws ConfigurationError when there are no choices, or the default has a value that is none of them
 */
export class MultipleChoiceField<
  const Options extends MultipleChoiceFieldOptions = MultipleChoiceFieldOptions,
> extends SerializerField<Options['choices'][number][], Options & FieldOptions> {
  readonly #choices: ChoiceSet

  constructor(options: ClosedOptions<Options, MultipleChoiceFieldOptions>) {
    super(options)
    this.#choices = new ChoiceSet(this, options.choices)
    if (this.toInternalValue === MultipleChoiceField.prototype.toInternalValue)
      this.#choices.checkDefault(this, options)
  }

  override toInternalValue(value: unknown): Options['choices'][number][] {
    if (!Array.isArray(value)) throw new ValidationError('Expected a list of items.')
    checkNotEmpty(value, this.options)
    const chosen = [...new Set<unknown>(value)]
    for (const item of chosen) this.#choices.check(item)
    return chosen as Choice[]
  }

  override toRepresentation(value: unknown): unknown {
    // pg has no parser of its own for lists of an enum or of a domain
    const items: unknown = typeof value === 'string' ? readArrayText(value) : value
    return Array.isArray(items) ? items.map((item) => this.#choices.show(item)) : value
  }

  override get takesEmptyText(): boolean {
    return true
  }

  /** @internal */
  override get takesLists(): boolean {
    return true
  }

  override fromText(text: string): unknown {
    return readJson(text)
  }

  override fromTexts(values: readonly unknown[]): unknown {
    return readItems(values, (text) => this.#choices.fromText(text))
  }

  override schema(): FieldSchema {
    return { type: 'array', items: this.#choices.schema, ...(this.options.allowEmpty === false && { minItems: 1 }) }
  }
}

takesOptions<MultipleChoiceFieldOptions, FieldOptions>(MultipleChoiceField, { choices: 'list', allowEmpty: 'boolean' })
