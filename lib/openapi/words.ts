/** Nouns and phrases for summaries, made of names for programs. */
import { pluralize } from '../kernel/naming.js'

/** What objects of a basename are called: one, one with its article, and several. */
export function nounOf(basename: string): { readonly one: string; readonly any: string; readonly many: string } {
  const one = phraseOf(basename)
  return { one, any: `${/^[aeiou]/i.test(one) ? 'an' : 'a'} ${one}`, many: pluralize(one) }
}

/** `mark_read`, `mark-read`, `markRead` → `mark read` */
export function phraseOf(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[\s_-]+/)
    .filter((word) => word !== '')
    .join(' ')
    .toLowerCase()
}

/** With a capital at the start. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
