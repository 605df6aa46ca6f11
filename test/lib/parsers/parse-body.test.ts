import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { bodyParser } from '@koa/bodyparser'
import Koa from 'koa'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { answerError } from '../../../lib/http/answer-error.js'
import type { Context } from '../../../lib/http/context.js'
import { writeCompactly } from '../../../lib/kernel/json-numerals.js'
import { JSONParser } from '../../../lib/parsers/json-parser.js'
import { type Parser, parseBody } from '../../../lib/parsers/parser.js'
import { koaBody, leavesText } from '../../support/installed.js'
import { exchange, serve, type TestServer } from '../../support/server.js'

class LinesParser implements Parser {
  readonly mediaTypes = ['application/x-lines', 'application/x-words']

  async parse(ctx: Context) {
    ctx.req.resume()
    await once(ctx.req, 'end')
    return { data: 'lines', textual: true }
  }

  accept(_ctx: Context, body: unknown) {
    return { data: body, textual: true }
  }
}

const PARSERS: readonly Parser[] = [new JSONParser(), new LinesParser()]
let parsers = PARSERS
let server: TestServer | undefined
let reported: unknown[] = []

afterEach(async () => {
  parsers = PARSERS
  await server?.close()
  server = undefined
})

function makeApp(...before: Koa.Middleware[]): Koa {
  const app = new Koa()
  reported = []
  app.on('error', (error) => reported.push(error))
  for (const middleware of before) app.use(middleware)
  app.use(async (ctx) => {
    try {
      ctx.body = await parseBody(ctx, parsers)
    } catch (error) {
      answerError(ctx, error)
    }
  })
  return app
}

async function serving(...before: Koa.Middleware[]): Promise<TestServer> {
  server = await serve(makeApp(...before))
  return server
}

const types = 'application/json, application/x-lines, application/x-words'

describe('the media type', () => {
  it.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json;',
    'application/json ; charset=UTF-8',
    'application/json; charset="utf-8"',
    'application/json;charset=utf8; x=1',
  ])('[F3] %s is JSON', async (type) => {
    const { send } = await serving()
    expect(await send({ body: '{"a":1}', headers: { 'Content-Type': type } })).toMatchObject({
      status: 200,
      json: { data: { a: 1 }, textual: false },
    })
  })

  it('[F3] picks the parser', async () => {
    const { send } = await serving()
    expect(await send({ body: 'x', headers: { 'Content-Type': 'application/x-words' } })).toMatchObject({
      json: { data: 'lines', textual: true },
    })
  })

  it('[F3] picks a parser that reads bodies of the method', async () => {
    class Patches extends LinesParser {
      readonly patch = 'merge'
      override async parse(ctx: Context) {
        return { ...(await super.parse(ctx)), patch: this.patch }
      }
    }
    parsers = [new Patches(), new LinesParser()]
    const { send } = await serving()
    const headers = { 'Content-Type': 'application/x-lines' }
    expect((await send({ body: 'x', headers })).json).toEqual({ data: 'lines', textual: true })
    const patched = await send({ method: 'PATCH', body: 'x', headers })
    expect(patched.json).toEqual({ data: 'lines', textual: true, patch: 'merge' })
  })

  it.each([
    'application/json\t;x',
    'application/json foo',
    'application/json; charset',
    'application/vnd.api+json',
    'text/plain',
    'application/jsonx',
    'json',
    '*/*',
    ';',
    ';;;',
    ' ',
    '__proto__',
    'application/json, application/x-lines',
  ])('[F3] %j is refused', async (type) => {
    const { send } = await serving()
    const response = await send({ body: '{}', headers: { 'Content-Type': type } })
    expect(response).toMatchObject({ status: 415, json: { detail: 'Unsupported media type', status: 415 } })
    expect(response.headers['accept-post']).toBe(types)
  })

  it.each(['utf-16le', 'iso-8859-1', 'us-ascii', '""', 'utf-8x'])('[B9] charset %s is refused', async (charset) => {
    const { send } = await serving()
    const response = await send({ body: '{}', headers: { 'Content-Type': `application/json; charset=${charset}` } })
    expect(response.status).toBe(415)
    expect(response.headers['accept-post']).toBe(types)
  })

  it('[F3] is needed where there is a body', async () => {
    const { send } = await serving()
    const response = await send({ method: 'PATCH', body: '{}' })
    expect(response.status).toBe(415)
    expect(response.headers).toMatchObject({ 'accept-patch': types })
    expect(response.headers).not.toHaveProperty('accept-post')
  })

  it('[F3] of two lines the first counts', async () => {
    const { port } = await serving()
    const twice = (first: string, second: string) =>
      exchange(
        port,
        `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: ${first}\r\nContent-Type: ${second}\r\nContent-Length: 2\r\n\r\n{}`,
      )
    expect(await twice('application/json', 'text/plain')).toMatch(/^HTTP\/1.1 200 /)
    expect(await twice('text/plain', 'application/json')).toMatch(/^HTTP\/1.1 415 /)
  })
})

