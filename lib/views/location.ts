/** The `Location` of a created object: the path of the request, and the object's key (RFC 9110 section 10.2.2). */
import { pageLink } from '../pagination/links.js'
import { buildPath } from '../path-pattern.js'
import { formatOf } from '../path-suffix.js'
import { type GenericAPIView, lookupColumn } from './generic-api-view.js'

/** The object's own path; undefined when no path leads to it, as with a key of `..`. */
export function locationOf(view: GenericAPIView, object: unknown): string | undefined {
  if (typeof object !== 'object' || object === null) return undefined
  const { property } = lookupColumn(view.constructor as typeof GenericAPIView)
  const key = (object as Record<string, unknown>)[property]
  const [path = ''] = pageLink(view.ctx.originalUrl, {}).split('?', 1)
  const format = formatOf(view.ctx)
  const collection = (format === undefined ? path : path.slice(0, -format.length - 1)).replace(/\/$/, '')
  try {
    return collection + buildPath([{ kind: 'param', name: property, hint: 'str' }], { [property]: key })
  } catch {
    return undefined
  }
}
