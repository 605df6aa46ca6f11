import type http from 'node:http'
import { gzipSync } from 'node:zlib'
import { bodyParser } from '@koa/bodyparser'
import Koa from 'koa'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { answerError } from '../../../lib/http/answer-error.js'
import { ConfigurationError } from '../../../lib/kernel/errors.js'
import { FormParser } from '../../../lib/parsers/form-parser.js'
import { parseBody } from '../../../lib/parsers/parser.js'
import { koaBody } from '../../support/installed.js'
import { serve, type TestServer } from '../../support/server.js'

let server: TestServer
let before: Koa.Middleware | undefined
const reported: unknown[] = []

beforeAll(async () => {
  const app = new Koa()
  app.on('error', (error) => reported.push(error))
  app.use(async (ctx) => {
    const parse = async () => {
      try {
        ctx.body = await parseBody(ctx, [new FormParser()])
      } catch (error) {
        answerError(ctx, error)
      }
    }
    await (before ? before(ctx, parse) : parse())
  })
  server = await serve(app)
})
afterEach(() => {
  before = undefined
  expect(reported).toEqual([])
  expect(Object.keys(Object.prototype)).toEqual([])
})
afterAll(() => server.close())

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' }
const post = (body: string | Buffer, headers: http.OutgoingHttpHeaders = {}) =>
  server.send({ body, headers: { ...FORM, ...headers } })
const malformed = { status: 400, json: { detail: 'Malformed form', status: 400 } }

describe('a form', () => {
  it.each<[string, string | Buffer, unknown]>([
    ['names and values', 'a=1&b=two', { a: '1', b: 'two' }],
    ['percent-encoding and plus', 'a=x+y%26z&%C3%BC=%F0%9F%98%80', { a: 'x y&z', ü: '😀' }],
    ['letters beyond ASCII as they are', 'a=Zürich', { a: 'Zürich' }],
    ['no value, and no equals sign', 'a=&b', { a: '', b: '' }],
    ['an equals sign in a value', 'a=b=c', { a: 'b=c' }],
    ['empty pairs', '&&a=1&', { a: '1' }],
    ['a name without letters', '=1', { '': '1' }],
    ['[F4] a repeated name, which is a list', 'a=1&b=x&a=2&a=3', { a: ['1', '2', '3'], b: 'x' }],
    ['[F4] brackets, which are objects and lists', 'a[b]=1&c[]=2&d[0]=3', { a: { b: '1' }, c: ['2'], d: ['3'] }],
    ['[F4] brackets that are not closed, or first', 'a[b=1&[c]=2', { 'a[b': '1', '[c]': '2' }],
    ['[F4] five levels', 'a[b][c][d][e]=1', { a: { b: { c: { d: { e: '1' } } } } }],
    ['[A5] names of prototypes in brackets', 'a[__proto__][b]=1&c[constructor]=2&d[prototype][]=3&e=4', { e: '4' }],
    ['[A5] names of prototypes, which are dropped', '__proto__=1&constructor=1&prototype=1&a=2', { a: '2' }],
    ['[A5] an encoded one', '%5F_proto__=1&a=2', { a: '2' }],
    ['[A5] names of methods', 'toString=1&hasOwnProperty=2', { toString: '1', hasOwnProperty: '2' }],
    ['NUL, of which the field decides', 'a=%00', { a: '\0' }],
  ])('may have %s', async (_name, body, data) => {
    expect((await post(body)).json).toEqual({ data, textual: true })
  })

  it.each<[string, string | Buffer]>([
    ['[B9] bytes that are not UTF-8', Buffer.from('a=\xff\xc0', 'latin1')],
    ['[B9] encoded bytes that are not UTF-8', 'a=%FF%C0'],
    ['[B9] an encoded surrogate', 'a=%ED%A0%80'],
    ['[B10] broken percent-encoding', 'a=%zz'],
    ['[B10] percent-encoding that breaks off', 'a=%2'],
    ['[B10] a broken name', '%=1'],
  ])('is refused with %s', async (_name, body) => {
    expect(await post(body)).toMatchObject(malformed)
  })

  it('[F4] is 413 with more than 1,000 values', async () => {
    expect((await post(`${'a=1&'.repeat(999)}a=1`)).json.data.a).toHaveLength(1000)
    for (const body of [`${'a=1&'.repeat(1000)}a=1`, 'a=1&'.repeat(2000)]) {
      expect(await post(body)).toMatchObject({ status: 413, json: { detail: 'More than 1000 fields', status: 413 } })
    }
  })

  it('[F4] is 400 with 50 levels', async () => {
    expect(await post(`a${'[b]'.repeat(50)}=1`)).toMatchObject({
      status: 400,
      json: { detail: 'Form is nested deeper than 5 levels' },
    })
  })

  it('[F1 F2] is 413 beyond 1 MB, counted after decompression', async () => {
    const large = `a=${'x'.repeat(1024 * 1024)}`
    expect((await post(large)).status).toBe(413)
    expect((await post(gzipSync(large), { 'Content-Encoding': 'gzip' })).status).toBe(413)
    expect((await post(gzipSync('a=1'), { 'Content-Encoding': 'gzip' })).json.data).toEqual({ a: '1' })
  })
})

