/** Entity tags: how they are made, and which of them name a row (wire format, section 5; RFC 9110 section 13). */
import { hash } from 'node:crypto'
import { RequestSlot } from '../http/context.js'
import { parseTags } from '../http/entity-tags.js'
import { frame } from '../kernel/signing.js'

const DIGITS = 16

/** The version of the row that a request is about, once it was read: it becomes part of the answer's tag. */
export const ROW_VERSION = new RequestSlot<string>('the version of the row')

/** The first 16 hex of SHA-256 of a body's bytes; text counts as UTF-8. */
export function contentDigest(body: string | Uint8Array): string {
  return hash('sha256', body, 'hex').slice(0, DIGITS)
}

/**
 * What distinguishes the versions of a row: the table, its key, and the strings of the columns that every write changes.
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
