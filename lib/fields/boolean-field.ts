/** True or false. */

import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import type { FieldOptions, FieldSchema } from './field.js'
import { ClosedField } from './options.js'

/** What a form sends, in any case. */
const WORDS: ReadonlyMap<string, boolean> = new Map([
  ...['true', 't', 'yes', 'y', 'on', '1'].map((word) => [word, true] as const),
  ...['false', 'f', 'no', 'n', 'off', '0'].map((word) => [word, false] as const),
])

/**
 * A boolean: `true` or `false`, nothing that merely looks like one. In a form also `on` and `off`, `1` and `0`, `yes` and
 * `no`, `t` and `f`.
 */
export class BooleanField<const Options extends FieldOptions = {}> extends ClosedField<boolean, Options> {
  override toInternalValue(value: unknown): boolean {
    if (typeof value !== 'boolean') throw new ValidationError('Must be a valid boolean.')
    return value
  }

  override fromText(text: string): boolean {
    if (text !== 'true' && text !== 'false') throw new ValidationError('Must be a valid boolean.')
    return text === 'true'
  }

  /** A form has the words of HTML's check boxes, and those of other frameworks. */
  override fromTexts(values: readonly unknown[]): unknown {
    const last = values.flat().at(-1)
    const word = typeof last === 'string' ? WORDS.get(last.toLowerCase()) : undefined
    return word ?? super.fromTexts(values)
  }

  override schema(): FieldSchema {
    return { type: 'boolean' }
  }
}

takesOptions(BooleanField, {})
