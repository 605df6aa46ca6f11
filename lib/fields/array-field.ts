/** Columns that hold a list, such as `text[]`. */

import { countMessages, type ErrorMessages, MOST_MESSAGES, ValidationError } from '../kernel/errors.js'
import { hasNumerals, memberOf, numeralAt } from '../kernel/json-numerals.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { isPromise } from '../kernel/realms.js'
import { isTurnOver, nextTurn } from '../kernel/turns.js'
import { databaseItemText } from '../models/database-text.js'
import { standardExact } from '../models/exact-types.js'
import { BooleanField } from './boolean-field.js'
import {
  type FieldOptions,
  type FieldSchema,
  representationOf,
  type SerializerContext,
  SerializerField,
} from './field.js'
import { JSONField } from './json-field.js'
import { formValues, readItems, readJson } from './json-text.js'
import { narrowedSchema } from './narrowed-schema.js'
import { type ClosedOptions, checkLengthOptions, MOST_ITEMS } from './options.js'
import { orNull } from './or-null.js'
import { runValidators } from './run-validators.js'
import { counted } from './string-field.js'

/** PostgreSQL's number of `json`. */
const JSON_TYPE = 114
const readJsonText = standardExact.getTypeParser(JSON_TYPE, 'text')

/** A quoted item, an item, or a sign. A backslash takes the next character as it is. Items may be long: loops over
 * single characters take no place on the stack. */
