/**
 * Estimates what a regular expression costs PostgreSQL for a row. Its matcher makes the states of an automaton while it
 * reads a string, for each row anew, and forgets them when they are too many (`src/backend/regex/rege_dfa.c`): a step to a
 * state that it knows costs some nanoseconds, one to a state that it must make costs as much as the parts of the pattern
 * that are under way, and `a.{50}b` has 2^50 states.
 */

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
export function escapedCharacter(character: string): CharacterSet {
  return ESCAPES.get(character) ?? literal(character)
}

/** A part of a pattern. */
export type PatternNode =
  | { readonly kind: 'set'; readonly set: CharacterSet }
  /** The start of the text. */
  | { readonly kind: 'start' }
  /** Any other place, such as the end of a word: taken as if it were everywhere. */
  | { readonly kind: 'place' }
  | { readonly kind: 'sequence'; readonly items: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly branches: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly item: PatternNode; readonly least: number; readonly most: number }

/** Characters of a string that is tried: the bound is meant for rows of 1 kB. */
const TEXT_LENGTH = 1_000
/**
 * The most that a row may cost, in parts of the pattern that are looked at to make states. To read the row itself costs
 * about as much as 1,500 of them (regex-guard.test.ts has patterns on both sides).
 */
const MOST_WORK = 2_500
/** The most places of a pattern whose counted parts are written out. */
const MOST_PLACES = 1_000

/** True for a pattern whose states cost PostgreSQL little beside the reading of a string. */
export function isCheap(pattern: PatternNode): boolean {
  const automaton = new Automaton(pattern)
  return !automaton.isTooLarge && textsOf(automaton).every((text) => automaton.work(text) <= MOST_WORK)
}

/** Where a match may be: what it reads next, or where it goes without reading. */
interface Place {
  set: CharacterSet | undefined
  /** Passed only before the first character. */
  isStart: boolean
  next: number[]
}

/** The pattern as places, and what PostgreSQL does with them. */
class Automaton {
  readonly #places: Place[] = []
  readonly #first: number
  readonly #end: number
  /** A character for each class of characters that the pattern distinguishes. */
  readonly letters: readonly string[]
  /** The class of a character. */
  readonly #classOf = new Map<string, string>()

  constructor(pattern: PatternNode) {
    this.#end = this.#place()
    this.#first = this.#add(pattern, this.#end)
    this.letters = this.isTooLarge ? [] : this.#classes()
  }

  get isTooLarge(): boolean {
    return this.#places.length > MOST_PLACES
  }

  /** What a row with this text costs; where it is too much, how much was seen by then. */
  work(text: readonly string[]): number {
    const states = new Map<string, State>()
    const most = 2 * this.#places.length
    const enter = (places: readonly number[]): State => {
      const key = places.join()
      let state = states.get(key)
      if (!state) {
        // as PostgreSQL does, though it keeps those that were used last
        if (states.size >= most) states.clear()
        state = { places, next: new Map() }
        states.set(key, state)
      }
      return state
    }
    let work = 0
    // a match does not end it: there is a string that has almost all of one
    let state = enter(this.#reached([this.#first], true))
    for (const character of text) {
      const letter = this.#classOf.get(character) ?? character
      let following = state.next.get(letter)
      if (!following) {
        work += 1 + state.places.length
        if (work > MOST_WORK) return work
        const read = state.places.filter((place) => this.#places[place]?.set?.has(letter) === true)
        const behind = read.flatMap((place) => this.#places[place]?.next ?? [])
        following = enter(this.#reached([...behind, this.#first], false))
        state.next.set(letter, following)
      }
      state = following
    }
    return work
  }

  /** The places that read something, or the end, behind these. */
  #reached(from: readonly number[], isStart: boolean): number[] {
    const seen = new Set<number>()
    const found: number[] = []
    const open = [...from]
    for (let index = open.pop(); index !== undefined; index = open.pop()) {
      if (seen.has(index)) continue
      seen.add(index)
      const place = this.#places[index] as Place
      if (place.set || index === this.#end) found.push(index)
      else if (!place.isStart || isStart) open.push(...place.next)
    }
    return found.sort((one, other) => one - other)
  }

  #place(set?: CharacterSet, next: number[] = [], isStart = false): number {
    return this.#places.push({ set, next, isStart }) - 1
  }

  /** Adds a part in front of a place, and returns where it begins. */
  #add(node: PatternNode, next: number): number {
    if (this.isTooLarge) return next
    switch (node.kind) {
      case 'set':
        return this.#place(node.set, [next])
      case 'start':
        return this.#place(undefined, [next], true)
      case 'place':
        return next
      case 'sequence':
        return node.items.reduceRight((behind, item) => this.#add(item, behind), next)
      case 'choice':
        return this.#place(
          undefined,
          node.branches.map((branch) => this.#add(branch, next)),
        )
      case 'repeat':
        return this.#repeat(node, next)
    }
  }

  #repeat({ item, least, most }: PatternNode & { kind: 'repeat' }, next: number): number {
    let begin = next
    if (!Number.isFinite(most)) {
      begin = this.#place(undefined, [next])
      const loop = this.#places[begin] as Place
      loop.next.push(this.#add(item, begin))
    }
    for (let count = least; count < most && Number.isFinite(most); count++) {
      begin = this.#place(undefined, [this.#add(item, begin), next])
    }
    for (let count = 0; count < least; count++) begin = this.#add(item, begin)
    return begin
  }

  #classes(): string[] {
    const sets = [...new Set(this.#places.flatMap(({ set }) => set ?? []))]
    const classes = new Map<string, string>()
    for (const letter of [...ALPHABET, ...sets.flatMap(({ edges }) => edges)]) {
      const kind = sets.map((set) => (set.has(letter) ? '1' : '0')).join('')
      if (!classes.has(kind)) classes.set(kind, letter)
      this.#classOf.set(letter, classes.get(kind) as string)
    }
    return [...classes.values()]
  }
}

interface State {
  readonly places: readonly number[]
  readonly next: Map<string, State>
}

const ALPHABET = Array.from(' etaoinshrdlcumwfgypbvkjxqz0123456789_-.,@é\n')
const PROSE = Array.from(
  'it was the best of times, it was the worst of times, it was the age of wisdom, 42 e-mails to a_b@example.com. ',
)
const HEXADECIMAL = Array.from('0123456789abcdef')
const WORDS = Array.from('abcdefghijklmnopqrstuvwxyz0123456789  ')

/** Numbers that look random and are the same each time, so that a pattern is judged alike (Park and Miller's generator). */
const NUMBERS: number[] = []
for (let number = 1; NUMBERS.length < TEXT_LENGTH; number = (number * 48_271) % 2_147_483_647) NUMBERS.push(number)

function textOf(letterAt: (number: number, index: number) => string | undefined): string[] {
  return NUMBERS.map((number, index) => letterAt(number, index) as string)
}

const TEXTS = [
  textOf((_, index) => PROSE[index % PROSE.length]),
  textOf((number) => HEXADECIMAL[number % HEXADECIMAL.length]),
  textOf((number) => WORDS[number % WORDS.length]),
]

/** Strings that a pattern may meet: prose, random ones, and prose mixed with the pattern's own letters. */
function textsOf({ letters }: Automaton): readonly string[][] {
  const mixed = textOf((number, index) =>
    number % 2 === 0 ? PROSE[index % PROSE.length] : letters[(number >> 1) % letters.length],
  )
  return [...TEXTS, mixed]
}
