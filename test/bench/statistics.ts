/** What repeated measurements come to. */

/** A figure, and where the middle half of its measurements lies. */
export interface Figure {
  readonly median: number
  readonly low: number
  readonly high: number
}

/** The median, and the first and third quartile. @throws {RangeError} there is no measurement */
export function figureOf(measurements: readonly number[]): Figure {
  if (measurements.length === 0) throw new RangeError('There is nothing to take the median of')
  const sorted = measurements.toSorted((one, other) => one - other)
  return { median: quantile(sorted, 0.5), low: quantile(sorted, 0.25), high: quantile(sorted, 0.75) }
}

/** The median. @throws {RangeError} there is no measurement */
export function median(measurements: readonly number[]): number {
  return figureOf(measurements).median
}

/** Between two measurements it lies in proportion. */
function quantile(sorted: readonly number[], part: number): number {
  const place = (sorted.length - 1) * part
  const [below, above] = [sorted[Math.floor(place)] as number, sorted[Math.ceil(place)] as number]
  return below + (above - below) * (place - Math.floor(place))
}
