/** JSON merge patches (RFC 7396). */
import { ownMember } from '../kernel/records.js'
import { finished, isJsonObject, setMember, workingCopy } from './json-values.js'

/**
 * What a JSON merge patch makes of a value (RFC 7396, section 2): objects are merged at any depth, null removes a member, and
 * everything else, lists among it, takes the place of what was there. Neither argument is changed. Numbers that were read with
 * all their digits keep them.
 * @example mergePatch({ a: 1, b: { c: 2, d: 3 } }, { a: null, b: { c: 4 } }) // { b: { c: 4, d: 3 } }
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  return finished(merged(workingCopy(target), workingCopy(patch)))
}

/** The same of working copies, which are changed, or become parts of what is returned. */
export function merged(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch
  const result = isJsonObject(target) ? target : {}
  for (const name of Object.keys(patch)) {
    const value = patch[name]
    if (value === null) delete result[name]
    else setMember(result, name, merged(ownMember(result, name), value))
  }
  return result
}
