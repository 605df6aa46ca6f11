/** Links to other pages, built from the request's own URL and never from `Host` (wire format, section 6, "Links"). */

const AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*/i

/**
 * The path and query of a request with some parameters set, in the place where the first of them stood; null takes one out.
 * All other parameters keep their order and repetitions, and the path stays as the client wrote it.
 * The result starts with one slash and a path, so a browser never takes part of it for a host.
 * @example pageLink('/api/books?page=2&status=open', { page: '1' }) // '/api/books?page=1&status=open'
 */
export function pageLink(originalUrl: string, parameters: Readonly<Record<string, string | null>>): string {
  const { path, search } = splitTarget(originalUrl)
  const query = new URLSearchParams(search)
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null) query.delete(name)
    else query.set(name, value)
  }
  const text = query.toString()
  return text === '' ? path : `${path}?${text}`
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
