/** Makes a query keep PostgreSQL's own text of dates and numbers beside the values the application gets (promise B15). */

import type { Knex } from 'knex'
import { oncePer } from '../kernel/once-per.js'
import { keepItemNumerals, keepNumerals } from '../kernel/parse-json.js'
import { beginWork } from '../kernel/turns.js'
import { keepItemTexts, keepText } from '../models/database-text.js'
import { inPostgresStyle } from '../models/interval-text.js'
import { keepJsonTexts } from '../models/json-texts.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import { refusalOfUid } from '../postgres/connection-queue.js'
import type { AnswerField, Queryable, TypeParsers } from '../postgres/pg-types.js'
import { quietHooks } from './context-hooks.js'

type Parse = (text: string) => unknown
type OnBuild = (this: AnyQueryBuilder, builder: AnyQueryBuilder) => void

/** What knex reports of a query that was answered. */
interface Answered {
  readonly __knexUid?: string
  readonly response?: { readonly fields?: readonly AnswerField[] }
}

/** Characters that are read in a few milliseconds. */
const LONG = 131_072
const TEXT_ARRAY = 1009
const NUMERIC_ARRAY = 1231
const INTERVAL = 1186
const INTERVAL_ARRAY = 1187
const DATES = new Set([1082, 1114, 1184])
const JSONS = new Set([114, 3802])
const JSON_ARRAYS = new Set([199, 3807])
/** Arrays of dates, by the type of their elements. */
const DATE_ARRAYS = new Map([
  [1115, 1114],
  [1182, 1082],
  [1185, 1184],
])

/**
 * Adds type parsers to a query and to those that load its relations. Values are what the application's own parsers make
 * of them; where that is a Date, it also remembers its text, microseconds included, and JSON the strings of its numbers.
 * Other queries are not touched.
 */
export function readExactly<Query extends AnyQueryBuilder>(query: Query): Query {
  const { onBuild: own } = query.context() as { onBuild?: OnBuild | OnBuild[] }
  if (own && quietHooks.has(own)) return query
  const onBuild = (builder: AnyQueryBuilder): void => {
    for (const hook of [own ?? []].flat()) hook.call(builder, builder)
    void builder.onBuildKnex(readTexts)
  }
  if (!own) quietHooks.add(onBuild)
  return query.context({ onBuild })
}

function readTexts(knexQuery: Knex.QueryBuilder, builder: AnyQueryBuilder): void {
  const knex = builder.knex()
  const types = exactTypes(knex)
  knexQuery.options({ types })
  knexQuery.on('query-response', (rows: unknown, { response, __knexUid }: Answered) => {
    const refusal = refusalOfUid(knex, __knexUid)
    if (refusal) throw refusal
    keepJsonTexts(builder.modelClass() as ModelClass, rows, types, response?.fields)
  })
}

/** The parsers of the application's own pg, with the text kept for dates. */
export function exactTypes(knex: Queryable): TypeParsers {
  const { driver } = knex.client as { driver: { types: TypeParsers } }
  return keepingText(driver.types)
}

const keepingText = oncePer(
  (own: TypeParsers): TypeParsers => ({
    getTypeParser(oid, format) {
      const parse = own.getTypeParser(oid, format)
      if (format === 'binary') return parse
      if (DATES.has(oid)) return (text) => keepText(parse(text), text)
      // pg makes no time at all of infinities, nor of any style but one
      if (oid === INTERVAL) return (text) => (text.endsWith('infinity') ? text : parse(inPostgresStyle(text)))
      if (oid === INTERVAL_ARRAY) {
        const parseTexts = own.getTypeParser(TEXT_ARRAY, 'text')
        return (text) => readIntervals(parseTexts(text), parse)
      }
      if (JSONS.has(oid)) return (text) => keepNumerals(parse(begin(text)), text)
      if (JSON_ARRAYS.has(oid)) {
        const parseTexts = own.getTypeParser(TEXT_ARRAY, 'text')
        return (text) => keepItemNumerals(parse(text), parseTexts(text))
      }
      if (oid === NUMERIC_ARRAY) {
        const parseTexts = own.getTypeParser(TEXT_ARRAY, 'text')
        return (text) => keepItemTexts(parse(text), parseTexts(text))
      }
      const element = DATE_ARRAYS.get(oid)
      if (element === undefined) return parse
      const parseTexts = own.getTypeParser(TEXT_ARRAY, 'text')
      return (text) => keepTexts(parse(text), parseTexts(text))
    },
  }),
)

/** A long text of JSON is read at once, and what is made of it is written after it. */
function begin(text: string): string {
  if (text.length > LONG) beginWork()
  return text
}

/** What the application's own parser makes of intervals in its style, and infinities as they are. */
function readIntervals(texts: unknown, parse: Parse): unknown {
  const written = (value: unknown): string => {
    if (Array.isArray(value)) return `{${value.map(written).join()}}`
    return typeof value === 'string' ? `"${inPostgresStyle(value)}"` : 'NULL'
  }
  const restored = (value: unknown, text: unknown): unknown => {
    if (Array.isArray(value) && Array.isArray(text)) return value.map((item, index) => restored(item, text[index]))
    return typeof text === 'string' && text.endsWith('infinity') ? text : value
  }
  return restored(parse(written(texts)), texts)
}

/** Keeps the microseconds of all dates of a list, and of lists in it. */
function keepTexts(value: unknown, text: unknown): unknown {
  if (!Array.isArray(value)) return typeof text === 'string' ? keepText(value, text) : value
  return value.map((item, index) => keepTexts(item, Array.isArray(text) ? text[index] : undefined))
}
