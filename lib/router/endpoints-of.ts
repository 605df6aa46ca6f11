/** Makes the endpoints of a registered view set. */

import { type DatabaseOptions, databaseScope } from '../http/database-role.js'
import type { Segment } from '../kernel/path-pattern.js'
import { documentedPath } from '../openapi/documented-path.js'
import type { RuleSet } from '../rules/rule-set.js'
import { actionClass, actionsOf } from '../views/action-options.js'
import type { Endpoint, Operation } from '../views/endpoint.js'
import type { GenericAPIView } from '../views/generic-api-view.js'
import { policiesOf } from '../views/policies.js'
import type { Replicas } from '../views/replicas.js'
import type { ParentLink } from '../views/view.js'
import { lookupSegment, type Registration } from './registration.js'
import { writePattern } from './route-table.js'
import { type RouteTemplate, routeSuffix, routesOf } from './routes.js'

export interface EndpointOptions {
  /** The path of the router. */
  readonly prefix: readonly Segment[]
  /** The catalogue was read, so that the types of keys are known. */
  readonly prepared: boolean
  /** What the router declares of the database role and settings of its views. */
  readonly database?: DatabaseOptions
  /** Where requests read, beside the views' own database. */
  readonly replicas?: Replicas | undefined
  /** Who sees and writes which rows. */
  readonly rules?: RuleSet | undefined
}

/** The endpoints of a registered view set. @throws {ConfigurationError} its actions do not go together */
export function endpointsOf(registration: Registration, options: EndpointOptions): readonly Endpoint[] {
  const { view, basename } = registration
  const parents = parentsOf(registration)
  const resource = textsOf(registration).join('/')
  const collection = collectionOf(registration, options)
  return routesOf(view).map((template) => {
    const { kind, detail, path, actions } = template
    const own = detail ? [lookupSegment(view)] : []
    const segments = [...collection.segments, ...own, ...path]
    const loose = own.map((segment): Segment => (options.prepared ? segment : { ...segment, hint: 'str' }))
    const operations = operationsOf(registration, template, { ...options, parents })
    const routes = new Map([...operations].map(([method, { route }]) => [method, route]))
    return {
      kind,
      view,
      basename,
      resource,
      detail,
      lookup: own[0]?.name,
      parents,
      segments,
      matched: [...collection.matched, ...loose, ...path],
      pattern: writePattern(segments),
      path: documentedPath({ segments }),
      actions,
      operations,
      formats: new Set(
        [...operations.values()].flatMap((one) => policiesOf(one.view).renderers.map(({ format }) => format)),
      ),
      handler: view.asView(actions, { ...options, basename, parents, routes }),
    }
  })
}

function operationsOf(
  registration: Registration,
  { actions }: RouteTemplate,
  { database: outer, replicas, rules, parents }: EndpointOptions & { readonly parents: readonly ParentLink[] },
): ReadonlyMap<string, Operation> {
  const { view, basename } = registration
  const prefix = registration.parent
    ? textsOf(registration.parent.registration)
        .map((text) => `${text}_`)
        .join('')
    : ''
  return new Map(
    Object.entries(actions).map(([lowered, action]) => {
      const method = lowered.toUpperCase()
      const suffix = routeSuffix(view, action)
      const described = actionsOf(view).get(action)
      const several = (described?.methods.length ?? 1) > 1 || (method === 'QUERY' && actions['get'] === action)
      const answering = actionClass(view, action)
      const database = databaseScope(answering.name, answering, outer)
      const operation: Operation = {
        method,
        action,
        name: `${basename}-${suffix}`,
        operationId: underscored(`${prefix}${basename}_${suffix}${several ? `_${lowered}` : ''}`),
        view: answering,
        route: { view: answering, action, actions, basename, parents, database, replicas, rules },
        inputSerializer: described?.inputSerializer,
        outputSerializer: described?.outputSerializer,
        outputsList: described?.outputsList ?? false,
      }
      return [method, operation]
    }),
  )
}

/** The fixed parts of a resource's path, those of what it is nested in first: `books`, `reviews` of `books/{book_id}/reviews`. */
function textsOf({ prefix, parent }: Registration): readonly string[] {
  const outer = parent ? textsOf(parent.registration) : []
  return [...outer, ...prefix.flatMap((segment) => (segment.kind === 'literal' ? [segment.text] : []))]
}

function underscored(text: string): string {
  return text.replace(/-/g, '_')
}

interface Path {
  readonly segments: readonly Segment[]
  readonly matched: readonly Segment[]
}

/** The path of a registered view set's list. */
export function collectionOf({ prefix, parent }: Registration, options: EndpointOptions): Path {
  if (!parent) {
    const segments = [...options.prefix, ...prefix]
    return { segments, matched: segments }
  }
  const outer = collectionOf(parent.registration, options)
  const { lookup, lookupType, registration } = parent
  const key = lookupSegment(registration.view)
  const own: Segment = { ...key, name: lookup, hint: lookupType ?? key.hint }
  const isLoose = !options.prepared && lookupType === undefined
  return {
    segments: [...outer.segments, own, ...prefix],
    matched: [...outer.matched, isLoose ? { ...own, hint: 'str' } : own, ...prefix],
  }
}

/** The view sets that one is nested in, the outermost first. */
export function parentsOf({ parent }: Registration): readonly ParentLink[] {
  if (!parent) return []
  const { registration, lookup } = parent
  return [
    ...parentsOf(registration),
    { view: registration.view as typeof GenericAPIView, basename: registration.basename, param: lookup },
  ]
}
