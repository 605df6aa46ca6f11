import { once } from 'node:events'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import Koa from 'koa'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { answerError } from '../../../lib/http/answer-error.js'
import type { Context } from '../../../lib/http/context.js'
import { isUnanswered } from '../../../lib/http/context.js'
import {
  ApiError,
  AuthenticationFailed,
  Conflict,
  MethodNotAllowed,
  NotFound,
  PermissionDenied,
  ServiceUnavailable,
  Throttled,
  UnsupportedMediaType,
  ValidationError,
} from '../../../lib/kernel/errors.js'
import { exchange, serve, type TestServer } from '../../support/server.js'

let server: TestServer | undefined
let reported: unknown[] = []

afterEach(async () => {
  await server?.close()
  server = undefined
})

/** Serves an app whose only handler fails, and whose first middleware answers. */
async function failing(handler: (ctx: Context) => unknown): Promise<TestServer> {
  const app = new Koa()
  reported = []
  app.on('error', (error) => reported.push(error))
  app.use(async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      answerError(ctx, error)
    }
  })
  app.use(async (ctx) => {
    await handler(ctx)
  })
  server = await serve(app)
  return server
}

/** Serves an app that throws this. */
function throwing(error: unknown): Promise<TestServer> {
  return failing(() => {
    throw error
  })
}

const like = (properties: object, message = 'secret path /etc/x') => Object.assign(new Error(message), properties)
const isBoom = (error: unknown) => error instanceof Error && error.message === 'boom'
const internal = '{"detail":"Internal server error","status":500}'

describe('the envelope', () => {
  it.each([
    ['a missing object', new NotFound(), 404, '{"detail":"Not found","status":404}'],
    ['a refusal', new PermissionDenied(), 403, '{"detail":"Permission denied","status":403}'],
    ['a conflict', new Conflict('In use'), 409, '{"detail":"In use","status":409}'],
    [
      'invalid input',
      new ValidationError({ title: ['This field is required.'], author: { name: ['Too short.'] } }),
      400,
      '{"detail":"Validation failed","status":400,"errors":{"title":["This field is required."],"author":{"name":["Too short."]}}}',
    ],
    ['an outage', new ServiceUnavailable(), 503, '{"detail":"Service temporarily unavailable","status":503}'],
    ['an unknown error', new Error('select * from users'), 500, internal],
    ['an ApiError of 500', new ApiError(500, 'select * from users'), 500, internal],
    ['an ApiError that is no error', new ApiError(200, 'fine'), 500, internal],
    ['an ApiError without a valid status', new ApiError(799, 'what'), 500, internal],
    ['an ApiError whose status is a text', new ApiError('404' as unknown as number, 'what'), 500, internal],
    ['a thrown text', 'select * from users', 500, internal],
    ['a thrown null', null, 500, internal],
    [
      'an error of other middleware to be shown',
      like({ status: 422, expose: true }, 'Bad cursor'),
      422,
      '{"detail":"Bad cursor","status":422}',
    ],
    ['one not to be shown', like({ status: 413, expose: false }), 413, '{"detail":"Payload Too Large","status":413}'],
    ['one that says neither', like({ statusCode: 400 }), 400, '{"detail":"Bad Request","status":400}'],
    ['one of 5xx', like({ status: 502, expose: true }), 500, internal],
    ['one with a status that is none', like({ status: 499, expose: true }), 500, internal],
    ['one with a status that is text', like({ status: '404', expose: true }), 500, internal],
  ])('answers %s', async (_name, error, status, text) => {
    const { send } = await throwing(error)
    const response = await send({ path: '/x' })
    expect(response).toMatchObject({ status, text })
    expect(response.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(text)),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
  })

  it('answers HEAD with the headers of GET and no body', async () => {
    const { send } = await throwing(new NotFound())
    const get = await send({})
    const head = await send({ method: 'HEAD' })
    expect(head.text).toBe('')
    expect({ ...head.headers, date: '' }).toEqual({ ...get.headers, date: '' })
  })
})

