/** The `Location` of a created object: the path of the request, and the object's key (RFC 9110 section 10.2.2). */

import { formatOf, guardSuffix } from '../../http/request-path.js'
import { encodeValue } from '../../kernel/path-pattern.js'
import { requestPath } from '../../pagination/links.js'
import { ACTIONS } from '../actions.js'
import type { GenericView } from '../generic-view.js'

/** The object's own path; undefined when no path leads to it, as with a key of `..` or of several columns. */
export function locationOf(view: GenericView, object: unknown): string | undefined {
  if (typeof object !== 'object' || object === null || !hasObjectPaths(view)) return undefined
  const lookup = view.resource.lookup
  const { property, primary, unique } = lookup.column
  if ((primary && !unique) || lookup.problem !== undefined) return undefined
  const key = lookup.toText((object as Record<string, unknown>)[property], { user: view.ctx.state['user'] })
  const path = requestPath(view.ctx.originalUrl)
  const format = formatOf(view.ctx)
  const collection = (format === undefined ? path : path.slice(0, -format.length - 1)).replace(/\/$/, '')
  try {
    const own = `/${encodeValue(property, 'str', key)}`
    const location = collection + (own.includes('.') ? guardFormat(view, own) : own)
    return view.policies.versioning?.keepVersion(view.ctx, location) ?? location
  } catch {
    return undefined
  }
}

/** A view set has paths of objects by its actions; beside a view of an application's own router there may be one. */
export function hasObjectPaths(view: { readonly basename: string | undefined }): boolean {
  return view.basename === undefined || ACTIONS.some(({ name, path }) => path === 'detail' && name in view)
}

/** The path, where its end looks like one of the view's formats. */
function guardFormat({ policies }: GenericView, path: string): string {
  return guardSuffix(path, new Set(policies.renderers.map(({ format }) => format)))
}
