/** Positions in an ordered list: read as PostgreSQL's text, and compared in the order's own way (wire format, section 2). */

import { ConfigurationError } from '../kernel/errors.js'
import { type Column, comparedSql, type ModelDescription } from '../models/model-description.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import { escaped } from '../models/table-reference.js'
import { POSITION_TAGS, type PositionTag } from './position-tags.js'
import { joinSql, type SqlPart } from './sql-part.js'
import type { OrderTerm, RelatedTerm } from './total-order.js'

/** A term of an order, with its column. */
export interface KeysetTerm {
  readonly column: Column
  readonly descending: boolean
  /** The column is a related object's. */
  readonly related?: RelatedTerm | undefined
}

/** A place in a list. */
export interface KeysetPosition {
  readonly terms: readonly KeysetTerm[]
  /** The table as the query names it. */
  readonly table: string
  /** The query, where terms are of related objects. */
  readonly query?: AnyQueryBuilder | undefined
  /** The values of the terms, as strings. */
  readonly position: readonly (string | null)[]
  /** The list is read against its order. */
  readonly backwards: boolean
}

/** Types of dates: JSON is the form that neither `DateStyle` nor `TimeZone` changes. */
const TEXTS: Readonly<Record<string, string>> = {
  timestamptz: "to_json(?? at time zone 'UTC') #>> '{}'",
  timestamp: "to_json(??) #>> '{}'",
  date: "to_json(??) #>> '{}'",
}

/** Whether a list can be cut at values of this column, and as what. @throws {ConfigurationError} its type has no such text */
export function positionTag(column: Column): PositionTag {
  const tag = POSITION_TAGS.get(column.type)
  if (tag) return tag
  throw new ConfigurationError(positionProblem(column))
}

/** Why a list cannot be cut at values of this column; undefined where it can. */
export function positionProblem({ property, type, sqlType }: Column): string | undefined {
  if (POSITION_TAGS.has(type)) return undefined
  return `a cursor cannot hold a position by "${property}" of type ${sqlType ?? type}; order by a number, text, date, uuid or boolean`
}

/** The terms of an order with their columns. @throws {ConfigurationError} one is no column of the model */
export function keysetTerms(model: ModelDescription, order: readonly OrderTerm[]): KeysetTerm[] {
  return order.map(({ property, descending, related }) => {
    if (related) return { column: related.column, descending, related }
    const column = model.columns.get(property)
    if (!column) throw new ConfigurationError(`a cursor cannot hold a position by "${property}": it is no column`)
    return { column, descending }
  })
}

/** The value of a column as text, exact and independent of the session's settings. `reference` is `table.column`. */
export function positionColumn(column: Column, reference: string): SqlPart {
  return positionText(column, { sql: '??', bindings: [reference] })
}

/** The value of a term as text, for rows of a query. */
export function positionOf({ column, related }: KeysetTerm, query: AnyQueryBuilder): SqlPart {
  if (related) return positionText(column, related.value(query))
  return positionColumn(column, `${query.tableRefFor(query.modelClass())}.${column.column}`)
}

function positionText(column: Column, { sql, bindings }: SqlPart): SqlPart {
  return { sql: (TEXTS[column.type] ?? '??::text').replace('??', () => sql), bindings }
}

function compared(column: Column, { sql, bindings }: SqlPart): SqlPart {
  return { sql: comparedSql(column).replace('??', () => sql), bindings }
}

/** The value of a position, as one of the column's own type. */
function bound(column: Column): string {
  if (column.type === 'timestamptz') return "(?::timestamp at time zone 'UTC')"
  // before the catalogue was read the type is a guess, and the wider one takes both
  return `?::${escaped(column.sqlType ?? (column.type === 'int4' ? 'int8' : column.type))}`
}

/**
 * The rows beyond a position, as stretches of the list that follow each other in the list's order. NULL is larger than
 * every value. Each is one range of an index on the terms, however many rows are alike in the first of them: equalities,
 * then a comparison of the terms that run in one direction. Usually there is one; more where directions are mixed, or
 * where NULLs lie ahead.
 */
export function rangesBeyond({ terms, table, query, position, backwards }: KeysetPosition): readonly SqlPart[] {
  const steps = terms.map(({ column, descending, related }, index) => ({
    column,
    reference: related
      ? compared(column, related.value(query as AnyQueryBuilder))
      : { sql: comparedSql(column), bindings: [`${table}.${column.column}`] },
    value: position[index] ?? null,
    descending: descending !== backwards,
  }))
  const from = (start: number, prefix: readonly SqlPart[]): SqlPart[] => {
    const first = steps[start]
    if (!first) return []
    const { reference } = first
    const isNull = { sql: `${reference.sql} is null`, bindings: reference.bindings }
    const isValue = { sql: `${reference.sql} is not null`, bindings: reference.bindings }
    if (first.value === null) {
      const alike = from(start + 1, [...prefix, isNull])
      return first.descending ? [...alike, joinSql([...prefix, isValue], ' and ')] : alike
    }
    let end = start + 1
    // a row comparison is never true for a row with a NULL: right where they lie behind, or in the first term, see below
    while (isAlike(steps[end], first.descending)) end++
    const run = steps.slice(start, end)
    const equal = run.map((step) => ({
      sql: `${step.reference.sql} = ${bound(step.column)}`,
      bindings: [...step.reference.bindings, step.value],
    }))
    const ranges = [
      ...from(end, [...prefix, ...equal]),
      joinSql([...prefix, compare(run, first.descending ? '<' : '>')], ' and '),
    ]
    return !first.descending && first.column.holdsNull ? [...ranges, joinSql([...prefix, isNull], ' and ')] : ranges
  }
  return from(0, [])
}

interface Step {
  readonly column: Column
  readonly reference: SqlPart
  readonly value: string | null
  readonly descending: boolean
}

/** True for a step that can stand in a row comparison of this direction, behind its first. */
function isAlike(step: Step | undefined, descending: boolean): boolean {
  return (
    step !== undefined &&
    step.value !== null &&
    step.descending === descending &&
    (descending || !step.column.holdsNull)
  )
}

function compare(run: readonly Step[], operator: '<' | '>'): SqlPart {
  const references = run.map(({ reference }) => reference.sql).join(', ')
  const bindings = [...run.flatMap(({ reference }) => reference.bindings), ...run.map(({ value }) => value)]
  const casts = run.map(({ column }) => bound(column)).join(', ')
  if (run.length === 1) return { sql: `${references} ${operator} ${casts}`, bindings }
  return { sql: `(${references}) ${operator} (${casts})`, bindings }
}
