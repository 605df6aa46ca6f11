import { afterAll, beforeAll, expect, it } from 'vitest'
import { runStatement, statementOf } from '../../../lib/postgres/run-statement.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

it.each<[string, (string | null)[]]>([
  ['no values', []],
  ['an empty text and NULL', ['', null]],
  ['characters of one to four bytes', ['a', 'é', '€', '😀', null, '\n"\\']],
  ['a long text', ['é'.repeat(200_000)]],
  ['a thousand values', Array.from({ length: 1_000 }, (_, index) => (index % 7 === 0 ? null : `value ${index}`))],
])('runs a statement with %s, named and without a name, the first time and the next', async (_, values) => {
  const cells = values.map((_value, index) => `$${index + 1}::text`).join(', ')
  const text = `select ${cells}`
  for (const statement of [statementOf(text), statementOf(text), { text, name: undefined }]) {
    expect(await runStatement(database.knex as never, statement, values)).toEqual([values])
  }
})

it('leaves the connection in order after an error', async () => {
  const statement = statementOf('select 1 / $1::int')
  await expect(runStatement(database.knex as never, statement, ['0'])).rejects.toMatchObject({ code: '22012' })
  const many = Array.from({ length: 65_536 }, () => '1')
  await expect(runStatement(database.knex as never, statement, many)).rejects.toThrow('at most 65535 values')
  await expect(runStatement(database.knex as never, statement, ['x'])).rejects.toMatchObject({ code: '22P02' })
  expect(await runStatement(database.knex as never, statement, ['1'])).toEqual([['1']])
})
