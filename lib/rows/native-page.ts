/** The output of a row plan as PostgreSQL itself writes it: the SQL, and a page of a list that it has written. */

import { oncePer } from '../kernel/once-per.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import type { Position, Rows } from '../pagination/slice.js'
import { type CompiledSql, nativeSql, type Queryable } from '../postgres/pg-types.js'
import type { RawPage } from '../postgres/row-stream.js'
import { keysetTerms, positionTag } from '../queryset/keyset.js'
import type { OrderTerm } from '../queryset/total-order.js'
import { inBytes, JsonText } from '../renderers/json-renderer.js'
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
const RECORD_SEPARATOR = 0x1e
const SEPARATOR = `chr(${RECORD_SEPARATOR})`

/**
 * Compiles a list that PostgreSQL writes as one row: the count (if asked for), the number of rows, and their JSON with
 * commas between. With positions the values of each of their terms stand before the rows, and these as well as the rows are
 * separated by `RECORD_SEPARATOR`. Values that may be any string are JSON strings, others stand as they are; NULL is `null`.
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
  return nativeSql((query.knex() as Queryable).raw(sql, bindings as never))
}

/** Compiles one object that PostgreSQL writes: its position (if asked for), then its JSON. */
export function compileNativeRow(query: AnyQueryBuilder, asked: RowSelection): CompiledSql {
  const selection = { ...asked, order: [], counting: undefined }
  const { plan, positions = [] } = selection
  const { source } = sourceOf(query, selection)
  const { sql, bindings } = nativeRows(positions, objectText(plan.object, plan), source)
  return nativeSql((query.knex() as Queryable).raw(sql, bindings as never))
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

/** Strings one after the other. As a tree, because each `||` copies what it joins. */
function joined(parts: readonly Part[]): Part {
  if (parts.length === 1) return parts[0] as Part
  const middle = parts.length >> 1
  const left = joined(parts.slice(0, middle))
  const right = joined(parts.slice(middle))
  return { sql: `(${left.sql} || ${right.sql})`, bindings: [...left.bindings, ...right.bindings] }
}

/** A string of SQL; backslashes and question marks, which knex looks for, in the form that escapes them. */
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
/** `to_json` writes NaN and the infinities as strings. */
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

const WRITTEN_SEPARATOR = String.fromCharCode(RECORD_SEPARATOR)
const COMMA = 0x2c
const QUOTE = 0x22
const BACKSLASH = 0x5c
const BRACE = 0x7b
const END_OF_BRACE = 0x7d
const BRACKET = 0x5b
const END_OF_BRACKET = 0x5d

/** A whole page that PostgreSQL has written, behind the number of its rows and, with positions, the values of each term. */
export class NativePage implements Rows {
  readonly length: number
  count: number | undefined = undefined
  readonly #page: RawPage | undefined
  /** The column that has the number of rows. */
  readonly #first: number
  #rows: WrittenRows | undefined = undefined

  /** @param first how many columns stand before the number of rows */
  constructor(page: RawPage | undefined, first: number) {
    this.length = Number(page?.texts[first] ?? 0)
    this.#page = page
    this.#first = first
  }

  position(index: number): Position {
    const texts = this.#page?.texts ?? []
    const position: (string | null)[] = []
    for (let term = this.#first + 1; term < texts.length; term++) {
      position.push(readValue(valueAt(texts[term] ?? 'null', index, this.length)))
    }
    return position
  }

  results(start: number, end: number, backwards = false): JsonText {
    const json = this.#page?.json ?? []
    if (start >= end) return new JsonText('[]')
    const isSeparated = this.#page !== undefined && this.#page.texts.length > this.#first + 1
    if (!isSeparated && start === 0 && end === this.length && !backwards) return new JsonText('[', ...json, ']')
    this.#rows ??= isSeparated ? separatedRows(json) : joinedRows(json)
    const { bytes, ends } = this.#rows
    const cut = (from: number, to: number) => bytes.subarray(from === 0 ? 0 : (ends[from - 1] as number) + 1, ends[to])
    if (!backwards) return new JsonText('[', cut(start, end - 1), ']')
    const pieces: (string | Buffer)[] = ['[', cut(end - 1, end - 1)]
    for (let index = end - 2; index >= start; index--) pieces.push(',', cut(index, index))
    return new JsonText(...pieces, ']')
  }
}

/** A value as it is, but for any string, which is a JSON string. */
function readValue(value: string): string | null {
  if (value.charCodeAt(0) === QUOTE) return JSON.parse(value) as string
  return value === 'null' ? null : value
}

/** One of the values of a term: pages are asked for the position of their first row or of one near their end. */
function valueAt(values: string, index: number, count: number): string {
  if (index < count / 2) {
    let start = 0
    for (let left = index; left > 0; left--) start = values.indexOf(WRITTEN_SEPARATOR, start) + 1
    const end = values.indexOf(WRITTEN_SEPARATOR, start)
    return end === -1 ? values.slice(start) : values.slice(start, end)
  }
  let end = values.length
  for (let left = count - 1 - index; left > 0; left--) end = values.lastIndexOf(WRITTEN_SEPARATOR, end - 1)
  return values.slice(values.lastIndexOf(WRITTEN_SEPARATOR, end - 1) + 1, end)
}

/** Rows with commas between, and where each of them ends. */
interface WrittenRows {
  readonly bytes: Buffer
  readonly ends: readonly number[]
}

/** Puts commas in place of the separators, in the bytes themselves: nobody else reads them. */
function separatedRows(json: RawPage['json']): WrittenRows {
  const bytes = inBytes(json)
  const ends: number[] = []
  for (let at = bytes.indexOf(RECORD_SEPARATOR); at !== -1; at = bytes.indexOf(RECORD_SEPARATOR, at + 1)) {
    bytes[at] = COMMA
    ends.push(at)
  }
  ends.push(bytes.length)
  return { bytes, ends }
}

/** Looks for the commas that are in no row: a part of a page that was read as a whole. */
function joinedRows(json: RawPage['json']): WrittenRows {
  const bytes = inBytes(json)
  const ends: number[] = []
  let depth = 0
  let inText = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) inText = !inText
    else if (inText) at += byte === BACKSLASH ? 1 : 0
    else if (byte === BRACE || byte === BRACKET) depth++
    else if (byte === END_OF_BRACE || byte === END_OF_BRACKET) depth--
    else if (byte === COMMA && depth === 0) ends.push(at)
  }
  ends.push(bytes.length)
  return { bytes, ends }
}
