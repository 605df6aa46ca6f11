/** What of an API is described: the narrow view that this chapter has of a router's paths and of the views behind them. */
import type { Segment } from '../kernel/path-pattern.js'
import type { SerializerClass } from '../serializers/contract.js'
import type { ActionRoute } from '../views/action-plan.js'
import type { APIView } from '../views/api-view.js'
import type { ParentLink } from '../views/view.js'

/** One method of a path. */
export interface DescribedOperation {
  /** In upper case. */
  readonly method: string
  /** The name of the view's method that answers. */
  readonly action: string
  readonly operationId: string
  /** The class that answers. */
  readonly view: typeof APIView
  /** Validates the body of an action of the application's own. */
  readonly inputSerializer: SerializerClass | undefined
  /** What such an action answers. */
  readonly outputSerializer: SerializerClass | undefined
  readonly outputsList: boolean
  /** The action in its place, of which its plan is made. */
  readonly route: ActionRoute
}

/** A path, with all methods it takes. */
export interface DescribedEndpoint {
  readonly kind: 'root' | 'resource' | 'bulk' | 'action'
  /** The class that answers, without what single actions change. */
  readonly view: typeof APIView
  readonly basename: string
  /** The path is one of an object. */
  readonly detail: boolean
  /** The path parameter that names it. */
  readonly lookup: string | undefined
  /** What the path is nested in. */
  readonly parents: readonly ParentLink[]
  /** The whole path, as mounted. */
  readonly segments: readonly Segment[]
  /** By method in upper case, without HEAD and OPTIONS. */
  readonly operations: ReadonlyMap<string, DescribedOperation>
  /** Formats the path may end in. */
  readonly formats: ReadonlySet<string>
}
