import { createReadStream, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import Koa from 'koa'
import Koa2 from 'koa2'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import {
  APIView,
  ConfigurationError,
  CSVRenderer,
  JSONField,
  JSONParser,
  JSONRenderer,
  MultiPartParser,
  Serializer,
  type UploadedFile,
} from '../../lib/index.js'
import { contentNegotiation, errors } from '../../plugins/index.js'
import { koaBody, sendsWebBodies } from '../support/installed.js'
import { MULTIPART, multipart } from '../support/multipart.js'
import { serve, type TestServer } from '../support/server.js'

const WEB_BODIES: [string, () => unknown][] = [
  ['a web stream', () => Readable.toWeb(Readable.from([Buffer.from('x')]))],
  ['a blob', () => new Blob(['x'])],
  ['a response', () => new Response('x')],
]

const directory = mkdtempSync(join(tmpdir(), 'negotiation-'))
let server: TestServer | undefined

afterEach(async () => {
  await vi.waitFor(() => expect(readdirSync(directory)).toEqual([]))
  await server?.close()
  server = undefined
})

afterAll(() => rmSync(directory, { recursive: true }))

const files = new MultiPartParser({ directory })

async function serving(...middleware: Koa.Middleware[]): Promise<TestServer> {
  const app = new Koa().use(errors())
  for (const one of middleware) app.use(one)
  server = await serve(app)
  return server
}

const upload = multipart(
  { name: 'title', content: 'x' },
  { name: 'cover', filename: 'a.txt', type: 'text/plain', content: 'the content' },
)
const echo: Koa.Middleware = (ctx) => {
  ctx.body = { body: (ctx.request as { body?: unknown }).body }
}

it('is a named middleware', () => {
  expect(contentNegotiation().name).toBe('negotiateContent')
})

it.each([{ renderers: [] }, { renderers: [JSONParser as never] }, { parsers: [JSONRenderer as never] }])(
  'refuses %j when the factory is called',
  (options) => {
    expect(() => contentNegotiation(options)).toThrow(ConfigurationError)
  },
)

describe('the body of a request', () => {
  it.each([
    ['JSON', 'application/json', '{"a":[1]}', { a: [1] }],
    ['a form', 'application/x-www-form-urlencoded', 'a=1&a=2', { a: ['1', '2'] }],
  ])('is read as %s', async (_name, type, body, expected) => {
    const { send } = await serving(contentNegotiation(), echo)
    expect((await send({ body, headers: { 'Content-Type': type } })).json).toEqual({ body: expected })
  })

  it('[F8] is read with its files, which are there until the response is finished', async () => {
    const { send } = await serving(contentNegotiation({ parsers: [files] }), (ctx) => {
      const { body, files } = ctx.request as unknown as { body: { title: string }; files: { cover: UploadedFile } }
      ctx.set('X-Files', JSON.stringify({ title: body.title, cover: files.cover }))
      ctx.body = createReadStream(files.cover.path)
    })
    const { text, headers } = await send({ body: upload, headers: MULTIPART })
    expect(text).toBe('the content')
    expect(JSON.parse(headers['x-files'] as string)).toEqual({
      title: 'x',
      cover: { filename: 'a.txt', mediaType: 'text/plain', size: 11 },
    })
  })

  it('[F8] loses its files when the route throws', async () => {
    let kept = 0
    const { send } = await serving(contentNegotiation({ parsers: [files] }), () => {
      kept = readdirSync(directory).length
      throw new Error('bug')
    })
    expect((await send({ body: upload, headers: MULTIPART })).status).toBe(500)
    expect(kept).toBe(1)
  })

  it('is handed on to a view behind it, and from koa-body before it', async () => {
    class Uploads extends APIView {
      static override parserClasses = [files]
      post() {
        const { title, cover } = this.body.data as { title: string; cover: UploadedFile }
        return { title, content: readFileSync(cover.path, 'utf8') }
      }
    }
    const expected = { title: 'x', content: 'the content' }
    const { send } = await serving(contentNegotiation({ parsers: [files] }), Uploads.asView() as Koa.Middleware)
    expect((await send({ body: upload, headers: MULTIPART })).json).toEqual(expected)
    await server?.close()
    const before = koaBody({ multipart: true, formidable: { uploadDir: directory } })
    const behind = await serving(before, contentNegotiation({ parsers: [files] }), Uploads.asView() as Koa.Middleware)
    expect((await behind.send({ body: upload, headers: MULTIPART })).json).toEqual(expected)
  })

  it('is to a view behind it what it is to a view alone, with names that are repeated', async () => {
    class Data extends Serializer {
      static override declaredFields = { data: new JSONField() }
    }
    class Echo extends APIView {
      async post() {
        const data = new Data({ inputData: this.body.data, textual: this.body.textual })
        await data.isValid({ raiseException: true })
        return data.validatedData
      }
    }
    const form = { body: 'data={"a":1}&data={"a":2}', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }
    const alone = await serving(Echo.asView() as Koa.Middleware)
    expect((await alone.send(form)).json).toEqual({ data: { a: 2 } })
    await server?.close()
    const behind = await serving(contentNegotiation(), Echo.asView() as Koa.Middleware)
    expect((await behind.send(form)).json).toEqual({ data: { a: 2 } })
  })

  it('is left as multer has read it, with its files', async () => {
    const taken = [{ fieldname: 'cover', originalname: 'a.txt', path: join(directory, 'kept'), size: 1 }]
    const before: Koa.Middleware = async (ctx, next) => {
      for await (const _ of ctx.req);
      writeFileSync(join(directory, 'kept'), 'x')
      Object.assign(ctx.request, { body: { title: 'x' }, files: taken })
      await next()
    }
    const { send } = await serving(before, contentNegotiation(), (ctx) => {
      const { body, files } = ctx.request as { body?: unknown; files?: unknown }
      ctx.body = { body, files }
    })
    expect((await send({ body: upload, headers: MULTIPART })).json).toEqual({ body: { title: 'x' }, files: taken })
    expect(readFileSync(join(directory, 'kept'), 'utf8')).toBe('x')
    rmSync(join(directory, 'kept'))
  })

  it('is left alone on GET and DELETE', async () => {
    const { send } = await serving(contentNegotiation(), echo)
    for (const method of ['GET', 'DELETE']) {
      expect((await send({ method, body: 'x', headers: { 'Content-Type': 'text/plain' } })).json).toEqual({})
    }
  })

  it.each([
    [400, 'application/json', '{"a"'],
    [400, MULTIPART['Content-Type'], 'x'],
    [413, 'application/json', `"${'x'.repeat(2 ** 20)}"`],
    [415, 'text/plain', 'x'],
    [415, 'multipart/form-data', 'x'],
  ])('is answered %i before the route when it is wrong', async (status, type, body) => {
    const route = vi.fn<Koa.Middleware>(echo)
    const { send } = await serving(contentNegotiation(), route)
    const response = await send({ body, headers: { 'Content-Type': type } })
    expect(response.status).toBe(status)
    expect(response.json).toEqual({ detail: expect.any(String), status })
    expect(route).not.toHaveBeenCalled()
  })
})

describe('the answer', () => {
  const renderers = [JSONRenderer, CSVRenderer]
  const rows: Koa.Middleware = (ctx) => {
    ctx.status = 201
    ctx.vary('Origin')
    ctx.body = [{ id: 1, title: '=x' }]
  }

  it('is what the client accepts', async () => {
    const { send } = await serving(contentNegotiation({ renderers, basename: 'bücher' }), rows)
    expect(await send({ headers: { Accept: 'text/csv' } })).toMatchObject({
      status: 201,
      text: "id,title\r\n1,'=x\r\n",
      headers: {
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': `attachment; filename="b_cher.csv"; filename*=UTF-8''b%C3%BCcher.csv`,
        vary: 'Origin, Accept',
        'x-content-type-options': 'nosniff',
      },
    })
    expect(await send({})).toMatchObject({
      status: 201,
      json: [{ id: 1, title: '=x' }],
      headers: { 'content-type': 'application/json; charset=utf-8', vary: 'Origin, Accept' },
    })
  })

  it('is not kept where it refuses, but as the route says', async () => {
    const { send } = await serving(contentNegotiation(), (ctx) => {
      ctx.status = 404
      if (ctx.path === '/own') ctx.set('Cache-Control', 'max-age=5')
      ctx.body = { detail: 'gone' }
    })
    const controls = [await send({}), await send({ path: '/own' })].map(({ headers }) => headers['cache-control'])
    expect(controls).toEqual(['no-store', 'max-age=5'])
  })

  it('is that of the suffix, whatever Accept says', async () => {
    const { send } = await serving(contentNegotiation({ renderers }), rows)
    const typeOf = async (path: string, accept: string) =>
      (await send({ path, headers: { Accept: accept } })).headers['content-type']
    expect(await typeOf('/rows.csv', 'application/json')).toBe('text/csv; charset=utf-8')
    expect(await typeOf('/rows.csv?a=.json', 'application/json')).toBe('text/csv; charset=utf-8')
    expect(await typeOf('/rows.json', 'text/csv')).toBe('application/json; charset=utf-8')
    for (const path of ['/rows.xml', '/.csv', '/a.csv/rows', '/csv']) {
      expect(await typeOf(path, 'application/json')).toBe('application/json; charset=utf-8')
      expect(await typeOf(path, 'text/csv')).toBe('text/csv; charset=utf-8')
    }
  })

  it('is not refused for its Accept where it has a suffix', async () => {
    const { send } = await serving(contentNegotiation({ renderers, strictAccept: true }), rows)
    expect((await send({ path: '/rows.csv', headers: { Accept: 'image/png' } })).text).toBe("id,title\r\n1,'=x\r\n")
  })

  it('is 406 before the route, when it is strict', async () => {
    const route = vi.fn<Koa.Middleware>(rows)
    const { send } = await serving(contentNegotiation({ renderers, strictAccept: true }), route)
    expect((await send({ headers: { Accept: 'image/png' } })).json).toEqual({ detail: 'Not acceptable', status: 406 })
    expect(route).not.toHaveBeenCalled()
    expect((await send({ headers: { Accept: 'text/csv' } })).status).toBe(201)
  })

  it.each<[string, () => unknown]>([
    ['a text', () => 'x'],
    ['a buffer', () => Buffer.from('x')],
    ['a stream', () => Readable.from(['x'])],
    ...(sendsWebBodies ? WEB_BODIES : []),
  ])('stays as it is when it is %s', async (_name, make) => {
    const { send } = await serving(contentNegotiation({ renderers }), (ctx) => {
      ctx.type = 'text/plain'
      ctx.body = make()
    })
    const { text, headers } = await send({ headers: { Accept: 'text/csv' } })
    expect(text).toBe('x')
    expect(headers['content-type']).toMatch(/^text\/plain/)
  })

  it('keeps the type that says which JSON it is, and none where it is something else', async () => {
    const typed: Koa.Middleware = (ctx) => {
      ctx.type = 'application/geo+json'
      ctx.body = [{ id: 1 }]
    }
    const { send } = await serving(contentNegotiation({ renderers }), typed)
    expect((await send({})).headers['content-type']).toMatch(/^application\/geo\+json/)
    expect((await send({ headers: { Accept: 'text/csv' } })).headers['content-type']).toBe('text/csv; charset=utf-8')
  })

  it("leaves the app's own 404 and errors to the app", async () => {
    const { send } = await serving(contentNegotiation({ renderers }), () => {})
    expect(await send({ headers: { Accept: 'text/csv' } })).toMatchObject({
      status: 404,
      json: { detail: 'Not found' },
    })
  })

  it('is the same under Koa 2', async () => {
    const app = new Koa2()
    app.use(contentNegotiation({ renderers }) as never).use(rows as never)
    server = await serve(app)
    expect(await server.send({ headers: { Accept: 'text/csv' } })).toMatchObject({
      status: 201,
      text: "id,title\r\n1,'=x\r\n",
    })
  })
})
