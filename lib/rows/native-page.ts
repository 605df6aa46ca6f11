/** The output of a row plan as PostgreSQL itself writes it: the SQL, and a page of a list that it has written. */

import type { AnyQueryBuilder } from '../models/objection.js'
import type { Position, Rows } from '../pagination/list-source.js'
import { type CompiledSql, nativeSql, type Queryable } from '../postgres/pg-types.js'
import type { RawPage } from '../postgres/row-stream.js'
import { keysetTerms, positionTag } from '../queryset/keyset.js'
import type { SqlPart } from '../queryset/sql-part.js'
import type { OrderTerm } from '../queryset/total-order.js'
import { inBytes, JsonText } from '../renderers/json-renderers.js'
import { objectText } from './json-text.js'
import { pageParts, type RowSelection } from './row-sql.js'
import { LIST_ALIAS } from './sql-parts.js'

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
  const { before, count, source, order } = pageParts(query, selection)
  const lists = keysetTerms(model, positions ?? []).map(({ column }, index) => {
    const value = positionTag(column) === 'str' ? `to_json(r.p${index})::text` : `r.p${index}`
    return `string_agg(coalesce(${value}, 'null'), ${SEPARATOR}), `
  })
  const rows = nativeRows(positions ?? [], objectText(plan.object, plan), { source, order })
  const list = `string_agg(r.json, ${positions ? SEPARATOR : "','"})`
  const page = `select count(*), ${lists.join('')}${list} from (${rows.sql}) as r`
  const sql = before.sql + (counting ? `select ${count.sql}page.* from (${page}) as page` : page)
  const bindings = [...before.bindings, ...count.bindings, ...rows.bindings]
  return nativeSql((query.knex() as Queryable).raw(sql, bindings as never))
}

/** Compiles one object that PostgreSQL writes: its position (if asked for), then its JSON. */
export function compileNativeRow(query: AnyQueryBuilder, selection: RowSelection): CompiledSql {
  const { plan, positions = [] } = selection
  const { before, source, order } = pageParts(query, selection)
  const rows = nativeRows(positions, objectText(plan.object, plan), { source, order })
  const bindings = [...before.bindings, ...rows.bindings]
  return nativeSql((query.knex() as Queryable).raw(before.sql + rows.sql, bindings as never))
}

/** A row for each object: its position, then its JSON. */
function nativeRows(
  terms: readonly OrderTerm[],
  json: SqlPart,
  { source, order }: { source: SqlPart; order: SqlPart },
): SqlPart {
  const position = terms.map((_, index) => `${LIST_ALIAS}.p${index}`)
  return {
    sql: `select ${position.map((_, index) => `?? as p${index}, `).join('')}${json.sql} as json from ${source.sql}${order.sql}`,
    bindings: [...position, ...json.bindings, ...source.bindings, ...order.bindings],
  }
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
