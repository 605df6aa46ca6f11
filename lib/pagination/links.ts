/** Links to other pages, built from the request's own URL and never from `Host` (wire format, section 6, "Links"). */

const AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*/i

/** A pair that reads and writes the same but for its commas: no other character of it changes in any form of encoding. */
const PLAIN_PAIR = /^[\w.*-]+=[\w.*,-]*$/
const PLAIN = /^[\w.*-]*$/

/** A parameter and its value; null takes it out. */
export type LinkParameter = readonly [name: string, value: string | null]

/**
 * The path and query of a request with some parameters set, in the place where the first of them stood; null takes one out.
 * All other parameters keep their order and repetitions, and the path stays as the client wrote it.
 * The result starts with one slash and a path, so a browser never takes part of it for a host.
 * @example pageLink('/api/books?page=2&status=open', ['page', '1']) // '/api/books?page=1&status=open'
 */
export function pageLink(originalUrl: string, ...parameters: readonly LinkParameter[]): string {
  const { path, search } = splitTarget(originalUrl)
  const text = set(search, parameters)
  return text === '' ? path : `${path}?${text}`
}

/** As `URLSearchParams.set` does for each parameter; pair by pair, as most of them need no decoding. */
function set(search: string, parameters: readonly LinkParameter[]): string {
  const written: LinkParameter[] = []
  let text = ''
  for (const sent of search.split('&')) {
    if (sent === '') continue
    const pair = rewrite(sent)
    const parameter = namedIn(pair, parameters)
    if (!parameter) text += `&${pair}`
    else if (!written.includes(parameter)) {
      written.push(parameter)
      text += pairOf(parameter)
    }
  }
  for (const parameter of parameters) if (!written.includes(parameter)) text += pairOf(parameter)
  return text.slice(1)
}

/** The parameter that a pair is of. */
function namedIn(pair: string, parameters: readonly LinkParameter[]): LinkParameter | undefined {
  const name = pair.slice(0, pair.indexOf('='))
  for (const parameter of parameters) if (encode(parameter[0]) === name) return parameter
  return undefined
}

/** A pair as `URLSearchParams` writes what it reads. */
function rewrite(pair: string): string {
  // it takes off a question mark that stands first
  return PLAIN_PAIR.test(pair) ? pair.replaceAll(',', '%2C') : String(new URLSearchParams(`&${pair}`))
}

function encode(text: string): string {
  return PLAIN.test(text) ? text : String(new URLSearchParams([['', text]])).slice(1)
}

function pairOf([name, value]: LinkParameter): string {
  return value === null ? '' : `&${encode(name)}=${encode(value)}`
}

/** The path of a request, as links have it. */
export function requestPath(originalUrl: string): string {
  return splitTarget(originalUrl).path
}

function splitTarget(originalUrl: string): { path: string; search: string } {
  const hash = originalUrl.indexOf('#')
  const whole = hash === -1 ? originalUrl : originalUrl.slice(0, hash)
  const target = whole.startsWith('/') ? whole : whole.replace(AUTHORITY, '')
  const mark = target.indexOf('?')
  const path = mark === -1 ? target : target.slice(0, mark)
  return { path: safePath(path), search: mark === -1 ? '' : target.slice(mark + 1) }
}

/** With one slash first, and none that a browser would make of a backslash. */
function safePath(path: string): string {
  if (path.startsWith('/') && path[1] !== '/' && !path.includes('\\')) return path
  return `/${path.replace(/^\/+/, '').replaceAll('\\', '%5C')}`
}
