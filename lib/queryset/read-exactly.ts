/** Makes a query keep PostgreSQL's own text of dates and numbers beside the values the application gets (promise B15). */

import type { Knex } from 'knex'
import { exactTypes, keepJsonTexts, RememberingTypes } from '../models/exact-types.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import { refusalOfUid } from '../postgres/connection-queue.js'
import type { AnswerField } from '../postgres/pg-types.js'
import { stopWith } from '../postgres/run-statement.js'
import { beforeHooks } from './before-hooks.js'
import { quietHooks } from './context-hooks.js'
import { recipientOf } from './recipient.js'

type OnBuild = (this: AnyQueryBuilder, builder: AnyQueryBuilder) => void

/** Response event of knex. */
interface Answered {
  readonly __knexUid?: string
  readonly response?: { readonly fields?: readonly AnswerField[] }
}

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
  const model = builder.modelClass() as ModelClass
  const types = new RememberingTypes(knex)
  knexQuery.options({ types })
  if (builder.isFind()) stopWith(recipientOf(builder), knex, knexQuery as never)
  knexQuery.on('query-response', (rows: unknown, { response, __knexUid }: Answered) => {
    const refusal = refusalOfUid(knex, __knexUid)
    if (refusal) throw refusal
    const remember = types.of(model, rows, response?.fields)
    keepJsonTexts(model, rows, exactTypes(knex), response?.fields)
    if (!remember) return
    // Objection puts its objects in the places of the rows; of an insert it fills in those it was given
    beforeHooks(builder, (result) => remember(builder.isInsert() ? [result].flat() : (rows as readonly unknown[])))
  })
}
