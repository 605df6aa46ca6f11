/** Links to other pages, built from the request's own URL and never from `Host` (wire format, section 6, "Links"). */

const AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*/i

/** A query that reads and writes the same: names with values of characters that no form of encoding changes. */
const PLAIN = /^(?:[\w.*-]+=[\w.*-]*(?:&(?!$)|$))*$/
const PLAIN_NAME = /^[\w.*-]+$/
const PLAIN_VALUE = /^[\w.*-]*$/

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
  const text = PLAIN.test(search) && parameters.every(isPlain) ? setPlain(search, parameters) : set(search, parameters)
  return text === '' ? path : `${path}?${text}`
}

function isPlain([name, value]: LinkParameter): boolean {
  return PLAIN_NAME.test(name) && PLAIN_VALUE.test(value ?? '')
}

function set(search: string, parameters: readonly LinkParameter[]): string {
  const query = new URLSearchParams(search)
  for (const [name, value] of parameters) {
    if (value === null) query.delete(name)
    else query.set(name, value)
  }
  return query.toString()
}

/** The same for what needs no decoding, in a fifth of the time. */
function setPlain(search: string, parameters: readonly LinkParameter[]): string {
  const isSet: boolean[] = []
  let text = ''
  for (const pair of search === '' ? [] : search.split('&')) {
    const index = parameters.findIndex(([name]) => pair.startsWith(name) && pair[name.length] === '=')
    const parameter = parameters[index]
    if (!parameter) {
      text += `&${pair}`
      continue
    }
    if (!isSet[index]) text += pairOf(parameter)
    isSet[index] = true
  }
  for (const [index, parameter] of parameters.entries()) if (!isSet[index]) text += pairOf(parameter)
  return text.slice(1)
}

function pairOf([name, value]: LinkParameter): string {
  return value === null ? '' : `&${name}=${value}`
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
  return {
    path: `/${path.replace(/^\/+/, '').replaceAll('\\', '%5C')}`,
    search: mark === -1 ? '' : target.slice(mark + 1),
  }
}
