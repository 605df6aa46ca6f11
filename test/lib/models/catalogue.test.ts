import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readCatalogue } from '../../../lib/models/catalogue.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'

const TABLES = 160

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({
    schema: `
      create domain label as text check (value <> '');
      create domain positive as int check (value > 0);
      create type kind as enum ('a', 'b');
      do $$ begin
        for i in 1..${TABLES} loop
          execute format('create table t%s (
            id int generated always as identity primary key, name label unique, size positive, kind kind default ''a'',
            note text check (length(note) < 100), price numeric(8,2) check (price >= 0), made timestamptz default now(),
            parent int references t%s, other int references t%s)', i, i / 2 + i % 2, i / 3 + 1);
        end loop;
      end $$`,
  })
})
afterAll(() => database.drop())

const names = (count: number) => Array.from({ length: count }, (_, index) => `t${index + 1}`)

interface PlanNode {
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Join Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/** The rows that steps of a plan have come by, those that a filter or a join left out included. */
function rowsOf(node: PlanNode): number {
  const { 'Rows Removed by Filter': filtered = 0, 'Rows Removed by Join Filter': unjoined = 0, Plans = [] } = node
  const own = (node['Actual Rows'] + filtered + unjoined) * node['Actual Loops']
  return Plans.reduce((sum, plan) => sum + rowsOf(plan), own)
}

/** The rows that PostgreSQL comes by as it reads the catalogue for so many tables. */
async function visited(count: number): Promise<number> {
  const sent: { sql: string; bindings: readonly unknown[] }[] = []
  const listener = (query: (typeof sent)[number]) => sent.push(query)
  database.knex.on('query', listener)
  await readCatalogue(database.knex, names(count))
  database.knex.removeListener('query', listener)
  const { sql, bindings } = sent.find((query) => query.sql.includes('pg_attribute')) as (typeof sent)[number]
  const connection = await database.knex.client.acquireConnection()
  const { rows } = await connection.query(`explain (analyze, timing off, format json) ${sql}`, bindings)
  await database.knex.client.releaseConnection(connection)
  return rowsOf(rows[0]['QUERY PLAN'][0].Plan)
}

describe('readCatalogue', () => {
  it('comes by rows that grow with the tables that are asked for, whatever others there are', async () => {
    const { rows } = await database.knex.raw('select count(*)::int as attributes from pg_attribute')
    const [few, all] = [await visited(TABLES / 40), await visited(TABLES)]
    const { attributes } = rows[0]
    expect(all / attributes).toBeLessThan(40)
    expect(few / attributes).toBeLessThan(5.5)
  })

  it('reads columns of many tables as those of one', async () => {
    const all = await readCatalogue(database.knex, names(TABLES))
    const [one] = (await readCatalogue(database.knex, [`t${TABLES}`])).values()
    expect(all.size).toBe(TABLES)
    expect(all.get(`t${TABLES}`)).toEqual(one)
    const columns = new Map(one?.columns.map((column) => [column.column, column]))
    expect(columns.get('size')?.checks).toEqual(['CHECK ((VALUE > 0))'])
    expect(columns.get('note')?.checks).toEqual(['CHECK ((length(note) < 100))'])
    expect(columns.get('kind')?.labels).toEqual(['a', 'b'])
    expect(all.get('t1')?.columns.find(({ column }) => column === 'id')?.referenced).toBe(true)
    expect(columns.get('id')?.referenced).toBe(false)
  })
})
