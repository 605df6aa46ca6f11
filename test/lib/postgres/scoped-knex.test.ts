/** A knex whose statements run as a role: each of the ways to send one, by each of the ways to reach pg, and what is left of it. */
import { once } from 'node:events'
import knexLibrary, { type Knex } from 'knex'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { configure } from '../../../lib/kernel/settings.js'
import { localSettings, SettingsRefused, UnusableSetting } from '../../../lib/postgres/local-settings.js'
import { runAsPg, runStatement, statementOf } from '../../../lib/postgres/run-statement.js'
import { scopedKnex, scopeOf } from '../../../lib/postgres/scoped-knex.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'

const ROLE = `scoped_${Math.random().toString(36).slice(2, 10)}`
const WHO =
  "select current_user::text as who, current_setting('app.who', true) as setting, current_setting('transaction_read_only') as reading"

let database: TestDatabase
const pools: Knex[] = []

beforeAll(async () => {
  database = await createDatabase({
    schema: `create role ${ROLE}; create table notes (id serial primary key, text text); grant all on notes, notes_id_seq to ${ROLE}`,
  })
})
afterEach(async () => {
  configure({ plainQueries: false })
  await Promise.all(pools.splice(0).map((pool) => pool.destroy()))
})
afterAll(async () => {
  await database.knex.raw(`drop owned by ${ROLE}; drop role ${ROLE}`)
  await database.drop()
})

/** A pool of one connection, so that what a statement leaves is met by the next. */
function poolOf(connection: object = {}): Knex {
  const pool = knexLibrary({
    client: 'pg',
    connection: { ...database.direct, ...connection } as Knex.PgConnectionConfig,
    pool: { min: 0, max: 1 },
  })
  pools.push(pool)
  return pool
}

const settings = (options: object = {}) => localSettings({ role: ROLE, settings: { 'app.who': 'me' }, ...options })
const SEEN = { who: ROLE, setting: 'me', reading: 'off' }

const reaching: [string, () => Knex][] = [
  ['in one message', () => poolOf()],
  [
    'by plain queries',
    () => {
      configure({ plainQueries: true })
      return poolOf()
    },
  ],
  ["beside pg's own pipelining", () => poolOf({ pipeline: true })],
]

it.each<[string, (knex: Knex) => Promise<Knex.Transaction>]>([
  ['behind no work', (knex) => knex.transaction(undefined, { isolationLevel: 'serializable' })],
  ['alone', (knex) => knex.transaction({ isolationLevel: 'serializable' })],
  ['of a provider', (knex) => knex.transactionProvider({ isolationLevel: 'serializable' })()],
])('a transaction heeds a configuration %s', async (_, begin) => {
  const trx = await begin(scopedKnex(poolOf(), settings()))
  const { rows } = await trx.raw("select current_setting('transaction_isolation') as level")
  await trx.rollback()
  expect(rows).toEqual([{ level: 'serializable' }])
})

