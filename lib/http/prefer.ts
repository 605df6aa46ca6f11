/** `Prefer` (RFC 7240): what a client would rather have. It is a wish: what is not understood is not refused. */

import type { Context } from './context.js'

/** @internal The preferences that we know. */
export interface Preferences {
  /** How much of what was written the answer shows. */
  readonly returns: 'minimal' | 'representation' | undefined
  /** Refuse what would be ignored. */
  readonly strict: boolean
}

/** Characters of the longest header that is read. */
const LONGEST = 1_024

const NONE: Preferences = { returns: undefined, strict: false }
const QUOTED = /"(?:[^"\\]|\\.)*"/g
const PREFERENCE = /^\s*(return|handling)\s*=\s*"?(\w+)"?\s*(?:;|$)/i

/** The preferences of a request that has some. Of one that is there several times, in one header or in several, the first counts. */
export function preferencesOf({ req }: Context): Preferences {
  const header = String(req.headers['prefer'] ?? '')
  if (header.length > LONGEST) return NONE
  const found = new Map<string, string>()
  // a comma in quotes separates nothing
  for (const one of header.replace(QUOTED, (text) => (/[,;]/.test(text) ? '""' : text)).split(',')) {
    const [, name = '', value = ''] = PREFERENCE.exec(one) ?? []
    if (name !== '' && !found.has(name.toLowerCase())) found.set(name.toLowerCase(), value)
  }
  const returns = found.get('return')
  return {
    returns: returns === 'minimal' || returns === 'representation' ? returns : undefined,
    strict: found.get('handling') === 'strict',
  }
}
