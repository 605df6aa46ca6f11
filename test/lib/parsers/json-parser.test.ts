import { EventEmitter, once } from 'node:events'
import http from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import Koa from 'koa'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { answerError } from '../../../lib/http/answer-error.js'
import { ConfigurationError } from '../../../lib/kernel/errors.js'
import { JSONParser } from '../../../lib/parsers/json-parser.js'
import { parseBody } from '../../../lib/parsers/parser.js'
import { heapInUse } from '../../support/heap.js'
import { exchange, serve, type TestServer } from '../../support/server.js'

const MB = 1024 * 1024

let server: TestServer
let failures: unknown[] = []
const reported: unknown[] = []
let asked: Koa.Context | undefined

beforeAll(async () => {
  const app = new Koa()
  // Koa itself reports a socket that breaks off.
  app.on('error', (error) => String(error.code).startsWith('HPE_') || reported.push(error))
  app.use(async (ctx) => {
    asked = ctx
    try {
      if (ctx.path === '/late') await once(ctx.res, 'close')
      const parser =
        ctx.path === '/big'
          ? new JSONParser({ limit: 3 * MB, depth: 70, ratio: 1_000, nodes: 200_000 })
          : new JSONParser()
      ctx.body = await parseBody(ctx, [parser])
    } catch (error) {
      failures.push(error)
      answerError(ctx, error)
    }
  })
  server = await serve(app)
})
afterEach(() => {
  failures = []
  // No input makes a 5xx, and none leaves a key on the prototype of all objects.
  expect(reported).toEqual([])
  expect(Object.keys(Object.prototype)).toEqual([])
})
afterAll(() => server.close())

const json = { 'Content-Type': 'application/json' }
const post = (
  body: string | Buffer | readonly (string | Buffer)[],
  headers: http.OutgoingHttpHeaders = {},
  path = '/',
) => server.send({ body, path, headers: { ...json, ...headers } })
const malformed = { status: 400, json: { detail: 'Malformed JSON', status: 400 } }
const tooLarge = { status: 413, json: { detail: 'Request body too large', status: 413 } }
const swollen = { status: 413, json: { detail: 'Request body is compressed more than 100 times', status: 413 } }
const unsupported = { status: 415, json: { detail: 'Unsupported media type', status: 415 } }

