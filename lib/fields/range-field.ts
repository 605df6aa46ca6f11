/** Columns of ranges of days and of points in time, and of sets of them (promises B6 and B15). */
import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { isInfinite, readDate, readDateTime, writeDateTime } from './date-time-text.js'
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'
import { checkLengthOptions, MOST_ITEMS } from './options.js'
import { counted } from './string-field.js'

export interface RangeFieldOptions extends FieldOptions {
  /** What a range begins and ends with. */
  readonly ends: 'date' | 'date-time'
  /** The column holds sets of ranges. @default false */
  readonly multiple?: boolean
  /** The most ranges of a set of them. @default 1000 */
  readonly maxLength?: number
}

/** How the text of an end is read and written. */
const ENDS = {
  date: { format: 'YYYY-MM-DD', read: readDate, write: (text: string) => text },
  'date-time': { format: 'YYYY-MM-DDTHH:MM:SS[.ffffff][Z|±HH:MM]', read: readDateTime, write: writeDateTime },
} as const

/** An end that is missing is open; quotes around it mean nothing. */
const END = '"[^"]+"|[^"()[\\]{},]*'
const RANGE = `empty|([[(])(${END}),(${END})([\\])])`
const ONE = `^(?:${RANGE})$`
const SEVERAL = `^\\{(?:(?:${RANGE})(?:,(?:${RANGE}))*)?\\}$`
const EACH = new RegExp(RANGE, 'g')

/**
 * A range as PostgreSQL writes it, with both ends as the fields of their kind take and show them:
 * `[2026-03-28T15:30:00Z,2026-03-29T00:00:00Z)`, `(,2026-04-01]`, `empty`; with `multiple` a set, `{[a,b),[c,d)}`.
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
    const { read } = ENDS[this.options.ends]
    if (typeof value !== 'string' || !this.#shape.test(value)) throw this.#refusal()
    if (this.options.multiple === true && (value.match(EACH)?.length ?? 0) > this.#maxLength) {
      throw new ValidationError(`Ensure this field has no more than ${counted(this.#maxLength, 'range')}.`)
    }
    return replaceEnds(value, (end) => {
      const text = isInfinite(end) ? end : read(end)
      if (text === undefined) throw this.#refusal()
      return text
    })
  }

  override fromText(text: string): unknown {
    replaceEnds(text, (end) => {
      if (isInfinite(end)) throw this.#refusal()
      return end
    })
    return text
  }

  override fromTexts(values: readonly unknown[]): unknown {
    return values.at(-1)
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
function replaceEnds(text: string, replace: (end: string) => string): string {
  const ended = (end: string) => (end === '' ? '' : replace(end.startsWith('"') ? end.slice(1, -1) : end))
  return text.replace(EACH, (range: string, open?: string, from = '', to = '', close = '') =>
    open === undefined ? range : `${open}${ended(from)},${ended(to)}${close}`,
  )
}