describe('a request without a body', () => {
  it.each([
    ['and without a type', {}],
    ['and with one', { 'Content-Type': 'application/json' }],
    ['and with one that no parser reads', { 'Content-Type': 'text/plain' }],
    ['of length 0', { 'Content-Length': '0', 'Content-Type': 'application/json' }],
  ])('%s counts as {}', async (_name, headers) => {
    const { send } = await serving()
    expect(await send({ method: 'POST', headers })).toMatchObject({ status: 200, json: { data: {}, textual: false } })
  })

  it('counts as {} behind koa-body too', async () => {
    const { send } = await serving(koaBody())
    expect(await send({ method: 'POST' })).toMatchObject({ status: 200, json: { data: {} } })
  })
})

describe.each([
  ['koa-body', () => koaBody({ jsonStrict: false }) as Koa.Middleware],
  ['@koa/bodyparser', () => bodyParser({ jsonStrict: false }) as Koa.Middleware],
])('a body that %s has read', (_name, middleware) => {
  const json = { 'Content-Type': 'application/json' }

  it('is taken over', async () => {
    const { send } = await serving(middleware())
    expect(await send({ body: '{"a":[1]}', headers: json })).toMatchObject({
      status: 200,
      json: { data: { a: [1] }, textual: false },
    })
  })

  it('is taken over when it is a scalar', async () => {
    const { send } = await serving(middleware())
    expect(await send({ body: '"x"', headers: json })).toMatchObject({ status: 200, json: { data: 'x' } })
  })

  it('[A4] is searched for names of prototypes', async () => {
    const { send } = await serving(middleware())
    const body = '{"a":[{"constructor":{"prototype":{"x":1}}}]}'
    expect(await send({ body, headers: json })).toMatchObject({ status: 400, json: { detail: 'Malformed JSON' } })
  })

  it('[B11] is checked for depth', async () => {
    const { send } = await serving(middleware())
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
    expect((await send({ body: nested(64), headers: json })).status).toBe(200)
    expect((await send({ body: nested(65), headers: json })).status).toBe(400)
  })

  it('is checked for the number of its values and names', async () => {
    const { send } = await serving(middleware())
    const list = (items: number) => `[${Array(items).fill('{}').join()}]`
    expect((await send({ body: list(99_999), headers: json })).status).toBe(200)
    expect(await send({ body: list(100_000), headers: json })).toMatchObject({
      status: 400,
      json: { detail: 'JSON has more than 100000 values and names' },
    })
  })

  it('[F3] is still refused in a media type of no parser', async () => {
    const { send } = await serving(middleware())
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
    expect((await send({ body: 'a=1', headers })).status).toBe(415)
  })

  it('is read by our parser in a media type that it leaves alone', async () => {
    const { send } = await serving(middleware())
    expect(await send({ body: 'x', headers: { 'Content-Type': 'application/x-lines' } })).toMatchObject({
      status: 200,
      json: { data: 'lines' },
    })
  })
})

const LEAVE_TEXT: readonly [name: string, make: () => Koa.Middleware][] = [
  ['koa-body', () => koaBody({ jsonStrict: false, includeUnparsed: true }) as Koa.Middleware],
  ['@koa/bodyparser', () => bodyParser({ jsonStrict: false }) as Koa.Middleware],
  [
    'a parser that leaves bytes',
    () => async (ctx, next) => {
      const chunks: Buffer[] = []
      for await (const chunk of ctx.req) chunks.push(chunk as Buffer)
      const rawBody = Buffer.concat(chunks)
      Object.assign(ctx.request, { rawBody, body: JSON.parse(rawBody.toString()) })
      await next()
    },
  ],
]