describe('the JSON in texts of a form', () => {
  const list = (items: number) => `[${Array(items).fill('0').join()}]`
  const tooMuch = {
    status: 400,
    json: { detail: 'More than 100000 values and names in "meta"', status: 400 },
  }

  it('has at most 100,000 values and names in all, beyond which the answer names the field', async () => {
    expect((await post(`a=${list(49_999)}&meta=${list(49_999)}&title=${'x,'.repeat(100_000)}`)).status).toBe(200)
    expect(await post(`a=${list(49_999)}&meta=%20${list(50_000)}`)).toMatchObject(tooMuch)
  })

  it.each([
    ['koa-body', () => koaBody({ formLimit: '2mb' }) as Koa.Middleware],
    ['@koa/bodyparser', () => bodyParser({ enableTypes: ['form'], formLimit: '2mb' }) as Koa.Middleware],
  ])('also where %s has read it', async (_name, middleware) => {
    before = middleware()
    expect((await post(`a=${list(49_999)}&meta=${list(49_999)}`)).status).toBe(200)
    expect(await post(`a=${list(49_999)}&meta=${list(50_000)}`)).toMatchObject(tooMuch)
  })
})

it('a form is 413 when it swells more than a hundred times', async () => {
  const swollen = gzipSync(`a=${'x'.repeat(100_000)}`)
  expect(await post(swollen, { 'Content-Encoding': 'gzip' })).toMatchObject({
    status: 413,
    json: { detail: 'Request body is compressed more than 100 times' },
  })
})

describe.each([
  ['koa-body', () => koaBody() as Koa.Middleware],
  ['@koa/bodyparser', () => bodyParser({ enableTypes: ['form'] }) as Koa.Middleware],
])('a form that %s has read', (_name, middleware) => {
  it('is taken over', async () => {
    before = middleware()
    expect((await post('a=1&b=x&b=y')).json).toEqual({ data: { a: '1', b: ['x', 'y'] }, textual: true })
  })

  it('[A5] loses names of prototypes, at any depth', async () => {
    before = middleware()
    const { json } = await post('__proto__[a]=1&constructor[prototype][a]=1&b[__proto__][x]=1&b[constructor]=2&b[c]=3')
    expect(json.data).toEqual({ b: { c: '3' } })
  })
})

it('[F4] a form that koa-body has read is counted and measured', async () => {
  before = koaBody()
  expect((await post(`a${'[b]'.repeat(50)}=1`)).status).toBe(400)
  expect((await post('a[b][c][d][e]=1')).json.data).toEqual({ a: { b: { c: { d: { e: '1' } } } } })
  before = async (ctx, next) => {
    await koaBody()(ctx, async () => {
      const deep = { a: { b: { c: { d: { e: { f: '1' } } } } } } // six names
      ;(ctx.request as { body?: unknown }).body = ctx.query['deep'] === '' ? deep : { a: Array(1001).fill('1') }
      await next()
    })
  }
  expect((await server.send({ path: '/?deep', body: 'a=1', headers: FORM })).status).toBe(400)
  expect((await post('a=1')).status).toBe(413)
})

it.each([{ limit: 0 }, { fields: 0 }, { depth: -1 }])('refuses the option %j', (options) => {
  expect(() => new FormParser(options)).toThrow(ConfigurationError)
})
