/** Path patterns such as `/books/{id:int}/reviews/{slug}`: read, matched and written back. */

import { ConfigurationError } from './errors.js'
import { didYouMean } from './near-miss.js'
import { ownMember } from './records.js'

/** What a path parameter may hold. */
export interface PathHint {
  /** What the percent-decoded text looks like. */
  readonly pattern: RegExp
  /** JSON Schema of such a parameter, for OpenAPI. */
  readonly schema: Readonly<Record<string, unknown>>
}

/**
 * The hints of `{name:hint}`.
 * NUL fits none of them, so it never reaches PostgreSQL by way of a path. `version` is `v1` or `2.1`; `path` takes all that
 * is left, slashes included.
 */
export const pathHints = {
  int: { pattern: /^[0-9]{1,19}$/, schema: { type: 'integer', minimum: 0 } },
  str: { pattern: /^[^/\0]+$/, schema: { type: 'string', minLength: 1 } },
  uuid: {
    pattern: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
    schema: { type: 'string', format: 'uuid' },
  },
  slug: { pattern: /^[A-Za-z0-9_-]+$/, schema: { type: 'string', pattern: '^[A-Za-z0-9_-]+$' } },
  path: { pattern: /^[^\0]+$/, schema: { type: 'string', minLength: 1 } },
  version: { pattern: /^v?\d+(?:\.\d+)*$/, schema: { type: 'string', pattern: '^v?\\d+(\\.\\d+)*$' } },
} as const satisfies Record<string, PathHint>

export type Hint = keyof typeof pathHints

/** One part of a path between slashes: a fixed text, not percent-encoded, or a parameter. */
export type Segment = { readonly kind: 'literal'; readonly text: string } | PathParameter

/** A part of a path that holds a value. */
export interface PathParameter {
  readonly kind: 'param'
  readonly name: string
  readonly hint: Hint
  /** It names a row of a table, so it takes every key that can be stored: negative numbers, and texts with slashes (`%2F`). */
  readonly key?: boolean
  /** Names of paths in its place, which go before a value that is spelled like them. */
  readonly beside?: ReadonlySet<string>
}

/** What keys of tables look like, where that is more than the hint says. */
const KEYS: { readonly [hint in Hint]?: RegExp } = { int: /^-?[0-9]{1,19}$/, str: /^[^\0]+$/ }

