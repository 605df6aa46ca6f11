/** Columns of ranges of days, of points in time and of numbers, and of sets of them (promises B6 and B15). */

import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { isInfinite, readDate, readDateTime, writeDateTime } from './date-time-text.js'
import { compareDecimals, DecimalField, readDecimal } from './decimal-field.js'
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'
import { BigIntegerField, IntegerField } from './integer-fields.js'
import { checkLengthOptions, MOST_ITEMS, tooGreat } from './options.js'
import { counted, StringField } from './string-field.js'

export interface RangeFieldOptions extends FieldOptions {
  /** What a range begins and ends with: `integer` has 32 bits, `big-integer` 64. */
  readonly ends: 'date' | 'date-time' | 'integer' | 'big-integer' | 'decimal'
  /** The column holds sets of ranges. @default false */
  readonly multiple?: boolean
  /** The most ranges of a set of them. @default 1000 */
  readonly maxLength?: number
}

/** How the text of an end is read and written. */
interface Ends {
  readonly format: string
  /** Undefined for what is no end. @throws ValidationError saying why it is none */
  readonly read: (text: string) => string | undefined
  /** False for what no end may be where values are compared. @default true of all */
  readonly isValue?: (text: string) => boolean
  readonly write: (text: string) => string
  /** True where one end is behind the other, both as they are read. */
  readonly isBehind: (end: string, other: string) => boolean
  /** The greatest end of a kind whose values follow one another. */
  readonly greatest?: bigint
}

const INTEGER = new IntegerField()
const BIG_INTEGER = new BigIntegerField()
const DECIMAL = new DecimalField()

const asIs = (text: string) => text
/** Days and points in time are in the order of their characters, once they have no zone. */
function isLater(text: string, other: string): boolean {
  const place = (end: string) => INFINITIES.get(end) ?? end.replace('Z', '')
  return place(text) > place(other)
}

const INFINITIES: ReadonlyMap<string, string> = new Map([
  ['-infinity', ''],
  ['infinity', '~'],
])

/** What stands before and behind all numbers. */
const SPECIAL = ['-Infinity', undefined, 'Infinity', 'NaN']

function isGreater(text: string, other: string): boolean {
  const [one, than] = [readDecimal(text), readDecimal(other)]
  if (one && than) return compareDecimals(one, than) > 0
  const rank = (value: string) => Math.max(SPECIAL.indexOf(value), readDecimal(value) ? 1 : 0)
  return rank(text) > rank(other)
}

const whole = (bits: number, read: (text: string) => number | string): Ends => ({
  format: `a whole number of ${bits} bits`,
  read: (text) => String(read(text)),
  write: asIs,
  isBehind: (end, other) => BigInt(end) > BigInt(other),
  greatest: 2n ** BigInt(bits - 1) - 1n,
})

const ENDS: Readonly<Record<RangeFieldOptions['ends'], Ends>> = {
  date: {
    format: 'YYYY-MM-DD',
    read: (text) => (isInfinite(text) ? text : readDate(text)),
    write: asIs,
    isBehind: isLater,
  },
  'date-time': {
    format: 'YYYY-MM-DDTHH:MM:SS[.ffffff][Z|±HH:MM]',
    read: (text) => (isInfinite(text) ? text : readDateTime(text)),
    write: writeDateTime,
    isBehind: isLater,
  },
  integer: whole(32, (text) => INTEGER.toInternalValue(INTEGER.fromText(text))),
  'big-integer': whole(64, (text) => BIG_INTEGER.toInternalValue(text)),
  decimal: {
    format: 'a number',
    read: (text) => DECIMAL.toInternalValue(text),
    isValue: (text) => readDecimal(text) !== undefined,
    write: asIs,
    isBehind: isGreater,
  },
}

/** An end that is missing is open; quotes around it mean nothing. */
const END = '"[^"]+"|[^"()[\\]{},]*'
const RANGE = `empty|([[(])(${END}),(${END})([\\])])`
const ONE = `^(?:${RANGE})$`
const SEVERAL = `^\\{(?:(?:${RANGE})(?:,(?:${RANGE}))*)?\\}$`
const EACH = new RegExp(RANGE, 'g')

