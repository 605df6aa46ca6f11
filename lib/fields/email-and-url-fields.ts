/** E-mail addresses and URLs (promise B16). */

import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import type { FieldSchema } from './field.js'
import { StringField, type StringFieldOptions } from './string-field.js'

// Each pattern is linear: no two neighbouring parts can match the same character.
const EMAIL = /^[^\s\p{Cc}@]+@[^\s\p{Cc}@]+$/u
/** A scheme is the same in capitals. */
const URL_TEXT = /^https?:\/\/[^\s\p{Cc}/\\?#][^\s\p{Cc}]*$/iu

/**
 * An e-mail address: something before and after one `@`, without white space. An empty string is accepted only with
 * `allowBlank: true`.
 */
export class EmailField<const Options extends StringFieldOptions = {}> extends StringField<Options> {
  override toInternalValue(value: unknown): string {
    const text = super.toInternalValue(value)
    if (text === '' && this.options.allowBlank === true) return text
    if (!EMAIL.test(text)) throw new ValidationError('Enter a valid email address.')
    return text
  }

  override get takesEmptyText(): boolean {
    return this.options.allowBlank === true
  }

  override schema(): FieldSchema {
    return { ...super.schema(), format: 'email' }
  }
}

takesOptions(EmailField, {})

/**
 * An absolute `http://` or `https://` URL, stored as it was sent. An empty string is accepted only with `allowBlank: true`.
 */
export class URLField<const Options extends StringFieldOptions = {}> extends StringField<Options> {
  override toInternalValue(value: unknown): string {
    const text = super.toInternalValue(value)
    if (text === '' && this.options.allowBlank === true) return text
    if (!URL_TEXT.test(text) || !URL.canParse(text)) throw new ValidationError('Enter a valid URL.')
    return text
  }

  override get takesEmptyText(): boolean {
    return this.options.allowBlank === true
  }

  override schema(): FieldSchema {
    return { ...super.schema(), format: 'uri' }
  }
}

takesOptions(URLField, {})
