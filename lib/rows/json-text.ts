/** The SQL by which PostgreSQL itself writes objects as JSON. */

import type { SqlPart } from '../queryset/sql-part.js'
import type { CellKind, ListCell, RowCell, RowMember, RowObject, RowPlan } from './row-shape.js'
import { LIST_ALIAS } from './sql-parts.js'

/** Types whose text is JSON once it is in quotes, whatever the session's settings. */
const QUOTABLE = new Set(['numeric', 'int2', 'int4', 'int8', 'uuid'])

/**
 * The JSON of an object, member by member. `row_to_json` says the same, and costs PostgreSQL a sixth more: for each row it
 * finds out anew what the types of the columns are.
 */
export function objectText({ members }: RowObject, plan: RowPlan): SqlPart {
  const parts = members.flatMap((member, index) => [
    literal(`${index === 0 ? '{' : ','}${JSON.stringify(member.name)}:`),
    memberText(member, plan),
  ])
  return joined([...parts, literal(members.length === 0 ? '{}' : '}')])
}

function memberText(member: RowMember, plan: RowPlan): SqlPart {
  if ('nested' in member) return nestedText(member.nested, plan)
  return 'list' in member ? listText(member.list, plan) : cellText(member.cell, plan)
}

/** A list, or a number, that was made for all objects together: there is none for an owner that has no related rows. */
export function listText({ index, content }: ListCell, plan: RowPlan): SqlPart {
  return { sql: `coalesce(??, '${content.kind === 'list' ? '[]' : '0'}')`, bindings: [referenceOf(index, plan)] }
}

/** Strings one after the other. As a tree, because each `||` copies what it joins. */
function joined(parts: readonly SqlPart[]): SqlPart {
  if (parts.length === 1) return parts[0] as SqlPart
  const middle = parts.length >> 1
  const left = joined(parts.slice(0, middle))
  const right = joined(parts.slice(middle))
  return { sql: `(${left.sql} || ${right.sql})`, bindings: [...left.bindings, ...right.bindings] }
}

/** A string of SQL; backslashes and question marks, which knex looks for, in the form that escapes them. */
function literal(text: string): SqlPart {
  const quoted = text.replaceAll("'", "''")
  const isPlain = !/[\\?]/.test(quoted)
  const sql = isPlain ? `'${quoted}'` : `E'${quoted.replaceAll('\\', '\\\\').replaceAll('?', '\\x3f')}'`
  return { sql, bindings: [] }
}

function nestedText(object: RowObject, plan: RowPlan): SqlPart {
  const json = objectText(object, plan)
  return {
    sql: `case when ?? is null then 'null' else ${json.sql} end`,
    bindings: [referenceOf(object.key ?? 0, plan), ...json.bindings],
  }
}

const SAFE = String(Number.MAX_SAFE_INTEGER)
const LARGEST = String(Number.MAX_VALUE)
const FIRST = "'0001-01-01 00:00:00"
const LAST = "'10000-01-01 00:00:00"

const AS_IT_IS = "coalesce(??::text, 'null')"
const IN_QUOTES = `coalesce('"' || ??::text || '"', 'null')`
const AS_JSON = "coalesce(to_json(??)::text, 'null')"
const BIGINT = `case when ?? between -${SAFE} and ${SAFE} then ??::text else ${IN_QUOTES} end`
/** A number of so many digits; twice, as a number that is rounded up to ten has a digit too many before its point. */
function digits(count: number): string {
  const form = `'9.${'9'.repeat(count - 1)}EEEE'`
  return `regexp_replace(trim(to_char(to_char(??::text::numeric, ${form})::numeric, ${form})), '([.]0+|0+)e', 'e')`
}

/** The number that such a form is read as, NULL where rounding up has made it larger than any. */
function readFloat(form: string): string {
  return `(case when abs(${form}::numeric) <= '${LARGEST}'::numeric then ${form}::float8 end)`
}

/** PostgreSQL takes a digit more where a shorter number lies just between two values, and is read as this one. */
const LARGE_FLOAT =
  '(select case when abs(text::float8) >= 1e21 then text else text::numeric::text end from ' +
  `(select case value when ${readFloat('short')} then short when ${readFloat('long')} then long else whole end as text from ` +
  `(select ??::text as whole, ??::text::float8 as value, ${digits(15)} as short, ${digits(16)} as long) as n) as s)`
/** As JavaScript spells them, so that all answers, and their tags, are the same; `to_json` writes NaN and the infinities as strings. */
const FLOAT =
  `case when abs(??) between 0.0001 and 999999 then ??::text when ?? = 0 then '0' ` +
  `when ?? between '-${LARGEST}'::float8 and '${LARGEST}'::float8 then case when abs(??::text::float8) > ${SAFE} then ${LARGE_FLOAT} ` +
  `when abs(??::text::float8) < 1e-6 then replace(??::text, 'e-0', 'e-') else ??::text::numeric::text end else ${AS_JSON} end`
/** UTC with `Z` in place of the last quote; beyond the years 1 to 9999 as PostgreSQL writes it. */
const TIMESTAMPTZ =
  `case when ?? >= ${FIRST}+00'::timestamptz and ?? < ${LAST}+00'::timestamptz then left(to_json(?? at time zone 'UTC')::text, -1) || 'Z"' ` +
  `when isfinite(??) then regexp_replace(to_json(?? at time zone 'UTC')::text, '( BC)\\?"$', '+00:00\\1"') else ${IN_QUOTES} end`
const TIMESTAMP =
  `case when ?? >= ${FIRST}'::timestamp and ?? < ${LAST}'::timestamp then left(to_json(??)::text, -1) || 'Z"' ` +
  `else ${AS_JSON} end`

/** The JSON of a cell, never NULL: what the writer of rows makes of it. */
export function cellText({ index, kind, column }: RowCell, plan: RowPlan): SqlPart {
  const sql = textOf(kind, column.type)
  const count = sql.replaceAll('\\?', '').split('??').length - 1
  return { sql, bindings: Array.from({ length: count }, () => referenceOf(index, plan)) }
}

/** SQL in which every placeholder is the cell. */
function textOf(kind: CellKind, type: string): string {
  switch (kind) {
    case 'number':
    case 'boolean':
    case 'json':
      return AS_IT_IS
    case 'bigint':
      return BIGINT
    case 'float':
      return FLOAT
    case 'quoted':
      return QUOTABLE.has(type) ? IN_QUOTES : AS_JSON
    case 'datetime':
      return type === 'timestamptz' ? TIMESTAMPTZ : TIMESTAMP
    default:
      return AS_JSON
  }
}

export function referenceOf(index: number, plan: RowPlan): string {
  if (index >= plan.columns.length) return `l${index - plan.columns.length}.json`
  const column = plan.columns[index]
  return column && column.table > 0 ? `j${column.table}.${column.column.column}` : `${LIST_ALIAS}.c${index}`
}
