/** Matching text: patterns in which nothing of a client's is special, and columns as text (promises B7, B8, C5). */

import type { Column } from '../models/model-description.js'

const TEXT_TYPES = new Set(['text', 'varchar', 'bpchar', 'citext', 'name'])

/** The text as part of a LIKE pattern, in which it stands for itself. */
export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

/** A reference to the column, as the text that PostgreSQL writes of it: its cast gives an address a mask that is not shown. */
export function textReference({ sqlType, type }: Column): string {
  if (sqlType === undefined) return '??::text'
  if (type === 'inet') return 'abbrev(??)'
  return TEXT_TYPES.has(type) ? '??' : '??::text'
}

/** As `textOf()`, where a pattern is looked for: collations in which other characters are equal take none. */
export function matchedSql(column: Column): string {
  return column.isDeterministic ? textReference(column) : `${textReference(column)} collate "default"`
}

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
