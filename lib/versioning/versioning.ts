/** API versioning: the contract, and what its kinds have in common. */

import type { Context } from '../http/context.js'
import { described } from '../kernel/declarations.js'
import { ApiError, ConfigurationError } from '../kernel/errors.js'
import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import { ignoreRejection, isPromise } from '../kernel/realms.js'
import { announce, type Lifecycles, readLifecycles, type VersionLifecycle } from './lifecycle.js'

/** Options of all versioning schemes. */
export interface VersioningOptions {
  /** The version of a request that names none. @default '1.0' */
  readonly defaultVersion?: string
  /** The versions there are; empty for any. @default [] */
  readonly allowedVersions?: readonly string[]
  /** What becomes of a version: when it is deprecated, when it ends, and what follows it. @default {} */
  readonly versions?: Readonly<Record<string, VersionLifecycle>>
  /** The clock by which versions end, in Unix milliseconds. @default Date.now */
  readonly now?: () => number
}

/** A query parameter, as OpenAPI describes it. */
export interface VersionParameter {
  /** The parameter's name on the wire. */
  readonly name: string
  /** A sentence for the reader of the document. */
  readonly description: string
  /** JSON Schema of its values. */
  readonly schema: Readonly<Record<string, unknown>>
}

/** What can be a version at all: `1`, `2.1`, `2026-03-28`, `beta`. */
const VERSION = /^[0-9A-Za-z][0-9A-Za-z._-]{0,31}$/

/**
 * Reads the API version a request asks for. Immutable and shared by all requests.
 *
 * An application's own kind overrides `detectVersion()`, or `determineVersion()` to decide all of it.
 * @example
 * class HostVersioning extends BaseVersioning {
 *   override allowedVersions = ['1', '2']
 *   override detectVersion(ctx: Context) { return ctx.subdomains[0]?.replace('v', '') }
 * }
 */
export abstract class BaseVersioning {
  /** The version of a request that names none. */
  readonly defaultVersion: string
  /** The versions there are; empty for any. */
  readonly allowedVersions: readonly string[]
  /** What becomes of a version. */
  readonly versions: Readonly<Record<string, VersionLifecycle>>
  readonly #now: () => number
  #settled: { readonly allowed: ReadonlySet<string>; readonly lifecycles: Lifecycles } | undefined

  constructor(options: VersioningOptions = {}) {
    takeOptions(this, options)
    this.defaultVersion = options.defaultVersion ?? '1.0'
    this.allowedVersions = options.allowedVersions ?? []
    this.versions = options.versions ?? {}
    this.#now = options.now ?? Date.now
  }

  /**
   * The version, which becomes `ctx.state.version`. Sets `Deprecation`, `Sunset` and `Link` where it has them.
   * @throws ApiError it is not allowed, or its end has come and it is to be gone (410)
   */
  determineVersion(ctx: Context): string | undefined {
    this.#settled ??= this.#settle(this.constructor.name)
    const { allowed, lifecycles } = this.#settled
    const asked = versionText(this, 'detectVersion', this.detectVersion(ctx))
    const version = asked === undefined || asked === '' ? this.defaultVersion : asked
    if (version === asked && !(allowed.size > 0 ? allowed.has(asked) : VERSION.test(asked))) throw this.refusal()
    const lifecycle = lifecycles.get(version)
    if (lifecycle) announce(ctx, lifecycle, this.#now())
    return version
  }

  /** The version as the request writes it; undefined or empty when it names none. */
  detectVersion(_ctx: Context): string | undefined {
    return undefined
  }

  /** The answer for a version that is not allowed. It does not repeat it. */
  refusal(): ApiError {
    return new ApiError(404, 'Not found')
  }

  /** The query parameters that the version is read from. */
  parameters(): readonly VersionParameter[] {
    return []
  }

  /** The statuses of refusals, for OpenAPI. */
  statuses(): readonly number[] {
    const isEnding = Object.values(this.versions).some(({ goneAfterSunset }) => goneAfterSunset === true)
    return [this.refusal().status, ...(isEnding ? [410] : [])]
  }

  /** A path of the API, such as a `Location`, as one that asks for the version of this request. */
  keepVersion(_ctx: Context, path: string): string {
    return path
  }

  /** Reads the options. @throws {ConfigurationError} one is wrong */
  settle(where: string): void {
    this.#settled = this.#settle(where)
  }

  #settle(where: string) {
    const { defaultVersion, allowedVersions, versions } = this
    const allowed = new Set(allowedVersions)
    const lifecycles = readLifecycles(where, versions)
    for (const version of [defaultVersion, ...allowed, ...lifecycles.keys()]) {
      if (typeof version === 'string' && VERSION.test(version)) continue
      throw new ConfigurationError(
        `${where}: ${JSON.stringify(version)} is no version; write a text of 1 to 32 letters, digits, ".", "_" and "-"`,
      )
    }
    for (const version of lifecycles.keys()) {
      if (allowed.size === 0 || allowed.has(version) || version === defaultVersion) continue
      throw new ConfigurationError(
        `${where}: versions names "${version}", which is none of allowedVersions; add it there`,
      )
    }
    return { allowed, lifecycles }
  }
}

takesOptions<VersioningOptions>(BaseVersioning, {
  defaultVersion: 'text',
  allowedVersions: 'list',
  versions: 'record',
  now: 'function',
})

described(BaseVersioning)

/**
 * Checks what a method of the application returned as the version: a text; null and undefined are none.
 * @throws {ConfigurationError} it is no text: a promise, which nobody waits for, or a number, which is no allowed version
 */
export function versionText({ constructor: made }: object, method: string, told: unknown): string | undefined {
  if (told === undefined || told === null || typeof told === 'string') return told ?? undefined
  ignoreRejection(told)
  throw new ConfigurationError(
    `${made.name}: ${method}() returned ${isPromise(told) ? 'a promise' : `a ${typeof told}`}; return the version as a text, at once`,
  )
}