describe('a JSON body', () => {
  it.each([
    ['an object', '{"a":1}', { a: 1 }],
    ['a list', '[1,"x",null]', [1, 'x', null]],
    ['a scalar', '1', 1],
    ['null', 'null', null],
    ['white space around it', ' \r\n\t{"a":1} ', { a: 1 }],
    ['a byte order mark', '\ufeff{"a":1}', { a: 1 }],
    ['letters beyond ASCII', '{"a":"Zürich 😀"}', { a: 'Zürich 😀' }],
    ['[A6] a repeated key, of which the last wins', '{"n":1,"n":"x"}', { n: 'x' }],
    ['[A4] a plain value under constructor', '{"meta":{"constructor":"x"}}', { meta: { constructor: 'x' } }],
    ['[A4] an object under constructor', '{"constructor":{"a":1}}', { constructor: { a: 1 } }],
    ['[A4] __proto__ as a value', '{"a":"__proto__"}', { a: '__proto__' }],
    ['[B11] 64 levels', `${'['.repeat(64)}${']'.repeat(64)}`, JSON.parse(`${'['.repeat(64)}${']'.repeat(64)}`)],
  ])('may be %s', async (_name, text, data) => {
    expect(await post(text)).toMatchObject({ status: 200, json: { data, textual: false } })
  })

  it('may arrive in pieces that cut a letter', async () => {
    const bytes = Buffer.from('{"a":"ü"}')
    expect(await post([bytes.subarray(0, 7), bytes.subarray(7)])).toMatchObject({ json: { data: { a: 'ü' } } })
  })

  it('may turn out to be empty', async () => {
    expect(await post([])).toMatchObject({ status: 200, json: { data: {} } })
  })

  it.each([
    ['broken off', '{"a":'],
    ['white space only', '  '],
    ['no JSON', 'a=1'],
    ['in single quotes', "{'a':1}"],
    ['followed by something', '{"a":1}x'],
    ['NaN', '{"a":NaN}'],
    ['[A4] a __proto__ key', '{"title":"x","__proto__":{"is_admin":true}}'],
    ['[A4] a nested __proto__ key', '{"a":[{"b":{"__proto__":1}}]}'],
    ['[A4] a __proto__ key among items', '[{"a":1},{"__proto__":null}]'],
    ['[A4] an escaped __proto__ key', String.raw`{"\u005f_pro\u0074o__":{"x":1}}`],
    ['[A4] constructor with prototype', '{"constructor":{"prototype":{"x":1}}}'],
    ['[A4] nested constructor with prototype', '{"a":{"constructor":{"prototype":null}}}'],
    ['[B9] bytes that are not UTF-8', Buffer.from('{"title":"\xff\xc0"}', 'latin1')],
    ['[B9] UTF-16', Buffer.from('\ufeff{"a":1}', 'utf16le')],
    ['[B9] a lone surrogate as bytes', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ])('is refused when %s', async (_name, body) => {
    expect(await post(body)).toMatchObject(malformed)
  })

  it('shows nothing of itself in the answer', async () => {
    expect((await post('{"password":"hunter2')).text).toBe('{"detail":"Malformed JSON","status":400}')
  })

  it.each([
    ['65 levels', `${'['.repeat(65)}${']'.repeat(65)}`],
    ['65 levels, closed nowhere', '{"a":'.repeat(65)],
    ['100,000 levels', '['.repeat(100_000)],
    ['200,000 levels of objects', '{"a":'.repeat(200_000)],
  ])('[B11] is refused with %s, at once', async (_name, text) => {
    // a tenth of a second at most; in proportion to its square it is minutes
    const start = performance.now()
    expect(await post(text)).toMatchObject({
      status: 400,
      json: { detail: 'JSON is nested deeper than 64 levels', status: 400 },
    })
    expect(performance.now() - start).toBeLessThan(10_000)
  })
})

/** How often others have their turn while a body is read. */
async function turnsOf(text: string): Promise<number> {
  const ctx = {
    req: Object.assign(Readable.from([Buffer.from(text)]), { headers: {}, socket: new EventEmitter() }),
    request: {},
  }
  let turns = 0
  let isReading = true
  const count = () => {
    turns++
    if (isReading) setImmediate(count)
  }
  setImmediate(count)
  await new JSONParser().parse(ctx as never)
  isReading = false
  return turns
}

it('of a long body each step has a turn of its own: it is made a string, parsed, searched, and its digits are kept', async () => {
  const filling = 'x'.repeat(100_000)
  expect(await turnsOf(JSON.stringify(['x']))).toBe(0)
  expect(await turnsOf(JSON.stringify([filling]))).toBe(3)
  expect(await turnsOf(JSON.stringify([filling, '"']))).toBe(4)
})

describe('the values and names of a JSON body', () => {
  const tooMany = { status: 400, json: { detail: 'JSON has more than 100000 values and names', status: 400 } }
  const list = (items: number) => `[${Array(items).fill('{}').join()}]`
  const object = (members: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: members }, (_, n) => [n, 0])))

  it.each([
    ['items of a list', list(99_999), list(100_000)],
    ['members of an object', object(49_999), object(50_000)],
    ['lists in lists', `[${Array(33_333).fill('[[]]').join()}]`, `[${Array(50_000).fill('[[]]').join()}]`],
    ['escapes among them', `["\\"",${list(99_997)}]`, `["\\"",${list(99_998)}]`],
  ])('are at most 100,000: %s', async (_name, fitting, more) => {
    expect((await post(fitting)).status).toBe(200)
    expect(await post(more)).toMatchObject(tooMany)
  })

  it('are as many as the option says', async () => {
    expect((await post(list(199_999), {}, '/big')).status).toBe(200)
    expect((await post(list(200_000), {}, '/big')).status).toBe(400)
  })
})

describe('a body in one-byte chunks', () => {
  const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
  const bytes = 200_000

  it('takes no more memory than its bytes, while it arrives', async () => {
    const socket = connect(server.port, '127.0.0.1')
    const before = heapInUse()
    const body = '1\r\n"\r\n'.padEnd(6 * bytes, '1\r\nx\r\n')
    socket.write(head + body)
    await vi.waitFor(() => expect(asked?.req.socket.bytesRead).toBe(head.length + body.length), 5_000)
    // an object for each of them would be 60 MB
    expect(heapInUse() - before).toBeLessThan(10 * MB)
    socket.write('1\r\n"\r\n0\r\n\r\n')
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(String(answer)).toMatch(/^HTTP\/1.1 200 /)
    socket.destroy()
  })

  it('is read as it is in others', async () => {
    const text = '{"title":"Zürich","list":[1,2,3]}'
    const pieces = [...Buffer.from(text)].map((byte) => Buffer.from([byte]))
    expect(await post(pieces)).toMatchObject({ status: 200, json: { data: JSON.parse(text) } })
  })
})

