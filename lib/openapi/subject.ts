/** The view and the serializer that an operation is described from. */
import { describingContext } from '../http/context.js'
import type { SerializerClass } from '../serializers/contract.js'
import { planOf } from '../views/action-plan.js'
import type { APIView } from '../views/api-view.js'
import type { Endpoint, Operation } from '../views/endpoint.js'
import { GenericAPIView } from '../views/generic-api-view.js'
import { serializerClassOf } from '../views/generic-view.js'
import type { Components } from './components.js'

export interface OperationOptions {
  readonly endpoint: Endpoint
  readonly operation: Operation
  readonly components: Components
  /** The API version that is asked for, where views have versions. */
  readonly apiVersion: string | undefined
}

/** What an operation is described from. */
export interface DescribedOperation extends Omit<OperationOptions, 'apiVersion'> {
  /** A view of the class, as a request would have it. */
  readonly view: APIView
  /** The serializer of the view for this action. */
  readonly serializer: SerializerClass | undefined
  /** The serializer of the bodies that it takes. */
  readonly taking: SerializerClass | undefined
}

export function subjectOf({ endpoint, operation, components, apiVersion }: OperationOptions): DescribedOperation {
  const view = openView(operation, apiVersion)
  return { endpoint, operation, components, view, serializer: describedSerializer(view), taking: inputOf(view) }
}

/** The serializer of the bodies that an operation takes, as far as the view decides it. */
export function takingOf(operation: Operation, apiVersion: string | undefined): SerializerClass | undefined {
  return inputOf(openView(operation, apiVersion))
}

function inputOf(view: APIView): SerializerClass | undefined {
  const own = view instanceof GenericAPIView ? view.viewClass.inputSerializerClass : null
  return own ?? describedSerializer(view)
}

/** A view that answers nothing, made to ask it what it would do. */
export function openView({ view, route, method }: Operation, version: string | undefined): APIView {
  return view.open(describingContext({ method, version }), planOf(route))
}

/** The serializer of a view's action. A view that chooses it by what only a request knows has that of its class. */
export function describedSerializer(view: APIView): SerializerClass | undefined {
  if (!(view instanceof GenericAPIView)) return undefined
  try {
    return serializerClassOf(view)
  } catch {
    return view.viewClass.serializerClass ?? undefined
  }
}
