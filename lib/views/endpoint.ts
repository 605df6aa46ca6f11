/** Endpoints: what a router knows of each of its paths, for routing, names, the OpenAPI document, explanations and tools. */

import { guardSuffix } from '../http/context.js'
import { buildPath, type Segment } from '../kernel/path-pattern.js'
import type { SerializerClass } from '../serializers/contract.js'
import type { ActionRoute } from './action-plan.js'
import type { APIView } from './api-view.js'
import type { ActionMap, ParentLink } from './view.js'
import type { ViewHandler } from './view-handler.js'

/** A list, an object or their bulk path; or an action. */
export type RouteKind = 'resource' | 'bulk' | 'action'

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
  readonly view: typeof APIView
  /** Validates the body, for actions made by `action()`. */
  readonly inputSerializer: SerializerClass | undefined
  /** Describes the answer, for actions made by `action()`. */
  readonly outputSerializer: SerializerClass | undefined
  /** The action answers with a list of what `outputSerializer` shows. */
  readonly outputsList: boolean
  /** The action in its place, of which its plan is made. */
  readonly route: ActionRoute
}

/** One path of the API, with all methods it takes. */
export interface Endpoint {
  /** What the path stands for: a list, an object, its bulk path, an action, or the API root. */
  readonly kind: RouteKind | 'root'
  /** The class that answers, without what single actions change. */
  readonly view: typeof APIView
  /** The name that route names begin with. */
  readonly basename: string
  /** The resource's path, without parameters and without that of the router: `authors/books`; empty for the API root. */
  readonly resource: string
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

/** The operation that answers a method of a path; undefined where the path does not take it. */
export function operationOf<Described>(
  { operations }: { readonly operations: ReadonlyMap<string, Described> },
  method: string,
): Described | undefined {
  return operations.get(method === 'HEAD' ? 'GET' : method)
}

/** The path of an endpoint; a key in it may end as a format does. @throws {Error} a parameter is missing or does not fit */
export function pathTo(
  { segments, formats }: Pick<Endpoint, 'segments' | 'formats'>,
  params: Readonly<Record<string, unknown>>,
): string {
  const path = buildPath(segments, params)
  return segments.at(-1)?.kind === 'param' ? guardSuffix(path, formats) : path
}
