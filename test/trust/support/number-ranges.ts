/** Ranges of numbers as the sets of points that they hold, to say in memory what the lookups of ranges find. */
import type { Random } from './random.js'

/** A range: its text for PostgreSQL, and what it holds of some points that tell all ranges here apart. */
export interface NumberRange {
  readonly text: string
  readonly points: ReadonlySet<number>
}

/** What a lookup asks of a range. */
type RangeMeaning = readonly [suffix: string, text: string, holds: (range: NumberRange | null) => boolean]

/** How far apart the points are: ends of ranges are multiples of a half, of whole numbers all are whole. */
const STEPS = { whole: 1, decimal: 0.25 }
type Kind = keyof typeof STEPS
const ENDS = [-2, -1, 0, 1, 2, 3]
/** A point beyond all ends stands for all that is beyond them. */
const BEYOND = 5

/** A random range, of which many are empty or open. */
export function randomRange(random: Random, kind: Kind): NumberRange {
  if (random.chance(0.1)) return { text: 'empty', points: new Set() }
  const end = () =>
    random.chance(0.2) ? undefined : random.pick(ENDS) + (kind === 'decimal' && random.chance(0.4) ? 0.5 : 0)
  let [from, to] = [end(), end()]
  if (from !== undefined && to !== undefined && from > to) [from, to] = [to, from]
  const [open, close] = [random.pick(['[', '(']), random.pick([']', ')'])]
  const isIn = (point: number) =>
    (from === undefined || point > from || (point === from && open === '[')) &&
    (to === undefined || point < to || (point === to && close === ']'))
  return { text: `${open}${from ?? ''},${to ?? ''}${close}`, points: pointsOf(kind, isIn) }
}

/** What may be asked of a column of such ranges. */
export function rangeMeanings(random: Random, kind: Kind): RangeMeaning[] {
  const value = random.pick(ENDS)
  const single = { text: String(value), points: new Set([value]) }
  const asked = random.chance(0.3) ? single : randomRange(random, kind)
  const range = randomRange(random, kind)
  const isSame = (one: NumberRange | null) => one !== null && isWithin(one, range) && isWithin(range, one)
  return [
    ['__contains', asked.text, (one) => one !== null && isWithin(asked, one)],
    ['__contained_by', asked.text, (one) => one !== null && isWithin(one, asked)],
    ['__overlap', asked.text, (one) => one !== null && [...one.points].some((point) => asked.points.has(point))],
    ['', range.text, isSame],
    ['__ne', range.text, (one) => !isSame(one)],
    ['__isnull', 'true', (one) => one === null],
  ]
}

function isWithin(inner: NumberRange, outer: NumberRange): boolean {
  return [...inner.points].every((point) => outer.points.has(point))
}

function pointsOf(kind: Kind, isIn: (point: number) => boolean): Set<number> {
  const count = (2 * BEYOND) / STEPS[kind] + 1
  const points = Array.from({ length: count }, (_, index) => index * STEPS[kind] - BEYOND)
  return new Set(points.filter(isIn))
}
