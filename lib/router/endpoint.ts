/** What a router knows of each of its paths: for routing, for names, and for the OpenAPI document. */

import { type DatabaseOptions, type DatabaseScope, databaseScope } from '../http/database-role.js'
import { externalIds } from '../ids/external-ids.js'
import { ConfigurationError } from '../kernel/errors.js'
import type { Hint, Segment } from '../kernel/path-pattern.js'
import { describeModel } from '../models/describe-model.js'
import { documentedPath } from '../openapi/documented-path.js'
import type { SerializerClass } from '../serializers/contract.js'
import { URLPathVersioning } from '../versioning/url-path-versioning.js'
import { actionClass, actionsOf, classesOf } from '../views/action-options.js'
import type { APIView } from '../views/api-view.js'
import { GenericAPIView } from '../views/generic-api-view.js'
import { policiesOf } from '../views/policies.js'
import { resourceOf } from '../views/resource.js'
import type { ActionMap, ParentLink } from '../views/view.js'
import type { ViewHandler } from '../views/view-handler.js'
import { writePattern } from './route-table.js'
import { type RouteKind, type RouteTemplate, routeSuffix, routesOf } from './routes.js'

/** A view set class. */
export type ViewSetClass = typeof APIView

/** A view set in its place. */
export interface Registration {
  /** The path below the parent's object, or below the router's prefix. */
  readonly prefix: readonly Segment[]
  readonly view: ViewSetClass
  readonly basename: string
  /** The view set whose objects these belong to. */
  readonly parent: ParentRegistration | undefined
}

/** How a view set is nested in another. */
export interface ParentRegistration {
  readonly registration: Registration
  /** The name of the path parameter. */
  readonly lookup: string
  /** What the parameter may hold; undefined for what the parent's own key is. */
  readonly lookupType: Hint | undefined
}

/** One method of a path. */
export interface Operation {
  /** In upper case. */
  readonly method: string
  /** The name of the view's method that answers. */
  readonly action: string
  /** The route's name. */
  readonly name: string
  /** The name in the OpenAPI document (wire format, section 13). */
  readonly operationId: string
  /** The class that answers: its statics are those that hold for this action. */
  readonly view: ViewSetClass
  /** Validates the body, for actions made by `action()`. */
  readonly inputSerializer: SerializerClass | undefined
  /** Describes the answer, for actions made by `action()`. */
  readonly outputSerializer: SerializerClass | undefined
  /** The action answers with a list of what `outputSerializer` shows. */
  readonly outputsList: boolean
  /** The role and settings that its statements run with. */
  readonly database?: DatabaseScope | undefined
}

/** One path of the API, with all methods it takes. */
export interface Endpoint {
  /** What the path stands for: a list, an object, its bulk path, an action, or the API root. */
  readonly kind: RouteKind | 'root'
  /** The class that answers, without what single actions change. */
  readonly view: ViewSetClass
  /** The name that route names begin with. */
  readonly basename: string
  /** The path is one of an object of the view set. */
  readonly detail: boolean
  /** The path parameter that names that object; undefined where the path is none of an object. */
  readonly lookup: string | undefined
  /** The path parameters that name the objects it is nested in, the outermost first, and their view sets. */
  readonly parents: readonly ParentLink[]
  /** The whole path, as mounted. */
  readonly segments: readonly Segment[]
  /** What requests are matched by: until the catalogue was read, a lookup takes any string. */
  readonly matched: readonly Segment[]
  /** The path pattern, such as `/books/{id:int}`. */
  readonly pattern: string
  /** The path in the OpenAPI document, and the route in telemetry. */
  readonly path: string
  /** The action that answers each HTTP method. */
  readonly actions: ActionMap
  /** By method in upper case, without HEAD and OPTIONS. */
  readonly operations: ReadonlyMap<string, Operation>
  /** The middleware that answers. */
  readonly handler: ViewHandler
  /** Formats the path may end in. */
  readonly formats: ReadonlySet<string>
}

export interface EndpointOptions {
  /** The path of the router. */
  readonly prefix: readonly Segment[]
  /** The catalogue was read, so that the types of keys are known. */
  readonly prepared: boolean
  /** What the router declares of the database role and settings of its views. */
  readonly database?: DatabaseOptions
}

/** The endpoints of a registered view set. @throws {ConfigurationError} its actions do not go together */
export function endpointsOf(registration: Registration, options: EndpointOptions): readonly Endpoint[] {
  const { view, basename } = registration
  const parents = parentsOf(registration)
  const collection = collectionOf(registration, options)
  return routesOf(view).map((template) => {
    const { kind, detail, path, actions } = template
    const own = detail ? [lookupSegment(view)] : []
    const segments = [...collection.segments, ...own, ...path]
    const loose = own.map((segment): Segment => (options.prepared ? segment : { ...segment, hint: 'str' }))
    const operations = operationsOf(registration, template, options.database)
    return {
      kind,
      view,
      basename,
      detail,
      lookup: own[0]?.name,
      parents,
      segments,
      matched: [...collection.matched, ...loose, ...path],
      pattern: writePattern(segments),
      path: documentedPath({ kind, segments }),
      actions,
      operations,
      formats: new Set([...operations.values()].flatMap((operation) => [...formatsOf(operation.view)])),
      handler: view.asView(actions, { basename, parents, database: options.database }),
    }
  })
}

/** What the renderers of a class write. */
function formatsOf(view: ViewSetClass): ReadonlySet<string> {
  return new Set(policiesOf(view).renderers.map(({ format }) => format))
}