describe.each(reaching)('a statement %s', (_, reach) => {
  const ways: [string, (knex: Knex) => Promise<unknown>][] = [
    ['of a builder', (knex) => knex.select(knex.raw(WHO.slice(7))).first()],
    ['with values', async (knex) => (await knex.raw(`${WHO} where ?::int = 1`, [1])).rows[0]],
    ['without values', async (knex) => (await knex.raw(WHO)).rows[0]],
    ['among several in one text', async (knex) => (await knex.raw(`select 1; ${WHO}`))[1].rows[0]],
    ['of ours', async (knex) => named((await runStatement(knex, statementOf(WHO), []))[0])],
    [
      'of ours with a list',
      async (knex) => named((await runStatement(knex, statementOf(`${WHO} where 1 = any($1::int[])`), [[1, 2]]))[0]),
    ],
    [
      'of ours, read by pg',
      async (knex) => (await runAsPg(knex, WHO, [], { getTypeParser: () => (text: string) => text })).rows[0],
    ],
    ['of a transaction', (knex) => knex.transaction(async (trx) => (await trx.raw(WHO)).rows[0])],
    [
      'of a savepoint',
      (knex) => knex.transaction((trx) => trx.transaction(async (inner) => (await inner.raw(WHO)).rows[0])),
    ],
    [
      'of a transaction that the caller ends',
      async (knex) => {
        const trx = await knex.transaction()
        const { rows } = await trx.raw(WHO)
        await trx.commit()
        return rows[0]
      },
    ],
  ]
  const named = (row: readonly (string | null)[] | undefined) => ({
    who: row?.[0],
    setting: row?.[1],
    reading: row?.[2],
  })

  it.each(ways)('%s runs as the role with its settings, and leaves nothing', async (_way, run) => {
    const pool = reach()
    const before = (await pool.raw(WHO)).rows[0]
    expect(await run(scopedKnex(pool, settings()))).toEqual(SEEN)
    expect(await run(scopedKnex(pool, settings({ readOnly: true })))).toEqual({ ...SEEN, reading: 'on' })
    const { rows } = await pool.raw(WHO)
    expect(rows[0]).toEqual({ ...before, setting: expect.toBeOneOf([null, '']) })
  })

  it.each(ways)('%s is refused with a role that is not there, and leaves nothing', async (_way, run) => {
    const pool = reach()
    const before = (await pool.raw(WHO)).rows[0]
    const refused = run(scopedKnex(pool, settings({ role: 'there_is_no_such_role' })))
    await expect(refused).rejects.toBeInstanceOf(SettingsRefused)
    expect((await pool.raw(WHO)).rows[0]).toEqual({ ...before, setting: expect.toBeOneOf([null, '']) })
  })

  it('that fails takes its settings with it', async () => {
    const pool = reach()
    const scoped = scopedKnex(pool, settings())
    await expect(scoped.raw('select 1 / ?::int', [0])).rejects.toMatchObject({ code: '22012' })
    await expect(runStatement(scoped, statementOf('select 1 / $1::int'), [0])).rejects.toMatchObject({ code: '22012' })
    expect((await pool.raw('select current_user::text as who')).rows[0].who).not.toBe(ROLE)
  })

  it('that writes is stored, and refused where only reading is allowed', async () => {
    const pool = reach()
    const text = `by ${Math.random()}`
    await scopedKnex(pool, settings())('notes').insert({ text })
    await expect(scopedKnex(pool, settings({ readOnly: true }))('notes').insert({ text })).rejects.toMatchObject({
      code: '25006',
    })
    expect(await pool('notes').where({ text })).toHaveLength(1)
  })
})

describe('a scoped knex', () => {
  it('is no other knex, and cannot be copied or read as a stream', async () => {
    const pool = poolOf()
    const scoped = scopedKnex(pool, settings())
    expect(scopeOf(scoped)?.base).toBe(pool)
    expect(scopeOf(pool)).toBeUndefined()
    expect(pool.client).not.toBe(scoped.client)
    expect(() => scoped.withUserParams({})).toThrow('cannot be copied')
    const [error] = await once(scoped('notes').stream(), 'error', { signal: AbortSignal.timeout(5_000) }).catch(
      (failure) => [failure],
    )
    expect(String(error)).toContain('needs a transaction')
    // its connection, the only one, is back
    expect((await scoped.raw(WHO)).rows).toEqual([SEEN])
  })

  it('is made of knex over pg only: what sends in another way would leave the settings out', () => {
    const pool = poolOf()
    const other = Object.assign(Object.create(pool) as Knex, {
      context: { client: Object.assign(Object.create(pool.client), { driverName: 'pgnative' }) },
    })
    expect(() => scopedKnex(other, settings())).toThrow('databaseRole and databaseSettings need knex over pg')
    const changed = Object.assign(Object.create(pool) as Knex, {
      context: { client: Object.assign(Object.create(pool.client), { _query: undefined }) },
    })
    expect(() => scopedKnex(changed, settings())).toThrow('databaseRole and databaseSettings need knex over pg')
  })
})

describe('settings', () => {
  it('bind names and values, and say the same for the same names', () => {
    const made = settings({ settings: { 'app.a': 1, 'app.b': { c: null } }, readOnly: true })
    expect(made).toMatchObject({
      text: "select set_config('role', $1, true), set_config($2, $3, true), set_config($4, $5, true), set_config('transaction_read_only', 'on', true)",
      values: [ROLE, 'app.a', '1', 'app.b', '{"c":null}'],
    })
    expect(localSettings({})).toMatchObject({ text: 'select 1', values: [] })
  })

  it.each(['app.a\napp.b', 'app', 'role', "a.b'", 'app.', '.a', 'app.a\n3'])('have no name %j', (name) => {
    localSettings({ settings: { 'app.a': 1, 'app.b': 2 } })
    expect(() => localSettings({ settings: { [name]: 'x' } })).toThrow('is no setting that can be given')
  })

  it.each(['', 'none', 'NONE', 'a\u0000b', 'x'.repeat(64), 'ü'.repeat(32)])('have no role %j', (role) => {
    expect(() => localSettings({ role })).toThrow(UnusableSetting)
  })
})
