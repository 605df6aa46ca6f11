/** What a view class says of what stands around objects and lists: `static envelope`. */

import { ConfigurationError } from '../kernel/errors.js'
import { checkKinds } from '../kernel/option-kinds.js'
import type { Envelope } from './statics.js'

/** The names of the members around what is shown and taken; undefined where nothing is put around it. */
export interface EnvelopeNames {
  readonly object: string | undefined
  readonly list: string | undefined
  /** Holds what a page has besides its objects; undefined where that stands beside them. */
  readonly meta: string | undefined
}

const KINDS = { object: 'name', list: 'name', meta: 'name' } as const

/** What a class declares. @throws {ConfigurationError} an option is unknown, or a name is none */
export function envelopeNames(view: { readonly name: string; readonly envelope: Envelope }): EnvelopeNames | undefined {
  const { envelope, name } = view
  if (envelope === null) return undefined
  if (typeof envelope === 'string') {
    if (envelope === '') throw new ConfigurationError(`${name}: static envelope is empty; give a name, or null`)
    return { object: envelope, list: envelope, meta: 'meta' }
  }
  checkKinds(`${name}: static envelope`, envelope, { kinds: KINDS })
  const { object, list, meta } = envelope
  if (meta !== undefined && (list === undefined || meta === list)) {
    throw new ConfigurationError(`${name}: static envelope: meta stands beside list; name both, by different names`)
  }
  return { object, list, meta }
}
