/** The same output as a row plan's, written by PostgreSQL itself. */

import { oncePer } from '../kernel/once-per.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import { type CompiledSql, nativeSql } from '../postgres/compiled-sql.js'
import type { Queryable } from '../postgres/pg-types.js'
import { keysetTerms, positionTag } from '../queryset/keyset.js'
import type { OrderTerm } from '../queryset/total-order.js'
import type { CellKind, RowCell, RowMember, RowObject, RowPlan } from './row-plan.js'
import { fromClause, LIST, type Part, pageParts, type QueryPart, type RowSelection } from './row-sql.js'

/** Cells that PostgreSQL cannot write. */
const IN_CODE: ReadonlySet<CellKind> = new Set<CellKind>(['value', 'id'])
/** Types whose text is JSON once it is in quotes, whatever the session's settings. */
const QUOTABLE = new Set(['numeric', 'int2', 'int4', 'int8', 'uuid'])

/** True when SQL can say all that the plan writes. Asked for each request, found out once. */
export const isNative = oncePer((plan: RowPlan) => isNativeObject(plan.object))

function isNativeObject({ members }: RowObject): boolean {
  return members.every(isNativeMember)
}

function isNativeMember(member: RowMember): boolean {
  return 'nested' in member ? isNativeObject(member.nested) : !IN_CODE.has(member.cell.kind)
}

/**
 * What stands between the rows of a page with positions, and between the values of a term: no JSON has this byte in it, not
 * even a `json` column, which keeps the white space that it was given (RFC 7464 section 2.2).
 */
export const RECORD_SEPARATOR = 0x1e
const SEPARATOR = `chr(${RECORD_SEPARATOR})`

/**
 * Compiles a list that PostgreSQL writes as one row: the count (if asked for), the number of rows, and their JSON with
 * commas between. With positions the values of each of their terms stand before the rows, and these as well as the rows are
 * separated by `RECORD_SEPARATOR`. Values that may be any text are JSON strings, others stand as they are; NULL is `null`.
 */
export function compileNative(query: AnyQueryBuilder, selection: RowSelection): CompiledSql {
  const { plan, model, positions, counting } = selection
  const { before, count, source } = sourceOf(query, selection)
  const lists = keysetTerms(model, positions ?? []).map(({ column }, index) => {
    const value = positionTag(column) === 'str' ? `to_json(r.p${index})::text` : `r.p${index}`
    return `string_agg(coalesce(${value}, 'null'), ${SEPARATOR}), `
  })
  const rows = nativeRows(positions ?? [], objectText(plan.object, plan), source)
  const list = `string_agg(r.json, ${positions ? SEPARATOR : "','"})`
  const page = `select count(*), ${lists.join('')}${list} from (${rows.sql}) as r`
  const sql = counting ? `${before.sql}select ${count.sql}page.* from (${page}) as page` : page
  const bindings = [...before.bindings, ...count.bindings, ...rows.bindings]
  return nativeSql((query.knex() as unknown as Queryable).raw(sql, bindings as never))
}

/** Compiles one object that PostgreSQL writes: its position (if asked for), then its JSON. */
export function compileNativeRow(query: AnyQueryBuilder, asked: RowSelection): CompiledSql {
  const selection = { ...asked, order: [], counting: undefined }
  const { plan, positions = [] } = selection
  const { source } = sourceOf(query, selection)
  const { sql, bindings } = nativeRows(positions, objectText(plan.object, plan), source)
  return nativeSql((query.knex() as unknown as Queryable).raw(sql, bindings as never))
}

/** What a selection reads from, and what its count needs. */
function sourceOf(
  query: AnyQueryBuilder,
  selection: RowSelection,
): { before: QueryPart; count: QueryPart; source: QueryPart } {
  const { before, count, list } = pageParts(query, selection)
  const from = fromClause(selection)
  const source = { sql: ` from ${list.sql}${from.sql}`, bindings: [...list.bindings, ...from.bindings] }
  return { before, count, source }
}

/** A row for each object: its position, then its JSON. */
function nativeRows(terms: readonly OrderTerm[], json: Part, source: QueryPart): QueryPart {
  const position = terms.map((_, index) => `${LIST}.p${index}`)
  return {
    sql: `select ${position.map((_, index) => `?? as p${index}, `).join('')}${json.sql} as json${source.sql}`,
    bindings: [...position, ...json.bindings, ...source.bindings],
  }
}

/**
 * The JSON of an object, member by member. `row_to_json` says the same, and costs PostgreSQL a sixth more: for each row it
 * finds out anew what the types of the columns are.
 */
function objectText({ members }: RowObject, plan: RowPlan): Part {
  const parts = members.flatMap((member, index) => [
    literal(`${index === 0 ? '{' : ','}${JSON.stringify(member.name)}:`),
    'nested' in member ? nestedText(member.nested, plan) : cellText(member.cell, plan),
  ])
  return joined([...parts, literal(members.length === 0 ? '{}' : '}')])
}

/** Texts one after the other. As a tree, because each `||` copies what it joins. */
function joined(parts: readonly Part[]): Part {
  if (parts.length === 1) return parts[0] as Part
  const middle = parts.length >> 1
  const left = joined(parts.slice(0, middle))
  const right = joined(parts.slice(middle))
  return { sql: `(${left.sql} || ${right.sql})`, bindings: [...left.bindings, ...right.bindings] }
}

/** A text of SQL; backslashes and question marks, which knex looks for, in the form that escapes them. */
function literal(text: string): Part {
  const quoted = text.replaceAll("'", "''")
  const isPlain = !/[\\?]/.test(quoted)
  const sql = isPlain ? `'${quoted}'` : `E'${quoted.replaceAll('\\', '\\\\').replaceAll('?', '\\x3f')}'`
  return { sql, bindings: [] }
}

function nestedText(object: RowObject, plan: RowPlan): Part {
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
/** `to_json` writes NaN and the infinities as texts. */
const FLOAT = `case when ?? between '-${LARGEST}'::float8 and '${LARGEST}'::float8 then ??::text else ${AS_JSON} end`
/** UTC with `Z` in place of the last quote; beyond the years 1 to 9999 as PostgreSQL writes it. */
const TIMESTAMPTZ =
  `case when ?? >= ${FIRST}+00'::timestamptz and ?? < ${LAST}+00'::timestamptz then left(to_json(?? at time zone 'UTC')::text, -1) || 'Z"' ` +
  `when isfinite(??) then regexp_replace(to_json(?? at time zone 'UTC')::text, '( BC)\\?"$', '+00:00\\1"') else ${IN_QUOTES} end`
const TIMESTAMP =
  `case when ?? >= ${FIRST}'::timestamp and ?? < ${LAST}'::timestamp then left(to_json(??)::text, -1) || 'Z"' ` +
  `else ${AS_JSON} end`

/** The JSON of a cell, never NULL: what the writer of rows makes of it. */
function cellText({ index, kind, column }: RowCell, plan: RowPlan): Part {
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

function referenceOf(index: number, plan: RowPlan): string {
  const column = plan.columns[index]
  return column && column.table > 0 ? `j${column.table}.${column.column.column}` : `${LIST}.c${index}`
}
