/** Names in the spellings that code, JSON, URLs and tables use for them. */
import { pluralize as pluralizeWord, singularize as singularizeWord } from 'inflection'

/** `markRead` → `mark_read` */
export function snakeCase(name: string): string {
  return words(name).join('_').toLowerCase()
}

/** `markRead`, `mark_read` → `mark-read` */
export function hyphenate(name: string): string {
  return words(name).join('-').toLowerCase()
}

/** `author_id` → `AuthorId`; capitals stay as they are, `isoCode` → `IsoCode`, `ISBN` → `ISBN` */
export function pascalCase(name: string): string {
  return words(name)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}

/** What one row of a table is: `public.books` → `book`, `city_photos` → `city_photo`, `people` → `person` */
export function singularize(tableName: string): string {
  const table = tableName.slice(tableName.lastIndexOf('.') + 1)
  const lastWord = table.lastIndexOf('_') + 1
  return table.slice(0, lastWord) + singularizeWord(table.slice(lastWord))
}

/** Several of them: `book` → `books`, `city photo` → `city photos` */
export function pluralize(phrase: string): string {
  const lastWord = phrase.lastIndexOf(' ') + 1
  return phrase.slice(0, lastWord) + pluralizeWord(phrase.slice(lastWord))
}

function words(name: string): string[] {
  return name
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1_$2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
    .split(/[_\-\s]+/)
    .filter((word) => word !== '')
}
