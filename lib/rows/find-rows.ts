/** Reads objects by their keys as rows, by a kept statement. */

import type { KeyValues, ObjectKey } from '../fields/object-key.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import type { CompiledSql, Queryable } from '../postgres/pg-types.js'
import { type RawRow, runStatement, type Statement, statementOf } from '../postgres/run-statement.js'
import type { ConditionKey } from '../queryset/condition-key.js'
import type { OrderTerm } from '../queryset/total-order.js'
import { JsonText } from '../renderers/json-renderers.js'
import { compileNativeRow } from './native-page.js'
import type { RowAccess } from './row-access.js'
import { compileRows } from './row-sql.js'
import { writerOf } from './row-writer.js'

/** Lookup of one object by a path, or of several by a list of keys. */
export interface ObjectLookup {
  readonly key: Pick<ObjectKey, 'name' | 'unique' | 'columns'>
  readonly values: KeyValues
  /** All conditions of the query but for the key, where these are known without building it. @param knex where it is read */
  scope(knex: Queryable): ConditionKey | undefined
  /** @param isMarked the values of the application's own have places */
  query(isMarked?: boolean): AnyQueryBuilder
}

/** One object that was read. */
export interface FoundRow {
  readonly text: JsonText
  /** The strings of the columns that were asked for besides. */
  readonly texts: readonly (string | null)[]
}

/** The objects that a lookup leads to, as JSON with the strings of `terms`, in no order; null where its query needs instances. */
export async function findRows(
  access: RowAccess,
  lookup: ObjectLookup,
  terms: readonly OrderTerm[],
): Promise<readonly FoundRow[] | null> {
  const { knex, client, native, statements, seen } = access
  const scope = lookup.scope(knex)
  const run = async (statement: Statement, values: readonly unknown[]) =>
    write(access, await runStatement(knex, statement, values, client), terms.length)
  if (scope && seen) {
    const names = terms.map(({ property }) => property).join()
    const key = `one|${native}|${lookup.key.name}|${names}|${scope.text}${seen.key.text}`
    const own = [...scope.values, ...lookup.values]
    const bound = seen.bind(statements, { key, own, begun: scope.begun }, (marking) =>
      compile(access, marking ? marking.marked(lookup.query(true)) : lookup.query(), lookup, terms),
    )
    return run(bound.statement, bound.values)
  }
  const query = lookup.query()
  if (!scope && access.obstacleOf(query) !== null) return null
  const { text, values } = compile(access, query, lookup, terms)
  return run(statementOf(text), values)
}

function compile(
  { plan, native, model, countSql }: RowAccess,
  query: AnyQueryBuilder,
  { key }: Pick<ObjectLookup, 'key'>,
  terms: readonly OrderTerm[],
): CompiledSql {
  return (native ? compileNativeRow : compileRows)(query, {
    plan,
    model,
    order: [],
    backwards: false,
    positions: terms.length > 0 ? terms : undefined,
    limit: key.unique ? undefined : 1,
    offset: 0,
    counting: undefined,
    countSql,
  })
}

function write(access: RowAccess, rows: readonly RawRow[], first: number): FoundRow[] {
  if (rows.length === 0) return []
  const writeRow = access.native ? undefined : writerOf(access.plan, first)
  return rows.map((row) => ({
    text: new JsonText(writeRow ? writeRow(row, access) : (row[first] as string)),
    texts: row.slice(0, first),
  }))
}
