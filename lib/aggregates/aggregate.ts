/** Aggregate functions that a view set computes over a list: `sum('amount')`, `count()` and their kin. */
import { ConfigurationError } from '../kernel/errors.js'
import { quote } from '../kernel/quote.js'

/** The functions that there are. */
export type AggregateName = 'avg' | 'count' | 'countDistinct' | 'max' | 'min' | 'sum'

/** A function over a column, as `sum('amount')` makes it. */
export class Aggregate<Name extends AggregateName = AggregateName, Path extends string | null = string | null> {
  /** What is computed. */
  readonly function: Name
  /** The column, or a path over relations to one object; null of `count()`, a relation of a count in `expandable`. */
  readonly path: Path

  constructor(name: Name, path: Path) {
    if (path !== null && (typeof path !== 'string' || path === '')) {
      throw new ConfigurationError(`${name}(${quote(path)}): give the name of a column`)
    }
    this.function = name
    this.path = path
    Object.freeze(this)
  }
}

/**
 * How many objects there are. Of a relation, in `expandable` only: how many related objects each object has.
 * @example static aggregates = { orders: count() }
 * @example static expandable = { orders_count: count('orders') }
 */
export function count(): Aggregate<'count', null>
export function count<const Relation extends string>(relation: Relation): Aggregate<'count', Relation>
export function count(relation: string | null = null): Aggregate<'count'> {
  return new Aggregate('count', relation)
}

/**
 * How many different values a column has, NULL left out. Of a key with external ids, too.
 * @throws {ConfigurationError} at `prepare()`: the column's values have no order
 */
export function countDistinct<const Path extends string>(path: Path): Aggregate<'countDistinct', Path> {
  return new Aggregate('countDistinct', path)
}

/**
 * The sum of a column of numbers or intervals; null of no values. Whole numbers are shown as an `int8` is, a number or beyond
 * 2^53 a string; decimals as strings.
 * @throws {ConfigurationError} at `prepare()`: the column is of another type
 */
export function sum<const Path extends string>(path: Path): Aggregate<'sum', Path> {
  return new Aggregate('sum', path)
}

/**
 * The average of a column of numbers or intervals; null of no values. Of whole numbers and decimals it is a decimal, a string.
 * @throws {ConfigurationError} at `prepare()`: the column is of another type
 */
export function avg<const Path extends string>(path: Path): Aggregate<'avg', Path> {
  return new Aggregate('avg', path)
}

/**
 * The least value of a column, as the serializer shows it; null of no values.
 * @throws {ConfigurationError} at `prepare()`: PostgreSQL has no least value of the type, or the column is hidden
 */
export function min<const Path extends string>(path: Path): Aggregate<'min', Path> {
  return new Aggregate('min', path)
}

/** The greatest value of a column. @see min */
export function max<const Path extends string>(path: Path): Aggregate<'max', Path> {
  return new Aggregate('max', path)
}
