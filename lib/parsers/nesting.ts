/** How much is in JSON, and how deep, found without recursion, so that no input can exhaust the stack. */

/** What JSON may have. */
export interface JsonLimits {
  /** The most levels of objects and arrays. */
  readonly depth: number
  /** The most values, objects and arrays among them, and names of members. */
  readonly nodes: number
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
/** The characters that a node takes at least, with what stands between it and the next: `0,`. */
const SHORTEST = 2

const TOO_DEEP = -1

/** The limit that this JSON text passes; undefined for none. Reads no further than it must, and parses nothing. */
export function passedByText(text: string, limits: JsonLimits): keyof JsonLimits | undefined {
  const isShort = text.length <= limits.nodes * SHORTEST
  if (isShort && !opensMore(text, limits.depth)) return undefined
  const found = measure(text, limits)
  if (found === TOO_DEEP) return 'depth'
  return found > limits.nodes ? 'nodes' : undefined
}

/** The nodes of this JSON text; any number above `most` where they are more. */
export function countNodes(text: string, most: number): number {
  return measure(text, { depth: Number.POSITIVE_INFINITY, nodes: most })
}

function measure(text: string, { depth, nodes }: JsonLimits): number {
  let level = 0
  let found = 1
  // an array or object that is closed as soon as it is opened has no node in it
  let isOpened = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code <= 0x20) continue
    switch (code) {
      case 0x5b: // [
      case 0x7b: // {
        if (++level > depth) return TOO_DEEP
        found++
        isOpened = true
        break
      case 0x5d: // ]
      case 0x7d: // }
        level--
        if (isOpened) found--
        isOpened = false
        break
      case COMMA:
      case COLON:
        found++
        break
      case QUOTE:
        at = endOfString(text, at)
        isOpened = false
        break
      default:
        isOpened = false
    }
    // the one above may be of an array that is closed at once
    if (found > nodes + 1) return found
  }
  return found
}

/** True when the text has more opening brackets than this, in strings or not: most bodies have few, which is soon seen. */
function opensMore(text: string, most: number): boolean {
  let left = most
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (left-- === 0) return true
    }
  }
  return false
}

/** The limit that this value passes; undefined for none. */
export function passedByValue(value: unknown, { depth, nodes }: JsonLimits): keyof JsonLimits | undefined {
  let found = 1
  let containers = [value].filter(isContainer)
  for (let level = 1; containers.length > 0; level++) {
    if (level > depth) return 'depth'
    const inner: object[] = []
    for (const container of containers) {
      const members: readonly unknown[] = Array.isArray(container) ? container : Object.values(container)
      found += Array.isArray(container) ? members.length : 2 * members.length
      if (found > nodes) return 'nodes'
      for (const member of members) if (isContainer(member)) inner.push(member)
    }
    containers = inner
  }
  return undefined
}

function endOfString(text: string, start: number): number {
  let at = text.indexOf('"', start + 1)
  while (at !== -1 && isEscaped(text, at)) at = text.indexOf('"', at + 1)
  return at === -1 ? text.length : at
}

/** True behind an odd number of backslashes. */
function isEscaped(text: string, at: number): boolean {
  let before = at - 1
  while (text.charCodeAt(before) === BACKSLASH) before--
  return (at - 1 - before) % 2 === 1
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
