/** How deep JSON is nested, found without recursion, so that no input can exhaust the stack. */

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** True when brackets of this JSON text stand more than `depth` deep. Reads no further than it must, and parses nothing. */
export function isTextDeeper(text: string, depth: number): boolean {
  if (!opensMore(text, depth)) return false
  let level = 0
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x5b: // [
      case 0x7b: // {
        if (++level > depth) return true
        break
      case 0x5d: // ]
      case 0x7d: // }
        level--
        break
      case QUOTE:
        at = endOfString(text, at)
        break
    }
  }
  return false
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

/** True when objects and arrays of this value stand more than `depth` deep. */
export function isValueDeeper(value: unknown, depth: number): boolean {
  let nodes = [value].filter(isNode)
  for (let level = 1; nodes.length > 0; level++) {
    if (level > depth) return true
    nodes = nodes.flatMap((node) => Object.values(node).filter(isNode))
  }
  return false
}

function endOfString(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text.charCodeAt(at) !== QUOTE) {
    at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
  }
  return at
}

function isNode(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
