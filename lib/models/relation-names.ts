/** The names of relations, from those of foreign keys and tables: of `init` and of `table()`. */
import { pluralize, singularize } from '../kernel/naming.js'

/** What no name of TypeScript has. */
export const NOT_IN_NAMES = /(?:[^\p{ID_Continue}]|\p{C})+/gu
/** What foreign keys end in, beside the name of what they lead to. */
const KEY_ENDING = /^(.*[^_\s-])(?:[_\s-]+(?:id|Id|ID|fk|key|code|uuid)|I[dD])$/

/** `hostid`, not `guid`, `paid` or `valid`. */
const CLOSE_ENDING =
  /^(?!(?:.*_)?(?:valid|invalid|android|hybrid|fluid|rapid|solid|liquid|squid|prepaid|unpaid|repaid|uuid|guid)$)(.*[a-z]{3})id$/

/** Gives out each name once; names that differ in their capitals only are one, as files and routes cannot distinguish them. */
export class Names {
  readonly #taken: Set<string>

  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set([...taken].map((name) => name.toLowerCase()))
  }

  /** The first of the names that is free, else the last of them with a number. */
  claim(...names: readonly [string, ...string[]]): string {
    const free = names.find((name) => !this.#taken.has(name.toLowerCase())) ?? this.#number(names.at(-1) as string)
    this.#taken.add(free.toLowerCase())
    return free
  }

  #number(name: string): string {
    let number = 2
    while (this.#taken.has(`${name}${number}`.toLowerCase())) number++
    return `${name}${number}`
  }
}

/** A name as that of a relation, which paths join by dots and double underscores: `main lang_id` → `main_lang`. */
export function relationName(name: string): string {
  const made = name.normalize('NFC').replace(NOT_IN_NAMES, '_').replace(/__+/g, '_').replace(/^_|_$/g, '')
  return /^[\p{ID_Start}$]/u.test(made) ? made : `to_${made}`
}

/** What a foreign key leads to, by its name: `author_id`, `authorid` → `author`; undefined for one that does not end as keys do. */
export function keyTarget(column: string): string | undefined {
  return KEY_ENDING.exec(column)?.[1] ?? CLOSE_ENDING.exec(column)?.[1]
}

/** One row's name, in the table's own spelling: `Albums` → `Album`. */
export function singular(table: string): string {
  return relationName(singularize(table.replace(NOT_IN_NAMES, '_')))
}

/** The name of several. */
export function plural(name: string): string {
  const words = name.split('_')
  return [...words.slice(0, -1), pluralize(words.at(-1) as string)].join('_')
}
