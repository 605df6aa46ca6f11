import knex from 'knex'
import Koa from 'koa'
import { expect, it, onTestFinished, vi } from 'vitest'
import { ReplicaSet } from '../../lib/replicas/index.js'
import { errors, readFrom } from '../../plugins/index.js'
import { database, useLibrary } from '../support/library.js'
import { serve } from '../support/server.js'

useLibrary()

it('leaves alone an answer that a handler has begun to send by itself', async () => {
  vi.stubEnv('SERVICE_SECRET_KEY', 'a secret of the tests')
  onTestFinished(() => void vi.unstubAllEnvs())
  const replica = knex({ client: 'pg', connection: database.connection as never })
  onTestFinished(() => replica.destroy())
  const replicas = new ReplicaSet({ primary: database.knex, replicas: [replica] })
  const reported: unknown[] = []
  const app = new Koa()
  app.on('error', (error) => reported.push(error))
  let isPassed: () => void
  const passed = new Promise<void>((resolve) => {
    isPassed = resolve
  })
  app.use(async (_ctx, next) => {
    await next()
    isPassed()
  })
  app.use(errors()).use(readFrom(replicas))
  app.use((ctx) => {
    ctx.respond = false
    ctx.res.writeHead(200, { 'Content-Type': 'text/plain' })
    ctx.res.write('begun, ')
    void passed.then(() => ctx.res.end('ended'))
  })
  const server = await serve(app)
  onTestFinished(() => server.close())
  expect(await server.send({ method: 'POST' })).toMatchObject({ status: 200, text: 'begun, ended' })
  expect(reported).toEqual([])
})
