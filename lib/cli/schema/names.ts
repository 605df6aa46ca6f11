/** The names that classes, files, routes and relations get from those of tables and columns. */
import { pascalCase, pluralize, singularize } from '../../kernel/naming.js'

/** What a class must not be called, as the files that are written use these names themselves. */
const TAKEN = [
  ...['Array', 'Boolean', 'Buffer', 'Date', 'Error', 'Function', 'Number', 'Object', 'Promise', 'String', 'Symbol'],
  ...['APIRouter', 'Authentications', 'CreateMixin', 'FieldFilter', 'Generated', 'Interval', 'IsAuthenticated'],
  ...['ListMixin', 'Model', 'OrderingFilter', 'PageNumberPagination', 'RelationMappings', 'SearchFilter'],
]

/** Names that no file can have on some systems. */
const NO_FILES = /^(?:con|prn|aux|nul|com\d|lpt\d|index|enums)$/
/** What names that are made of those of classes end in. */
const ENDINGS = /(?:Serializer|ViewSet|Row)$/
const NOT_IN_NAMES = /(?:[^\p{ID_Continue}]|\p{C})+/gu
const MARKS = /\p{M}+/gu
const NOT_IN_FILES = /[^a-z0-9]+/g
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

/** Names of classes. */
export function classNames(): Names {
  return new Names(TAKEN)
}

/** What classes of a table may be called, the best first: `order_details` → `OrderDetail`, of one of several schemas `ShopOrderDetail`. */
export function classNamesOf(table: string, schema?: string): [string, ...string[]] {
  const one = className(singularize(table))
  const full = schema === undefined ? className(table) : `${className(schema)}${one}`
  return ENDINGS.test(one) ? [`${one}Record`, `${full}Record`] : [one, full, `${one}Record`]
}

/** What the type of a list of texts may be called, the best first. */
export function enumNamesOf(type: string): [string, ...string[]] {
  const name = className(type)
  return ENDINGS.test(name) ? [`${name}Enum`] : [name, `${name}Enum`]
}

/** A name as that of a type: `mpaa_rating` → `MpaaRating`, `1st; way` → `_1stWay`. */
export function className(name: string): string {
  const made = pascalCase(name.normalize('NFC').replace(NOT_IN_NAMES, '_'))
  return /^[\p{ID_Start}$]/u.test(made) ? made : `_${made}`
}

/** The name of a file: `OrderDetail` → `order-detail`; what has none of these letters is a `table`. */
export function fileName(table: string): string {
  const name = slug(singularize(table))
  return NO_FILES.test(name) ? `${name}-table` : name
}

/** The path of a table's rows: `order_details` → `order-details`, `film` → `films`. */
export function routeName(table: string): string {
  const one = slug(singularize(table))
  const lastWord = one.lastIndexOf('-') + 1
  return one.slice(0, lastWord) + pluralize(one.slice(lastWord))
}

function slug(name: string): string {
  const spaced = name.replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1-$2')
  const ascii = spaced.normalize('NFKD').replace(MARKS, '').toLowerCase()
  return ascii.replace(NOT_IN_FILES, '-').replace(/^-+|-+$/g, '') || 'table'
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
