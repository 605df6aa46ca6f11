/** Entity tags in the conditions of a request (RFC 9110 section 13). */
import type { Context } from './context.js'

/** A tag that a client sends back: its text, and whether it was marked as weak. */
export interface EntityTag {
  readonly weak: boolean
  readonly text: string
}

/** What a condition names: any representation, or a list of tags. */
export type TagCondition = '*' | readonly EntityTag[]

/** One element of a list, which may be empty, up to the comma behind it. Each character can be read in one way only. */
const ELEMENT = /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(?:,|$)/y

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
  const [own] = parseTags(tag) ?? []
  return namesTag(field, ({ text }) => text === (own as EntityTag | undefined)?.text)
}

/** Whether a condition names any representation, or a tag of which this holds. A field that cannot be read names nothing. */
export function namesTag(field: string, holds: (tag: EntityTag) => boolean): boolean {
  const condition = parseTags(field)
  return condition === '*' || condition?.some(holds) === true
}

/** True where the client has the representation already. The date counts only where it names no tags (RFC 9110 section 13.2.2). */
export function isKnown({ headers }: Context, tag: string, modified: Date): boolean {
  const { 'if-none-match': tags, 'if-modified-since': since } = headers
  if (tags !== undefined) return matchesWeakly(tags, tag)
  return since !== undefined && Math.floor(modified.getTime() / 1000) * 1000 <= Date.parse(since)
}
