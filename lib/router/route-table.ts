/** The paths of an API, found by path and by name. */

import { splitSuffix } from '../http/request-path.js'
import { matchesHint, type Segment } from '../kernel/path-pattern.js'
import type { Endpoint } from './endpoint.js'
import { RouteTree } from './route-tree.js'

/** The path of a request, found. */
export interface FoundRoute {
  readonly endpoint: Endpoint
  readonly params: Record<string, string>
  /** The format that the path ends in. */
  readonly format?: string
}

export class RouteTable {
  readonly endpoints: readonly Endpoint[]
  readonly #tree = new RouteTree<Endpoint>()
  readonly #byName = new Map<string, Endpoint>()
  readonly #formats: ReadonlySet<string>
  readonly #rivals = new Map<Endpoint, readonly Endpoint[]>()

  constructor(endpoints: readonly Endpoint[]) {
    this.endpoints = endpoints
    this.#formats = new Set(endpoints.flatMap(({ formats }) => [...formats]))
    for (const endpoint of endpoints) {
      this.#tree.add(endpoint.matched, endpoint)
      for (const { name } of endpoint.operations.values()) this.#byName.set(name, endpoint)
    }
  }

  /** The route of a path as the client sent it. */
  find(path: string): FoundRoute | undefined {
    const suffix = splitSuffix(path, this.#formats)
    const whole = this.#tree.find(path)
    // a fixed part that ends like a format is preferred to a parameter, as elsewhere
    if (suffix && whole?.value.segments.at(-1)?.kind !== 'literal') {
      const found = this.#tree.find(suffix.path)
      if (found?.value.formats.has(suffix.format)) {
        return { endpoint: found.value, params: found.params, format: suffix.format }
      }
    }
    return whole && { endpoint: whole.value, params: whole.params }
  }

  /** The path that a route of this name is on. */
  named(name: string): Endpoint | undefined {
    return this.#byName.get(name)
  }

  /** The paths that are preferred to this one where both match: they have a fixed part where it has a parameter. */
  rivalsOf(endpoint: Endpoint): readonly Endpoint[] {
    let rivals = this.#rivals.get(endpoint)
    if (!rivals) {
      rivals = this.endpoints.filter((other) => byFixedParts(other, endpoint) < 0 && mayMatch(other, endpoint))
      this.#rivals.set(endpoint, rivals)
    }
    return rivals
  }
}

/** Orders paths: at the first place where they differ, a fixed part stands before a parameter. */
export function byFixedParts(left: Endpoint, right: Endpoint): number {
  const [one, other] = [kindsOf(left), kindsOf(right)]
  return one < other ? -1 : one > other ? 1 : 0
}

function kindsOf({ segments }: Endpoint): string {
  return segments.map(({ kind }) => (kind === 'literal' ? '0' : '1')).join('')
}

/** True when there are paths that both match. */
function mayMatch({ segments }: Endpoint, other: Endpoint): boolean {
  return (
    segments.length === other.segments.length &&
    segments.every((segment, index) => {
      const own = other.segments[index] as Segment
      return segment.kind !== 'literal' || own.kind !== 'literal' || segment.text === own.text
    })
  )
}

/** True when a path of `own`, with these values of its parameters, is one of `rival`, too. */
export function matchesToo(
  rival: readonly Segment[],
  own: readonly Segment[],
  values: Readonly<Record<string, string | null | undefined>>,
): boolean {
  return rival.every((segment, index) => {
    const other = own[index] as Segment
    const text = other.kind === 'literal' ? other.text : values[other.name]
    if (segment.kind === 'literal') return segment.text === text
    return typeof text === 'string' && matchesHint(segment.hint, text)
  })
}
