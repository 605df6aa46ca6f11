/** Finds the endpoint of a path by its segments: the cost is that of the path's length, however many routes there are. */
import { decodeSegment, matchesHint, type Segment } from '../kernel/path-pattern.js'

interface Branch<T> {
  readonly name: string
  readonly hint: (Segment & { kind: 'param' })['hint']
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
    return { value: node.value, params: params.length === 0 ? {} : Object.fromEntries(params.reverse()) }
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
  if (segment.kind === 'literal') {
    let next = node.literals.get(segment.text)
    if (!next) {
      next = makeNode<T>()
      node.literals.set(segment.text, next)
    }
    return next
  }
  const known = node.branches.find((branch) => branch.name === segment.name && branch.hint === segment.hint)
  if (known) return known.node
  const branch = { name: segment.name, hint: segment.hint, node: makeNode<T>() }
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
  const literal = node.literals.get(literalText(raw))
  const fixed = literal && descend(literal, parts, position + 1, params)
  if (fixed) return fixed
  for (const { name, hint, node: next } of node.branches) {
    const rest = hint === 'path'
    const text = decodeSegment(rest ? parts.slice(position).join('/') : raw)
    if (text === null || !matchesHint(hint, text)) continue
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
