import knexLibrary, { type Knex } from 'knex'
import type Koa from 'koa'
import { Model } from 'objection'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { BadRequest, modelSerializer } from '../../lib/index.js'
import { ConfigurationError } from '../../lib/kernel/errors.js'
import { prepareModels } from '../../lib/tools/index.js'
import { errors, transaction } from '../../plugins/index.js'
import { type Client, serveApp } from '../support/client.js'
import { countQueries, createDatabase } from '../support/database.js'
import { database, useLibrary } from '../support/library.js'
import { connectTo } from '../support/server.js'

useLibrary()
beforeEach(() => database.knex.raw('truncate shelves restart identity'))

async function working(handler: (ctx: Koa.Context, trx: Knex.Transaction) => Promise<void>): Promise<Client> {
  return serveApp(errors(), transaction(database.knex), (ctx) => handler(ctx, ctx.state['trx']))
}

const codes = () => database.knex('shelves').orderBy('id').pluck('code')

describe('transaction()', () => {
  it('is a named middleware', () => {
    expect(transaction(database.knex).name).toBe('runInTransaction')
  })

  it.each([undefined, null, {}])('[I23] refuses %j, which is no knex, when it is called', (knex) => {
    expect(() => transaction(knex as never)).toThrow(new ConfigurationError('transaction(knex): give a knex instance'))
  })

  it('[I11] commits before the answer is sent', async () => {
    const { send } = await working(async (ctx, trx) => {
      await trx('shelves').insert({ code: 'a' })
      expect(await codes()).toEqual([])
      ctx.body = { done: true }
    })
    const texts = await countQueries(database.knex, async () => {
      expect(await send('POST', '/')).toMatchObject({ status: 200, json: { done: true } })
      expect(await codes()).toEqual(['a'])
    })
    expect(texts.filter((text) => /^(?:BEGIN|COMMIT|ROLLBACK)/.test(text))).toEqual(['BEGIN;', 'COMMIT;'])
  })

  it('has serializers of the route in it, and for its caller', async () => {
    class Shelf extends Model {
      static override tableName = 'shelves'
    }
    Shelf.knex(database.knex)
    await prepareModels([Shelf])
    class ShelfSerializer extends modelSerializer(Shelf, { fields: ['id', 'code'] }) {
      override validate(data: Record<string, unknown>) {
        return { ...data, code: `${String(data['code'])} of ${String(this.context.user)}` }
      }
    }
    const { send } = await working(async (ctx) => {
      ctx.state['user'] = 'Ann'
      for (const context of [{ ctx }, { ctx, user: 'Bob' }]) {
        const serializer = new ShelfSerializer({ inputData: { code: 'a' }, context })
        await serializer.isValid({ raiseException: true })
        await serializer.save()
      }
      if (ctx.path === '/refused') ctx.throw(409)
      ctx.body = { done: true }
    })
    expect((await send('POST', '/refused')).status).toBe(409)
    expect(await codes()).toEqual([])
    expect((await send('POST', '/')).status).toBe(200)
    expect(await codes()).toEqual(['a of Ann', 'a of Bob'])
  })

  it('leaves serializers of other databases where these are', async () => {
    const other = await createDatabase({ schema: 'create table shelves (id serial primary key, code text)' })
    onTestFinished(() => other.drop())
    class Shelf extends Model {
      static override tableName = 'shelves'
    }
    Shelf.knex(other.knex)
    await prepareModels([Shelf])
    const { send } = await working(async (ctx) => {
      const serializer = new (modelSerializer(Shelf, { fields: ['code'] }))({
        inputData: { code: 'a' },
        context: { ctx },
      })
      await serializer.isValid({ raiseException: true })
      await serializer.save()
      ctx.throw(409)
    })
    expect((await send('POST', '/')).status).toBe(409)
    expect(await other.knex('shelves').pluck('code')).toEqual(['a'])
  })

  it('answers what the work has refused where its connection is lost before ROLLBACK', async () => {
    const { send } = await working(async (_, trx) => {
      const [{ pid }] = (await trx.raw('select pg_backend_pid() as pid')).rows
      await database.knex.raw('select pg_terminate_backend(?, 1000)', [pid])
      throw new BadRequest('No.')
    })
    expect((await send('POST', '/')).json).toEqual({ status: 400, detail: 'No.' })
  })

  it('does no work in a transaction that could not begin, and tells why', async () => {
    const own = knexLibrary({ client: 'pg', connection: database.connection as Knex.PgConnectionConfig })
    onTestFinished(() => own.destroy())
    type Connection = { connection: { stream: { destroy(): void } } }
    const { client } = own as unknown as { client: { acquireConnection(): Promise<Connection> } }
    const acquire = client.acquireConnection.bind(client)
    client.acquireConnection = async () => {
      const connection = await acquire()
      connection.connection.stream.destroy()
      return connection
    }
    let count = 0
    const { send, reported } = await serveApp(errors(), transaction(own), async () => void count++)
    expect((await send('POST', '/')).status).toBe(503)
    expect(count).toBe(0)
    expect(String((reported[0] as Error).cause)).toContain('BEGIN')
  })

  it('leaves nothing of a request for the next one where a statement takes longer than pg waits', async () => {
    const own = knexLibrary({
      client: 'pg',
      connection: { ...(database.connection as Knex.PgConnectionConfig), query_timeout: 100 },
      pool: { min: 0, max: 1 },
    })
    onTestFinished(() => own.destroy())
    const { send, reported } = await serveApp(errors(), transaction(own), async (ctx) => {
      await ctx.state['trx']('shelves').insert({ code: ctx.path })
      if (ctx.path === '/slow') await ctx.state['trx'].raw('select pg_sleep(0.25)')
      ctx.body = {}
    })
    expect((await send('POST', '/slow')).status).toBe(503)
    // and not what ROLLBACK failed for behind it
    expect(String((reported[0] as Error).cause)).toContain('select pg_sleep(0.25) - Query read timeout')
    expect((await send('POST', '/next')).status).toBe(200)
    expect(await codes()).toEqual(['/next'])
  })

  it('[A8] rolls back when the handler throws', async () => {
    const { send } = await working(async (ctx, trx) => {
      await trx('shelves').insert({ code: 'a' })
      if (ctx.path === '/unique') await trx('shelves').insert({ code: 'a' })
      ctx.throw(422, 'No.')
    })
    expect(await send('POST', '/')).toMatchObject({ status: 422, json: { detail: 'No.' } })
    expect(await send('POST', '/unique')).toMatchObject({ status: 400, json: { detail: 'Validation failed' } })
    expect(await codes()).toEqual([])
  })

  it.each([400, 404, 500])('[A8] rolls back for the status %i, and keeps the answer', async (status) => {
    const { port } = await working(async (ctx, trx) => {
      await trx('shelves').insert({ code: 'a' })
      ctx.status = status
      ctx.body = { mine: true }
    })
    expect(await connectTo(port).send({ method: 'POST' })).toMatchObject({ status, json: { mine: true } })
    expect(await codes()).toEqual([])
  })

  it.each(['end', 'writeHead'])('[A8] rolls back where the handler refuses by itself, with res.%s()', async (by) => {
    const { port } = await working(async (ctx, trx) => {
      await trx('shelves').insert({ code: 'a' })
      ctx.respond = false
      if (by === 'writeHead') ctx.res.writeHead(404)
      else ctx.res.statusCode = 404
      ctx.res.end()
    })
    expect(await connectTo(port).send({ method: 'POST' })).toMatchObject({ status: 404 })
    await vi.waitFor(async () => {
      const { pool } = database.knex.client as { pool: { numUsed(): number } }
      expect(pool.numUsed()).toBe(0)
    })
    expect(await codes()).toEqual([])
  })

  it('[A8] commits what the handler answers later by itself', async () => {
    const { port } = await working(async (ctx, trx) => {
      await trx('shelves').insert({ code: 'a' })
      ctx.respond = false
      setTimeout(() => ctx.res.writeHead(200).end(), 50)
    })
    expect(await connectTo(port).send({ method: 'POST' })).toMatchObject({ status: 200 })
    expect(await codes()).toEqual(['a'])
  })

  it('[A8] commits what a middleware around it answers for', async () => {
    const client = await serveApp(
      async (ctx, next) => {
        await next()
        ctx.body = ctx.state['result']
      },
      transaction(database.knex),
      async (ctx) => {
        ctx.state['result'] = await ctx.state['trx']('shelves').insert({ code: 'a' }).returning('code')
      },
    )
    expect(await client.send('POST', '/')).toMatchObject({ status: 200, json: [{ code: 'a' }] })
    expect(await codes()).toEqual(['a'])
  })

  it.each([undefined, null])('[A8] is no success when the handler throws %s', async (nothing) => {
    const { send, reported } = await working(async (ctx, trx) => {
      await trx('shelves').insert({ code: 'a' })
      ctx.body = 'done'
      // oxlint-disable-next-line typescript/only-throw-error
      throw nothing
    })
    expect(await send('POST', '/')).toMatchObject({ status: 500 })
    expect(String(reported[0])).toBe(`Error: transaction() has thrown ${nothing}`)
    expect(await codes()).toEqual([])
  })

  it('[I2] answers what only COMMIT refuses', async () => {
    const { send } = await working(async (ctx, trx) => {
      await trx('shelves').insert({ code: 'a', below_id: 99 })
      ctx.status = 201
      ctx.set('Location', '/1')
      ctx.body = { done: true }
    })
    expect(await send('POST', '/')).toMatchObject({
      status: 400,
      json: { errors: { non_field_errors: ['Invalid value.'] } },
    })
    expect(await codes()).toEqual([])
  })

  it('is no success after a failed query that was swallowed', async () => {
    const { send, reported } = await working(async (ctx, trx) => {
      await trx('shelves').insert({ code: 'a' })
      await trx.raw('select 1/0').catch(() => {})
      ctx.body = 'done'
    })
    expect(await send('POST', '/')).toMatchObject({ status: 500 })
    expect(String(reported[0])).toMatch(/transaction\(\): a query failed and the error was not passed on/)
  })

  it('leaves no connection, no transaction and no trx behind', async () => {
    let state: object | undefined
    const client = await serveApp(
      errors(),
      async (ctx, next) => {
        state = ctx.state
        await next()
      },
      transaction(database.knex),
      (ctx) => {
        if (ctx.path === '/throw') ctx.throw(400)
        ctx.body = 'x'
      },
    )
    for (const path of ['/', '/throw']) {
      await client.get(path)
      expect(state).not.toHaveProperty('trx')
    }
    const { pool } = database.knex.client as { pool: { numUsed(): number } }
    expect(pool.numUsed()).toBe(0)
  })
})