describe.each(LEAVE_TEXT.filter(([name]) => leavesText || name !== 'koa-body'))(
  'numbers of a body that %s has read and left as ctx.request.rawBody',
  (_name, middleware) => {
    const LARGE = '9007199254740993'

    /** What is parsed, as it is written. */
    async function parsed(text: string, change: Koa.Middleware = (_ctx, next) => next()): Promise<string | undefined> {
      let data: unknown
      const { send } = await serving(middleware(), change, async (ctx) => {
        data = (await parseBody(ctx, [new JSONParser({ limit: 1000 })])).data
        ctx.body = 'ok'
      })
      const { status } = await send({ body: text, headers: { 'Content-Type': 'application/json' } })
      return status === 200 ? writeCompactly(data) : String(status)
    }

    it.each([`{"a":${LARGE},"b":[{"c":1.10000000000000000001}]}`, `[${LARGE},1]`, LARGE, `{"a":1e400}`])(
      '%s keep their digits',
      async (text) => {
        expect(await parsed(text)).toBe(text)
      },
    )

    it('are those of the body where something has changed it since', async () => {
      const change: Koa.Middleware = (ctx, next) => {
        const request = ctx.request as unknown as { body: { list: number[] } }
        request.body.list.shift()
        return next()
      }
      expect(await parsed(`{"list":[${LARGE},9007199254740992]}`, change)).toBe('{"list":[9007199254740992]}')
    })

    it('count as long as they are written', async () => {
      expect(await parsed('{"a":1e999,"b":1e999}')).toBe('413')
    })
  },
)

it('a body that something has read and thrown away is a mistake of the app', async () => {
  const { send } = await serving(async (ctx, next) => {
    ctx.req.resume()
    await once(ctx.req, 'end')
    await next()
  })
  expect((await send({ body: '{}', headers: { 'Content-Type': 'application/json' } })).status).toBe(500)
  expect(reported).toMatchObject([{ message: expect.stringContaining('ctx.request.body') }])
})

it.each([
  ['bytes', Buffer.from('{}')],
  ['a form without members', new FormData()],
])('so is one of which it has left %s: nothing of it would count', async (_, left) => {
  const { send } = await serving(async (ctx, next) => {
    ctx.req.resume()
    await once(ctx.req, 'end')
    Object.assign(ctx.request, { body: left })
    await next()
  })
  expect((await send({ body: '{}', headers: { 'Content-Type': 'application/json' } })).status).toBe(500)
  expect(reported).toMatchObject([{ message: expect.stringContaining('ctx.request.body, not its data') }])
})

it.each(['identity', 'gzip'])('is read where something has paused the request: %s', async (coding) => {
  const { send } = await serving(async (ctx, next) => {
    ctx.req.pause()
    await next()
  })
  const body = coding === 'gzip' ? gzipSync('{"a":1}') : '{"a":1}'
  const headers = { 'Content-Type': 'application/json', 'Content-Encoding': coding }
  expect((await send({ body, headers })).text).toContain('"a":1')
})

it('is read while a test mocks all timers', async () => {
  const { send } = await serving()
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const body = JSON.stringify({ words: randomBytes(50_000).toString('base64') })
  for (const sent of [body, gzipSync(body)]) {
    const headers = { 'Content-Type': 'application/json', ...(sent === body ? {} : { 'Content-Encoding': 'gzip' }) }
    expect((await send({ body: sent, headers })).text).toContain(body)
  }
})

describe('over HTTP/2, where a body needs neither header', () => {
  async function post(body: string | undefined): Promise<string> {
    const handle = makeApp().callback()
    const h2 = http2.createServer((req, res) => void handle(req, res)).listen(0, '127.0.0.1')
    await once(h2, 'listening')
    const client = http2.connect(`http://127.0.0.1:${(h2.address() as AddressInfo).port}`)
    const headers = { ':method': 'POST', ':path': '/', 'content-type': 'application/json' }
    const stream = client.request(headers, { endStream: body === undefined })
    if (body !== undefined) stream.end(body)
    let text = ''
    for await (const chunk of stream) text += String(chunk)
    client.close()
    h2.close()
    return text
  }

  it('reads it', async () => {
    expect(await post('{"a":1}')).toBe('{"data":{"a":1},"textual":false}')
  })

  it('and without one there is {}', async () => {
    expect(await post(undefined)).toBe('{"data":{},"textual":false}')
  })

  it('answers what is wrong with it', async () => {
    expect(await post('{"a"')).toBe('{"detail":"Malformed JSON","status":400}')
    expect(await post(`"${'x'.repeat(2_000_000)}"`)).toBe('{"detail":"Request body too large","status":413}')
  })
})
