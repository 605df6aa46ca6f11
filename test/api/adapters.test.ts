/** An application that no server calls, but an adapter of a cloud function: its requests have no connection, and its responses no end of one. */
import { mkdtempSync, readdirSync } from 'node:fs'
import { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import Koa from 'koa'
import {
  APIRouter,
  CSVRenderer,
  JSONRenderer,
  MultiPartParser,
  modelSerializer,
  modelViewSet,
  StreamMixin,
} from 'koa-viewsets'
import { ensureIdempotencyTable } from 'koa-viewsets/idempotency'
import { InMemoryMeteringEngine, setMeteringEngine } from 'koa-viewsets/metering'
import { contentNegotiation, idempotency, metering } from 'koa-viewsets/plugins'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { Book, database, useLibrary } from '../support/library.js'
import { MULTIPART, multipart } from '../support/multipart.js'

useLibrary({ sql: `insert into books (title) values ('Momo'), ('Emil')`, keep: true })

class BookViewSet extends modelViewSet(Book, {
  mixins: [StreamMixin],
  serializerClass: modelSerializer(Book, { fields: ['id', 'title'] }),
  rendererClasses: [JSONRenderer, CSVRenderer],
}) {}

let api: APIRouter
beforeAll(async () => {
  api = new APIRouter().register('books', BookViewSet)
  await api.prepare()
})
afterAll(() => api.close())

interface Called {
  readonly method: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** As adapters make it, such as @vendia/serverless-express and older versions of serverless-http. */
class CalledRequest extends IncomingMessage {
  readonly #content: string | Buffer | undefined

  constructor({ method, url, headers = {}, body }: Called) {
    super({ remoteAddress: '192.0.2.1', readable: false, destroy() {}, end() {} } as never)
    Object.assign(this, { method, url, complete: true, httpVersion: '1.1', httpVersionMajor: 1, httpVersionMinor: 1 })
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    this.headers = { ...headers, ...length }
    // some have no lines of headers at all
    Object.assign(this, { rawHeaders: undefined })
    this.#content = body
  }

  override _read() {
    this.push(this.#content)
    this.push(null)
  }
}

/** Calls an application with a request, and collects what it writes. */
async function call(app: Koa, called: Called): Promise<{ readonly status: number; readonly text: string }> {
  const req = new CalledRequest(called)
  const res = new ServerResponse(req)
  const pieces: Buffer[] = []
  const stub = new Writable({
    write(piece, _encoding, done) {
      pieces.push(Buffer.from(piece))
      done()
    },
  })
  res.assignSocket(stub as never)
  res.useChunkedEncodingByDefault = false
  const sent = new Promise((resolve) => {
    res.once('finish', resolve)
  })
  const answered = app.callback()(req, res)
  // while the application is at work
  Object.assign(req, { readable: false })
  await Promise.all([answered, sent])
  const text = Buffer.concat(pieces).toString()
  return { status: res.statusCode, text: text.slice(text.indexOf('\r\n\r\n') + 4) }
}

/** What takes its time before the body is read, as permissions do. */
const wait: Koa.Middleware = async (_ctx, next) => {
  await turn()
  await next()
}

const JSON_BODY = { 'content-type': 'application/json' }

it('is answered as by a server, bodies and exports included', async () => {
  const app = new Koa().use(wait).use(api.routes())
  expect(await call(app, { method: 'GET', url: '/books/1' })).toEqual({ status: 200, text: '{"id":1,"title":"Momo"}' })
  const post = { method: 'POST', url: '/books', headers: JSON_BODY, body: '{"title":"Anna"}' }
  expect(await call(app, post)).toEqual({ status: 201, text: '{"id":3,"title":"Anna"}' })
  expect(await call(app, { ...post, body: '{' })).toMatchObject({ status: 400 })
  expect(await call(app, { method: 'DELETE', url: '/books/3' })).toMatchObject({ status: 204 })
  const csv = await call(app, { method: 'GET', url: '/books.csv' })
  expect(csv).toEqual({ status: 200, text: 'id,title\r\n1,Momo\r\n2,Emil\r\n' })
})

it('takes a body that its host has read', async () => {
  const handOver: Koa.Middleware = (ctx, next) => {
    if (ctx.req.readableDidRead) ctx.request.body = (ctx.req as { body?: unknown }).body
    return next()
  }
  const read: Koa.Middleware = async ({ req }, next) => {
    const pieces: Buffer[] = []
    for await (const piece of req) pieces.push(Buffer.from(piece))
    Object.assign(req, { body: JSON.parse(String(Buffer.concat(pieces))) })
    await next()
  }
  const app = new Koa().use(read).use(handOver).use(api.routes())
  const post = { method: 'PUT', url: '/books/2', headers: JSON_BODY, body: '{"title":"Emil and the detectives"}' }
  expect(await call(app, post)).toEqual({ status: 200, text: '{"id":2,"title":"Emil and the detectives"}' })
})

it('has its body read by idempotency()', async () => {
  const echo: Koa.Middleware = (ctx) => {
    ctx.body = ctx.request.body
  }
  await ensureIdempotencyTable(database.knex)
  const scope = () => 'anybody'
  const app = new Koa().use(wait).use(idempotency(database.knex, { scope })).use(echo)
  const headers = { ...JSON_BODY, 'idempotency-key': 'k' }
  const post = { method: 'POST', url: '/notes', headers, body: '{"title":"Anna"}' }
  expect(await call(app, post)).toEqual({ status: 200, text: '{"title":"Anna"}' })
})

it('keeps no file of an upload, and counts its usage', async () => {
  const engine = new InMemoryMeteringEngine()
  setMeteringEngine(engine)
  onTestFinished(() => setMeteringEngine(null))
  const directory = mkdtempSync(join(tmpdir(), 'called-'))
  const parsers = [new MultiPartParser({ directory, keptFiles: 'all' })]
  const kept: number[] = []
  const app = new Koa()
    .use(metering())
    .use(contentNegotiation({ parsers }))
    .use((ctx) => {
      kept.push(readdirSync(directory).length)
      ctx.body = { read: true }
    })
  const body = multipart({ name: 'file', filename: 'a.txt', content: 'x' })
  const headers = { 'content-type': MULTIPART['Content-Type'] }
  expect(await call(app, { method: 'POST', url: '/import', headers, body })).toMatchObject({ status: 200 })
  expect(kept).toEqual([1])
  await vi.waitFor(() => expect(readdirSync(directory)).toEqual([]))
  await vi.waitFor(() => expect(engine.events).toHaveLength(1))
})
