/** Operations of a document, for tests that read it. */
import { parametersOf } from '../../lib/openapi/shared-parameters.js'
import type { OpenAPIDocument, Operation } from '../../lib/openapi/types.js'

/** An operation with all of its parameters in full. */
export function operationOf(document: OpenAPIDocument, path: string, method = 'get') {
  const operation = document.paths[path]?.[method] as Operation
  const parameters = parametersOf(operation, document.components)
  const { parameters: _, ...rest } = operation
  return parameters.length > 0 ? { ...rest, parameters } : { ...rest, parameters: undefined }
}
