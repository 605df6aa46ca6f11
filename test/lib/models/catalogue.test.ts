import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readCatalogue } from '../../../lib/models/catalogue.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'

const TABLES = 400

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

/** The least time that something took of three times, in milliseconds. */
async function least(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let time = 0; time < 3; time++) {
    const start = performance.now()
    await work()
    times.push(performance.now() - start)
  }
  return Math.min(...times)
}

describe('readCatalogue', () => {
  it('takes a time that grows with the tables that are asked for, whatever others there are', async () => {
    const attributes = await least(() => database.knex.raw('select * from pg_attribute'))
    const all = await least(() => readCatalogue(database.knex, names(TABLES)))
    const few = await least(() => readCatalogue(database.knex, names(TABLES / 40)))
    expect(all / attributes).toBeLessThan(25)
    expect(few / attributes).toBeLessThan(4)
  })

  it('reads columns of many tables as those of one', async () => {
    const all = await readCatalogue(database.knex, names(TABLES))
    const [one] = (await readCatalogue(database.knex, ['t400'])).values()
    expect(all.size).toBe(TABLES)
    expect(all.get('t400')).toEqual(one)
    const columns = new Map(one?.columns.map((column) => [column.column, column]))
    expect(columns.get('size')?.checks).toEqual(['CHECK ((VALUE > 0))'])
    expect(columns.get('note')?.checks).toEqual(['CHECK ((length(note) < 100))'])
    expect(columns.get('kind')?.labels).toEqual(['a', 'b'])
    expect(all.get('t1')?.columns.find(({ column }) => column === 'id')?.referenced).toBe(true)
    expect(columns.get('id')?.referenced).toBe(false)
  })
})
