/** Lifecycle headers of a version: Deprecation (RFC 9745), Sunset (RFC 8594) and Link (RFC 8288). */

import type { Context } from '../http/context.js'
import { ApiError, ConfigurationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'

/** The life of one version. Dates are a Date or ISO 8601 text; links are a path or a URL. */
export interface VersionLifecycle {
  /** From when its use is discouraged; may lie ahead. Sent as `Deprecation: @<Unix seconds>`. */
  readonly deprecated?: Date | string
  /** When it ends. Sent as `Sunset: <HTTP date>`. */
  readonly sunset?: Date | string
  /** Answer 410 once `sunset` has come. @default false */
  readonly goneAfterSunset?: boolean
  /** The version to use in its place. Sent as `Link: <…>; rel="successor-version"` (RFC 5829). */
  readonly successor?: string
  /** A page about the deprecation. Sent as `Link: <…>; rel="deprecation"`. */
  readonly deprecationPage?: string
  /** A page about its end. Sent as `Link: <…>; rel="sunset"`. */
  readonly sunsetPage?: string
}

/** What a version is announced by. */
export interface Announcement {
  readonly headers: Readonly<Record<string, string>>
  readonly links: readonly string[]
  /** From when it is gone, in Unix milliseconds. */
  readonly goneFrom: number
}

/** Announcements by version. */
export type Lifecycles = ReadonlyMap<string, Announcement>

/** Sets the headers of a version, also where a middleware has done so already. @throws ApiError 410 when it is gone */
export function announce(ctx: Context, { headers, links, goneFrom }: Announcement, now: number): void {
  ctx.set(headers)
  // of several lines a list
  const there = String(ctx.response.get('Link'))
  const added = links.filter((link) => !there.includes(link))
  if (added.length > 0) ctx.append('Link', added.join(', '))
  if (now >= goneFrom) throw new ApiError(410, 'This version of the API is no longer available')
}

const RELATIONS = { successor: 'successor-version', deprecationPage: 'deprecation', sunsetPage: 'sunset' } as const
const KEYS = new Set(['deprecated', 'sunset', 'goneAfterSunset', ...Object.keys(RELATIONS)])
/** ISO 8601 with a zone, or a date, which is midnight UTC. */
const MOMENT = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2}))?$/
/** A URI reference that can stand between `<` and `>`. */
const REFERENCE = /^[^\s<>"\\^`{|}\p{Cc}\u0080-\uffff]+$/u

/** Reads what is declared of each version. @throws {ConfigurationError} */
export function readLifecycles(where: string, versions: Readonly<Record<string, VersionLifecycle>>): Lifecycles {
  return new Map(
    Object.entries(versions).map(([version, lifecycle]) => [
      version,
      read(`${where}: versions["${version}"]`, lifecycle),
    ]),
  )
}

function read(where: string, lifecycle: VersionLifecycle): Announcement {
  const unknown = Object.keys(lifecycle).find((key) => !KEYS.has(key))
  if (unknown !== undefined)
    throw new ConfigurationError(`${where}.${unknown}: there is no such option${didYouMean(unknown, KEYS)}`)
  const deprecated = readMoment(`${where}.deprecated`, lifecycle.deprecated)
  const sunset = readMoment(`${where}.sunset`, lifecycle.sunset)
  if (deprecated && sunset && sunset < deprecated) {
    throw new ConfigurationError(`${where}: its sunset lies before its deprecation; correct one of them`)
  }
  if (lifecycle.goneAfterSunset && !sunset) {
    throw new ConfigurationError(`${where}: goneAfterSunset needs a sunset; set one`)
  }
  const links = Object.entries(RELATIONS).flatMap(([name, relation]) => {
    const reference = lifecycle[name as keyof typeof RELATIONS]
    if (reference === undefined) return []
    if (REFERENCE.test(reference)) return [`<${reference}>; rel="${relation}"`]
    throw new ConfigurationError(`${where}.${name}: ${JSON.stringify(reference)} is no URL; percent-encode it`)
  })
  return {
    headers: {
      ...(deprecated && { Deprecation: `@${Math.floor(deprecated.getTime() / 1000)}` }),
      ...(sunset && { Sunset: sunset.toUTCString() }),
    },
    links,
    goneFrom: lifecycle.goneAfterSunset && sunset ? sunset.getTime() : Number.POSITIVE_INFINITY,
  }
}

function readMoment(where: string, value: Date | string | undefined): Date | undefined {
  if (value === undefined) return undefined
  const moment = value instanceof Date ? value : MOMENT.test(value) ? new Date(value) : undefined
  // beyond these years neither header can say it
  if (moment && moment.getTime() >= 0 && moment.getUTCFullYear() <= 9999) return moment
  throw new ConfigurationError(`${where}: give a Date, or ISO 8601 text with a zone such as "2026-12-31T00:00:00Z"`)
}
