import { Readable } from 'node:stream'
import type Koa from 'koa'
import { describe, expect, it } from 'vitest'
import { CSVRenderer, JSONRenderer } from '../../lib/index.js'
import { authentication, contentNegotiation, errors, etag } from '../../plugins/index.js'
import { type Client, serveApp } from '../support/client.js'
import { connectTo } from '../support/server.js'

/** As an application sets a header of its own for all its routes. */
function onAllRoutes(cacheControl: string): Koa.Middleware {
  return async (ctx, next) => {
    ctx.set('Cache-Control', cacheControl)
    await next()
  }
}

async function answering(handler: Koa.Middleware, options?: Parameters<typeof etag>[0]): Promise<Client> {
  return serveApp(errors(), etag(options), handler)
}

describe('etag()', () => {
  it('is a named middleware', () => {
    expect(etag().name).toBe('addValidators')
  })

  it.each<[string, unknown, string, string]>([
    ['a text', 'hello world', 'W/"b94d27b9934d3e08"', 'text/plain; charset=utf-8'],
    ['a buffer', Buffer.from('hello world'), 'W/"b94d27b9934d3e08"', 'application/octet-stream'],
    ['an object', { a: 1 }, 'W/"015abd7f5cc57a2d"', 'application/json; charset=utf-8'],
    ['a list', [], 'W/"4f53cda18c2baa0c"', 'application/json; charset=utf-8'],
  ])('tags %s', async (_name, body, tag, type) => {
    const { get } = await answering((ctx) => {
      ctx.body = body
    })
    const full = await get('/')
    expect(full.headers).toMatchObject({ etag: tag, 'cache-control': 'private', 'content-type': type })
    expect(Number(full.headers['content-length'])).toBe(Buffer.byteLength(full.text))
    expect(await get('/', { 'If-None-Match': tag })).toMatchObject({ status: 304, text: '' })
  })

  it.each([
    ['around', (negotiation: Koa.Middleware) => [etag(), negotiation]],
    ['inside', (negotiation: Koa.Middleware) => [negotiation, etag()]],
  ])('tags what is negotiated, %s contentNegotiation()', async (_place, order) => {
    const negotiation = contentNegotiation({ renderers: [JSONRenderer, CSVRenderer] })
    const client = await serveApp(errors(), ...order(negotiation), (ctx) => {
      if (ctx.path === '/own') ctx.set('ETag', '"own"')
      ctx.body = [{ a: 1 }]
    })
    const csv = await client.get('/', { Accept: 'text/csv' })
    const json = await client.get('/')
    expect(csv).toMatchObject({ text: 'a\r\n1\r\n', headers: { 'content-type': 'text/csv; charset=utf-8' } })
    expect(json).toMatchObject({ text: '[{"a":1}]', headers: { 'content-type': 'application/json; charset=utf-8' } })
    expect(csv.headers['etag']).not.toBe(json.headers['etag'])
    for (const [{ headers }, accept] of [
      [csv, 'text/csv'],
      [json, '*/*'],
    ] as const) {
      expect(headers).toMatchObject({ vary: 'Accept', 'x-content-type-options': 'nosniff' })
      const known = await client.get('/', { Accept: accept, 'If-None-Match': headers['etag'] })
      expect(known).toMatchObject({ status: 304, text: '', headers: { etag: headers['etag'], vary: 'Accept' } })
    }
    const own = await client.get('/own', { Accept: 'text/csv', 'If-None-Match': '"own"' })
    expect(own).toMatchObject({ status: 304, text: '', headers: { vary: 'Accept' } })
  })

  it('writes an object once', async () => {
    let written = 0
    const { get } = await answering((ctx) => {
      ctx.body = { toJSON: () => ({ written: ++written }) }
    })
    expect((await get('/')).json).toEqual({ written: 1 })
    expect(written).toBe(1)
  })

  it.each<[string, () => unknown]>([
    ['a stream', () => Readable.from(['hello ', 'world'])],
    ['a web stream', () => new Response('hello world').body],
    ['a blob', () => new Blob(['hello world'])],
  ])('does not tag %s', async (_name, body) => {
    const { get } = await answering((ctx) => {
      ctx.body = body()
    })
    const answer = await get('/', { 'If-None-Match': '*' })
    expect(answer).toMatchObject({ status: 200, text: 'hello world', headers: { 'cache-control': 'private' } })
    expect(answer.headers).not.toHaveProperty('etag')
  })

  it("keeps the handler's own ETag and Cache-Control", async () => {
    const { get } = await answering((ctx) => {
      ctx.set({ ETag: '"v1"', 'Cache-Control': 'max-age=5' })
      ctx.body = 'x'
    })
    expect((await get('/')).headers).toMatchObject({ etag: '"v1"', 'cache-control': 'max-age=5' })
    expect((await get('/', { 'If-None-Match': 'W/"v1"' })).status).toBe(304)
  })

  it('stands above what the app says of all routes', async () => {
    const client = await serveApp(
      onAllRoutes('no-store'),
      etag({ maxAge: 60, private: false, noCache: true }),
      (ctx) => {
        ctx.body = 'x'
      },
    )
    expect((await client.get('/')).headers['cache-control']).toBe('no-cache, public, max-age=60')
  })

  it("keeps the handler's own Cache-Control where the app says the same of all routes", async () => {
    const client = await serveApp(onAllRoutes('no-store'), etag({ maxAge: 60 }), (ctx) => {
      if (ctx.path === '/empty') ctx.status = 204
      else if (ctx.path === '/sent') {
        ctx.respond = false
        ctx.res.writeHead(200).end('sent')
      } else {
        ctx.set('Cache-Control', 'no-store')
        ctx.body = 'x'
      }
    })
    for (const path of ['/', '/empty', '/sent'])
      expect((await client.get(path)).headers['cache-control']).toBe('no-store')
  })

  it('[G10] leaves what a known caller gets, whatever the app says of all routes', async () => {
    const client = await serveApp(
      onAllRoutes('no-store'),
      async (ctx, next) => {
        ctx.state['user'] = { id: 1 }
        await next()
      },
      etag({ maxAge: 60, private: false }),
      authentication(),
      (ctx) => {
        ctx.body = 'x'
      },
    )
    expect((await client.get('/')).headers['cache-control']).toBe('no-store')
  })

  it('leaves errors that Koa answers without what the app says of all routes', async () => {
    const client = await serveApp(onAllRoutes('public, max-age=3600'), etag({ maxAge: 60 }), (ctx) =>
      ctx.throw(404, 'Not Found'),
    )
    const { status, headers } = await connectTo(client.port).send({})
    expect(status).toBe(404)
    expect(headers).not.toHaveProperty('cache-control')
  })

  it('gives no answer of 400 and more a tag', async () => {
    const { port } = await answering((ctx) => {
      ctx.status = 404
      ctx.set('ETag', '"x"')
      ctx.body = { nothing: 'here' }
    })
    const { status, headers } = await connectTo(port).send({ headers: { 'If-None-Match': '"x"' } })
    expect({ status, headers }).toMatchObject({ status: 404, headers: { 'cache-control': 'no-store' } })
    expect(headers).not.toHaveProperty('etag')
  })

  it('leaves alone what is no 200 of GET or HEAD, and what the handler sends itself', async () => {
    const { get, send } = await answering(async (ctx) => {
      if (ctx.path === '/sent') {
        ctx.respond = false
        ctx.res.statusCode = 200
        ctx.res.end('sent')
      } else if (ctx.path === '/empty') ctx.status = 204
      else ctx.body = 'x'
    })
    expect((await send('POST', '/')).headers).not.toHaveProperty('etag')
    expect((await get('/empty')).headers).not.toHaveProperty('cache-control')
    expect(await get('/sent', { 'If-None-Match': '*' })).toMatchObject({ status: 200, text: 'sent' })
  })
})
