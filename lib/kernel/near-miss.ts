/** Finds the name that a misspelt one was meant to be, so that a mistake is reported and not passed over. */

/** Names that are so long may differ in one place, or in two. */
const [LONG_FOR_ONE, LONG_FOR_TWO] = [7, 11]

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

/** The end of a message about a name that is certainly wrong: the name that was meant, where one is near. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const near = nearMiss(name, known, mostInDoubt)
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
  const found = Math.abs(one.length - other.length) <= most ? distance(one, other) : Number.POSITIVE_INFINITY
  return found <= most ? found : Number.POSITIVE_INFINITY
}

/** Letters that are to be put in, left out, replaced or swapped with their neighbour (Damerau and Levenshtein). */
function distance(one: string, other: string): number {
  let [before, row]: [number[], number[]] = [[], Array.from({ length: other.length + 1 }, (_, index) => index)]
  for (let i = 1; i <= one.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1]
      const costs = [at(row, j) + 1, at(next, j - 1) + 1, at(row, j - 1) + (isSame ? 0 : 1)]
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1])
        costs.push(at(before, j - 2) + 1)
      next.push(Math.min(...costs))
    }
    ;[before, row] = [row, next]
  }
  return at(row, other.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? 0
}
