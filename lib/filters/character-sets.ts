/** Which characters a part of a pattern matches, whatever their case: as far as the estimate of its cost needs it. */

/** A set of characters. */
export interface CharacterSet {
  /** Whether it has this character, which is given in lower case. */
  has(character: string): boolean
  /** Characters, in lower case, at which it begins, ends or is not alone. */
  readonly edges: readonly string[]
}

/** All characters. */
export const ANY: CharacterSet = { has: () => true, edges: [] }

/** One character. */
export function literal(character: string): CharacterSet {
  const code = character.codePointAt(0) as number
  return range(code, code)
}

/** The characters from one number to another. */
export function range(first: number, last: number): CharacterSet {
  const within = (text: string) => {
    const code = text.codePointAt(0) as number
    return code >= first && code <= last
  }
  return {
    has: (character) => within(character) || within(character.toUpperCase()),
    edges: [first, last].map((code) => String.fromCodePoint(code).toLowerCase()),
  }
}

/** What is in one of the sets, or in none of them. */
export function union(sets: readonly CharacterSet[], isNegated: boolean): CharacterSet {
  return {
    has: (character) => sets.some((set) => set.has(character)) !== isNegated,
    edges: sets.flatMap(({ edges }) => edges),
  }
}

function matching(pattern: RegExp): CharacterSet {
  return { has: (character) => pattern.test(character), edges: [] }
}

/** `[:alpha:]` and its like, by their names. */
export const NAMED_SETS: ReadonlyMap<string, CharacterSet> = new Map(
  Object.entries({
    alnum: /[\p{L}\p{N}]/u,
    alpha: /\p{L}/u,
    blank: /[ \t]/,
    cntrl: /\p{Cc}/u,
    digit: /\p{Nd}/u,
    graph: /[^\s\p{Cc}]/u,
    // in any case
    lower: /\p{L}/u,
    print: /[^\p{Cc}]/u,
    punct: /[\p{P}\p{S}]/u,
    space: /\s/,
    upper: /\p{L}/u,
    xdigit: /[0-9a-f]/,
  }).map(([name, pattern]) => [name, matching(pattern)]),
)

const ESCAPES: ReadonlyMap<string, CharacterSet> = new Map([
  ['d', matching(/\p{Nd}/u)],
  ['D', matching(/\P{Nd}/u)],
  ['w', matching(/[\p{L}\p{N}_]/u)],
  ['W', matching(/[^\p{L}\p{N}_]/u)],
  ['s', matching(/\s/)],
  ['S', matching(/\S/)],
  ['n', literal('\n')],
  ['t', literal('\t')],
  ['r', literal('\r')],
])

/** What a character behind a backslash stands for. */
export function escaped(character: string): CharacterSet {
  return ESCAPES.get(character) ?? literal(character)
}
