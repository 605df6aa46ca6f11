import { stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { bodyParser } from '@koa/bodyparser'
import Router from '@koa/router'
import Koa from 'koa'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { APIRouter, APIView, QueryParamVersioning, URLPathVersioning, ViewSet } from '../../lib/index.js'
import { ApiError, ValidationError } from '../../lib/kernel/errors.js'
import { cacheBust, docs, errors, staticAssets, versionEndpoint, versioning } from '../../plugins/index.js'
import { koaBody, saysWhatIsWrong } from '../support/installed.js'
import { exchange, serve, type TestServer } from '../support/server.js'

let server: TestServer | undefined

afterEach(async () => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
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

  it('shows no path of an error of the operating system, as koa-send throws it', async () => {
    const { send } = await serving(async (ctx) => {
      await stat(join(tmpdir(), 'nothing.txt')).catch((error: Error) => ctx.throw(404, error))
    })
    expect((await send({ path: '/' })).text).toBe('{"detail":"Not Found","status":404}')
  })

  it('takes no headers of another body from what a client of HTTP has thrown', async () => {
    const headers = {
      'content-encoding': 'gzip',
      'Content-Length': '5',
      etag: '"theirs"',
      'last-modified': 'Wed, 21 Oct 2015 07:28:00 GMT',
      trailer: 'x-sum',
      'transfer-encoding': 'chunked',
      'retry-after': '7',
    }
    const { send } = await serving(() => {
      throw Object.assign(new Error('Response status code 429'), { statusCode: 429, headers })
    })
    const answer = await send({ path: '/' })
    expect(answer.text).toBe('{"detail":"Too Many Requests","status":429}')
    expect(answer.headers).toMatchObject({ 'retry-after': '7', 'content-length': '43' })
    for (const name of ['content-encoding', 'etag', 'last-modified', 'trailer', 'transfer-encoding']) {
      expect(answer.headers).not.toHaveProperty(name)
    }
  })

  it('takes of another server’s answer, with its date, how long to wait, and no cookies or policies', async () => {
    const headers = {
      Date: 'Wed, 21 Oct 2015 07:28:00 GMT',
      'set-cookie': 'theirs=1',
      'strict-transport-security': 'max-age=63072000; includeSubDomains; preload',
      'access-control-allow-origin': '*',
      'www-authenticate': 'Basic',
      'retry-after': '7',
    }
    const { send } = await serving((ctx) => {
      ctx.set('Access-Control-Allow-Origin', 'https://ours.test')
      const given = ctx.path === '/fetched' ? new Headers(headers) : headers
      throw Object.assign(new Error('Rate limit reached'), { status: 429, headers: given })
    })
    for (const path of ['/', '/fetched']) {
      const answer = (await send({ path })).headers
      expect(answer).toMatchObject({ 'retry-after': '7', 'access-control-allow-origin': 'https://ours.test' })
      expect(answer['date']).not.toBe(headers.Date)
      for (const name of ['set-cookie', 'strict-transport-security', 'www-authenticate']) {
        expect(answer).not.toHaveProperty(name)
      }
    }
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

  it('fires the error event of the app for 5xx and for nothing else', async () => {
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

  const form = (part: string) => `--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n${part}`
  const json = 'application/json'
  const parts = 'multipart/form-data; boundary=x'
  const refused: [string, Record<string, string>, string | Buffer, number, string][] = [
    ['[A4] broken JSON', { 'Content-Type': json }, '{"password":"hunter2', 400, 'Malformed JSON'],
    [
      '[A4] a key that reaches for a prototype',
      { 'Content-Type': json },
      '{"__proto__":{"a":1}}',
      400,
      'Malformed JSON',
    ],
    ['[B12] no object', { 'Content-Type': json }, '1', 400, 'Malformed JSON'],
    ['[F1] too much JSON', { 'Content-Type': json }, `{"a":"${'x'.repeat(2_000_000)}"}`, 413, 'Request body too large'],
    [
      '[F1] too large a form',
      { 'Content-Type': 'application/x-www-form-urlencoded' },
      `a=${'x'.repeat(200_000)}`,
      413,
      'Request body too large',
    ],
    ['[F2] a corrupt gzip stream', { 'Content-Type': json, 'Content-Encoding': 'gzip' }, 'xxxx', 400, 'Malformed body'],
    ['[F2] a corrupt br stream', { 'Content-Type': json, 'Content-Encoding': 'br' }, 'xxxx', 400, 'Malformed body'],
    [
      '[F2] a gzip bomb',
      { 'Content-Type': json, 'Content-Encoding': 'gzip' },
      gzipSync(Buffer.alloc(5_000_000, 32)),
      413,
      'Request body too large',
    ],
    [
      '[F2] an unknown coding',
      { 'Content-Type': json, 'Content-Encoding': 'foo' },
      '{}',
      415,
      'Unsupported media type',
    ],
  ]
  const refusedParts: typeof refused = [
    ['[F5] no boundary', { 'Content-Type': 'multipart/form-data' }, 'x', 415, 'Unsupported media type'],
    ['[F5] no closing boundary', { 'Content-Type': parts }, form('abc'), 400, 'Malformed multipart body'],
    ['[F5] no part', { 'Content-Type': parts }, 'garbage', 400, 'Malformed multipart body'],
    [
      '[F5] too many parts',
      { 'Content-Type': parts },
      `${form('abc\r\n').repeat(1100)}--x--\r\n`,
      413,
      'Request body too large',
    ],
  ]
  const parsers: [string, Koa.Middleware, typeof refused][] = [
    ['koa-body', koaBody({ multipart: true }) as Koa.Middleware, [...refused, ...refusedParts]],
    ['@koa/bodyparser', bodyParser() as Koa.Middleware, refused],
  ]
  const known = parsers.filter(([name]) => saysWhatIsWrong || name !== 'koa-body')
  describe.each(known)('in front of %s', (_parser, parser, cases) => {
    it.each(cases)('answers %s as our own parsers do', async (_name, headers, body, status, detail) => {
      const reported: unknown[] = []
      const { send } = await serving(parser, (error) => reported.push(error))
      const answer = await send({ body, headers })
      expect(answer).toMatchObject({ status, text: `{"detail":"${detail}","status":${status}}` })
      if (status === 415 && 'Content-Encoding' in headers) {
        expect(answer.headers['accept-encoding']).toBe('gzip, deflate, br')
      }
      expect(reported).toEqual([])
    })
  })

  const ofMulter = (code: string) => Object.assign(new Error('of multer'), { name: 'MulterError', code })
  it.each([
    [413, 'Request body too large', ofMulter('LIMIT_FILE_SIZE')],
    [413, 'Request body too large', ofMulter('LIMIT_PART_COUNT')],
    [400, 'Malformed multipart body', ofMulter('LIMIT_UNEXPECTED_FILE')],
    [400, 'Malformed multipart body', new Error('Unexpected end of form')],
    [415, 'Unsupported media type', new Error('Multipart: Boundary not found')],
    [500, 'Internal server error', ofMulter('STREAM_DESTROYED')],
  ])('answers %i, %s, to what multer refuses: %s', async (status, detail, error) => {
    const { send } = await serving(() => {
      throw error
    })
    const answer = await send({ body: form('abc'), headers: { 'Content-Type': parts } })
    expect(answer).toMatchObject({ status, text: `{"detail":"${detail}","status":${status}}` })
  })

  const api = new APIRouter({ prefix: '/api' }).register(
    'things',
    class extends ViewSet {
      list() {
        return []
      }
    },
    'thing',
  )
  const routed = new Router()
  api.mount(routed)
  class Searched extends APIView {
    get() {
      return this.ctx.query
    }
  }
  const noURL = 'GET http://[ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
  it.each<[string, () => Koa.Middleware]>([
    ['docs()', () => docs(api)],
    ['versionEndpoint()', () => versionEndpoint()],
    ['cacheBust()', () => cacheBust()],
    ['staticAssets()', () => staticAssets({ root: tmpdir() })],
    ['versioning() by path', () => versioning(URLPathVersioning)],
    ['versioning() by parameter', () => versioning(QueryParamVersioning)],
    ['the routes of an API', () => api.routes()],
  ])('answers 404 where %s leaves a target that is no URL to the app', async (_name, middleware) => {
    vi.stubEnv('CACHE_BUST_TOKEN', 'a token of 16 or more')
    const reported: unknown[] = []
    const reached: (string | undefined)[] = []
    const plugin = middleware()
    const { port } = await serving(
      (ctx) => plugin(ctx, async () => void reached.push(ctx.url)),
      (error) => reported.push(error),
    )
    const answer = await exchange(port, noURL, () => false)
    expect(answer).toMatch(/^HTTP\/1\.1 404 /)
    expect(answer).toContain('{"detail":"Not found","status":404}')
    expect(reached).toEqual(['http://['])
    expect(reported).toEqual([])
  })

  it.each<[string, () => Koa.Middleware]>([
    ["the application's own router", () => routed.routes() as Koa.Middleware],
    ['a view that reads the query', () => Searched.asView()],
  ])('answers 404 where %s stumbles over a target that is no URL', async (_name, middleware) => {
    const reported: unknown[] = []
    const { port } = await serving(middleware(), (error) => reported.push(error))
    const answer = await exchange(port, noURL, () => false)
    expect(answer).toMatch(/^HTTP\/1\.1 404 /)
    expect(answer).toContain('{"detail":"Not found","status":404}')
    expect(reported).toEqual([])
  })

  it("keeps a URL of the application's own that is none a 500", async () => {
    const { send } = await serving(
      (ctx) => {
        ctx.body = new URL(ctx.url).href
      },
      () => {},
    )
    expect(await send({ path: '/x' })).toMatchObject({ status: 500 })
  })

  it("keeps an error of the application's own zlib a 500", async () => {
    const { send } = await serving(
      () => {
        gunzipSync('xxxx')
      },
      () => {},
    )
    expect(await send({ body: '{}' })).toMatchObject({ status: 500 })
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
