/** Public URLs: what clients write, where a proxy strips a prefix from paths (the setting `forwardedPrefix`). */
import { forwardedPrefix } from '../kernel/settings.js'
import { type Context, splitTarget } from './context.js'

/** The path and query of a request as its client wrote them. */
export function publicUrl({ originalUrl }: Context): string {
  const prefix = forwardedPrefix()
  if (prefix === '') return originalUrl
  const { path, search } = splitTarget(originalUrl)
  return search === '' ? prefix + path : `${prefix}${path}?${search}`
}

/** A path of this server as clients write it. */
export function publicPath(path: string): string {
  return forwardedPrefix() + path
}