const TOKEN = /"([^"\\]*(?:\\.[^"\\]*)*)"|((?:[^{}",\\]|\\.)[^{}",\\]*(?:\\.[^{}",\\]*)*)|([{},])/gsy
const ESCAPE = /\\(.)/gs
/** An array whose first index is not 1 begins with its bounds: `[0:1]={a,b}`. */
const BOUNDS = /^[[\]:\d+-]+=/

/** The items as strings, null for NULL, lists for further dimensions; undefined for a string that is no array. */
export function readArrayText(text: string): unknown[] | undefined {
  const body = text.replace(BOUNDS, '')
  const open: unknown[][] = []
  let last: unknown[] | undefined
  let position = 0
  for (const [token, quoted, plain] of body.matchAll(TOKEN)) {
    position += token.length
    const list = open.at(-1)
    if (quoted !== undefined) list?.push(quoted.replace(ESCAPE, '$1'))
    else if (plain !== undefined) list?.push(plain === 'NULL' ? null : plain.replace(ESCAPE, '$1'))
    else if (token === '{') {
      const inner: unknown[] = []
      list?.push(inner)
      open.push(inner)
    } else if (token === '}') last = open.pop()
  }
  return position === body.length && open.length === 0 ? last : undefined
}

export interface ArrayFieldOptions extends FieldOptions {
  /**
   * The field of each item, with its own options; `allowNull` lets items be null. A related field or a nested serializer is none:
   * these have `many` of their own.
   */
  readonly child: SerializerField
  /** The fewest items. */
  readonly minLength?: number
  /** The most items. @default 1000, or minLength where that is more */
  readonly maxLength?: number
  /** Takes lists of lists, too, as a column of any dimensions holds. @default false; true of a field made of a column */
  readonly nested?: boolean
  /** How many levels of lists the document describes, of `nested`. @default 1; what the column was declared with */
  readonly dimensions?: number
}

const BOOLEANS = new Set(['t', 'f'])

/** Items that are checked between two looks at the clock. */
const STEP = 50

type Item<Child> =
  Child extends SerializerField<infer Value, infer Options>
    ? Value | (Options extends { readonly allowNull: true } ? null : never)
    : never

/**
 * A list of values of one kind. Errors are keyed by the position of the item; after about a hundred the rest is not
 * checked. In a form the name is repeated, or its text is a JSON array.
 * @throws ConfigurationError when minLength is greater than maxLength
 * @example tags: new ArrayField({ child: new StringField({ maxLength: 20 }), maxLength: 10 })
 */
export class ArrayField<const Options extends ArrayFieldOptions = ArrayFieldOptions> extends SerializerField<
  Item<Options['child']>[],
  Options & FieldOptions
> {
  readonly #child: SerializerField
  readonly #maxLength: number

  constructor(options: ClosedOptions<Options, ArrayFieldOptions>) {
    super(options)
    checkLengthOptions(this, options)
    this.#child = options.child
    this.#maxLength = options.maxLength ?? Math.max(MOST_ITEMS, options.minLength ?? 0)
  }

  override async toInternalValue(value: unknown, context: SerializerContext): Promise<Item<Options['child']>[]> {
    if (!Array.isArray(value)) throw new ValidationError('Expected a list of items.')
    this.#checkLength(value)
    const nested = this.options.nested === true && !this.#child.takesLists
    if (nested && isMatrix(value)) checkShape(value)
    return (await this.#items(value, context, nested)) as Item<Options['child']>[]
  }

  async #items(value: readonly unknown[], context: SerializerContext, nested: boolean): Promise<unknown[]> {
    this.#checkMost(value)
    const items: unknown[] = []
    const errors: ErrorMessages = {}
    let told = 0
    const numerals = hasNumerals(value)
    const isOfLists = nested && isMatrix(value)
    for (const [position, item] of value.entries()) {
      try {
        const checked = isOfLists
          ? this.#items(item as unknown[], context, nested)
          : this.#item(numerals ? this.#exact(value, position) : item, context)
        items.push(isPromise(checked) ? await checked : checked)
      } catch (error) {
        if (!(error instanceof ValidationError)) throw error
        errors[position] = error.messages
        told += countMessages(error.messages)
        if (told >= MOST_MESSAGES) break
      }
      if (position % STEP === STEP - 1 && isTurnOver()) await nextTurn()
    }
    if (Object.keys(errors).length > 0) throw new ValidationError(errors)
    return items
  }

  override toRepresentation(value: unknown, context: SerializerContext): unknown {
    const items: unknown = typeof value === 'string' ? this.#readTexts(readArrayText(value)) : value
    if (!Array.isArray(items)) return value
    return items.map((item: unknown, position): unknown => {
      if (item === null || item === undefined) return null
      if (Array.isArray(item) && !this.#child.takesLists) return this.toRepresentation(item, context)
      return representationOf(this.#child, databaseItemText(items, position) ?? memberOf(items, position), context)
    })
  }

  override get takesFiles(): boolean {
    return this.#child.takesFiles
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
    const child = this.#child
    const read = (value: unknown) => child.fromTexts([value])
    return readItems(values, read, read, child.takesLists ? (list) => child.fromTexts(formValues(list)) : undefined)
  }

  override schema(): FieldSchema {
    const { minLength, maxLength } = this.options
    return {
      type: 'array',
      items: this.#itemsSchema(this.#child.schema()),
      ...(minLength !== undefined && { minItems: minLength }),
      ...(maxLength !== undefined && { maxItems: maxLength }),
    }
  }

  override inputSchema(): FieldSchema {
    const items = narrowedSchema(this.#child.inputSchema(), this.#child.options.validators)
    return { ...this.schema(), maxItems: this.#maxLength, items: this.#itemsSchema(items) }
  }

  #itemsSchema(item: FieldSchema): FieldSchema {
    let items = this.#child.allowNull ? orNull(item) : item
    for (let level = 1; level < (this.options.dimensions ?? 1); level++) items = { type: 'array', items }
    return items
  }

  /** Items of a type that pg has no parser for, as of a domain: a domain over booleans or JSON has those in its text. */
  #readTexts(texts: unknown): unknown {
    if (Array.isArray(texts)) return texts.map((text) => this.#readTexts(text))
    if (typeof texts !== 'string') return texts
    if (this.#child instanceof BooleanField && BOOLEANS.has(texts)) return texts === 't'
    return this.#child instanceof JSONField ? readJsonText(texts) : texts
  }

  /** An item that may be a number of which JavaScript's lacks digits. @throws ValidationError */
  #exact(items: readonly unknown[], position: number): unknown {
    const text = numeralAt(items, position)
    return text === undefined ? items[position] : this.#child.fromNumeral(text)
  }

  /** The value of an item. A promise only where its field waits, or has validators. */
  #item(item: unknown, context: SerializerContext): unknown {
    if (item === null || item === undefined) {
      if (this.#child.allowNull) return null
      throw new ValidationError('This field may not be null.')
    }
    const value = this.#child.toInternalValue(item, context)
    return this.#child.options.validators ? this.#validated(value, context) : value
  }

  async #validated(given: unknown, context: SerializerContext): Promise<unknown> {
    const value = await given
    return runValidators(this.#child.options.validators ?? [], value, context)
  }

  #checkLength(value: readonly unknown[]): void {
    const { minLength } = this.options
    if (minLength !== undefined && value.length < minLength) {
      throw new ValidationError(`Ensure this field has at least ${counted(minLength, 'item')}.`)
    }
    this.#checkMost(value)
  }

  /** Also of lists in lists. */
  #checkMost({ length }: readonly unknown[]): void {
    if (length <= this.#maxLength) return
    throw new ValidationError(`Ensure this field has no more than ${counted(this.#maxLength, 'item')}.`)
  }
}

takesOptions<ArrayFieldOptions, FieldOptions>(ArrayField, {
  child: 'any',
  minLength: 'any',
  maxLength: 'any',
  nested: 'boolean',
  dimensions: 'count',
})

/** PostgreSQL's own limit. */
const MOST_DIMENSIONS = 6

/** True of a list of lists. */
function isMatrix(list: readonly unknown[]): list is readonly (readonly unknown[])[] {
  return list.length > 0 && list.every((item) => Array.isArray(item))
}

/** PostgreSQL holds lists of one length only. @throws ValidationError */
function checkShape(root: readonly (readonly unknown[])[]): void {
  let level: readonly (readonly unknown[])[] = root
  for (let dimensions = 2; ; dimensions++) {
    const [first] = level
    if (dimensions > MOST_DIMENSIONS) throw new ValidationError(`Use at most ${MOST_DIMENSIONS} levels of lists.`)
    if (first === undefined || level.some(({ length }) => length !== first.length || length === 0)) {
      throw new ValidationError('Lists in a list must have the same number of items, and at least one.')
    }
    const items = level.flat()
    if (!items.some((item) => Array.isArray(item))) return
    if (!isMatrix(items)) throw new ValidationError('Lists in a list must be of the same kind.')
    level = items
  }
}