const PARAMETER = /^\{([A-Za-z_][A-Za-z0-9_]*)(?::([^{}]*))?\}$/
/** What would not reach us as written (`?`, `#`, `%`, `\`, controls), or is another router's syntax (`:id`, `*`). */
const NO_LITERAL = /^:|^\.{1,2}$|[{}*?#%\\\s\p{Cc}]/u
/** Clients resolve `.` and `..` even when they are percent-encoded; an empty part would make a path such as `//host`. */
const UNREACHABLE = /^\.{0,2}$/
/** Keys that are written as they are. */
const PLAIN = /^[\w-]+$/
const LONE_SURROGATE = /\p{Surrogate}/u

/**
 * Reads a pattern. One slash at the start and one at the end make no difference.
 * @example
 * parsePattern('/books/{id:int}') // [{ kind: 'literal', text: 'books' }, { kind: 'param', name: 'id', hint: 'int' }]
 * @throws ConfigurationError for an empty or malformed segment, a repeated name, an unknown hint, or text after `{…:path}`
 */
export function parsePattern(pattern: string): Segment[] {
  const trimmed = pattern.replace(/^\//, '').replace(/\/$/, '')
  if (trimmed === '') return []
  const segments = trimmed.split('/').map((text) => parseSegment(text, pattern))
  const names = new Set<string>()
  for (const [position, segment] of segments.entries()) {
    if (segment.kind === 'literal') continue
    if (names.has(segment.name))
      throw mistake(pattern, `the parameter "${segment.name}" occurs twice; rename one of them`)
    names.add(segment.name)
    if (segment.hint === 'path' && position < segments.length - 1) {
      throw mistake(
        pattern,
        `{${segment.name}:path} takes the rest of the path; move it to the end or use another hint`,
      )
    }
  }
  return segments
}

/** What the percent-decoded text of a parameter looks like (promises B2, B7). */
export function patternOf({ hint, key }: Pick<PathParameter, 'hint' | 'key'>): RegExp {
  return (key === true ? KEYS[hint] : undefined) ?? pathHints[hint].pattern
}

/** Percent-decodes a segment as the client sent it; null when its encoding is broken (promise B10). */
export function decodeSegment(raw: string): string | null {
  try {
    return decodeURIComponent(raw)
  } catch {
    return null
  }
}

/**
 * Writes a path with these values in place of the parameters; superfluous values are ignored.
 * @example buildPath(parsePattern('/books/{id:int}'), { id: 7 }) // '/books/7'
 * @throws Error naming the parameter, when a value is missing or would not reach the same route again: it does not fit
 *   the hint, has a part that is empty, `.` or `..`, or is not well-formed Unicode. A value that comes from stored data can be any of these.
 */
export function buildPath(segments: readonly Segment[], params: Readonly<Record<string, unknown>>): string {
  return writePath(segments, (parameter) => encodeValue(parameter, ownMember(params, parameter.name)))
}

/** A path with what stands in the place of each parameter, as it is. */
export function writePath(segments: readonly Segment[], written: (parameter: PathParameter) => string): string {
  const parts = segments.map((one) => (one.kind === 'literal' ? encodeURIComponent(one.text) : written(one)))
  return `/${parts.join('/')}`
}

function parseSegment(text: string, pattern: string): Segment {
  const parameter = PARAMETER.exec(text)
  if (parameter) {
    const [, name = '', hint = 'str'] = parameter
    if (isHint(hint)) return { kind: 'param', name, hint }
    throw mistake(
      pattern,
      `unknown hint "${hint}" of "${name}"${didYouMean(hint, Object.keys(pathHints)) || `; use one of ${Object.keys(pathHints).join(', ')}`}`,
    )
  }
  if (text === '') throw mistake(pattern, 'an empty segment; write one slash')
  if (NO_LITERAL.test(text)) {
    throw mistake(pattern, `"${text}" is neither {name}, {name:hint} nor plain text that is not percent-encoded`)
  }
  return { kind: 'literal', text }
}

function isHint(text: string): text is Hint {
  return Object.hasOwn(pathHints, text)
}

/** One parameter of a path, percent-encoded. @throws Error as `buildPath()` does */
export function encodeValue(parameter: Omit<PathParameter, 'kind'>, value: unknown): string {
  const { name, hint, beside } = parameter
  if (value === undefined || value === null) throw new Error(`Path parameter "${name}" is missing`)
  const isNumber = typeof value === 'number' || typeof value === 'bigint'
  if (!isNumber && typeof value !== 'string' && typeof value !== 'boolean') {
    throw new Error(`Path parameter "${name}" is neither a text nor a number`)
  }
  const text = String(value)
  if (beside?.has(text)) return escaped(name, text)
  if (hint === 'str' && PLAIN.test(text)) return text
  const parts = hint === 'path' ? text.split('/') : [text]
  if (!patternOf(parameter).test(text) || LONE_SURROGATE.test(text) || parts.some((part) => UNREACHABLE.test(part))) {
    throw new Error(`Path parameter "${name}": ${JSON.stringify(text).slice(0, 64)} does not fit {${name}:${hint}}`)
  }
  return parts.map(encodeURIComponent).join('/')
}

/**
 * A value that is spelled like a fixed part, which only one spelling leads to: `bulk` as `%62ulk`.
 * @throws Error it has no character that may be escaped or not
 */
function escaped(name: string, text: string): string {
  const written = encodeURIComponent(text)
  const found = written.replace(FIRST_PLAIN, (_, before: string, letter: string) => {
    return `${before}%${letter.charCodeAt(0).toString(16).toUpperCase()}`
  })
  if (found === written) throw new Error(`Path parameter "${name}": another path has the name ${JSON.stringify(text)}`)
  return found
}

const FIRST_PLAIN = /^((?:%[\dA-F]{2})*)([\w.~-])/

function mistake(pattern: string, problem: string): ConfigurationError {
  return new ConfigurationError(`Path pattern "${pattern}": ${problem}`)
}
