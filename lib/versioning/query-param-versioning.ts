/** The version in the query: `?version=2.0`. */

import { type Context, pathOf, queryOf } from '../http/context.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { BaseVersioning, type VersionParameter } from './versioning.js'

/**
 * Takes the query parameter `version`; of repeated ones the last counts. A version that is not allowed is 404.
 * @example static override versioningClass = new QueryParamVersioning({ allowedVersions: ['1.0', '2.0'] })
 */
export class QueryParamVersioning extends BaseVersioning {
  override detectVersion(ctx: Context): string | undefined {
    // where the target is no URL, Koa throws for its query, too
    if (pathOf(ctx) === undefined) return undefined
    const value = queryOf(ctx)['version']
    return typeof value === 'string' ? value : value?.at(-1)
  }

  override parameters(): readonly VersionParameter[] {
    const { defaultVersion, allowedVersions } = this
    const values = allowedVersions.length > 0 ? { enum: [...allowedVersions] } : {}
    // a default that is not allowed is one that no client may name
    const isNamed = allowedVersions.length === 0 || allowedVersions.includes(defaultVersion)
    return [
      {
        name: 'version',
        description: 'The version of the API.',
        schema: { type: 'string', ...values, ...(isNamed && { default: defaultVersion }) },
      },
    ]
  }

  override keepVersion(ctx: Context, path: string): string {
    const asked = this.detectVersion(ctx)
    return asked ? `${path}?version=${encodeURIComponent(asked)}` : path
  }
}

takesOptions(QueryParamVersioning, {})
