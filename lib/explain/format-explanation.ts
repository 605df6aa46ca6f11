/** An explanation as text, for a terminal. */
import type { Explanation } from './explanation.js'

/**
 * Explanations as people read them, a paragraph for each method of a path.
 * @example console.log(formatExplanations(await api.explain('book-list')))
 */
export function formatExplanations(explanations: readonly Explanation[]): string {
  return explanations.map(format).join('\n')
}

function format(explanation: Explanation): string {
  const { name, method, path, answeredBy, policies, reading, insert, statements, notes } = explanation
  const { versioning, authentication, permissions, throttles } = policies
  const passed = [...(versioning === null ? [] : [versioning]), ...authentication, ...permissions, ...throttles]
  const rows: (readonly [string, string])[] = [
    ['view', answeredBy],
    ['policies', passed.join(' → ')],
    ['body', explanation.parsers.join(', ')],
    ['input', explanation.input ?? ''],
    ['answer', explanation.renderers.join(', ')],
    ['filters', explanation.filters.join(' → ')],
    ['page', explanation.pagination ?? ''],
    ['parameters', grouped(explanation.parameters).join(', ')],
    ['relations', explanation.relations.join(', ')],
    ['foreign keys', (explanation.foreignKeys ?? []).join(', ')],
    ...(explanation.rules ?? []).map((rule) => ['rule', rule] as const),
    ['reads', reading ? withReason(reading.from, reading.because) : ''],
    ['inserts', insert ? withReason(`by ${insert.by}`, insert.because) : ''],
    ...written(explanation),
    ['returns', explanation.returns ?? ''],
    ['reads again', explanation.readsAgain ?? ''],
    ['version', explanation.version === undefined ? '' : `read once it is written: ${explanation.version}`],
    ['records', (explanation.records ?? []).join(', ')],
    ['tells', (explanation.tells ?? []).join(', ')],
    ['seen by', (explanation.seenBy ?? []).join(', ')],
    ['runs with', explanation.database ?? ''],
    ['once', explanation.idempotency ?? ''],
    ['reads on', explanation.replicas === 0 ? '' : `${explanation.replicas} replicas, else the primary`],
    ['traced', explanation.traced.join(', ')],
    ['tools', explanation.tools.join(', ')],
    ['transaction', explanation.transaction ? 'one' : ''],
    ...statements.map(({ does, sql }) => [does, sql] as const),
    ...notes.map((note) => ['note', note] as const),
  ]
  const lines = rows.filter(([, text]) => text !== '').map(([label, text]) => `  ${label.padEnd(WIDTH)}${text}\n`)
  return `${method} ${path}  (${name})\n${lines.join('')}`
}

const WIDTH = 13

function written({
  write,
  hold,
  change,
  delete: deletion,
  loads,
}: Explanation): readonly (readonly [string, string])[] {
  const ways = Object.entries({ writes: write, holds: hold, changes: change, deletes: deletion })
  const told = ways.map(([label, way]) => [label, way ? withReason(`by ${way.by}`, way.because) : ''] as const)
  return [...told, ['loads before', loads ?? '']]
}

/** `price (9 lookups)` in place of `price, price__lt, price__gt` and so on. */
function grouped(names: readonly string[]): readonly string[] {
  const own = new Set(names)
  const lookups = new Map<string, number>()
  for (const name of names) {
    const base = baseOf(name)
    if (base !== name && own.has(base)) lookups.set(base, (lookups.get(base) ?? 0) + 1)
  }
  return names
    .filter((name) => baseOf(name) === name || !own.has(baseOf(name)))
    .map((name) => (lookups.has(name) ? `${name} (${lookups.get(name)} lookups)` : name))
}

function baseOf(name: string): string {
  const end = name.lastIndexOf('__')
  return end > 0 ? name.slice(0, end) : name
}

function withReason(text: string, because: string | undefined): string {
  return because === undefined ? text : `${text}: ${because}`
}
