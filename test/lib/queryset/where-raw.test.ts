import { Model } from 'objection'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { whereRaw } from '../../../lib/index.js'
import { countQueries, createDatabase, type TestDatabase } from '../../support/database.js'

class Row extends Model {
  static override tableName = 'rows'
  declare id: number
}

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({
    schema: `
      create table rows (id int primary key, a int, meta jsonb);
      insert into rows values (1, 1, '{"x":1}'), (2, 2, '{"y":1}'), (3, 3, null);
    `,
  })
  Row.knex(database.knex)
})
afterAll(() => database.drop())

describe('whereRaw', () => {
  it('is AND-ed with the rest: an OR in it stays inside', async () => {
    const query = whereRaw(Row.query().where('a', '>', 1), 'a = {idx} or a = {idx}', 1, 2)
    expect(query.toKnexQuery().toSQL().toNative()).toMatchObject({
      sql: 'select "rows".* from "rows" where "a" > $1 and (a = $2 or a = $3)',
      bindings: [1, 1, 2],
    })
    expect(await query).toMatchObject([{ id: 2 }])
    expect(await whereRaw(Row.query(), 'a = {idx} or a = {idx}', 1, 2).where('id', 2)).toMatchObject([{ id: 2 }])
  })

  it('takes lists as arrays, operators with question marks, and no parameters at all', async () => {
    expect(await whereRaw(Row.query(), 'id = any({idx}::int[])', [1, 3]).orderBy('id')).toMatchObject([
      { id: 1 },
      { id: 3 },
    ])
    expect(await whereRaw(Row.query(), 'meta ? {idx}', 'x')).toMatchObject([{ id: 1 }])
    expect(await whereRaw(Row.query(), "meta ?| array['x', {idx}]", 'y').orderBy('id')).toHaveLength(2)
    expect(await whereRaw(Row.query(), "meta ? 'y'")).toMatchObject([{ id: 2 }])
  })

  it('binds values that look like placeholders', async () => {
    expect(await whereRaw(Row.query(), "'{idx}' <> {idx}".replace("'{idx}'", "'x'"), '{idx}')).toHaveLength(3)
    expect(await whereRaw(Row.query(), '{idx} = {idx}', '?', '{idx}')).toEqual([])
  })

  it.each([
    ['a = 1', [1]],
    ['a = {idx}', []],
    ['a = {idx} or a = {idx}', [1]],
    ['a = {idx}', [1, 2]],
    ['a = ?', [1]],
    ['a = {0}', [1]],
  ])('[C14] throws before any SQL when %j has another number of parameters', async (sql, params) => {
    const texts = await countQueries(database.knex, async () => {
      expect(() => whereRaw(Row.query(), sql, ...params)).toThrow(TypeError)
    })
    expect(texts).toEqual([])
  })
})
