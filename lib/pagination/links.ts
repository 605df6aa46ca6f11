/** Links to other pages, built from the request's own URL and never from `Host` (wire format, section 6, "Links"). */

const AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*/i

/**
 * The path and query of a request with some parameters set, in the place where the first of them stood; null takes one out.
 * All other parameters keep their order and repetitions, and the path stays as the client wrote it.
 * The result starts with one slash and a path, so a browser never takes part of it for a host.
 * @example pageLink('/api/books?page=2&status=open', { page: '1' }) // '/api/books?page=1&status=open'
 */
export function pageLink(originalUrl: string, parameters: Readonly<Record<string, string | null>>): string {
  const [target = ''] = originalUrl.split('#', 1)
  const [, path = '', search = ''] = /^([^?]*)\??(.*)$/s.exec(target.replace(AUTHORITY, '')) ?? []
  const query = new URLSearchParams(search)
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null) query.delete(name)
    else query.set(name, value)
  }
  const text = query.toString()
  return `/${path.replace(/^\/+/, '').replaceAll('\\', '%5C')}${text === '' ? '' : `?${text}`}`
}
