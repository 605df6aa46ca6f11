/** Entity tags: how they are made, and how a request's conditions are read (wire format, section 5; RFC 9110 section 13). */
import { hash } from 'node:crypto'
import { frame } from '../signing.js'

/** A tag that a client sends back: its text, and whether it was marked as weak. */
export interface EntityTag {
  readonly weak: boolean
  readonly text: string
}

/** What a condition names: any representation, or a list of tags. */
export type TagCondition = '*' | readonly EntityTag[]

const DIGITS = 16
/** One element of a list, which may be empty, up to the comma behind it. Each character can be read in one way only. */
const ELEMENT = /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(?:,|$)/y

/** The first 16 hex of SHA-256 of a body's bytes; text counts as UTF-8. */
export function contentDigest(body: string | Uint8Array): string {
  return hash('sha256', body, 'hex').slice(0, DIGITS)
}

/**
 * What of a row tells its versions apart: the table, its key, and the texts of the columns that every write changes.
 * @example rowDigest('books', ['42'], ['2026-03-28T15:30:00.123456']) // '4c6838f21712be35'
 */
export function rowDigest(table: string, key: readonly string[], texts: readonly (string | null)[]): string {
  const parts = [table, ...key, ...texts.map((text) => text ?? '')]
  return hash('sha256', frame(...parts), 'hex').slice(0, DIGITS)
}

/** The weak tag of a representation. @example weakTag('b94d27b9934d3e08') // 'W/"b94d27b9934d3e08"' */
export function weakTag(content: string): string {
  return `W/"${content}"`
}

/** The strong tag of an object's representation: the version of its row, and the content. */
export function strongTag(row: string, content: string): string {
  return `"${row}-${content}"`
}

/** Reads `If-None-Match` or `If-Match`; undefined for a field that is not as RFC 9110 has it. */
export function parseTags(field: string): TagCondition | undefined {
  if (field.trim() === '*') return '*'
  const tags: EntityTag[] = []
  ELEMENT.lastIndex = 0
  for (let end = 0; end < field.length; end = ELEMENT.lastIndex) {
    const element = ELEMENT.exec(field)
    if (!element) return undefined
    if (element[2] !== undefined) tags.push({ weak: element[1] !== undefined, text: element[2] })
  }
  return tags
}

/** Whether `If-None-Match` names this tag, by weak comparison. A field that cannot be read names nothing. */
export function matchesWeakly(field: string, tag: string): boolean {
  const condition = parseTags(field)
  if (condition === undefined || condition === '*') return condition === '*'
  const [own] = parseTags(tag) ?? []
  return condition.some(({ text }) => text === (own as EntityTag | undefined)?.text)
}

/** Whether `If-Match` names this version of a row. Weak tags never do; without a version only `*` does. */
export function matchesRow(field: string, row: string | undefined): boolean {
  const condition = parseTags(field)
  if (condition === undefined || condition === '*') return condition === '*'
  return row !== undefined && condition.some(({ weak, text }) => !weak && rowOf(text) === row)
}

/** Whether `If-None-Match` names this version of a row, in whatever representation. */
export function namesRow(field: string, row: string | undefined): boolean {
  const condition = parseTags(field)
  if (condition === undefined || condition === '*') return condition === '*'
  return row !== undefined && condition.some(({ text }) => rowOf(text) === row)
}

const STRONG = /^([0-9a-f]{16})-[0-9a-f]{16}$/

function rowOf(text: string): string | undefined {
  return STRONG.exec(text)?.[1]
}
