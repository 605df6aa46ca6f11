import { afterAll, beforeAll, expect, it } from 'vitest'
import { writeDuration } from '../../../lib/fields/duration-text.js'
import { inPostgresStyle, readInterval } from '../../../lib/models/interval-text.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'

const STYLES = ['postgres', 'postgres_verbose', 'sql_standard', 'iso_8601']

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

/** Intervals of every sign and size, in the order of their numbers, as texts of the style. */
async function intervals(style: string): Promise<string[]> {
  return database.knex.transaction(async (trx) => {
    await trx.raw(`set local intervalstyle = ${style}`)
    const { rows } = await trx.raw<{ rows: { text: string }[] }>(`
      with parts (months, days, seconds) as (
        select * from unnest(array[0, 1, -1, 14, -25, 2147483647]) months, unnest(array[0, 1, -3, 40]) days,
          unnest(array[0, 0.5, -0.000001, 3661.25, -86399.999999, 3600, -60, 360000000]::numeric[]) seconds
      ) select make_interval(months => months::int, days => days::int, secs => seconds::float8)::text as text
      from parts order by months, days, seconds`)
    return rows.map(({ text }) => text)
  })
}

it('reads what PostgreSQL prints in each style', async () => {
  const expected = await intervals('iso_8601')
  expect(expected).toHaveLength(6 * 4 * 8)
  const usual = await intervals('postgres')
  for (const style of STYLES) {
    const texts = await intervals(style)
    expect(texts.map((text) => writeDuration(readInterval(text) ?? {}))).toEqual(expected)
    const { rows } = await database.knex.raw<{ rows: { text: string }[] }>(
      'select unnest(?::text[])::interval::text as text',
      [texts.map(inPostgresStyle)],
    )
    expect(rows.map(({ text }) => text)).toEqual(usual)
  }
})

it.each(['infinity', '-infinity', '', '1', 'P', 'x', '@', '1-2-3', '1 day ago', '+1-2'])(
  'takes %j for no interval',
  (text) => {
    expect(readInterval(text)).toBeUndefined()
    expect(inPostgresStyle(text)).toBe(text)
  },
)
