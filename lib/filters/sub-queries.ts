/** Sub-queries that a request asks for, by relations in its conditions, orders and expansions: one budget for all. */

import { ValidationError } from '../kernel/errors.js'
import { groupBy } from '../kernel/maps.js'
import { joinSql, type SqlPart } from '../queryset/sql-part.js'
import type { FieldPath, PathStart, Where } from './field-path.js'

/** The most sub-queries of a request. PostgreSQL's time to plan them, and to compile them by JIT, is that of their number. */
const MOST_SUB_QUERIES = 32

/** So many that compiling them costs more than they do. */
export const SEVERAL = 2

/** @throws ValidationError the request asks for more */
export function checkSubQueries(count: number): void {
  if (count > MOST_SUB_QUERIES) {
    throw new ValidationError(`A request may follow at most ${MOST_SUB_QUERIES} relations.`)
  }
}

/** How many sub-queries the conditions are. */
export function subQueriesOf(conditions: readonly { readonly subQueries?: number | undefined }[]): number {
  let count = 0
  for (const { subQueries = 0 } of conditions) count += subQueries
  return count
}

/** A condition that is a sub-query: of several with one key any is the sub-query of their conditions, joined by OR. */
export interface Within<Row = unknown> {
  readonly key: string
  /** How many sub-queries it is, whatever is asked in it. */
  readonly subQueries: number
  /** What is asked of a row of it. */
  asks(row: Row): SqlPart
  /** The sub-query of the rows that the condition holds for. */
  around(start: PathStart, condition: (row: Row) => SqlPart): SqlPart
}

/** A condition with what it costs. */
export interface CostedCondition {
  readonly subQueries: number
  /** Undefined where it shares no sub-query with others. */
  readonly within?: Within | undefined
  readonly where: Where
}

/** A condition on a path: on a related one it shares its EXISTS with others over the same relations. */
export function onPath(path: FieldPath, condition: (reference: string) => SqlPart): CostedCondition {
  const within: Within<string> = {
    key: relationsOf(path),
    subQueries: path.subQueries,
    asks: (table) => condition(`${table}.${path.column.column}`),
    around: (start, asked) => path.whereRow(start, asked),
  }
  return {
    subQueries: path.subQueries,
    within: path.related ? within : undefined,
    where: (start) => path.where(start, condition),
  }
}

/** That one of the conditions holds. */
export function anyOf(conditions: readonly CostedCondition[]): CostedCondition {
  const shared = groupBy(conditions, (one) => (one.within ? one.within.key : Symbol()))
  const parts = [...shared.values()].map((group) =>
    group.length === 1 ? (group[0] as CostedCondition) : within(group),
  )
  return {
    subQueries: subQueriesOf(parts),
    where: (start) => joined(parts.map((part) => part.where(start))),
  }
}

/** What conditions of the same relations have in common. */
function relationsOf({ properties }: FieldPath): string {
  return properties.slice(0, -1).join('\n')
}

function within(conditions: readonly CostedCondition[]): CostedCondition {
  const all = conditions.flatMap((one) => one.within ?? [])
  const own = all[0] as Within
  return {
    subQueries: conditions.reduce((sum, one) => sum + one.subQueries - own.subQueries, own.subQueries),
    where: (start) => own.around(start, (row) => joined(all.map((one) => one.asks(row)))),
  }
}

function joined(parts: readonly SqlPart[]): SqlPart {
  const { sql, bindings } = joinSql(parts, ' or ')
  return { sql: `(${sql})`, bindings }
}
