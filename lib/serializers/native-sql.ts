/** The same output as a row plan's, written by PostgreSQL itself (spec section 4.6, "Native JSON fast path"). */
import type { ModelDescription } from '../models/describe-model.js'
import type { AnyQueryBuilder, Queryable } from '../models/objection.js'
import { type CompiledSql, nativeSql } from '../queryset/compiled-sql.js'
import { keysetTerms, positionTag } from '../queryset/keyset.js'
import type { OrderTerm } from '../queryset/total-order.js'
import type { CellKind, RowCell, RowMember, RowObject, RowPlan } from './row-plan.js'
import { fromClause, LIST, type Part, pageParts, type QueryPart, type RowSelection, selectList } from './row-sql.js'

/** Cells that PostgreSQL cannot write. */
const IN_CODE: ReadonlySet<CellKind> = new Set<CellKind>(['value', 'id'])
/** Numbers that are written in quotes. */
const NUMBERS = new Set(['numeric', 'int2', 'int4', 'int8'])
/** PostgreSQL cuts longer names. */
const LONGEST_NAME = 63

const nativePlans = new WeakMap<RowPlan, boolean>()

/** True when SQL can say all that the plan writes. Asked for each request, found out once. */
export function isNative(plan: RowPlan): boolean {
  let native = nativePlans.get(plan)
  if (native === undefined) {
    native = isNativeObject(plan.object)
    nativePlans.set(plan, native)
  }
  return native
}

function isNativeObject({ members }: RowObject): boolean {
  return members.every(isNativeMember)
}