describe('headers', () => {
  it('keeps those that are set, and removes those of the answer that did not come', async () => {
    const { send } = await failing((ctx) => {
      ctx.set({ 'X-App-Version': '7', Vary: 'Origin', 'Access-Control-Allow-Origin': '*', 'Set-Cookie': 'a=1' })
      ctx.set({ ETag: 'W/"1"', 'Last-Modified': 'x', 'Content-Encoding': 'gzip', 'Content-Disposition': 'attachment' })
      ctx.set({ Location: '/api/books/1', 'Cache-Control': 'public, max-age=60', 'Transfer-Encoding': 'chunked' })
      ctx.status = 201
      ctx.body = Readable.from(['half an answer'])
      throw new ValidationError('Too late.')
    })
    const { status, headers, json } = await send({})
    expect(status).toBe(400)
    expect(json.errors).toEqual({ non_field_errors: ['Too late.'] })
    expect(headers).toMatchObject({
      'x-app-version': '7',
      vary: 'Origin',
      'access-control-allow-origin': '*',
      'set-cookie': ['a=1'],
      'cache-control': 'no-store',
    })
    for (const name of [
      'etag',
      'last-modified',
      'content-encoding',
      'content-disposition',
      'location',
      'transfer-encoding',
    ]) {
      expect(headers).not.toHaveProperty(name)
    }
  })

  it.each([
    ['401 without a challenge', new AuthenticationFailed(), 'www-authenticate', 'Session realm="api"'],
    [
      '401 with one',
      new AuthenticationFailed('Invalid token', 'Token realm="api"'),
      'www-authenticate',
      'Token realm="api"',
    ],
    ['401 of other middleware', like({ status: 401, expose: true }), 'www-authenticate', 'Session realm="api"'],
    ['405', new MethodNotAllowed('POST', ['GET', 'HEAD', 'OPTIONS']), 'allow', 'GET, HEAD, OPTIONS'],
    ['415', new UnsupportedMediaType({ 'Accept-Post': 'application/json' }), 'accept-post', 'application/json'],
    ['429', new Throttled(41.2), 'retry-after', '42'],
    ['429 of other middleware', like({ status: 429, expose: true }), 'retry-after', '1'],
    ['503', new ServiceUnavailable(3), 'retry-after', '3'],
    ['an http-errors error with headers', like({ status: 400, headers: { 'X-Hint': 'a' } }), 'x-hint', 'a'],
  ])('sends those of %s', async (_name, error, header, value) => {
    const { send } = await throwing(error)
    expect((await send({})).headers[header]).toBe(value)
  })

  const wrong = { 'X Hint': 'a', 'X-Line': 'a\r\nb', 'X-Wide': 'ż', '': 'a', 'X-None': null, 'X-Map': {} }
  const right = { 'X-Hint': 'a', 'X-Count': 7, 'X-List': ['a', 'b'] }
  it.each([
    ['an error of other middleware', like({ status: 400, expose: true, headers: { ...wrong, ...right } })],
    ['an ApiError', new ApiError(400, 'secret path /etc/x', { headers: { ...wrong, ...right } as never })],
  ])('leaves out headers of %s that cannot be sent', async (_name, error) => {
    const { send } = await throwing(error)
    const { status, json, headers } = await send({})
    expect([status, json]).toEqual([400, { detail: 'secret path /etc/x', status: 400 }])
    expect(headers).toMatchObject({ 'x-hint': 'a', 'x-count': '7', 'x-list': 'a, b' })
    for (const name of ['x-line', 'x-wide', 'x-none', 'x-map']) expect(headers).not.toHaveProperty(name)
    expect(reported).toEqual([])
  })

  it('leaves a challenge that an earlier step has set', async () => {
    const { send } = await failing((ctx) => {
      ctx.set('WWW-Authenticate', 'Bearer')
      throw like({ status: 401, expose: true })
    })
    expect((await send({})).headers['www-authenticate']).toBe('Bearer')
  })
})