describe('a body in a content coding', () => {
  const text = JSON.stringify({ a: 'x'.repeat(5_000) })
  const codings: [string, (body: string | Buffer) => Buffer][] = [
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['GZIP', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['identity', Buffer.from],
  ]

  it.each(codings)('[F2] is read in %s', async (coding, encode) => {
    const response = await post(encode(text), { 'Content-Encoding': coding })
    expect(response).toMatchObject({ status: 200, json: { data: JSON.parse(text) } })
  })

  it.each(['foo', 'gzip, gzip', 'gzip,br', 'compress', '*', ';'])('[F2] is refused in %s', async (coding) => {
    const response = await post(gzipSync(text), { 'Content-Encoding': coding })
    expect(response).toMatchObject(unsupported)
    expect(response.headers['accept-encoding']).toBe('gzip, deflate, br')
  })

  it.each(['gzip', 'deflate', 'br'])('[F2] is refused when it is no %s', async (coding) => {
    expect(await post('xxxx', { 'Content-Encoding': coding })).toMatchObject(malformed)
  })

  it.each(codings.slice(0, 5))('[F2] is refused when its %s breaks off', async (coding, encode) => {
    expect(await post(encode(text).subarray(0, -5), { 'Content-Encoding': coding })).toMatchObject(malformed)
  })

  it('[F7] is refused or read, whatever byte is wrong', async () => {
    const bytes = gzipSync(text)
    for (let at = 0; at < bytes.length; at++) {
      const broken = Buffer.from(bytes)
      broken[at]! ^= 0xff
      expect([200, 400]).toContain((await post(broken, { 'Content-Encoding': 'gzip' })).status)
    }
  })

  it('is read in one-byte chunks', async () => {
    const bytes = gzipSync(text)
    const response = await post(
      [...bytes].map((byte) => Buffer.from([byte])),
      { 'Content-Encoding': 'gzip' },
    )
    expect(response).toMatchObject({ status: 200, json: { data: JSON.parse(text) } })
  })

  it.each(codings.slice(0, 5))(
    'may be 64 kB whatever it was in %s, then a hundred times what was sent',
    async (coding, encode) => {
      const blanks = (size: number) => encode(Buffer.alloc(size, ' '))
      expect(await post(blanks(65_536), { 'Content-Encoding': coding })).toMatchObject(malformed)
      expect(await post(blanks(65_537), { 'Content-Encoding': coding })).toMatchObject(swollen)
      // a number in each twenty kilobytes, which no coding makes shorter than a hundredth
      const varied = JSON.stringify(Array.from({ length: 20_000 }, (_, n) => Math.trunc(Math.sin(n) * 2 ** 31)))
      expect(await post(encode(varied), { 'Content-Encoding': coding })).toMatchObject({ status: 200 })
    },
  )

  it('may swell as far as the option says', async () => {
    const list = gzipSync(`[${'1 '.padEnd(90_000)}]`)
    expect(await post(list, { 'Content-Encoding': 'gzip' })).toMatchObject(swollen)
    expect(await post(list, { 'Content-Encoding': 'gzip' }, '/big')).toMatchObject({ json: { data: [1] } })
  })

  it('[F2] counts after decompression', async () => {
    const noise = JSON.stringify(Array.from({ length: 200_000 }, (_, n) => n))
    expect(gzipSync(noise).length).toBeLessThan(MB / 2)
    expect(await post(gzipSync(noise), { 'Content-Encoding': 'gzip' })).toMatchObject(tooLarge)
    const bomb = gzipSync(Buffer.alloc(50 * MB, ' '))
    expect(bomb.length).toBeLessThan(60_000)
    const before = process.memoryUsage.rss()
    expect(await post(bomb, { 'Content-Encoding': 'gzip' })).toMatchObject(swollen)
    expect(await post([bomb.subarray(0, 9_000), bomb.subarray(9_000)], { 'Content-Encoding': 'gzip' })).toMatchObject(
      swollen,
    )
    expect(process.memoryUsage.rss() - before).toBeLessThan(40 * MB)
  })
})

describe('the limit', () => {
  const sized = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`

  it('[F1] is 1 MB, to the byte', async () => {
    expect((await post(sized(MB))).status).toBe(200)
    expect(await post(sized(MB + 1))).toMatchObject(tooLarge)
    expect(await post([sized(MB + 1)])).toMatchObject(tooLarge)
  })

  it('[F1] is an option, as the depth', async () => {
    expect((await post(sized(2 * MB), {}, '/big')).status).toBe(200)
    expect((await post('['.repeat(70) + ']'.repeat(70), {}, '/big')).status).toBe(200)
  })

  it('[F1] answers a long Content-Length before anything is sent', async () => {
    const text = await exchange(
      server.port,
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5000000\r\n\r\n',
    )
    expect(text).toMatch(/^HTTP\/1.1 413 /)
  })

  it('[F1] answers an endless body once it is over', async () => {
    const socket = connect(server.port, '127.0.0.1')
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n')
    let sent = 0
    const timer = setInterval(() => {
      socket.write(`10000\r\n${'x'.repeat(0x10000)}\r\n`)
      sent += 0x10000
    }, 1)
    const [chunk] = (await new Promise((resolve) => socket.once('data', (data) => resolve([data])))) as [Buffer]
    clearInterval(timer)
    socket.destroy()
    expect(String(chunk)).toMatch(/^HTTP\/1.1 413 /)
    expect(sent).toBeLessThan(3 * MB)
  })

  it.each([
    ['Content-Length', (text: string) => text],
    ['chunks', (text: string) => [text.slice(0, 100_000), text.slice(100_000)]],
  ])('keeps the connection usable after a body too big in %s', async (_name, cut) => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const created = vi.spyOn(agent as unknown as { createConnection: () => unknown }, 'createConnection')
    for (let round = 0; round < 3; round++) {
      expect(await server.send({ body: cut(sized(5 * MB)), headers: json, agent })).toMatchObject(tooLarge)
      expect(await server.send({ body: '{}', headers: json, agent })).toMatchObject({ status: 200 })
    }
    expect(created).toHaveBeenCalledTimes(1)
    agent.destroy()
  })

  it('and after a bomb', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const headers = { ...json, 'Content-Encoding': 'gzip' }
    const created = vi.spyOn(agent as unknown as { createConnection: () => unknown }, 'createConnection')
    for (let round = 0; round < 3; round++) {
      expect(await server.send({ body: gzipSync(Buffer.alloc(20 * MB)), headers, agent })).toMatchObject(swollen)
      expect(await server.send({ body: Buffer.alloc(500_000), headers, agent })).toMatchObject(malformed)
    }
    expect(await server.send({ body: '{}', headers: json, agent })).toMatchObject({ status: 200 })
    expect(created).toHaveBeenCalledTimes(1)
    agent.destroy()
  })

  it.each([
    [{ limit: 0 }, 'limit'],
    [{ limit: 1.5 }, 'limit'],
    [{ limit: Number.NaN }, 'limit'],
    [{ depth: -1 }, 'depth'],
    [{ nodes: 0 }, 'nodes'],
    [{ ratio: 0.5 }, 'ratio'],
  ])('[I23] %o is a mistake', (options, name) => {
    expect(() => new JSONParser(options)).toThrow(ConfigurationError)
    expect(() => new JSONParser(options)).toThrow(`JSONParser: ${name} is `)
  })
})

describe('a client that goes away', () => {
  it.each([
    ['plain', ''],
    ['compressed', 'Content-Encoding: gzip\r\n'],
  ])('[I10] ends the reading of a %s body', async (_name, header) => {
    const socket = connect(server.port, '127.0.0.1')
    const head = `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${header}Content-Length: 9000\r\n\r\n`
    asked = undefined
    socket.write(Buffer.concat([Buffer.from(head), gzipSync('{"a":1}').subarray(0, 12)]))
    await vi.waitFor(() => expect(asked).toBeDefined(), { timeout: 10_000 })
    socket.destroy()
    const aborted = [{ status: 400, detail: 'Request aborted' }]
    await vi.waitFor(() => expect(failures).toMatchObject(aborted), { timeout: 10_000 })
  })

  it('before its whole body is read has aborted the request, and nothing is reported', async () => {
    const socket = connect(server.port, '127.0.0.1')
    asked = undefined
    socket.write('POST /late HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}')
    await vi.waitFor(() => expect(asked?.req.complete).toBe(true), { timeout: 10_000 })
    socket.destroy()
    const aborted = [{ status: 400, detail: 'Request aborted' }]
    await vi.waitFor(() => expect(failures).toMatchObject(aborted), { timeout: 10_000 })
  })
})