/**
 * A range as PostgreSQL writes it, with both ends as the fields of their kind take and show them:
 * `[2026-03-28T15:30:00Z,2026-03-29T00:00:00Z)`, `(,2026-04-01]`, `[1,5)`, `empty`; with `multiple` a set, `{[a,b),[c,d)}`.
 */
export class RangeField extends SerializerField<string, RangeFieldOptions> {
  readonly #pattern = this.options.multiple === true ? SEVERAL : ONE
  readonly #shape = new RegExp(this.#pattern)
  readonly #maxLength = this.options.maxLength ?? MOST_ITEMS

  constructor(options: RangeFieldOptions) {
    super(options)
    checkLengthOptions(this, options)
  }

  override toInternalValue(value: unknown): string {
    const { read, isBehind, greatest } = ENDS[this.options.ends]
    if (typeof value !== 'string' || !this.#shape.test(value)) throw this.#refusal()
    if (this.options.multiple === true && (value.match(EACH)?.length ?? 0) > this.#maxLength) {
      throw new ValidationError(`Ensure this field has no more than ${counted(this.#maxLength, 'range')}.`)
    }
    const stored = replaceEnds(value, (end, bracket) => {
      const text = read(end)
      if (text === undefined) throw this.#refusal()
      // PostgreSQL would count on to the next one
      if ((bracket === '(' || bracket === ']') && text === String(greatest)) {
        throw tooGreat(BigInt(text) - 1n)
      }
      return text
    })
    for (const [, , from = '', to = ''] of stored.matchAll(EACH)) {
      if (from !== '' && to !== '' && isBehind(from, to)) {
        throw new ValidationError('The start of the range must not exceed the end of the range.')
      }
    }
    return stored
  }

  override fromText(text: string): unknown {
    const { isValue } = ENDS[this.options.ends]
    replaceEnds(text, (end) => {
      if (isValue?.(end) === false) throw this.#refusal()
      return end
    })
    return text
  }

  override fromTexts(values: readonly unknown[]): unknown {
    return values.flat().at(-1)
  }

  #refusal(): ValidationError {
    const { ends, multiple } = this.options
    const form = multiple === true ? '{[from,to),…}' : '[from,to)'
    return new ValidationError(`Use the format ${form}, each end as ${ENDS[ends].format}.`)
  }

  override toRepresentation(value: unknown): unknown {
    return typeof value === 'string' ? replaceEnds(value, ENDS[this.options.ends].write) : value
  }

  override schema(): FieldSchema {
    return { type: 'string', pattern: this.#pattern }
  }
}

takesOptions<RangeFieldOptions, FieldOptions>(RangeField, { ends: 'any', multiple: 'boolean', maxLength: 'any' })

/** Ranges with their ends replaced. */
function replaceEnds(text: string, replace: (end: string, bracket: string) => string): string {
  const ended = (end: string, bracket: string) =>
    end === '' ? '' : replace(end.startsWith('"') ? end.slice(1, -1) : end, bracket)
  return text.replace(EACH, (range: string, open?: string, from = '', to = '', close = '') =>
    open === undefined ? range : `${open}${ended(from, open)},${ended(to, close)}${close}`,
  )
}

/**
 * A point or a circle as PostgreSQL writes it, `(1,2)` and `<(1,2),3>`, as any other type without a field of its own.
 * These two pg reads as objects.
 */
export class GeometryField extends StringField {
  override get takesEmptyText(): boolean {
    return false
  }

  override toRepresentation(value: unknown): unknown {
    if (!isShape(value)) return super.toRepresentation(value)
    const centre = `(${write(value.x)},${write(value.y)})`
    return value.radius === undefined ? centre : `<${centre},${write(value.radius)}>`
  }
}

takesOptions(GeometryField, {})

interface Shape {
  readonly x: number
  readonly y: number
  readonly radius?: number
}

function isShape(value: unknown): value is Shape {
  const { x, y } = value as { x?: unknown; y?: unknown }
  return typeof x === 'number' && typeof y === 'number'
}

/** A number as text, which does not lose the sign of zero. */
function write(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value)
}
