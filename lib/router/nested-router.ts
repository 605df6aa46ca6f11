/** Routes view sets below the objects of another. */

import { ConfigurationError } from '../kernel/errors.js'
import type { Kind } from '../kernel/kinds.js'
import { didYouMean } from '../kernel/near-miss.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { parsePattern } from '../kernel/path-pattern.js'
import { isGeneric } from '../views/generic-api-view.js'
import type { APIRouter, RouteParent } from './api-router.js'
import type { ParentRegistration, ViewSetClass } from './registration.js'
import type { Routed } from './routed.js'

/** Options of `NestedRouter`. */
export interface NestedRouterOptions {
  /** The path parameter that names the parent object, such as `book_id`. */
  readonly lookup: string
  /** What the parameter may hold: `int`, `str`, `uuid` or `slug`. @default what the parent's own key is */
  readonly lookupType?: 'int' | 'str' | 'uuid' | 'slug'
}

const OPTIONS = { lookup: 'name', lookupType: 'any' } as const satisfies Record<keyof NestedRouterOptions, Kind>

const TYPES: readonly string[] = ['int', 'str', 'uuid', 'slug']

/**
 * A router of view sets whose objects belong to those of another: `/books/{book_id:int}/reviews`. Its routes are the
 * parent router's. Each object on the path must exist, belong to the one before it, and be visible to the caller.
 * @example
 * api.register('books', BookViewSet)
 * const reviews = new NestedRouter(api, 'books', { lookup: 'book_id' })
 * reviews.register('reviews', ReviewViewSet)
 * new NestedRouter(reviews, 'reviews', { lookup: 'review_id' }).register('votes', VoteViewSet)
 */
export class NestedRouter<
  Parent extends RouteParent = RouteParent,
  ParentPrefix extends string = string,
  Routes extends object = {},
> implements RouteParent, Routed<Routes>
{
  /** @internal Types only. */
  declare readonly routed?: Routes
  /** @internal */
  // biome-ignore lint/suspicious/noExplicitAny: of any routes
  readonly root: APIRouter<any>
  /** @internal */
  readonly nesting: ParentRegistration

  /**
   * @param parentPrefix the prefix under which the parent router has registered the view set of the parent objects
   * @throws {ConfigurationError} nothing is registered there, or an option is wrong
   */
  constructor(parent: Parent, parentPrefix: ParentPrefix, options: NestedRouterOptions) {
    const where = `NestedRouter("${parentPrefix}")`
    checkKinds(where, options, { kinds: OPTIONS })
    const { lookup, lookupType } = options
    const registration = parent.root.registrationOf(parent, parentPrefix)
    if (!registration) {
      const known = parent.root.prefixesOf(parent)
      throw new ConfigurationError(
        `${where}: the parent router has no view set under this prefix${didYouMean(parentPrefix, known) || '; register it first'}`,
      )
    }
    if (!isGeneric(registration.view)) {
      throw new ConfigurationError(
        `${where}: ${registration.view.name} has no model, so nobody can tell whether a parent exists; register under a prefix with a parameter, such as "${parentPrefix}/{${lookup}}/…"`,
      )
    }
    if (lookupType !== undefined && !TYPES.includes(lookupType)) {
      throw new ConfigurationError(`${where}: lookupType is "${lookupType}"; use one of ${TYPES.join(', ')}`)
    }
    if (!isParameter(lookup)) {
      throw new ConfigurationError(`${where}: lookup is "${lookup}"; name the path parameter, such as "book_id"`)
    }
    this.root = parent.root
    this.nesting = { registration, lookup, lookupType }
  }

  /** @see APIRouter.register */
  register<const Prefix extends string, View extends ViewSetClass>(
    prefix: Prefix,
    view: View,
    basename?: string,
  ): NestedRouter<
    Parent,
    ParentPrefix,
    Routes & { readonly [P in Prefix as `${PathTo<Parent>}${ParentPrefix}/{}/${P}`]: View }
  > {
    this.root.registerUnder(this, prefix, view, basename)
    return this as never
  }
}

/** The path to the view sets of a router, with a slash at its end; `{}` stands for a key. */
type PathTo<Router> =
  Router extends NestedRouter<infer Parent, infer Prefix, infer _Routes> ? `${PathTo<Parent>}${Prefix}/{}/` : ''

function isParameter(name: string): boolean {
  try {
    const segments = parsePattern(`{${name}}`)
    return segments.length === 1 && segments[0]?.kind === 'param' && segments[0].name === name
  } catch {
    return false
  }
}
