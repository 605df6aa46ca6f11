/** Counts the rows of a list: its conditions only, no order, no columns, no related objects (promise D3). */

import { describeModel } from '../models/describe-model.js'
import { traitsOf } from '../models/model-traits.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import { nativeSql, type Queryable } from '../postgres/pg-types.js'
import { readsRawRows, runStatement, stopWith } from '../postgres/run-statement.js'
import { runsAsRole } from '../postgres/scoped-knex.js'
import { hasContextHooks } from './context-hooks.js'
import { hasOwn } from './group-conditions.js'
import { readsBelow } from './read-columns.js'
import { readExactly } from './read-exactly.js'
import { recipientOf } from './recipient.js'

/** The operations that lock rows, for a regular expression. */
export const LOCKS = 'forUpdate|forNoKeyUpdate|forShare|forKeyShare'

const SHAPED = /^(groupBy|having|distinct|union|limit|offset|with\w*Recursive|with$)/

/** Way of counting: `estimated` is the planner's guess, `capped` stops at the limit. */
type Kind = 'exact' | 'estimated' | 'capped' | 'none'

const USUAL_LIMIT = 10_000

/** The number of rows the query would return without a page. */
export async function countRows(query: AnyQueryBuilder, kind: Kind = 'exact', limit = USUAL_LIMIT): Promise<number> {
  if (kind === 'estimated' && readsTable(query)) return estimateRows(query)
  if (kind === 'estimated' || kind === 'capped') return countUpTo(query, limit)
  if (isShaped(query)) return countAll(query.clone().clear(/^(orderBy|offset|limit)/))
  const counting = countQuery(query)
  if (!readsBelow(counting)) {
    const [row] = await readExactly(counting).castTo<{ count: string | number }[]>()
    return Number(row?.count ?? 0)
  }
  // a number is no object, which hooks of the model would take it for
  const { text, values } = nativeSql(counting.toKnexQuery())
  const [row] = await runStatement(query.knex() as Queryable, { text, name: undefined }, values, recipientOf(query))
  return Number(row?.[0] ?? 0)
}

/** Operations by which a query reads all rows of its table. */
const OPEN = /^(?!(?:select|column|columns|orderBy|orderByRaw|alias|as|eager|transacting|context)$)/

/**
 * True for a list of all rows of a table, of which anybody sees each. What the planner expects of conditions comes of the
 * values of all rows, those that a queryset or a policy hides among them: a client would learn them by asking.
 */
function readsTable(query: AnyQueryBuilder): boolean {
  const model = query.modelClass() as ModelClass
  const { secured, isView } = describeModel(model)
  if (secured || isView || hasOwn(query, OPEN) || !traitsOf(model).plainFinds) return false
  return !hasContextHooks(query) && !runsAsRole(query.knex() as Queryable)
}

/** Row estimate of the planner. Without conditions that is the table's size when it was last analysed, scaled to its pages. */
async function estimateRows(query: AnyQueryBuilder): Promise<number> {
  const explained = unordered(query).toKnexQuery()
  const knex = query.knex() as Queryable
  if (!readsRawRows(knex)) {
    const { rows } = await knex.raw<PlanRows>('explain (format json) ?', [explained])
    return rows[0]?.['QUERY PLAN'][0]?.Plan['Plan Rows'] ?? 0
  }
  const { text, values } = nativeSql(explained)
  const statement = { text: `explain (format json) ${text}`, name: undefined }
  // raw: whatever an application does to names and to JSON
  const [row] = await runStatement(knex, statement, values, recipientOf(query))
  const [plan] = JSON.parse(row?.[0] ?? '[]') as Explained
  return plan?.Plan['Plan Rows'] ?? 0
}

async function countUpTo(query: AnyQueryBuilder, limit: number): Promise<number> {
  const capped = unordered(query)
  if (!isShaped(query)) void capped.clearSelect().select(query.modelClass().raw('1'))
  if (!query.has('limit')) void capped.limit(limit)
  return Math.min(await countAll(capped), limit)
}

/** The number of rows of a query as it is. */
async function countAll(query: AnyQueryBuilder): Promise<number> {
  const knex = query.knex() as Queryable
  const counting = knex.raw<Counted>('select count(*) as count from ? as counted', [query.toKnexQuery()])
  stopWith(recipientOf(query), knex, counting as never)
  const { rows } = await counting
  return Number(rows[0]?.count ?? 0)
}

type Explained = readonly { readonly Plan: { readonly 'Plan Rows': number } }[]

interface PlanRows {
  readonly rows: readonly { readonly 'QUERY PLAN': Explained }[]
}

interface Counted {
  readonly rows: readonly { readonly count: string | number }[]
}

/** Loading of related objects, and locks: they cost, and count nothing. PostgreSQL locks no groups either. */
const UNCOUNTED = new RegExp(`^(eager|(${LOCKS})$|skipLocked|noWait)`)

/** The list without what costs and counts nothing; DISTINCT ON needs its order, which chooses the rows. */
export function unordered(query: AnyQueryBuilder): AnyQueryBuilder {
  const counting = query.clone().clear(UNCOUNTED)
  return query.has('distinctOn') ? counting : counting.clear(/^orderBy/)
}

/** The query that counts, for a query without DISTINCT, grouping and the like. */
export function countQuery(query: AnyQueryBuilder): AnyQueryBuilder {
  return unordered(query)
    .clear(/^(orderBy|select|column)/)
    .count('* as count')
}

/** True for a query whose rows are not those of its table one by one. */
export function isShaped(query: AnyQueryBuilder): boolean {
  return query.has(SHAPED)
}
