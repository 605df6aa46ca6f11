/** Texts of a known form: e-mail addresses, URLs, UUIDs, IP addresses (promise B16). */
import { isIPv4, isIPv6 } from 'node:net'
import { ValidationError } from '../kernel/errors.js'
import { UUID } from '../kernel/id-text.js'
import { takesOptions } from '../kernel/option-kinds.js'
import type { FieldOptions, FieldSchema } from './field.js'
import { ClosedField } from './options.js'
import { StringField, type StringFieldOptions } from './string-field.js'

// Each pattern is linear: no two neighbouring parts can match the same character.
const EMAIL = /^[^\s\p{Cc}@]+@[^\s\p{Cc}@]+$/u
/** A scheme is the same in capitals. */
const URL_TEXT = /^https?:\/\/[^\s\p{Cc}/\\?#][^\s\p{Cc}]*$/iu

/** A text of one form; an empty one only with `allowBlank: true`. */
abstract class FormattedTextField<Options extends StringFieldOptions> extends StringField<Options> {
  /** The form as JSON Schema names it. */
  protected abstract readonly format: string
  /** What the error says of a text that has another form. */
  protected abstract readonly refusal: string
  protected abstract hasFormat(text: string): boolean

  override toInternalValue(value: unknown): string {
    const text = super.toInternalValue(value)
    if (!(text === '' && this.takesEmptyText) && !this.hasFormat(text)) throw new ValidationError(this.refusal)
    return text
  }

  override get takesEmptyText(): boolean {
    return this.options.allowBlank === true
  }

  override schema(): FieldSchema {
    return { ...super.schema(), format: this.format }
  }
}

/**
 * An e-mail address: something before and after one `@`, without white space. An empty string is accepted only with
 * `allowBlank: true`.
 */
export class EmailField<const Options extends StringFieldOptions = {}> extends FormattedTextField<Options> {
  protected override readonly format = 'email'
  protected override readonly refusal = 'Enter a valid email address.'

  protected override hasFormat(text: string): boolean {
    return EMAIL.test(text)
  }
}

takesOptions(EmailField, {})

/**
 * An absolute `http://` or `https://` URL, stored as it was sent. An empty string is accepted only with `allowBlank: true`.
 */
export class URLField<const Options extends StringFieldOptions = {}> extends FormattedTextField<Options> {
  protected override readonly format = 'uri'
  protected override readonly refusal = 'Enter a valid URL.'

  protected override hasFormat(text: string): boolean {
    return URL_TEXT.test(text) && URL.canParse(text)
  }
}

takesOptions(URLField, {})

/** A UUID in its 8-4-4-4-12 form, any case in the input, stored and shown in lower case. */
export class UUIDField<const Options extends FieldOptions = {}> extends ClosedField<string, Options> {
  override toInternalValue(value: unknown): string {
    if (typeof value !== 'string' || !UUID.test(value)) throw new ValidationError('Must be a valid UUID.')
    return value.toLowerCase()
  }

  override toRepresentation(value: unknown): unknown {
    return typeof value === 'string' ? value.toLowerCase() : value
  }

  override schema(): FieldSchema {
    return { type: 'string', format: 'uuid' }
  }
}

takesOptions(UUIDField, {})

const PREFIX_LENGTH = /^(?:0|[1-9]\d{0,2})$/

export interface IPAddressFieldOptions extends FieldOptions {
  /** Takes a network too: an address, `/` and the length of its prefix, as an `inet` column does. @default false */
  readonly network?: boolean
}

/** An IPv4 or IPv6 address without zone, stored as it was sent. */
export class IPAddressField<const Options extends IPAddressFieldOptions = {}> extends ClosedField<
  string,
  Options,
  IPAddressFieldOptions
> {
  override toInternalValue(value: unknown): string {
    if (typeof value !== 'string' || !isAddress(value, this.options.network === true)) {
      throw new ValidationError('Enter a valid IP address.')
    }
    return value
  }

  override schema(): FieldSchema {
    if (this.options.network === true) return { type: 'string' }
    return { type: 'string', anyOf: [{ format: 'ipv4' }, { format: 'ipv6' }] }
  }
}

takesOptions<IPAddressFieldOptions, FieldOptions>(IPAddressField, { network: 'boolean' })

function isAddress(text: string, network: boolean): boolean {
  const slash = network ? text.indexOf('/') : -1
  const address = slash === -1 ? text : text.slice(0, slash)
  const bits = isIPv4(address) ? 32 : isIPv6(address) && !address.includes('%') ? 128 : -1
  if (slash === -1) return bits !== -1
  const prefix = text.slice(slash + 1)
  return PREFIX_LENGTH.test(prefix) && Number(prefix) <= bits
}