function operationsOf(
  registration: Registration,
  { actions }: RouteTemplate,
  outer: DatabaseOptions | undefined,
): ReadonlyMap<string, Operation> {
  const { view, basename } = registration
  const prefix = operationPrefix(registration)
  return new Map(
    Object.entries(actions).map(([lowered, action]) => {
      const method = lowered.toUpperCase()
      const suffix = routeSuffix(view, action)
      const described = actionsOf(view).get(action)
      const several = (described?.methods.length ?? 1) > 1
      const answering = actionClass(view, action)
      const operation: Operation = {
        method,
        action,
        name: `${basename}-${suffix}`,
        operationId: underscored(`${prefix}${basename}_${suffix}${several ? `_${lowered}` : ''}`),
        view: answering,
        database: databaseScope(answering.name, answering, outer),
        inputSerializer: described?.inputSerializer,
        outputSerializer: described?.outputSerializer,
        outputsList: described?.outputsList ?? false,
      }
      return [method, operation]
    }),
  )
}

/** The prefixes of the view sets it is nested in: `books_` of `books/{book_id}/reviews`. */
function operationPrefix({ parent }: Registration): string {
  if (!parent) return ''
  const { registration } = parent
  const texts = registration.prefix.flatMap((segment) => (segment.kind === 'literal' ? [segment.text] : []))
  return `${operationPrefix(registration)}${texts.map((text) => `${text}_`).join('')}`
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
  const own: Segment = { kind: 'param', name: lookup, hint: lookupType ?? lookupSegment(registration.view).hint }
  const isLoose = !options.prepared && lookupType === undefined
  return {
    segments: [...outer.segments, own, ...prefix],
    matched: [...outer.matched, isLoose ? { ...own, hint: 'str' } : own, ...prefix],
  }
}

/** The view sets that one is nested in, the outermost first. */
function parentsOf({ parent }: Registration): readonly ParentLink[] {
  if (!parent) return []
  const { registration, lookup } = parent
  return [
    ...parentsOf(registration),
    { view: registration.view as typeof GenericAPIView, basename: registration.basename, param: lookup },
  ]
}

const HINTS: Readonly<Record<string, Hint>> = { int2: 'int', int4: 'int', int8: 'int', uuid: 'uuid' }

/** The path parameter of a detail route; its hint is the type of the column that objects are looked up by. */
export function lookupSegment(view: ViewSetClass): Segment & { kind: 'param' } {
  if (!isGeneric(view)) return { kind: 'param', name: 'id', hint: 'str' }
  const { lookupField } = view
  const { columns, prepared } = describeModel(view.modelClass())
  const isStored = externalIds(view.modelClass())?.stored === true
  const isKnown = prepared || (!isStored && (lookupField === 'id' || columns.has(lookupField)))
  const key = isKnown ? resourceOf(view).lookup : undefined
  // a string that is no external id is a missing object, not a missing path
  const hint = key?.ids ? undefined : HINTS[key?.column.type ?? '']
  return { kind: 'param', name: view.lookupUrlKwarg ?? lookupField, hint: hint ?? 'str' }
}

export function isGeneric(view: ViewSetClass): view is typeof GenericAPIView {
  return view.prototype instanceof GenericAPIView
}

/** @throws {ConfigurationError} what names an object, or a part of an action, would be taken for the API version */
export function checkVersionParameter(registration: Registration): void {
  const { view } = registration
  if (!classesOf(view).some((one) => policiesOf(one).versioning instanceof URLPathVersioning)) return
  const own = routesOf(view).flatMap(({ detail, path }) => [...(detail ? [lookupSegment(view)] : []), ...path])
  const names = own.flatMap((segment) => (segment.kind === 'param' ? [segment.name] : []))
  const outer = parentsOf(registration).map(({ param }) => param)
  if (![...names, ...outer].includes('version')) return
  throw new ConfigurationError(
    `${view.name}: URLPathVersioning would take the path parameter "version" for the API version; only a prefix may have it, so give the lookup of the nested router, lookupUrlKwarg or urlPath another name`,
  )
}

/** @throws {ConfigurationError} two routes have the same path, the same name, or the same name in the OpenAPI document */
export function checkEndpoints(endpoints: readonly Endpoint[]): void {
  const taken = { path: new Map<string, Endpoint>(), name: new Map(), operationId: new Map() }
  for (const endpoint of endpoints) {
    const { segments, pattern, operations } = endpoint
    // parameters of different names match the same paths
    const shape = segments.map((segment) => (segment.kind === 'literal' ? segment : { ...segment, name: '' }))
    const isAction = endpoint.kind === 'action' || taken.path.get(writePattern(shape))?.kind === 'action'
    const other = isAction ? 'prefix, or its action another urlPath' : 'prefix'
    claim(taken.path, writePattern(shape), endpoint, `have the path ${pattern}; give one of them another ${other}`)
    for (const { name, operationId } of operations.values()) {
      const fix = 'give one another basename, or its action another urlName'
      // an action of several methods has one name
      if (taken.name.get(name) !== endpoint) claim(taken.name, name, endpoint, `have the route name "${name}"; ${fix}`)
      claim(taken.operationId, operationId, endpoint, `are called "${operationId}" in the OpenAPI document; ${fix}`)
    }
  }
}

/** The class that a path is of; with the actions and what the path ends in, where `action()` has made it. */
function ownerOf({ kind, view, actions }: Endpoint): string {
  if (kind !== 'action') return view.name
  const described = Object.values(actions).map((action) => {
    const { urlPath } = actionsOf(view).get(action) ?? {}
    return `${view.name}.${action}() (urlPath "${urlPath}")`
  })
  return described.join(', ')
}

function claim(taken: Map<string, Endpoint>, key: string, endpoint: Endpoint, problem: string): void {
  const other = taken.get(key)
  if (other) throw new ConfigurationError(`${ownerOf(other)} and ${ownerOf(endpoint)} both ${problem}`)
  taken.set(key, endpoint)
}
