/** Links to other pages as a header: `Link` (RFC 8288), which answers without an envelope, such as CSV, have as well. */

import type { Context } from '../http/context.js'

/** An option of paginators. */
export interface LinkOptions {
  /** Also send the links of a page as `Link`: `next`, `prev`, `first`, and `last` where it is known. @default false */
  readonly linkHeader?: boolean
}

/** Where other pages are; null where there is none. */
export interface PageTargets {
  readonly next: string | null
  readonly prev: string | null
  readonly first: string
  /** Undefined where nobody knows. */
  readonly last?: string | undefined
}

/** Characters of the longest header: proxies refuse answers for headers of some kilobytes. */
const LONGEST = 4_096

/** What may not stand between the brackets of a link (RFC 3986, appendix A). */
const FOREIGN = /[^!#-;=?-[\]_a-z~]/g

/** Adds the links to those that the answer has already. Where they are longer than 4,096 characters, it has none of them. */
export function addLinks(ctx: Context, targets: PageTargets): void {
  const links = Object.entries(targets).flatMap(([relation, target]) =>
    typeof target === 'string' ? `<${target.replace(FOREIGN, encoded)}>; rel="${relation}"` : [],
  )
  const value = links.join(', ')
  if (value.length <= LONGEST) ctx.append('Link', value)
}

/** Node reads a target as latin1: a character is a byte. */
function encoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
}
