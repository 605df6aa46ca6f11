/** The namespace that an API's routes are mounted under, as its cursors know it (wire format, section 2.1). */
import type { Context } from './context.js'
import { RequestSlot } from './request-slot.js'

const NAMESPACE = new RequestSlot<string>('the namespace of the route')

/** Remembers the namespace of the route that a request has taken. */
export function setNamespace(ctx: Context, namespace: string): void {
  NAMESPACE.set(ctx, namespace)
}

/** A name with the request's namespace before it, if there is one: `v1:book`. */
export function qualifiedName(ctx: Context, name: string): string {
  const namespace = NAMESPACE.get(ctx)
  return namespace === undefined ? name : `${namespace}:${name}`
}
