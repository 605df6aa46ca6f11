/** Addresses of requests: where the API is, the path of an object in it, and the query. */

import { textOf } from './body.js'

/** Where an API is. */
export interface Base {
  /** Scheme and host; empty for an address that is relative to the page. */
  readonly origin: string
  readonly path: string
  readonly query: string
}

/** The key of an object on a path; JavaScript may give none. */
export interface KeyPart {
  readonly key: number | string
}

/** The parts of a path below the API's own: names as they are written, and keys. */
export type Path = readonly (string | KeyPart)[]

/** @throws {TypeError} the address holds a user or a password */
export function baseOf(url: string): Base {
  const [, origin = '', path = '', query = ''] = /^([a-z][a-z\d+.-]*:\/\/[^/?#]*)?([^?#]*)\??([^#]*)/i.exec(url) ?? []
  if (origin.includes('@')) throw new TypeError('the address holds credentials: give `headers`')
  return { origin, path: path.replace(/\/+$/, ''), query }
}

/** The address of a path. @throws {TypeError} no path can hold one of its keys */
export function addressOf({ origin, path }: Base, parts: Path, query: string): string {
  const written = parts.map((part) => `/${typeof part === 'string' ? part : keyText(part.key)}`).join('')
  // what ends in a format by chance may be taken for it: `/files/a.json` is `a` as JSON where no file has that name
  const whole = typeof parts.at(-1) === 'object' ? written.replace(/\.(?=\w+$)/, '%2E') : written
  return origin + path + whole + (query && `?${query}`)
}

/**
 * An address takes `.` and `..` for steps, even when they are escaped, and an empty part for none. What may be the name of an
 * action, which the client does not know of, has an escape: that one leads to the object alone. @throws {Error} it is no key
 */
function keyText(key: number | string): string {
  const text = String(key ?? '')
  if (/^\.{0,2}$/.test(text)) throw new TypeError('no key')
  return encodeURIComponent(text).replace(/^[a-z](?=[\w-]{1,34}$)/, (one) => `%${one.charCodeAt(0).toString(16)}`)
}

/** The query that a link of a page leads to. @throws {TypeError} the link leads to another server */
export function linkedQuery({ origin }: Base, link: unknown): string {
  const text = String(link)
  if (!/^(\/(?!\/)|\?)/.test(text.replace(origin, ''))) throw new TypeError('the link leads to another server')
  return /\?([^#]*)/.exec(text)?.[1] ?? ''
}

/** @throws {TypeError} a list holds a text with a comma, which would be two, or one that is empty, which would be none */
export function queryText({ query: own }: Base, query: object | undefined): string {
  const parameters = new URLSearchParams(own)
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined) continue
    const text = textOf(value)
    // a list of objects, or of lists, is JSON as a whole
    const isList = Array.isArray(value) && !/^\[[[{]/.test(text)
    parameters.set(name, isList ? value.map((item) => listed(name, textOf(item))).join() : text)
  }
  return String(parameters)
}

function listed(name: string, item: string): string {
  if (/^$|,/.test(item)) throw new TypeError(`${name}: no comma, no '' in lists`)
  return item
}