describe('the error event', () => {
  it.each([
    ['an unknown error', new Error('boom'), 1],
    ['an outage', new ServiceUnavailable(1, { cause: new Error('ECONNREFUSED') }), 1],
    ['a 404', new NotFound(), 0],
    ['invalid input', new ValidationError('No.'), 0],
    ['a 4xx of other middleware', like({ status: 404, expose: true }), 0],
  ])('for %s', async (_name, error, times) => {
    const { send } = await throwing(error)
    await send({})
    expect(reported).toEqual(Array(times).fill(error))
    expect((reported[0] as Error | undefined)?.cause).toBe(error.cause)
  })

  it('hands over an Error whatever was thrown', async () => {
    const { send } = await throwing({ why: 'no error' })
    await send({})
    expect(reported).toEqual([new Error('non-error thrown: {"why":"no error"}')])
    await server?.close()
    const big = await throwing({ id: 7n })
    expect((await big.send({})).text).toBe(internal)
    expect(reported).toEqual([new Error('non-error thrown: { id: 7n }')])
  })

  it('says which members of an error JSON cannot write; its client gets the rest', async () => {
    const { send } = await throwing(new Conflict('In use', { members: { by: 7n } }))
    expect((await send({})).text).toBe('{"detail":"In use","status":409}')
    expect(reported).toMatchObject([{ message: 'Do not know how to serialize a BigInt' }])
  })

  it('may have a listener that throws, which ends neither answer nor process', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warn.mockRestore())
    const app = new Koa()
    app.on('error', () => {
      throw new TypeError('no logger')
    })
    app.use((ctx) => answerError(ctx, new Error('boom')))
    server = await serve(app)
    expect((await server.send({})).text).toBe(internal)
    expect(warn.mock.calls).toEqual([
      [
        'A listener of the app\'s "error" event has failed: "TypeError: no logger"',
        { code: 'KOA_VIEWSETS_ERROR_LISTENER' },
      ],
    ])
  })

  it('[I14] is not emitted without a listener, which would throw', () => {
    const app = new Koa()
    const ctx = app.createContext({ headers: {} } as never, { headersSent: true, destroy() {} } as never)
    expect(() => answerError(ctx, new Error('boom'))).not.toThrow()
  })
})

describe('after the headers are sent', () => {
  it('closes the connection, writes nothing and reports once', async () => {
    const { port } = await failing(async (ctx) => {
      ctx.res.writeHead(200, { 'Content-Length': 100 })
      ctx.res.write('half')
      await new Promise((resolve) => setImmediate(resolve))
      throw new NotFound()
    })
    const text = await exchange(port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', () => false).catch(
      (error: Error) => error.message,
    )
    expect(text).toMatch(/half$|ECONNRESET/)
    expect(reported).toEqual([new NotFound()])
  })

  it('leaves an answer that is complete alone', async () => {
    const { send } = await failing((ctx) => {
      ctx.status = 200
      ctx.res.end('whole')
      throw new Error('too late')
    })
    expect(await send({})).toMatchObject({ status: 200, text: 'whole' })
    expect(reported).toHaveLength(1)
  })

  it('reports once when the client has gone', async () => {
    const { port } = await failing(async (ctx) => {
      client.destroy()
      await once(ctx.res, 'close')
      throw new Error('boom')
    })
    const client = connect(port, '127.0.0.1')
    client.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc')
    // Koa itself reports a socket that breaks off.
    await vi.waitFor(() => expect(reported.filter(isBoom)).toHaveLength(1))
  })

  it('answers although the handler had switched Koa off', async () => {
    const { send } = await failing((ctx) => {
      ctx.respond = false
      throw new NotFound()
    })
    expect((await send({})).status).toBe(404)
  })
})

describe('isUnanswered', () => {
  const set = (properties: object) => (ctx: Context) => Object.assign(ctx, properties)

  it.each([
    ['nothing at all', () => {}, true],
    ['a bare status 404', set({ status: 404 }), true],
    ['a body', set({ body: 'x' }), false],
    ['a 404 with a body', set({ status: 404, body: 'mine' }), false],
    ['a bare 405', set({ status: 405 }), false],
    ['no content', set({ status: 204 }), false],
    ['Koa switched off', set({ respond: false }), false],
    ['an answer written past Koa', (ctx: Context) => void ctx.res.end('x'), false],
  ])('of %s', async (_name, handler, expected) => {
    const app = new Koa()
    let unanswered: boolean | undefined
    app.use(async (ctx, next) => {
      await next()
      unanswered = isUnanswered(ctx)
      if (ctx.respond === false) ctx.res.end()
    })
    app.use(async (ctx) => {
      handler(ctx)
    })
    server = await serve(app)
    await server.send({})
    expect(unanswered).toBe(expected)
  })
})
