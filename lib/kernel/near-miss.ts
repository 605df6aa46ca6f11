/** "Did you mean": the name that a misspelt one was meant to be. */

import { distance } from 'fastest-levenshtein'

/** Names that are so long may differ in one place, or in two. */
const [LONG_FOR_ONE, LONG_FOR_TWO] = [7, 11]
/** Longer ones, as a JSON column may have them, are compared as a whole only: mistakes are counted in the square of the length. */
const MOST_CHARACTERS = 256

/**
 * The known name that is written in another way (`permission_classes`, `lookupfield`), or with a letter more, less, other
 * or in another place; in long names with two. Undefined where none is so near.
 */
export function nearMiss(name: string, known: Iterable<string>, most = mostMistakes): string | undefined {
  const plain = plainName(name)
  let [nearest, least]: [string | undefined, number] = [undefined, Number.POSITIVE_INFINITY]
  for (const one of known) {
    const mistakes = one === name ? least : mistakesIn(plain, plainName(one), most)
    if (mistakes < least) [nearest, least] = [one, mistakes]
  }
  return nearest
}

/** The known name that one which is certainly wrong was meant to be, as `nearMiss()` with more mistakes in short names. */
export function nearestTo(name: string, known: Iterable<string>): string | undefined {
  return nearMiss(name, known, mostInDoubt)
}

/** The end of a message about a name that is certainly wrong: the name that was meant, where one is near. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const near = nearestTo(name, known)
  return near === undefined ? '' : `; did you mean "${near}"?`
}

function plainName(name: string): string {
  return name.replace(/[_\-$]/g, '').toLowerCase()
}

function mostMistakes(length: number): number {
  return length >= LONG_FOR_TWO ? 2 : length >= LONG_FOR_ONE ? 1 : 0
}

function mostInDoubt(length: number): number {
  return length >= LONG_FOR_ONE ? 2 : length > 2 ? 1 : 0
}

/** How many mistakes lie between two names; infinite where they are too many. */
function mistakesIn(one: string, other: string, mostFor: (length: number) => number): number {
  if (one === other) return 0
  const most = mostFor(Math.min(one.length, other.length))
  // names that a client sends may be long
  if (Math.abs(one.length - other.length) > most || one.length > MOST_CHARACTERS) return Number.POSITIVE_INFINITY
  const found = isSwap(one, other) ? 1 : distance(one, other)
  return found <= most ? found : Number.POSITIVE_INFINITY
}

/** True where two neighbours have changed places, which Levenshtein counts as two mistakes. */
function isSwap(one: string, other: string): boolean {
  if (one.length !== other.length) return false
  let at = 0
  while (one[at] === other[at]) at++
  return one[at] === other[at + 1] && one[at + 1] === other[at] && one.slice(at + 2) === other.slice(at + 2)
}
