/** Steps of JSON pointers (RFC 6901): names of members, in which `~0` stands for `~`, and `~1` for a slash. */

import { decodeSegment } from './path-pattern.js'

/** A name as a step of a pointer. */
export function writeStep(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** The name that a step stands for. */
export function readStep(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** The name that a step of a reference stands for, which is percent-encoded; libraries of schemas leave it as it is, too. */
export function readReferenceStep(step: string): string {
  return readStep(decodeSegment(step) ?? step)
}
