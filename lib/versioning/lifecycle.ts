/** Lifecycle headers of a version: Deprecation (RFC 9745), Sunset (RFC 8594) and Link (RFC 8288). */
import type { Context } from '../http/context.js'
import { ApiError } from '../kernel/errors.js'

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
