import Koa from 'koa'
import { koaBody } from 'koa-body'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ApiError, ValidationError } from '../../lib/errors.js'
import { errors } from '../../plugins/index.js'
import { serve, type TestServer } from '../support/server.js'

let server: TestServer | undefined

afterEach(async () => {
  vi.restoreAllMocks()
  await server?.close()
  server = undefined
})

async function serving(handler: Koa.Middleware, listener?: (error: unknown) => void): Promise<TestServer> {
  const app = new Koa()
  if (listener) app.on('error', listener)
  app.use(errors()).use(handler)
  server = await serve(app)
  return server
}

describe('errors()', () => {
  it('is a named middleware', () => {
    expect(errors().name).toBe('answerErrors')
  })

  it("turns the app's own unanswered 404 into JSON and keeps its headers", async () => {
    const { send } = await serving((ctx) => ctx.set('X-App-Version', '7'))
    const { status, text, headers } = await send({ path: '/nowhere' })
    expect({ status, text }).toEqual({ status: 404, text: '{"detail":"Not found","status":404}' })
    expect(headers).toMatchObject({ 'x-app-version': '7', 'cache-control': 'no-store' })
  })

  it('leaves every answer of the app alone', async () => {
    const { send } = await serving((ctx) => {
      ctx.status = ctx.path === '/mine' ? 404 : 200
      ctx.body = 'mine'
    })
    expect(await send({ path: '/mine' })).toMatchObject({ status: 404, text: 'mine' })
    expect(await send({ path: '/' })).toMatchObject({ status: 200, text: 'mine' })
  })

  it('answers errors of the database', async () => {
    const { send } = await serving((ctx) => {
      throw Object.assign(new Error('update or delete on table "authors" violates …'), {
        code: '23503',
        table: ctx.method,
      })
    })
    expect(await send({ method: 'DELETE' })).toMatchObject({ status: 409 })
    const post = await send({ method: 'POST' })
    expect(post.json).toEqual({
      detail: 'Validation failed',
      status: 400,
      errors: { non_field_errors: ['Invalid value.'] },
    })
  })

  it('1.1.3 fires the error event of the app for 5xx and for nothing else', async () => {
    const reported: unknown[] = []
    const outage = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    const { send } = await serving(
      (ctx) => {
        if (ctx.path === '/outage') throw outage
        if (ctx.path === '/bug') throw new TypeError('bug')
        if (ctx.path === '/input') throw new ValidationError('No.')
        if (ctx.path === '/teapot') throw new ApiError(418, 'Short and stout')
        ctx.throw(404, 'Nothing here')
      },
      (error) => reported.push(error),
    )
    const statuses: number[] = []
    for (const path of ['/outage', '/bug', '/input', '/teapot', '/']) statuses.push((await send({ path })).status)
    expect(statuses).toEqual([503, 500, 400, 418, 404])
    expect(reported).toHaveLength(2)
    expect(reported[0]).toMatchObject({ name: 'ServiceUnavailable', cause: outage })
    expect(reported[1]).toEqual(new TypeError('bug'))
  })

  it("A4 answers what the app's own parser refuses, without its message", async () => {
    const { send } = await serving(koaBody() as Koa.Middleware)
    for (const body of ['{"password":"hunter2', '{"__proto__":{"a":1}}']) {
      const { text } = await send({ body, headers: { 'Content-Type': 'application/json' } })
      expect(text).toBe('{"detail":"Bad Request","status":400}')
    }
  })

  it('writes nothing to the console for a 4xx', async () => {
    const output = [vi.spyOn(console, 'error'), vi.spyOn(process.stderr, 'write')]
    const { send } = await serving(() => {
      throw new ValidationError('No.')
    })
    expect((await send({})).status).toBe(400)
    for (const spy of output) expect(spy).not.toHaveBeenCalled()
  })
})
