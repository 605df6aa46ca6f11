/** Bodies that are streams: of Node and of the web, and those that fail before they are sent. */
import { Readable } from 'node:stream'
import knex from 'knex'
import Koa from 'koa'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ensureIdempotencyTable } from '../../lib/idempotency/index.js'
import { APIRouter, listAction, modelSerializer, modelViewSet } from '../../lib/index.js'
import { mcp } from '../../lib/mcp/index.js'
import { ReplicaSet } from '../../lib/replicas/index.js'
import { errors, idempotency, readFrom, transaction } from '../../plugins/index.js'
import { messageOf } from '../support/agent.js'
import { database, Tag, useLibrary } from '../support/library.js'
import { connectTo, serve } from '../support/server.js'

useLibrary()
beforeAll(() => ensureIdempotencyTable(database.knex))

/** A stream that fails as soon as it is the body, as that of a file that is not there. */
function failing(): Readable {
  return new Readable({ construct: (done) => void setImmediate(done, new Error('broken')), read() {} })
}

async function serving(...middleware: Koa.Middleware[]) {
  const app = new Koa()
  app.on('error', () => {})
  for (const one of middleware) app.use(one)
  const server = await serve(app)
  onTestFinished(() => server.close())
  return server
}

/** Errors that would have ended the process. */
function uncaught(): unknown[] {
  const errors: unknown[] = []
  const listeners = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException').on('uncaughtException', (error) => errors.push(error))
  onTestFinished(() => {
    process.removeAllListeners('uncaughtException')
    for (const listener of listeners) process.on('uncaughtException', listener)
  })
  return errors
}

/** Whatever comes of the request; one that was broken off is another's answer. */
async function ask(port: number, method: string, path: string, headers: Record<string, string> = {}) {
  return connectTo(port)
    .send({ method, path, headers })
    .catch(() => undefined)
}

describe('a stream that fails before it is sent', () => {
  it('ends no process behind transaction(), idempotency() and readFrom()', async () => {
    const replica = knex({ client: 'pg', connection: database.connection as never })
    onTestFinished(() => replica.destroy())
    vi.stubEnv('SERVICE_SECRET_KEY', 'a secret of the tests')
    onTestFinished(() => void vi.unstubAllEnvs())
    const errorsOfProcess = uncaught()
    const around: Readonly<Record<string, Koa.Middleware>> = {
      '/transaction': transaction(database.knex),
      '/idempotency': idempotency(database.knex, { scope: () => 'ada' }),
      '/replicas': readFrom(new ReplicaSet({ primary: database.knex, replicas: [replica] })),
    }
    const server = await serving(
      errors(),
      (ctx, next) => around[ctx.path]?.(ctx, next) ?? next(),
      async (ctx) => {
        await (ctx.state['trx'] ?? database.knex).raw('select 1')
        ctx.body = ctx.path === '/' ? 'still there' : failing()
      },
    )
    for (const path of Object.keys(around)) await ask(server.port, 'POST', path, { 'Idempotency-Key': path })
    await ask(server.port, 'HEAD', '/transaction')
    expect((await server.send({ path: '/' })).text).toBe('still there')
    expect(errorsOfProcess).toEqual([])
  })

  it('ends no process where an action of a view set returns it, or sets it', async () => {
    const methods = ['GET', 'POST'] as const
    class Tags extends modelViewSet(Tag, {
      serializerClass: modelSerializer(Tag, { fields: ['slug'] }),
      actions: {
        returned: listAction({ methods }, async () => failing()),
        set: listAction({ methods }, async function () {
          this.ctx.body = failing()
        }),
      },
    }) {}
    const errorsOfProcess = uncaught()
    const api = new APIRouter({ prefix: '/api' }).register('tags', Tags)
    await api.prepare()
    const server = await serving(api.routes())
    for (const path of ['/api/tags/returned', '/api/tags/set']) {
      for (const method of ['GET', 'HEAD', 'POST']) await ask(server.port, method, path)
    }
    expect((await server.send({ path: '/api/tags' })).status).toBe(200)
    expect(errorsOfProcess).toEqual([])
  })
})

describe('a stream that an action returns', () => {
  const webStream = () => new Response('web').body as ReadableStream
  const methods = ['GET'] as const
  class Tags extends modelViewSet(Tag, {
    serializerClass: modelSerializer(Tag, { fields: ['slug'] }),
    actions: {
      web: listAction({ methods }, async () => webStream()),
      blob: listAction({ methods }, async () => new Blob(['blob'])),
      response: listAction({ methods }, async () => new Response('response')),
      node: listAction({ methods }, async () => Readable.from(['no', 'de'])),
    },
  }) {}

  it('is the body, whether it is one of Node or of the web', async () => {
    const api = new APIRouter({ prefix: '/api' }).register('tags', Tags)
    await api.prepare()
    const server = await serving(api.routes())
    for (const name of ['web', 'blob', 'response', 'node']) {
      expect(await server.send({ path: `/api/tags/${name}` })).toMatchObject({ status: 200, text: name })
    }
  })

  it('is the result of a tool', async () => {
    const api = new APIRouter({ prefix: '/api' }).register('tags', Tags)
    const tools = mcp(api, { tools: ['tags'] })
    await api.prepare()
    const server = await serving(tools)
    for (const name of ['web', 'blob', 'response', 'node']) {
      const { json } = await server.send(messageOf({ method: 'tools/call', params: { name: `tag_${name}` } }))
      expect(json.result.content).toEqual([{ type: 'text', text: name }])
    }
  })
})
