/** The names that classes, files and routes get from those of tables. */
import { pascalCase, pluralize, singularize } from '../../kernel/naming.js'
import { Names, NOT_IN_NAMES } from '../../models/relation-names.js'

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
const MARKS = /\p{M}+/gu
const NOT_IN_FILES = /[^a-z0-9]+/g
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
