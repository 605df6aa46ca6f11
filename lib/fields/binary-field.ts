/** Columns of type bytea (wire format, section 6). */

import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import type { FieldOptions, FieldSchema } from './field.js'
import { ClosedField } from './options.js'

const PREFIX = '\\x'
const NOT_HEX = /[^0-9A-Fa-f]/

/** Bytes, as `\x` and two hexadecimal digits for each; stored as a Buffer. */
export class BinaryField<const Options extends FieldOptions = {}> extends ClosedField<Buffer, Options> {
  override toInternalValue(value: unknown): Buffer {
    const digits = typeof value === 'string' && value.startsWith(PREFIX) ? value.slice(PREFIX.length) : undefined
    if (digits === undefined || digits.length % 2 === 1 || NOT_HEX.test(digits)) {
      throw new ValidationError('Use the format \\x followed by two hexadecimal digits for each byte.')
    }
    return Buffer.from(digits, 'hex')
  }

  override toRepresentation(value: unknown): unknown {
    if (!(value instanceof Uint8Array)) return value
    const bytes = Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    return `${PREFIX}${bytes.toString('hex')}`
  }

  override schema(): FieldSchema {
    return { type: 'string', pattern: '^\\\\x(?:[0-9A-Fa-f]{2})*$' }
  }
}

takesOptions(BinaryField, {})
