/** What reading rows must do, held to by our reading of pg's bytes and by pg's documented `client.query()` alike. */
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { configure } from '../../../lib/kernel/settings.js'
import { exactTypes } from '../../../lib/models/exact-types.js'
import { PAGE_FORMAT, type RawPage } from '../../../lib/postgres/row-stream.js'
import { runAsPg, runStatement, statementOf } from '../../../lib/postgres/run-statement.js'
import { TextQuery } from '../../../lib/postgres/text-query.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase({ schema: 'create table numbers (n int primary key check (n > 0), word text)' })
})
afterAll(() => database.drop())

const jsonOf = ({ texts, json }: RawPage) => [
  texts,
  json.length === 0 ? null : Buffer.concat(json.map((piece) => Buffer.from(piece))).toString(),
]

describe.each([
  ['from the bytes', false],
  ['by client.query()', true],
])('rows %s', (_, plainQueries) => {
  beforeEach(() => configure({ plainQueries }))
  afterEach(() => configure({}))
  const rows = (sql: string, values: readonly unknown[] = []) => runStatement(database.knex, statementOf(sql), values)

  it.each<[string, readonly unknown[], (string | null)[][]]>([
    ['select 1', [], [['1']]],
    ['select', [], [[]]],
    ['select 1 where false', [], []],
    [`select null, '', ' ', 'é', '🎈', E'a\\nb'`, [], [[null, '', ' ', 'é', '🎈', 'a\nb']]],
    [
      'select true, 1.50::numeric, 1e300::float8, 9223372036854775807',
      [],
      [['t', '1.50', '1e+300', '9223372036854775807']],
    ],
    [
      `select date '2026-03-28', timestamptz '2026-03-28 15:30:00.123456+00'`,
      [],
      [['2026-03-28', '2026-03-28 15:30:00.123456+00']],
    ],
    [
      `select '{"a": 12345678901234567890}'::jsonb, '{1,NULL}'::int[], '\\x00ff'::bytea`,
      [],
      [['{"a": 12345678901234567890}', '{1,NULL}', '\\x00ff']],
    ],
    ['select $1::int + 1, $2::text, $3::bool, $4::text', [41, 'x', false, null], [['42', 'x', 'f', null]]],
    ['select $1::int8', [9007199254740993n], [['9007199254740993']]],
    // these need pg's own conversion, whichever way is asked for
    ['select $1::timestamptz', [new Date('2026-03-28T15:30:00.123Z')], [['2026-03-28 15:30:00.123+00']]],
    [
      'select $1::int[], $2::bytea, $3::jsonb',
      [[1, 2], Buffer.from([0, 255]), { a: 1 }],
      [['{1,2}', '\\x00ff', '{"a": 1}']],
    ],
  ])('%s', async (sql, values, expected) => {
    await database.knex.raw(`set timezone to 'UTC'`)
    for (let turn = 0; turn < 2; turn++) expect(await rows(sql, values)).toEqual(expected)
  })

  it('are read in that way', async () => {
    const submitted = vi.spyOn(TextQuery.prototype, 'submit')
    onTestFinished(() => submitted.mockRestore())
    await rows('select 1')
    expect(submitted).toHaveBeenCalledTimes(plainQueries ? 0 : 1)
  })

  it('are whole, however many and however long they are', async () => {
    const many = await rows(`select n, repeat('é', n % 50) from generate_series(1, 20000) n`)
    expect(many.length).toBe(20_000)
    expect(many.every(([n, text], index) => Number(n) === index + 1 && text === 'é'.repeat((index + 1) % 50))).toBe(
      true,
    )
    const [[long] = []] = await rows(`select repeat('x', 3000000)`)
    expect(long).toHaveLength(3_000_000)
  })

  it('hold any text', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.option(fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\0', ''))), {
          minLength: 1,
          maxLength: 8,
        }),
        async (values) => {
          const sql = `select ${values.map((_value, index) => `$${index + 1}::text`).join()}`
          expect(await rows(sql, values)).toEqual([values])
        },
      ),
      { numRuns: 200 },
    )
  })

  it('are pages, the last column as it came', async () => {
    const page = async (sql: string) =>
      (await runStatement(database.knex, statementOf(sql), [], undefined, PAGE_FORMAT)).map(jsonOf)
    expect(await page(`select 3, null, '[1,2]'`)).toEqual([[['3', null], '[1,2]']])
    expect(await page('select 0, null')).toEqual([[['0'], null]])
    const long = JSON.stringify('é'.repeat(400_000))
    expect(await page(`select 1, '${long}'`)).toEqual([[['1'], long]])
  })

  it('fail as PostgreSQL says, and the connection goes on', async () => {
    await expect(rows('select 1 / $1::int', [0])).rejects.toMatchObject({ code: '22012' })
    await expect(rows('select nothing')).rejects.toMatchObject({ code: '42703' })
    await expect(rows('insert into numbers values ($1) returning n', [0])).rejects.toMatchObject({ code: '23514' })
    expect(await rows('select 1')).toEqual([['1']])
  })

  it('fail in the middle of an answer, and none is kept', async () => {
    await expect(rows('select 1 / (5000 - n) from generate_series(1, 10000) n')).rejects.toMatchObject({
      code: '22012',
    })
    expect(await rows('select 2')).toEqual([['2']])
  })

  it('are those of a transaction, and fail with it', async () => {
    await database.knex
      .transaction(async (trx) => {
        await runStatement(trx, statementOf('insert into numbers values ($1, $2) returning n'), [7, 'seven'])
        expect(await runStatement(trx, statementOf('select word from numbers'), [])).toEqual([['seven']])
        await trx.rollback()
      })
      .catch(() => {})
    expect(await rows('select word from numbers')).toEqual([])
  })

  it('come in the order in which they were asked for, from connections that are shared', async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, async (_, n) => rows('select $1::int, $2::text', [n, `t${n}`])),
    )
    expect(answers).toEqual(Array.from({ length: 200 }, (_, n) => [[String(n), `t${n}`]]))
  })

  it('are objects with the names and types of PostgreSQL where pg reads them', async () => {
    const answer = await runAsPg(database.knex, `select 1 as a, 'x' as "b c"`, [], exactTypes(database.knex))
    expect(answer.rows).toEqual([{ a: 1, 'b c': 'x' }])
    expect(answer.fields.map(({ name, dataTypeID }) => [name, dataTypeID])).toEqual([
      ['a', 23],
      ['b c', 25],
    ])
    expect(answer.rowCount).toBe(1)
  })
})
