/** What OPTIONS tells of a path: its methods, the bodies that it reads, and the names that its parameters take (wire format, section 12). */
import { MethodNotAllowed } from '../../kernel/errors.js'
import type { ActionMap } from '../actions.js'
import type { View } from '../view.js'
import { type HandledClass, patchedTypes } from '../view-handler.js'

/** A view whose path is described. */
interface DescribedPath extends View {
  readonly allowed: readonly string[]
  /** The view that answers a method which takes objects, where the caller may use one. */
  readonly taking: View | undefined
}

/** Sets the headers, and returns the body. It asks no database. @throws MethodNotAllowed the view has no metadata */
export function describeOptions(view: DescribedPath): unknown {
  const { ctx, policies, allowed, actionMap, taking } = view
  if (!policies.metadata) throw new MethodNotAllowed(ctx.method, allowed)
  const viewClass = view.constructor as never as HandledClass & { readonly description: string }
  ctx.status = 200
  ctx.set('Allow', allowed.join(', '))
  const patched = patchedTypes(viewClass, actionMap)
  if (patched.length > 0) ctx.set('Accept-Patch', patched.join(', '))
  const { name, description } = viewClass
  const names = declaredNames(viewClass, actionMap)
  return policies.metadata.determineMetadata(ctx, { name, description, allowed, input: taking?.describeInput(), names })
}

interface Declaring {
  readonly aggregates?: Readonly<Record<string, unknown>>
  readonly groupBy?: readonly string[]
  readonly facets?: readonly string[]
}

/** The names that parameters take, by parameter; undefined for a path of neither aggregates nor facets. */
function declaredNames(view: object, { get }: ActionMap): Readonly<Record<string, readonly string[]>> | undefined {
  const { aggregates, groupBy = [], facets } = view as Declaring
  if (get === 'aggregate' && aggregates) return { group_by: groupBy, aggregate: Object.keys(aggregates) }
  return get === 'facets' && facets ? { facet: facets } : undefined
}
