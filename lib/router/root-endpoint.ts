/** The API root: the path of the API itself, as one endpoint among the others. */

import { requestPath } from '../http/context.js'
import { publicPath } from '../http/public-url.js'
import { buildPath, type Segment } from '../kernel/path-pattern.js'
import { documentedPath } from '../openapi/documented-path.js'
import { APIView } from '../views/api-view.js'
import type { Endpoint } from '../views/endpoint.js'
import type { Versioning } from '../views/statics.js'
import type { Registration } from './registration.js'
import { writePattern } from './route-table.js'

/** The endpoint of the API root, which lists the collections. */
export function rootEndpoint(registrations: readonly Registration[], prefix: readonly Segment[]): Endpoint {
  const collections = new Map(
    registrations
      .filter(({ prefix: own, parent }) => !parent && own.every((segment) => segment.kind === 'literal'))
      .map(({ basename, prefix: own }) => [basename, buildPath(own, {})]),
  )
  const view = apiRoot(collections, commonVersioning(registrations))
  const [name, operationId] = ['api-root', 'api_root']
  const route = { view, action: 'get', actions: { get: 'get' }, basename: 'api' }
  const serializers = { inputSerializer: undefined, outputSerializer: undefined, outputsList: false }
  return {
    kind: 'root',
    view,
    basename: 'api',
    resource: '',
    detail: false,
    lookup: undefined,
    parents: [],
    segments: prefix,
    matched: prefix,
    pattern: writePattern(prefix),
    path: documentedPath({ segments: prefix }),
    actions: route.actions,
    operations: new Map([['GET', { method: 'GET', action: 'get', name, operationId, view, route, ...serializers }]]),
    handler: view.asView(),
    formats: new Set(),
  }
}

/** The versioning that all view sets declare, which then holds for the API root, too. */
function commonVersioning(registrations: readonly Registration[]): Versioning {
  const [first = null, ...others] = new Set(registrations.map(({ view }) => view.versioningClass))
  return others.length === 0 ? first : null
}

/** A view that maps each basename to the path of its collection, as seen through whatever the router is mounted under. */
function apiRoot(collections: ReadonlyMap<string, string>, versioning: Versioning): typeof APIView {
  class APIRoot extends APIView {
    static override description = 'The resources of this API.'
    static override versioningClass = versioning

    get(): Record<string, string> {
      const base = publicPath(requestPath(this.ctx.originalUrl)).replace(/\/$/, '')
      return Object.fromEntries([...collections].map(([basename, collection]) => [basename, base + collection]))
    }
  }
  return APIRoot
}
