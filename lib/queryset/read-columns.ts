/** Reads single columns of a query's rows, below the model. */

import { standardExact, standardValue } from '../models/exact-types.js'
import type { Column } from '../models/model-description.js'
import { hasPlainExecution } from '../models/model-traits.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import { nativeSql, type Queryable } from '../postgres/pg-types.js'
import { readsRawRows, runStatement } from '../postgres/run-statement.js'
import { hasContextHooks } from './context-hooks.js'
import { readExactly } from './read-exactly.js'

/**
 * Columns of the rows that the query finds, by the names given here. The model's hooks and its own parsing do not see them:
 * they expect whole objects. Only a query that has hooks of its own, or executes in its own way, is left to do so.
 */
export async function readColumns<Name extends string>(
  query: AnyQueryBuilder,
  columns: Readonly<Record<Name, Column>>,
): Promise<Record<Name, unknown>[]> {
  const table = query.tableRefFor(query.modelClass())
  const entries = Object.entries<Column>(columns)
  const reading = query.select(entries.map(([name, { column }]) => `${table}.${column} as ${name}`))
  const knex = query.knex() as Queryable
  if (!readsBelow(query)) {
    const objects = (await readExactly(reading)) as unknown[] as Record<Name, unknown>[]
    const values = (object: object) =>
      entries.map(([name]) => [name, standardValue(object, name, (object as Record<string, unknown>)[name])])
    return objects.map((object) => Object.fromEntries(values(object)) as Record<Name, unknown>)
  }
  const { text, values } = nativeSql(reading.toKnexQuery())
  const rows = await runStatement(knex, { text, name: undefined }, values)
  const parsers = entries.map(([name, { oid }]) => [name, standardExact.getTypeParser(oid ?? 0, 'text')] as const)
  return rows.map((row) => {
    // what the query itself selects comes before
    const cells = row.slice(-parsers.length)
    const read = parsers.map(([name, parse], index) => {
      const cell = cells[index] as string | null
      return [name, cell === null ? null : parse(cell)] as const
    })
    return Object.fromEntries(read) as Record<Name, unknown>
  })
}

/** True when sending the SQL of a query finds what running it would, but for what happens to rows that were found. */
export function readsBelow(query: AnyQueryBuilder): boolean {
  const isPlain = hasPlainExecution(query) && !query.has(RUNNING) && !hasContextHooks(query)
  return isPlain && readsRawRows(query.knex() as Queryable)
}

const RUNNING = /^(runBefore|runAfter|timeout)$/
