/** The API root: where each resource is. */
import { requestPath } from '../http/context.js'
import { APIView } from '../views/api-view.js'
import type { Versioning } from '../views/statics.js'

/** A view that maps each basename to the path of its collection, as seen through whatever the router is mounted under. */
export function apiRoot(collections: () => ReadonlyMap<string, string>, versioning: Versioning): typeof APIView {
  class APIRoot extends APIView {
    static override description = 'The resources of this API.'
    static override versioningClass = versioning

    get(): Record<string, string> {
      const base = requestPath(this.ctx.originalUrl).replace(/\/$/, '')
      return Object.fromEntries([...collections()].map(([basename, collection]) => [basename, base + collection]))
    }
  }
  return APIRoot
}
