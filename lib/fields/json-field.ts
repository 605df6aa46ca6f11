/** Columns of type json and jsonb. */
import { hasNumerals, Numeral, writable } from '../kernel/json-numerals.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { isRepeated } from '../kernel/records.js'
import { nextTurn } from '../kernel/turns.js'
import type { FieldOptions, FieldSchema } from './field.js'
import { checkJson, readJson } from './json-text.js'
import { ClosedField } from './options.js'

/**
 * Any JSON value, at most 64 levels deep. A string from a form is read as JSON; names with brackets are objects and lists of
 * texts. Numbers keep all their digits, although JavaScript's do not have them; of a body that the application's own parser
 * has read they are lost already.
 */
export class JSONField<const Options extends FieldOptions = {}> extends ClosedField<unknown, Options> {
  override toInternalValue(value: unknown): unknown {
    // what follows reads long numbers once more, and there may be many
    const waiting = checkJson(value) ?? (hasNumerals(value) ? nextTurn() : undefined)
    return waiting ? waiting.then(() => value) : value
  }

  override toRepresentation(value: unknown): unknown {
    return writable(value)
  }

  override fromNumeral(text: string): unknown {
    return new Numeral(text)
  }

  override fromText(text: string): unknown {
    return readJson(text)
  }

  /** Names with brackets are objects and lists of texts. */
  override fromTexts(values: readonly unknown[]): unknown {
    const [first] = values
    if (values.length > 1) return isRepeated(values) ? this.fromTexts(values.slice(-1)) : values
    return typeof first === 'string' ? this.fromText(first) : first
  }

  /** @internal */
  override get takesLists(): boolean {
    return true
  }

  override schema(): FieldSchema {
    return {}
  }
}

takesOptions(JSONField, {})
