/** What OPTIONS tells of a path, as far as the caller may use it: its methods, the bodies that it reads, and the names that its parameters take (promise E16; wire format, section 12). */

import { withMethod } from '../../http/context.js'
import { ApiError, MethodNotAllowed } from '../../kernel/errors.js'
import { ALL_METHODS } from '../../kernel/methods.js'
import { checkPermissions } from '../../permissions/check-permissions.js'
import type { ActionMap } from '../actions.js'
import { takesPart } from '../actions.js'
import { aggregatesOf, isAggregating } from '../aggregates.js'
import type { GenericView } from '../generic-view.js'
import type { View } from '../view.js'
import { patchedTypes } from '../view-handler.js'

/** The methods that take an object, in the order in which one is described. */
const TAKING = ALL_METHODS.filter(({ does }) => does === 'write').map(({ name }) => name.toLowerCase())

/**
 * Sets the headers, and returns the body. It asks no database, unless a permission does.
 * @throws MethodNotAllowed the view has no metadata
 */
export async function describeOptions(view: View): Promise<unknown> {
  const { ctx, plan, allowed } = view
  const { metadata } = plan.policies
  if (!metadata) throw new MethodNotAllowed(ctx.method, allowed)
  const taking = await permittedView(view)
  ctx.status = 200
  ctx.set('Allow', allowed.join(', '))
  const patched = patchedTypes(plan)
  if (patched.length > 0) ctx.set('Accept-Patch', patched.join(', '))
  const { name, description } = view.constructor as Function & { readonly description: string }
  const names = figureNames(view, plan.actions)
  const partial = taking && takesPart(taking.plan)
  return metadata.determineMetadata(ctx, { name, description, allowed, input: taking?.describeInput(), partial, names })
}

/** A view of the first of POST, PUT and PATCH that the caller may use on this path, as far as that is not about an object. */
async function permittedView({ ctx, plan }: View): Promise<View | undefined> {
  for (const method of TAKING) {
    const taking = plan.beside(method)
    const asked = taking?.viewClass.open(withMethod(ctx, method.toUpperCase()), taking)
    if (asked && (await isPermitted(asked))) return asked
  }
  return undefined
}

async function isPermitted(view: View): Promise<boolean> {
  try {
    await checkPermissions(view.ctx, view, view.plan.policies.permissions)
    return true
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return false
    throw error
  }
}

/** The names that parameters take from this caller, by parameter; undefined for a path of neither aggregates nor facets. */
function figureNames(view: View, { get }: ActionMap): Readonly<Record<string, readonly string[]>> | undefined {
  if (!(isAggregating(view.constructor) && (get === 'aggregate' || get === 'facets'))) return undefined
  const { groups, aggregates, facets } = aggregatesOf((view as GenericView).asked).plan
  if (get === 'facets') return { facet: [...facets.keys()] }
  return { group_by: [...groups.keys()], aggregate: [...aggregates.keys()] }
}