function isNativeMember(member: RowMember): boolean {
  if (Buffer.byteLength(member.name) > LONGEST_NAME) return false
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
export function compileNative(query: AnyQueryBuilder, asked: RowSelection): CompiledSql {
  const shown = asked.positions?.map((term) => memberOf(asked, term))
  const names = shown?.every((name) => name !== undefined) ? shown : undefined
  const selection = names ? { ...asked, positions: undefined } : asked
  const { plan, model, positions, counting } = selection
  const { before, count, source } = sourceOf(query, selection)
  const object = objectColumns(plan.object, plan)
  const page = positions ? positionedRows(model, positions, object, source) : joinedRows(names, object, source)
  const sql = counting ? `${before.sql}select ${count.sql}page.* from (${page.sql}) as page` : page.sql
  const bindings = [...before.bindings, ...count.bindings, ...page.bindings]
  return nativeSql((query.knex() as unknown as Queryable).raw(sql, bindings as never))
}

/** Compiles one object that PostgreSQL writes: its position (if asked for), then its JSON. */
export function compileNativeRow(query: AnyQueryBuilder, asked: RowSelection): CompiledSql {
  const selection = { ...asked, order: [], counting: undefined }
  const { plan, positions = [] } = selection
  const { source } = sourceOf(query, selection)
  const { sql, bindings } = nativeRows(positions, objectColumns(plan.object, plan), source)
  return nativeSql((query.knex() as unknown as Queryable).raw(sql, bindings as never))
}

/** What a selection reads from, and what its count needs. */
function sourceOf(
  query: AnyQueryBuilder,
  selection: RowSelection,
): { before: QueryPart; count: QueryPart; source: QueryPart } {
  const { before, count, list } = pageParts(selectList(query, selection, true), selection)
  const from = fromClause(selection)
  const source = { sql: ` from ${list.sql}${from.sql}`, bindings: [...list.bindings, ...from.bindings] }
  return { before, count, source }
}

/** Types that a member has the value of, and whose text is that of a position. */
const SHOWN_AS_THEY_ARE = new Set(['int2', 'int4', 'uuid'])

/** The member that shows a term's value as it is; undefined where the value must be selected by itself, which costs more. */
function memberOf({ plan, model }: RowSelection, { property }: OrderTerm): string | undefined {
  const wanted = model.columns.get(property)
  if (!wanted || !SHOWN_AS_THEY_ARE.has(wanted.type)) return undefined
  const isShown = (member: RowMember) =>
    'cell' in member && member.cell.column === wanted && plan.columns[member.cell.index]?.table === 0
  return plan.object.members.find(isShown)?.name
}

/** @param names the members that show the position; undefined where none is asked for */
function joinedRows(names: readonly (string | undefined)[] | undefined, object: Part, source: QueryPart): QueryPart {
  const lists = (names ?? []).map(
    (name = '') => `string_agg(coalesce(r.${quoteName(name)}::text, 'null'), ${SEPARATOR}), `,
  )
  const rows = `string_agg(row_to_json(r)::text, ${names ? SEPARATOR : "','"})`
  return {
    sql: `select count(*), ${lists.join('')}${rows} from (select ${object.sql}${source.sql}) as r`,
    bindings: [...object.bindings, ...source.bindings],
  }
}

function positionedRows(
  model: ModelDescription,
  terms: readonly OrderTerm[],
  object: Part,
  source: QueryPart,
): QueryPart {
  const lists = keysetTerms(model, terms).map(({ column }, index) => {
    const value = positionTag(column) === 'str' ? `to_json(r.p${index})::text` : `r.p${index}`
    return `string_agg(coalesce(${value}, 'null'), ${SEPARATOR}), `
  })
  const { sql, bindings } = nativeRows(terms, object, source)
  return {
    sql: `select count(*), ${lists.join('')}string_agg(r.json, ${SEPARATOR}) from (${sql}) as r`,
    bindings,
  }
}

/** A row for each object: its position, then its JSON. */
function nativeRows(terms: readonly OrderTerm[], object: Part, source: QueryPart): QueryPart {
  const position = terms.map((_, index) => `${LIST}.p${index}`)
  const json = `(select row_to_json(r)::text from (select ${object.sql}) as r) as json`
  return {
    sql: `select ${position.map((_, index) => `?? as p${index}, `).join('')}${json}${source.sql}`,
    bindings: [...position, ...object.bindings, ...source.bindings],
  }
}

/** The members of an object as columns of their names. */
function objectColumns(object: RowObject, plan: RowPlan): Part {
  const parts = object.members.map((member) => {
    const value = 'nested' in member ? nestedObject(member.nested, plan) : cellValue(member.cell, plan)
    return { sql: `${value.sql} as ${quoteName(member.name)}`, bindings: value.bindings }
  })
  return { sql: parts.map((part) => part.sql).join(', '), bindings: parts.flatMap((part) => part.bindings) }
}

function nestedObject(object: RowObject, plan: RowPlan): Part {
  const columns = objectColumns(object, plan)
  return {
    sql: `case when ?? is not null then (select row_to_json(n) from (select ${columns.sql}) as n) end`,
    bindings: [referenceOf(object.key ?? 0, plan), ...columns.bindings],
  }
}

const SAFE = String(Number.MAX_SAFE_INTEGER)
const FIRST = "'0001-01-01 00:00:00"
const LAST = "'10000-01-01 00:00:00"

/** A cell as a value of which `row_to_json` makes what the writer of rows makes. */
function cellValue({ index, kind, column }: RowCell, plan: RowPlan): Part {
  const reference = referenceOf(index, plan)
  switch (kind) {
    case 'bigint':
      return same(reference, `case when ?? between -${SAFE} and ${SAFE} then to_json(??) else to_json(??::text) end`)
    case 'quoted':
      return same(reference, NUMBERS.has(column.type) ? '??::text' : '??')
    case 'datetime':
      return same(reference, column.type === 'timestamptz' ? TIMESTAMPTZ : TIMESTAMP)
    default:
      return same(reference, '??')
  }
}

/** UTC with `Z`; beyond the years 1 to 9999 as PostgreSQL writes it. */
const TIMESTAMPTZ =
  `case when ?? >= ${FIRST}+00'::timestamptz and ?? < ${LAST}+00'::timestamptz then (to_json(?? at time zone 'UTC') #>> '{}') || 'Z' ` +
  `when isfinite(??) then regexp_replace(to_json(?? at time zone 'UTC') #>> '{}', '( BC)\\?$', '+00:00\\1') else ??::text end`
const TIMESTAMP =
  `case when ?? >= ${FIRST}'::timestamp and ?? < ${LAST}'::timestamp then (to_json(??) #>> '{}') || 'Z' ` +
  `when isfinite(??) then to_json(??) #>> '{}' else ??::text end`

/** SQL in which every placeholder is the same reference. */
function same(reference: string, sql: string): Part {
  const count = sql.replaceAll('\\?', '').split('??').length - 1
  return { sql, bindings: Array.from({ length: count }, () => reference) }
}

function referenceOf(index: number, plan: RowPlan): string {
  const column = plan.columns[index]
  return column && column.table > 0 ? `j${column.table}.${column.column.column}` : `${LIST}.c${index}`
}

/** A member's name as it is: knex would split it at a dot, and rename it where it has mappers. */
function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""').replaceAll('?', '\\?')}"`
}
