/** Checks actions that send stored files: the URLs that are shown lead to them. */

import { FileUploadField } from '../fields/file-upload-field.js'
import { ConfigurationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { modelName } from '../models/objection.js'
import { FileRenderer, type SentFiles } from '../renderers/file-renderer.js'
import { showsOf } from '../serializers/plan.js'
import { isBuiltIn } from '../views/built-in.js'
import type { Endpoint } from '../views/endpoint.js'
import type { GenericAPIView } from '../views/generic-api-view.js'
import { isGeneric } from '../views/generic-api-view.js'
import { policiesOf } from '../views/policies.js'
import { resourceOf } from '../views/resource.js'

/** A key that a storage might have made. */
const KEY = `${'0'.repeat(32)}.pdf`

/** @throws {ConfigurationError} every mistake, one a line */
export function checkDownloads(endpoints: readonly Endpoint[]): void {
  const mistakes = endpoints.flatMap((endpoint) =>
    [...endpoint.operations.values()].flatMap(({ view, action }) => {
      const renderer = policiesOf(view).renderers.find((one) => one instanceof FileRenderer)
      if (!renderer || !isGeneric(view)) return []
      const problem = problemOf(endpoint, view, renderer.files)
      return problem === undefined
        ? []
        : `${view.name}.${action}: downloadAction("${renderer.files.column}") ${problem}`
    }),
  )
  if (mistakes.length > 0) throw new ConfigurationError(mistakes.join('\n'))
}

function problemOf(endpoint: Endpoint, view: typeof GenericAPIView, files: SentFiles): string | undefined {
  const { columns, model } = resourceOf(view).model
  const { column } = files
  if (!columns.has(column)) {
    return `names no column of ${modelName(model)}${didYouMean(column, columns.keys()) || '; correct the name'}`
  }
  if (endpoint.parents.length > 0) {
    return 'is of a nested view set, and the URL of a key names no parent; register a view set of the same model by itself for it'
  }
  const { serializerClass } = view
  const isKnown = serializerClass !== null && isBuiltIn(view.prototype, 'getSerializerClass')
  const shown = isKnown ? showsOf(serializerClass, column) : []
  if (isKnown && shown.length === 0) {
    return `sends what ${serializerClass.name} shows, and it shows no field of that column; add one with the storage`
  }
  const url = urlOf(files)
  if (url !== undefined && !leadsTo(url, endpoint.path)) {
    const [path, baseUrl] = [endpoint.path, url].map((one) => one.slice(0, one.lastIndexOf('/')))
    return `answers below ${path}, and its storage shows files below ${baseUrl || '/'}; set the storage's baseUrl to the former`
  }
  const other = shown.find(
    ({ field }) => field instanceof FileUploadField && field.storage?.url(KEY) !== files.url(KEY),
  )
  return other && `has another storage than the field "${other.name}" of ${serializerClass?.name}; give both the same`
}

/** Without a query, in which a storage may put a signature; undefined where it makes URLs of its own keys only. */
function urlOf(files: SentFiles): string | undefined {
  try {
    const [path = ''] = files.url(KEY).split(/[?#]/, 1)
    return path.endsWith(KEY) ? path : undefined
  } catch {
    return undefined
  }
}

/** True where the URL ends in the path: what stands before it is the affair of who mounts the API. */
function leadsTo(url: string, path: string): boolean {
  const parts = path.split('/').filter((part) => part !== '')
  const given = url.split('/').slice(-parts.length)
  return parts.every((part, index) => part.startsWith('{') || part === given[index])
}
