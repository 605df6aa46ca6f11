/** Lists are prepared by name, and stay right when the database changes under them (promise I21). */
import Koa from 'koa'
import { APIRouter, configure, FieldFilter, ModelSerializer, ModelViewSet, OrderingFilter } from 'koa-viewsets'
import { Model } from 'objection'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createDatabase, poolMode, type TestDatabase } from '../support/database.js'
import { serve, type TestServer } from '../support/server.js'
import { report, size } from '../trust/support/size.js'

const FIELDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']
const SHAPES = size(2 ** FIELDS.length, 10_000)

class Thing extends Model {
  static override tableName = 'things'
}

class ThingSerializer extends ModelSerializer<Thing> {
  static override model = Thing
  static override fields = ['id', ...FIELDS]
}

class ThingViewSet extends ModelViewSet<Thing> {
  static override model = Thing
  static override serializerClass = ThingSerializer
  static override filterBackends = [FieldFilter, OrderingFilter]
  static override filtersetFields = FIELDS
  static override orderingFields = FIELDS
}

let database: TestDatabase
let server: TestServer

beforeAll(async () => {
  const columns = FIELDS.map((name) => `${name} int not null default 0`).join(', ')
  database = await createDatabase({
    schema: `create table things (id serial primary key, ${columns}); insert into things select from generate_series(1, 3);`,
  })
  Model.knex(database.knex)
  const api = new APIRouter({ prefix: '/api' }).register('things', ThingViewSet)
  await api.prepare()
  server = await serve(new Koa().use(api.routes()))
})

afterAll(async () => {
  await server.close()
  await database.drop()
})

afterEach(() => {
  vi.unstubAllEnvs()
  configure({})
})

/** The statements that the server's one connection has prepared. */
async function prepared(): Promise<string[]> {
  const names = new Set<string>()
  // every connection of the pool is asked: those that are busy come back in turn
  const { rows } = await database.knex.raw<{ rows: { name: string }[] }>('select name from pg_prepared_statements')
  for (const { name } of rows) names.add(name)
  return [...names]
}

async function get(query: string) {
  const { status, json } = await server.send({ path: `/api/things${query}` })
  return { status, json }
}

describe('[P6j I21] a prepared list', () => {
  it('survives a column that is added, and one whose type changes', async () => {
    expect((await get('?a=0')).json).toHaveLength(3)
    await database.knex.raw('alter table things add column extra text')
    expect((await get('?a=0')).status).toBe(200)
    await database.knex.raw('alter table things alter column j type bigint')
    const { status, json } = await get('?a=0')
    expect(status).toBe(200)
    expect(json[0]).toMatchObject({ id: 1, j: 0 })
    expect((await server.send({ path: '/api/things/1' })).status).toBe(200)
  })

  it('has no 5xx while tables change under load', async () => {
    let running = true
    const statuses = new Set<number>()
    const clients = Array.from({ length: 8 }, async () => {
      while (running) statuses.add((await get('?b=0&ordering=-c')).status)
    })
    for (const type of ['bigint', 'int', 'bigint', 'int']) {
      await database.knex.raw(`alter table things alter column i type ${type}`)
      await database.knex.raw('alter table things add column more text')
      await database.knex.raw('alter table things drop column more')
    }
    running = false
    await Promise.all(clients)
    expect([...statuses]).toEqual([200])
  })

  // names are switched off there
  it.skipIf(poolMode() === 'transaction')(
    `is prepared by name, at most 500 shapes of the ${SHAPES} that clients ask for`,
    { timeout: 30_000 + SHAPES * 20 },
    async () => {
      const orders = FIELDS.flatMap((name) => [name, `-${name}`])
      for (let shape = 0; shape < SHAPES; shape += 1) {
        const filters = FIELDS.filter((_, index) => shape & (2 ** index)).map((name) => `${name}=0`)
        // all combinations of filters, and then the same in other orders
        const order = orders[Math.floor(shape / 2 ** FIELDS.length) - 1]
        const query = [...filters, ...(order === undefined ? [] : [`ordering=${order}`])]
        const { status, json } = await get(`?${query.join('&')}`)
        expect({ status, length: json.length }).toEqual({ status: 200, length: 3 })
      }
      const names = await prepared()
      report('I21 shapes', { asked: SHAPES, prepared: names.length })
      expect(names.length).toBeGreaterThan(100)
      expect(names.length).toBeLessThanOrEqual(500)
    },
  )

  it('is sent without a name where names are switched off, as behind a pooler by transaction', async () => {
    const before = (await prepared()).length
    configure({ preparedStatements: false })
    const { status, json } = await get('?ordering=a,b,c,d,e,f,g,-h')
    expect({ status, length: json.length }).toEqual({ status: 200, length: 3 })
    expect((await prepared()).length).toBe(before)
  })

  it('is not begun with a setting that is neither', async () => {
    vi.stubEnv('PREPARED_STATEMENTS', 'never')
    configure({})
    const api = new APIRouter().register('things', ThingViewSet)
    await expect(api.prepare()).rejects.toThrow('PREPARED_STATEMENTS is "never": give true or false')
  })
})

describe('[A5] parameters named as what objects inherit', () => {
  it('are no filters', async () => {
    const plain = await get('')
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf']) {
      for (const lookup of ['', '__in', '__exact', '__proto__']) {
        expect(await get(`?${name}${lookup}=1`)).toEqual(plain)
      }
    }
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})
