/** The paths of an API, found by path and by name: the cost is that of the path's length, however many routes there are. */

import { isSafeMethod, splitSuffix } from '../http/context.js'
import { getOrInsert } from '../kernel/maps.js'
import { decodeSegment, type Hint, patternOf, type Segment } from '../kernel/path-pattern.js'
import { operationOf } from '../views/endpoint.js'

interface Branch<T> {
  readonly name: string
  readonly hint: Hint
  readonly pattern: RegExp
  readonly node: Node<T>
}

interface Node<T> {
  readonly literals: Map<string, Node<T>>
  readonly branches: Branch<T>[]
  value: T | undefined
}

export interface Match<T> {
  readonly value: T
  /** Percent-decoded parameters, in the order of the pattern. */
  readonly params: Record<string, string>
}

/** Routes as a tree of segments. A fixed segment is preferred to a parameter, an earlier parameter to a later one. */
export class RouteTree<T> {
  readonly #root: Node<T> = makeNode()

  /** Adds a route, unless another has the same pattern: that one is returned. */
  add(segments: readonly Segment[], value: T): T | undefined {
    let node = this.#root
    for (const segment of segments) node = step(node, segment)
    if (node.value !== undefined) return node.value
    node.value = value
    return undefined
  }

  /** The route of a path as the client sent it, without query; one slash at its end makes no difference. */
  find(path: string): Match<T> | undefined {
    const end = path.length > 1 && path.endsWith('/') ? path.length - 1 : path.length
    const parts = end <= 1 ? [] : path.slice(1, end).split('/')
    const params: [string, string][] = []
    const node = descend(this.#root, parts, 0, params)
    if (node?.value === undefined) return undefined
    const inOrder: Record<string, string> = {}
    for (const [name, text] of params.reverse()) inOrder[name] = text
    return { value: node.value, params: inOrder }
  }
}

/** Segments as a pattern, without encoding. */
export function writePattern(segments: readonly Segment[]): string {
  const parts = segments.map((segment) =>
    segment.kind === 'literal' ? segment.text : `{${segment.name}${segment.hint === 'str' ? '' : `:${segment.hint}`}}`,
  )
  return `/${parts.join('/')}`
}

function makeNode<T>(): Node<T> {
  return { literals: new Map(), branches: [], value: undefined }
}

function step<T>(node: Node<T>, segment: Segment): Node<T> {
  if (segment.kind === 'literal') return getOrInsert(node.literals, segment.text, makeNode<T>)
  const { name, hint } = segment
  const pattern = patternOf(segment)
  const known = node.branches.find((branch) => branch.name === name && branch.pattern === pattern)
  if (known) return known.node
  const branch = { name, hint, pattern, node: makeNode<T>() }
  node.branches.push(branch)
  return branch.node
}

function descend<T>(
  node: Node<T>,
  parts: readonly string[],
  position: number,
  params: [string, string][],
): Node<T> | undefined {
  const raw = parts[position]
  if (raw === undefined) return node.value === undefined ? undefined : node
  // a path without % is read as it is, by any request that comes by
  const isEncoded = raw.includes('%')
  const literal = node.literals.get(isEncoded ? literalText(raw) : raw)
  const fixed = literal && descend(literal, parts, position + 1, params)
  if (fixed) return fixed
  for (const { name, hint, pattern, node: next } of node.branches) {
    const rest = hint === 'path'
    const text = rest || isEncoded ? decodeSegment(rest ? parts.slice(position).join('/') : raw) : raw
    if (text === null || !pattern.test(text)) continue
    const found = descend(next, parts, rest ? parts.length : position + 1, params)
    if (!found) continue
    params.push([name, text])
    return found
  }
  return undefined
}

/** Decodes what must be encoded, and nothing else: `%62ooks` is not another way to write `books` (promise E21). */
export function literalText(raw: string): string {
  if (!raw.includes('%')) return raw
  const text = decodeSegment(raw)
  return text !== null && encodeURIComponent(text).toLowerCase() === raw.toLowerCase() ? text : raw
}

/** What a path needs to be found by. */
export interface Routable {
  readonly segments: readonly Segment[]
  /** What requests are matched by. */
  readonly matched: readonly Segment[]
  /** Formats the path may end in. */
  readonly formats: ReadonlySet<string>
  /** Names of routes by method in upper case. */
  readonly operations: ReadonlyMap<string, { readonly name: string }>
}

/** The path of a request, found. */
export interface FoundRoute<Endpoint extends Routable> {
  readonly endpoint: Endpoint
  readonly params: Record<string, string>
  /** The format that the path ends in. */
  readonly format?: string
}

export class RouteTable<Endpoint extends Routable> {
  readonly endpoints: readonly Endpoint[]
  readonly #tree = new RouteTree<Endpoint>()
  readonly #byName = new Map<string, Endpoint>()
  readonly #formats: ReadonlySet<string>

  constructor(endpoints: readonly Endpoint[]) {
    this.endpoints = endpoints
    this.#formats = new Set(endpoints.flatMap(({ formats }) => [...formats]))
    for (const endpoint of endpoints) {
      this.#tree.add(endpoint.matched, endpoint)
      for (const { name } of endpoint.operations.values()) this.#byName.set(name, endpoint)
    }
  }

  /** The route of a path as the client sent it. */
  find(path: string, method = 'GET'): FoundRoute<Endpoint> | undefined {
    const suffix = path.includes('.') ? splitSuffix(path, this.#formats) : undefined
    const whole = this.#tree.find(path)
    // a fixed part that ends like a format is preferred to a parameter, as elsewhere
    if (suffix && whole?.value.segments.at(-1)?.kind !== 'literal') {
      if (whole?.value.operations.has(method) && isWholeKey(whole.value.matched, path, method)) {
        return { endpoint: whole.value, params: whole.params }
      }
      const found = this.#tree.find(suffix.path)
      const isKey = found && whole && !operationOf(found.value, method) && operationOf(whole.value, method)
      if (found?.value.formats.has(suffix.format) && !isKey) {
        return { endpoint: found.value, params: found.params, format: suffix.format }
      }
    }
    return whole && { endpoint: whole.value, params: whole.params }
  }

  /** The names of all routes. */
  get names(): Iterable<string> {
    return this.#byName.keys()
  }

  /** The path that a route of this name is on. */
  named(name: string): Endpoint | undefined {
    return this.#byName.get(name)
  }
}

/** True where a suffix belongs to the key of what is written, lest `DELETE /files/a.json` deletes the file `a`. */
function isWholeKey(segments: readonly Segment[], path: string, method: string): boolean {
  const last = segments.at(-1)
  if (isSafeMethod(method) || last?.kind !== 'param' || last.key !== true) return false
  const text = decodeSegment(path.slice(path.lastIndexOf('/') + 1))
  return text !== null && patternOf(last).test(text)
}

/** Orders paths: at the first place where they differ, a fixed part stands before a parameter. */
export function byFixedParts(left: Routable, right: Routable): number {
  const [one, other] = [kindsOf(left), kindsOf(right)]
  return one < other ? -1 : one > other ? 1 : 0
}

function kindsOf({ segments }: Routable): string {
  return segments.map(({ kind }) => (kind === 'literal' ? '0' : '1')).join('')
}
