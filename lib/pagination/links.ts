/** Links to other pages, built from the request's own URL and never from `Host` (wire format, section 6, "Links"): in bodies, and as the header `Link` (RFC 8288). */
import { type Context, splitTarget } from '../http/context.js'

/** A pair that reads and writes the same but for its commas: no other character of it changes in any form of encoding. */
const PLAIN_PAIR = /^[\w.*-]+=[\w.*,-]*$/
const PLAIN = /^[\w.*-]*$/

/** A parameter and its value; null takes it out. */
export type LinkParameter = readonly [name: string, value: string | null]

/**
 * The links of one answer: the path and query of its request with some parameters set, in the place where the first of them
 * stood; null takes one out. All other parameters keep their order and repetitions, and the path stays as the client wrote
 * it. A link starts with one slash and a path, so a browser never takes part of it for a host.
 * @example new PageLinks('/api/books?page=2&status=open').to(['page', '1']) // '/api/books?page=1&status=open'
 */
export class PageLinks {
  readonly #path: string
  readonly #pairs: readonly string[]

  constructor(originalUrl: string) {
    const { path, search } = splitTarget(originalUrl)
    this.#path = path
    this.#pairs = pairsOf(search)
  }

  /** As `URLSearchParams.set` does for each parameter; pair by pair, as most of them need no decoding. */
  to(...parameters: readonly LinkParameter[]): string {
    let pairs = this.#pairs
    for (const [name, value] of parameters) pairs = changed(pairs, `${encode(name)}=`, value)
    return pairs.length === 0 ? this.#path : `${this.#path}?${pairs.join('&')}`
  }
}

/** The pairs with one of this name, in the place of the first or behind all, and none where its value is null. */
function changed(pairs: readonly string[], name: string, value: string | null): readonly string[] {
  const all: string[] = []
  let own = value === null ? undefined : name + encode(value)
  for (const pair of pairs) {
    if (!pair.startsWith(name)) all.push(pair)
    else if (own !== undefined) {
      all.push(own)
      own = undefined
    }
  }
  if (own !== undefined) all.push(own)
  return all
}

function pairsOf(search: string): readonly string[] {
  const pairs: string[] = []
  for (let start = 0, end = 0; start < search.length; start = end + 1) {
    const mark = search.indexOf('&', start)
    end = mark === -1 ? search.length : mark
    if (end > start) pairs.push(rewrite(search.slice(start, end)))
  }
  return pairs
}

/** A pair as `URLSearchParams` writes what it reads. */
function rewrite(pair: string): string {
  // it takes off a question mark that stands first
  if (!PLAIN_PAIR.test(pair)) return String(new URLSearchParams(`&${pair}`))
  return pair.includes(',') ? pair.replaceAll(',', '%2C') : pair
}

function encode(text: string): string {
  return PLAIN.test(text) ? text : String(new URLSearchParams([['', text]])).slice(1)
}

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
