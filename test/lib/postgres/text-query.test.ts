/** Rows as texts over pg's own protocol connection. */
import type { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PAGE_FORMAT, type RawRow, type RowFormat, TEXTS } from '../../../lib/postgres/row-stream.js'
import { asTexts, TextQuery } from '../../../lib/postgres/text-query.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'

let database: TestDatabase
let client: Client

beforeAll(async () => {
  database = await createDatabase()
  client = (await database.knex.client.acquireConnection()) as Client
})

afterAll(async () => {
  await database.knex.client.releaseConnection(client)
  await database.drop()
})

function run(text: string, values: (string | null)[] = [], name?: string): Promise<RawRow[]> {
  return runAs(TEXTS, text, values, name)
}

function runAs<Row>(
  format: RowFormat<Row>,
  text: string,
  values: (string | null)[] = [],
  name?: string,
): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    void client.query(
      new TextQuery({ text, name }, values, format, (error, result) =>
        error ? reject(error) : resolve(result?.rows ?? []),
      ),
    )
  })
}

describe('a query for texts', () => {
  it('has each cell as PostgreSQL wrote it', async () => {
    const rows = await run(`select 9007199254740993::int8, 'é "x"', null, true, 12.50::numeric`)
    expect(rows).toEqual([['9007199254740993', 'é "x"', null, 't', '12.50']])
  })

  it('has all rows of an answer that comes in many pieces', async () => {
    const text = `select n, case n % 3 when 0 then null when 1 then repeat('é', n % 200) else repeat('x', n % 300) end as cell
      from generate_series(1, 20000) n`
    const { rows: expected } = await database.knex.raw(`select n::text, cell from (${text}) as answers`)
    const rows = await run(text)
    expect(rows).toHaveLength(20_000)
    const wrong = rows.filter(([n, cell], index) => n !== expected[index].n || cell !== expected[index].cell)
    expect(wrong).toEqual([])
  })

  it('has the last cell as its bytes where it is a page', async () => {
    const text = `select 7, null, string_agg('é' || n, ',') from generate_series(1, 20000) n`
    const { rows } = await database.knex.raw(
      `select string_agg('é' || n, ',') as json from generate_series(1, 20000) n`,
    )
    const [page] = await runAs(PAGE_FORMAT, text)
    expect(page?.texts).toEqual(['7', null])
    expect(Buffer.concat(page?.json as Buffer[]).toString()).toBe(rows[0].json)
    expect(await runAs(PAGE_FORMAT, 'select 7, null')).toEqual([{ texts: ['7'], json: [] }])
  })

  it('has no rows where there are none, and for a statement that returns none', async () => {
    expect(await run('select 1 where false')).toEqual([])
    expect(await run('create temp table t (id int)')).toEqual([])
    expect(await run('')).toEqual([])
  })

  it('binds values, and is prepared once for its name', async () => {
    for (const value of ['1', '2', null]) {
      expect(await run('select $1::int + 1', [value], 'plus_one')).toEqual([
        [value === null ? null : String(Number(value) + 1)],
      ])
    }
    expect(await run(`select count(*) from pg_prepared_statements where name = 'plus_one'`)).toEqual([['1']])
  })

  it('fails with what PostgreSQL says, in the middle of its rows too, and leaves the connection usable', async () => {
    await expect(run('select nothing')).rejects.toMatchObject({ code: '42703' })
    await expect(run('select 1 / (3 - n) from generate_series(1, 5) n')).rejects.toMatchObject({ code: '22012' })
    expect(await run('select 1')).toEqual([['1']])
  })
})

describe('values', () => {
  it.each([
    [
      ['a', 1, 1.5, true, 7n, null, undefined],
      ['a', '1', '1.5', 'true', '7', null, null],
    ],
    [[new Date(0)], undefined],
    [[['a']], undefined],
    [[{}], undefined],
    [[Buffer.from('x')], undefined],
  ])('%s are the texts %s', (values, texts) => {
    expect(asTexts(values)).toEqual(texts)
  })
})
