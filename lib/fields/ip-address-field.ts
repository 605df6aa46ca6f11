/** IP addresses (promise B16). */

import { isIPv4, isIPv6 } from 'node:net'
import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'
import type { ClosedOptions } from './options.js'

const PREFIX_LENGTH = /^(?:0|[1-9]\d{0,2})$/

export interface IPAddressFieldOptions extends FieldOptions {
  /** Takes a network too: an address, `/` and the length of its prefix, as an `inet` column does. @default false */
  readonly network?: boolean
}

/** An IPv4 or IPv6 address without zone, stored as it was sent. */
export class IPAddressField<const Options extends IPAddressFieldOptions = {}> extends SerializerField<
  string,
  Options & FieldOptions
> {
  constructor(
    options: ClosedOptions<Options, IPAddressFieldOptions> = {} as ClosedOptions<Options, IPAddressFieldOptions>,
  ) {
    super(options)
  }

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
