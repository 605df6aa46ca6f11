/** Splits the text of a search into terms (promise C17). */

/** A phrase in double quotes, its end possibly missing; or characters up to the next white space. */
const TERM = /"([^"]*)(?:"|$)|\S+/g

/**
 * The terms of a search: at most `most` of them, each cut to `length` characters. Other quotes are plain characters,
 * and so is a double quote inside a term (`5"`).
 */
export function splitTerms(text: string, { most, length }: { most: number; length: number }): string[] {
  const terms: string[] = []
  for (const [found, phrase] of text.matchAll(TERM)) {
    const term = phrase ?? found
    if (term.trim() === '') continue
    terms.push(cutText(term, length))
    if (terms.length === most) break
  }
  return terms
}

/** The first characters of a string, as PostgreSQL counts them. */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text
  // a character is one or two code units
  return Array.from(text.slice(0, length * 2))
    .slice(0, length)
    .join('')
}
