import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import http from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import Koa from 'koa'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { answerError } from '../../../lib/http/answer-error.js'
import { ConfigurationError } from '../../../lib/kernel/errors.js'
import { MultiPartParser, type MultiPartParserOptions } from '../../../lib/parsers/multi-part-parser.js'
import { type AskedForm, type ParsedBody, parseBody } from '../../../lib/parsers/parser.js'
import { UploadedFile } from '../../../lib/parsers/uploads.js'
import { heapInUse } from '../../support/heap.js'
import { koaBody } from '../../support/installed.js'
import { BOUNDARY, MULTIPART, multipart, multipartOf, part } from '../../support/multipart.js'
import { seededRandom } from '../../support/seeded-random.js'
import { serve, type TestServer } from '../../support/server.js'
import { mountSmallDisk } from '../../support/small-disk.js'
import { report, size } from '../../trust/support/size.js'

const MB = 1024 * 1024
const KB = 1024
const fuzzed = size(500, 10_000)

const directory = mkdtempSync(join(tmpdir(), 'multipart-'))
const reported: unknown[] = []
let server: TestServer
let options: MultiPartParserOptions = {}
let asked: AskedForm | undefined
let open: Koa.Context | undefined
let before: Koa.Middleware | undefined

beforeAll(async () => {
  const app = new Koa()
  // Koa itself reports a socket that breaks off.
  app.on('error', (error) => String(error.code).startsWith('HPE_') || reported.push(error))
  app.use(async (ctx) => {
    open = ctx
    const parse = async () => {
      let body: ParsedBody | undefined
      try {
        body = await parseBody(ctx, [new MultiPartParser({ directory, ...options })], asked)
        ctx.body = await describeBody(body)
      } catch (error) {
        answerError(ctx, error)
      } finally {
        await body?.dispose?.()
      }
    }
    await (before ? before(ctx, parse) : parse())
  })
  server = await serve(app)
})
afterEach(async () => {
  options = {}
  asked = undefined
  before = undefined
  await vi.waitFor(() => expect(readdirSync(directory)).toEqual([]))
  expect(reported.splice(0)).toEqual([])
  expect(Object.keys(Object.prototype)).toEqual([])
})
afterAll(async () => {
  await server.close()
  rmSync(directory, { recursive: true })
})

/** Files with their content, as long as they are there. */
async function describeBody({ data, textual, files }: ParsedBody): Promise<unknown> {
  const describeValue = async (value: unknown): Promise<unknown> => {
    if (Array.isArray(value)) return Promise.all(value.map(describeValue))
    if (!(value instanceof UploadedFile)) return value
    const { filename, mediaType, size } = value
    if (!value.isKept) return { filename, mediaType, size, head: null }
    if (value.path.includes('koa-viewsets-')) expect(statSync(value.path).mode & 0o777).toBe(0o600)
    return { filename, mediaType, size, head: (await value.head(20)).toString('latin1') }
  }
  const entries = Object.entries(data as object).map(async ([name, value]) => [name, await describeValue(value)])
  return { data: Object.fromEntries(await Promise.all(entries)), textual, files: Object.keys(files ?? {}) }
}

const post = (
  body: string | Buffer | readonly (string | Buffer)[],
  headers: http.OutgoingHttpHeaders = {},
  agent?: http.Agent,
) => server.send({ body, headers: { ...MULTIPART, ...headers }, ...(agent && { agent }) })
const malformed = { status: 400, json: { detail: 'Malformed multipart body', status: 400 } }
const tooLarge = { status: 413, json: { detail: 'Request body too large', status: 413 } }

describe('a multipart body', () => {
  it('is read as texts and files', async () => {
    const body = multipart(
      { name: 'title', content: 'Zürich 😀' },
      { name: 'cover', filename: 'a.png', type: 'image/png', content: '\x89PNG' },
      { name: 'empty', content: '' },
    )
    expect(await post(body)).toMatchObject({
      status: 200,
      json: {
        data: {
          title: 'Zürich 😀',
          cover: { filename: 'a.png', mediaType: 'image/png', size: 5, head: 'Â\x89PNG' },
          empty: '',
        },
        textual: true,
        files: ['cover'],
      },
    })
  })

  it('[F4] gives the values of a repeated name as a list, files among them', async () => {
    const file = { name: 'a', filename: '1.txt', content: 'one' }
    const { json } = await post(multipart({ name: 'a', content: 'x' }, file, { name: 'b', content: '1' }))
    expect(json.data).toMatchObject({ a: ['x', { filename: '1.txt', size: 3 }], b: '1' })
    expect(json.files).toEqual(['a'])
  })

  it('may arrive byte by byte', async () => {
    const content = Buffer.from(`a\r\n--${BOUNDARY.slice(0, 8)}\r\n\r\n--\r\n-`)
    const body = multipart({ name: 'a', content: 'x' }, { name: 'f', filename: 'f.bin', content })
    const { json } = await post([...body].map((byte) => Buffer.from([byte])))
    expect(json.data).toEqual({
      a: 'x',
      f: {
        filename: 'f.bin',
        mediaType: 'text/plain',
        size: content.length,
        head: content.toString('latin1').slice(0, 20),
      },
    })
  })

  it('keeps every byte of a large file', async () => {
    const content = Buffer.alloc(3 * MB, 'x\r\n--')
    const { json } = await post(multipart({ name: 'f', filename: 'f.bin', content }))
    expect(json.data.f.size).toBe(content.length)
  })

  it('may be compressed', async () => {
    const { json } = await post(gzipSync(multipart({ name: 'a', content: 'x' })), { 'Content-Encoding': 'gzip' })
    expect(json.data).toEqual({ a: 'x' })
  })

  it('may have no part', async () => {
    expect(await post(`--${BOUNDARY}--`)).toMatchObject({ status: 200, json: { data: {} } })
  })

  it('may have something before and after its parts', async () => {
    const body = Buffer.concat([
      Buffer.from('preamble\r\n'),
      multipart({ name: 'a', content: '1' }),
      Buffer.from('end'),
    ])
    expect((await post(body)).json.data).toEqual({ a: '1' })
  })

  it.each([
    ['a token for a name', 'Content-Disposition: form-data; name=a', { a: 'x' }],
    ['other spaces', 'content-disposition:form-data ;  name="a" ; x=y', { a: 'x' }],
    ['a semicolon at the end', 'Content-Disposition: form-data; name="a";', { a: 'x' }],
    ['the encoding 7bit', 'Content-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: 7bit', { a: 'x' }],
    ['an escaped quotation mark', String.raw`Content-Disposition: form-data; name="a\"b"`, { 'a"b': 'x' }],
    ["a browser's quotation mark", 'Content-Disposition: form-data; name="a%22b"', { 'a"b': 'x' }],
    ['an empty name', 'Content-Disposition: form-data; name=""', { '': 'x' }],
    ['a name of a method', 'Content-Disposition: form-data; name="toString"', { toString: 'x' }],
    [
      'a charset it is in',
      'Content-Disposition: form-data; name="a"\r\nContent-Type: text/plain; charset=UTF-8',
      { a: 'x' },
    ],
  ])('may have %s', async (_name, header, data) => {
    const { json } = await post(multipartOf(header))
    expect(json.data).toEqual(data)
  })

  it.each(['__proto__', 'constructor', 'prototype'])('[A5] drops the name %s', async (name) => {
    const body = multipart(
      { name, content: 'x' },
      { name, filename: 'x.txt', content: 'x' },
      { name: 'title', content: 'y' },
    )
    expect((await post(body)).json.data).toEqual({ title: 'y' })
  })

  it('[F13] takes a part with a file name for a file, whatever its type', async () => {
    const { json } = await post(multipartOf('Content-Disposition: form-data; name="f"; filename="a.txt"'))
    expect(json.files).toEqual(['f'])
  })

  it('drops a file input that nobody has filled in', async () => {
    const empty = { name: 'f', filename: '', type: 'application/octet-stream', content: '' }
    expect((await post(multipart(empty))).json.data).toEqual({})
    expect((await post(multipart({ ...empty, filename: 'a.txt' }))).json.data).toMatchObject({ f: { size: 0 } })
  })
})

describe('a file that nobody asks for', () => {
  const content = Buffer.alloc(3 * MB, 'x')
  const body = multipart(
    { name: 'title', filename: 't.txt', content },
    { name: 'caption', content: 'x' },
    { name: 'photo', filename: 'p.png', content: 'PNG' },
  )

  it('is not written to the disk: of it only its name and length are known', async () => {
    asked = { objects: new Set(), files: new Set(['photo']), largest: undefined }
    const answered = post(body)
    expect(await mostBytesDuring(answered)).toBeLessThan(KB)
    expect((await answered).json).toEqual({
      data: {
        title: { filename: 't.txt', mediaType: 'text/plain', size: 3 * MB, head: null },
        caption: 'x',
        photo: { filename: 'p.png', mediaType: 'text/plain', size: 3, head: 'PNG' },
      },
      textual: true,
      files: ['photo'],
    })
  })

  it('is held to the same limits', async () => {
    asked = { objects: new Set(), files: new Set(), largest: undefined }
    options = { fileLimit: MB }
    expect(await post(body)).toMatchObject(tooLarge)
    options = { totalLimit: MB }
    expect((await post(body)).status).toBe(413)
    options = { files: 1 }
    expect(await post(body)).toMatchObject(tooLarge)
  })

  it.each<[MultiPartParserOptions]>([[{ keptFiles: ['title'] }], [{ keptFiles: 'all' }]])(
    'is kept with %j',
    async (own) => {
      asked = { objects: new Set(), files: new Set(), largest: undefined }
      options = own
      expect((await post(body)).json.files).toEqual(own.keptFiles === 'all' ? ['title', 'photo'] : ['title'])
    },
  )

  it('tells code that reads it what to declare', () => {
    const file = new UploadedFile({ filename: 'a', mediaType: 'text/plain', size: 1, path: undefined })
    expect(() => file.stream()).toThrow(ConfigurationError)
    expect(() => file.path).toThrow(/declare a FileUploadField .* or name it in new MultiPartParser\({ keptFiles }\)/)
  })
})

describe('a body in one-byte chunks', () => {
  it('takes no more memory than its bytes, in a text and in a file', async () => {
    const chunked = (bytes: Buffer) => [...bytes].map((byte) => `1\r\n${String.fromCharCode(byte)}\r\n`).join('')
    const head = `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: ${MULTIPART['Content-Type']}\r\nTransfer-Encoding: chunked\r\n\r\n`
    const [text, file] = multipart({ name: 'a', content: '@' }, { name: 'f', filename: 'f.txt', content: '@' })
      .toString()
      .split('@')
      .map((piece) => chunked(Buffer.from(piece)))
    for (const begin of [text, `${text}1\r\nx\r\n${file}`]) {
      const socket = connect(server.port, '127.0.0.1')
      const inUse = heapInUse()
      const sent = head + begin + '1\r\nx\r\n'.repeat(100_000)
      socket.write(sent)
      await vi.waitFor(() => expect(open?.req.socket.bytesRead).toBe(sent.length), 20_000)
      // an object for each of them would be 30 MB
      expect(heapInUse() - inUse).toBeLessThan(10 * MB)
      socket.destroy()
      await vi.waitFor(() => expect(readdirSync(directory)).toEqual([]))
    }
  })
})

describe('a malformed body', () => {
  const disposition = 'Content-Disposition: form-data; name="a"'

  it.each<[string, string | Buffer]>([
    ['nothing', 'x'],
    ['JSON', '{"a":1}'],
    ['only the preamble', 'x'.repeat(1000)],
    ['[F5] no closing boundary', part(disposition)],
    ['[F5] half a closing boundary', Buffer.concat([part(disposition), Buffer.from(`--${BOUNDARY}-`)])],
    ['[F5] a delimiter and no part after it', Buffer.concat([part(disposition), Buffer.from(`--${BOUNDARY}\r\n`)])],
    ['[F5] a body that breaks off inside a delimiter', part(disposition).subarray(0, -2)],
    ['[F5] a body that breaks off inside a header', `--${BOUNDARY}\r\nContent-Dispo`],
    ['another boundary', multipart({ name: 'a', content: 'x' }).toString().replaceAll(BOUNDARY, 'other')],
    ['a boundary that goes on', `--${BOUNDARY}x\r\n${disposition}\r\n\r\nx\r\n--${BOUNDARY}--\r\n`],
    ['line feeds alone', multipart({ name: 'a', content: 'x' }).toString().replaceAll('\r\n', '\n')],
    ['no header', `--${BOUNDARY}\r\n\r\nx\r\n--${BOUNDARY}--\r\n`],
    ['no disposition', multipartOf('Content-Type: text/plain')],
    ['no name', multipartOf('Content-Disposition: form-data; filename="a.txt"')],
    ['another disposition', multipartOf('Content-Disposition: attachment; name="a"')],
    ['two names', multipartOf('Content-Disposition: form-data; name="a"; name="b"')],
    ['two file names', multipartOf('Content-Disposition: form-data; name="a"; filename="a"; filename="b"')],
    ['two dispositions', multipartOf(`${disposition}\r\n${disposition}`)],
    ['an unclosed quotation', multipartOf('Content-Disposition: form-data; name="a')],
    ['a folded header', multipartOf(`${disposition};\r\n filename="a.txt"`)],
    ['a header that is none', multipartOf(`${disposition}\r\nfoo`)],
    ['a header with a space in its name', multipartOf(`${disposition}\r\nfoo bar: x`)],
    ['NUL in a header', multipartOf('Content-Disposition: form-data; name="a\0b"')],
    ['a lone CR in a header', multipartOf('Content-Disposition: form-data; name="a\rb"')],
    ['the encoding base64', multipartOf(`${disposition}\r\nContent-Transfer-Encoding: base64`)],
    ['an unknown encoding', multipartOf(`${disposition}\r\nContent-Transfer-Encoding: __proto__`)],
    ['[B9] a text that is not UTF-8', multipart({ name: 'a', content: Buffer.from([0xff, 0xc0]) })],
    [
      '[B9] a name that is not UTF-8',
      Buffer.from(multipart({ name: 'a\xff', content: '' }).toString('latin1').replace('Ã¿', '\xff'), 'latin1'),
    ],
    ['[B9] another charset', multipartOf(`${disposition}\r\nContent-Type: text/plain; charset=utf-16le`)],
    ['what is no parameter, behind no media type', multipartOf(`${disposition}\r\nContent-Type: ;x`)],
    ['a broken extended file name', multipartOf(`Content-Disposition: form-data; name="a"; filename*=UTF-8''%ff`)],
    ['[F6] a header of 500 kB', multipartOf(`${disposition}\r\nX: ${'x'.repeat(500 * KB)}`)],
    ['[F6] a file name of 20 kB', multipartOf(`${disposition}; filename="${'x'.repeat(20 * KB)}"`)],
    ['[F6] a header of 20 kB of quotation marks', multipartOf(`${disposition}${'; name="'.repeat(2500)}`)],
    ['[F6] a preamble without end', '\r\n--'.repeat(10 * KB)],
  ])('[F5] is refused when it is %s', async (_name, body) => {
    expect(await post(body)).toMatchObject(malformed)
  })

  it('[F7] takes no time that grows with the square of a header', async () => {
    // with the square of 14 kB, 400 of them would take longer than a test may
    const header = `Content-Disposition: form-data; name="a"; x="${'\\"; filename="'.repeat(1000)}"`
    await post(Buffer.concat([...Array.from({ length: 400 }, () => part(header)), Buffer.from(`--${BOUNDARY}--`)]))
  })

  it.each([
    ['missing', 'multipart/form-data'],
    ['empty', 'multipart/form-data; boundary='],
    ['empty in quotes', 'multipart/form-data; boundary=""'],
    ['too long', `multipart/form-data; boundary=${'x'.repeat(71)}`],
    ['not made of its characters', 'multipart/form-data; boundary="a\\"b"'],
    ['beyond ASCII', 'multipart/form-data; boundary="ü"'],
  ])('[F5] is 415 when its boundary is %s', async (_name, type) => {
    const response = await post('x', { 'Content-Type': type })
    expect(response.status).toBe(415)
    expect(response.headers['accept-post']).toBe('multipart/form-data')
  })

  it.each(['json', 'octet-stream', "'()+_,-./:=?", 'x'.repeat(70)])(
    '[F3] may have the boundary %s',
    async (boundary) => {
      const body = multipart({ name: 'a', content: '1' }).toString().replaceAll(BOUNDARY, boundary)
      const { json } = await post(body, { 'Content-Type': `multipart/form-data; boundary="${boundary}"` })
      expect(json.data).toEqual({ a: '1' })
    },
  )

  it(`[F7] is refused or read, never a 5xx, whatever is wrong with it (${fuzzed} bodies)`, {
    timeout: 600_000,
  }, async () => {
    const whole = multipart(
      { name: 'title', content: 'A title\r\nof two lines' },
      { name: 'cover', filename: 'a.png', type: 'image/png', content: '\x89PNG\r\n\x1a\n' },
      { name: 'title', filename: 'b.txt', type: 'text/plain; charset=utf-8', content: `--${BOUNDARY.slice(0, 5)}` },
    )
    const agent = new http.Agent({ keepAlive: true, maxSockets: 8 })
    const random = seededRandom(7)
    const statuses = new Map<number, number>()
    const send = async () => {
      const { status } = await post(mutate(whole, random), {}, agent)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    for (let done = 0; done < fuzzed; done += 8) await Promise.all(Array.from({ length: 8 }, send))
    agent.destroy()
    report(
      'F7 bodies',
      Object.fromEntries([['bodies', fuzzed], ...[...statuses].map(([status, n]) => [`${status}`, n])]),
    )
    expect(new Set(statuses.keys())).toEqual(new Set([200, 400]))
  })
})

describe('a body beyond a limit', () => {
  it('[F5] is 413 with too large a file, of which little is kept', async () => {
    options = { fileLimit: 100 * KB }
    const file = (size: number) => multipart({ name: 'f', filename: 'f.bin', content: Buffer.alloc(size) })
    expect((await post(file(100 * KB))).json.data).toMatchObject({ f: { size: 100 * KB } })
    expect(await post(file(100 * KB + 1))).toMatchObject(tooLarge)
    expect(await post([file(5 * MB)])).toMatchObject(tooLarge)
  })

  it('[F5] takes files of 20 MB unless told otherwise', { timeout: 30_000 }, async () => {
    const file = (size: number) => multipart({ name: 'f', filename: 'f.bin', content: Buffer.alloc(size) })
    expect((await post(file(20 * MB))).status).toBe(200)
    expect(await post(file(21 * MB))).toMatchObject(tooLarge)
  })

  it('[F1] is 413 by its announced length alone', async () => {
    const agent = new http.Agent({ keepAlive: true })
    const answered = new Promise<http.IncomingMessage>((resolve, reject) => {
      const request = http.request({
        port: server.port,
        method: 'POST',
        agent,
        headers: { ...MULTIPART, 'Content-Length': 10 ** 12 },
      })
      request.on('response', resolve).on('error', reject)
      request.flushHeaders()
    })
    expect((await answered).statusCode).toBe(413)
    agent.destroy()
  })

  it('[F4] is 413 with more than 1,000 fields', async () => {
    const parts = (count: number) => multipart(...Array.from({ length: count }, () => ({ name: 'a', content: '' })))
    expect((await post(parts(1000))).status).toBe(200)
    expect(await post(parts(1001))).toMatchObject({ status: 413, json: { detail: 'More than 1000 fields' } })
  })

  it('is 413 with too many files', async () => {
    options = { files: 2 }
    const files = (count: number) =>
      multipart(...Array.from({ length: count }, () => ({ name: 'f', filename: 'f.txt', content: 'x' })))
    expect((await post(files(2))).status).toBe(200)
    expect(await post(files(3))).toMatchObject(tooLarge)
  })

  it('is 413 when its texts are too long together', async () => {
    const texts = (size: number) => multipart({ name: 'a', content: 'x'.repeat(size) }, { name: 'b', content: 'x' })
    expect((await post(texts(MB - 1))).status).toBe(200)
    expect(await post(texts(MB))).toMatchObject(tooLarge)
  })

  it('[F2] is 413 by what it is once decompressed', async () => {
    options = { fileLimit: MB, ratio: 2_000 }
    const bomb = gzipSync(multipart({ name: 'f', filename: 'f.bin', content: Buffer.alloc(50 * MB) }))
    expect(bomb.length).toBeLessThan(100 * KB)
    expect(await post(bomb, { 'Content-Encoding': 'gzip' })).toMatchObject(tooLarge)
  })

  it('is 413 when its compression swells more than a hundred times, before that reaches the disk', async () => {
    const bomb = gzipSync(multipart({ name: 'f', filename: 'f.bin', content: Buffer.alloc(19 * MB) }))
    const answered = post(bomb, { 'Content-Encoding': 'gzip' })
    expect(await mostBytesDuring(answered)).toBeLessThan(256 * KB)
    expect(await answered).toMatchObject({
      status: 413,
      json: { detail: 'Request body is compressed more than 100 times' },
    })
  })

  it('is 413 with files that are too long together', async () => {
    options = { totalLimit: 100 * KB }
    const files = (...sizes: number[]) =>
      multipart(...sizes.map((size) => ({ name: 'f', filename: 'f.bin', content: Buffer.alloc(size) })))
    expect((await post(files(50 * KB, 50 * KB))).json.data.f).toHaveLength(2)
    expect(await post(files(50 * KB, 50 * KB + 1))).toMatchObject({
      status: 413,
      json: { detail: 'Files have more than 102400 bytes together', status: 413 },
    })
  })

  it('is 413 with more than 50 MB of files, unless told otherwise', { timeout: 30_000 }, async () => {
    const content = Buffer.alloc(18 * MB)
    const files = (count: number) =>
      multipart(...Array.from({ length: count }, () => ({ name: 'f', filename: 'f.bin', content })))
    expect(await post([files(3)])).toMatchObject({
      status: 413,
      json: { detail: 'Files have more than 52428800 bytes together', status: 413 },
    })
    options = { fileLimit: 60 * MB }
    expect((await post([files(3)])).status).toBe(200)
  })

  it('is 400 with too much JSON in its texts, which names the field', async () => {
    const list = (items: number) => `[${Array(items).fill('{}').join()}]`
    const texts = (first: string, second: string) =>
      multipart(
        { name: 'a', content: first },
        { name: 'meta', content: second },
        { name: 'b', content: 'x,'.repeat(90_000) },
      )
    expect((await post(texts(list(49_999), list(49_999)))).status).toBe(200)
    expect(await post(texts(list(49_999), ` ${list(50_000)}`))).toMatchObject({
      status: 400,
      json: { detail: 'More than 100000 values and names in "meta"', status: 400 },
    })
    options = { nodes: 10 }
    expect((await post(texts(list(9), 'x'))).status).toBe(200)
    expect((await post(texts(list(10), 'x'))).status).toBe(400)
  })

  it('[F2] is 400 when its compression is corrupt, 415 in an unknown one', async () => {
    expect(await post('xxxx', { 'Content-Encoding': 'gzip' })).toMatchObject(malformed)
    expect((await post('xxxx', { 'Content-Encoding': 'foo' })).status).toBe(415)
  })

  it('[F4] is 400 with 50 levels of brackets', async () => {
    expect((await post(multipart({ name: 'a[b][c][d][e]', content: '' }))).status).toBe(200)
    expect((await post(multipart({ name: `a${'[b]'.repeat(50)}`, content: '' }))).status).toBe(400)
  })

  it('leaves the connection usable', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    options = { fileLimit: KB }
    for (const body of [
      multipart({ name: 'f', filename: 'f.bin', content: Buffer.alloc(3 * MB) }),
      `x${'y'.repeat(300 * KB)}`,
    ]) {
      const statuses: number[] = []
      for (let time = 0; time < 3; time++) statuses.push((await post(body, {}, agent)).status)
      expect(statuses.every((status) => status === 400 || status === 413)).toBe(true)
    }
    expect((await post(multipart({ name: 'a', content: '1' }), {}, agent)).status).toBe(200)
    agent.destroy()
  })
})

describe('temporary files', () => {
  it('[F8] are removed when the client goes away', async () => {
    const body = multipart({ name: 'f', filename: 'f.bin', content: Buffer.alloc(MB) })
    const socket = connect(server.port, '127.0.0.1')
    socket.write(
      `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: ${MULTIPART['Content-Type']}\r\nContent-Length: ${body.length}\r\n\r\n`,
    )
    socket.write(body.subarray(0, 500 * KB))
    await vi.waitFor(() => expect(readdirSync(directory)).toHaveLength(1))
    socket.destroy()
    await once(socket, 'close')
    await vi.waitFor(() => expect(readdirSync(directory)).toEqual([]))
  })

  it('[F10] have names that owe nothing to the client', async () => {
    const seen: string[] = []
    before = async (_ctx, next) => {
      const timer = setInterval(() => seen.push(...readdirSync(directory)), 1)
      await next()
      clearInterval(timer)
    }
    await post(multipart({ name: 'f', filename: '../../x.png', content: Buffer.alloc(5 * MB) }))
    for (const name of seen) expect(name).toMatch(/^koa-viewsets-[0-9a-f]{32}$/)
    expect(existsSync(join(directory, '../../x.png'))).toBe(false)
  })

  it('are a mistake of the operator where there is no folder for them', async () => {
    options = { directory: join(directory, 'missing') }
    expect(await post(multipart({ name: 'f', filename: 'x.txt', content: 'x' }))).toMatchObject({
      status: 500,
      text: '{"detail":"Internal server error","status":500}',
    })
    expect(reported.splice(0)).toHaveLength(1)
  })
})

const small = mountSmallDisk()
afterAll(() => small?.remove())

it.skipIf(!small)('[F15] is 503 when the disk is full, and leaves nothing behind', async () => {
  options = { directory: small?.path as string }
  const response = await post(multipart({ name: 'f', filename: 'f.bin', content: Buffer.alloc(3 * MB) }))
  expect(response).toMatchObject({ status: 503, json: { detail: 'Service temporarily unavailable', status: 503 } })
  expect(response.headers['retry-after']).toBe('60')
  expect(readdirSync(small?.path as string)).toEqual([])
  // a 5xx is reported to the operator
  expect(reported.splice(0)).toHaveLength(1)
})

describe('a body that koa-body has read', () => {
  it('is taken over with the values and the files of one object together', async () => {
    before = koaBody({ multipart: true, formidable: { uploadDir: directory } })
    asked = { objects: new Set(['author']), files: 'all', largest: undefined }
    const body = multipart(
      { name: 'author.name', content: 'Ada' },
      { name: 'author[photo]', filename: 'a.png', type: 'image/png', content: 'PNG' },
    )
    const { json } = await server.send({ body, headers: MULTIPART })
    expect(json.data).toMatchObject({ author: { name: 'Ada', photo: { filename: 'a.png' } } })
  })

  it('[F8] is taken over, and its files are removed', async () => {
    before = koaBody({
      multipart: true,
      formidable: { uploadDir: directory },
    })
    const body = multipart(
      { name: 'title', content: 'x' },
      { name: 'title', content: 'y' },
      { name: 'cover', filename: '../a.png', type: 'image/png', content: 'PNG' },
      { name: 'many', filename: '1.txt', type: 'text/plain', content: '1' },
      { name: 'many', filename: '2.txt', type: 'text/plain', content: '2' },
    )
    const { json } = await server.send({ body, headers: MULTIPART })
    expect(json).toMatchObject({
      data: {
        title: ['x', 'y'],
        cover: { filename: 'a.png', mediaType: 'image/png', size: 3 },
      },
      textual: true,
    })
    // formidable tells of files in the order in which they reach the disk
    const names = json.data.many.map(({ filename }: UploadedFile) => filename)
    expect(names.toSorted()).toEqual(['1.txt', '2.txt'])
    expect(json.files.toSorted()).toEqual(['cover', 'many'])
  })

  it('[F8] leaves no file where it is refused', async () => {
    before = koaBody({ multipart: true, formidable: { uploadDir: directory } })
    options = { fields: 1 }
    const file = { name: 'f', filename: 'a.txt', type: 'text/plain', content: '1' }
    expect((await post(multipart({ name: 'a', content: 'x' }, file))).status).toBe(413)
  })

  it.each([
    ['not a form', [1]],
    ['a text', 'x'],
  ])('is 400 when it is %s', async (_name, body) => {
    before = async (ctx, next) => {
      ctx.req.resume()
      await once(ctx.req, 'end')
      ;(ctx.request as { body?: unknown }).body = body
      await next()
    }
    expect((await post(multipart())).status).toBe(400)
  })
})

describe('a body that multer has read', () => {
  const file = { fieldname: 'author[photo]', originalname: 'a.png', path: '/uploads/1', size: 3 }

  it.each([
    ['one file', { file }],
    ['a list of files', { files: [file] }],
    ['files by name', { files: { 'author[photo]': [file] } }],
  ])('is a mistake where %s is asked for, and not a form without it', async (_name, left) => {
    before = async (ctx, next) => {
      ctx.req.resume()
      await once(ctx.req, 'end')
      Object.assign(ctx.request, { body: { title: 'x' }, ...left })
      await next()
    }
    const author = new Set(['author'])
    asked = { objects: author, files: new Set(['cover']), largest: undefined }
    expect((await post(multipart())).status).toBe(200)
    asked = { objects: author, files: new Set(['author[photo]']), largest: undefined }
    expect((await post(multipart())).status).toBe(500)
    expect(String(reported.splice(0))).toContain('Something has taken a file of the request')
  })
})

it.each([
  { fileLimit: 0 },
  { files: -1 },
  { limit: 1.5 },
  { fields: Number.NaN },
  { depth: 0 },
  { headerLimit: 0 },
  { totalLimit: 0 },
  { ratio: 0 },
  { nodes: 0 },
  { keptFiles: 'photo' as 'all' },
])('refuses the option %j', (wrong) => {
  expect(() => new MultiPartParser(wrong)).toThrow(ConfigurationError)
})

/** The most bytes that the files of the folder have together while `work` goes on, looked at in every turn. */
async function mostBytesDuring(work: Promise<unknown>): Promise<number> {
  let most = 0
  let isDone = false
  const look = async () => {
    while (!isDone) {
      const sizes = readdirSync(directory).map(
        (name) => statSync(join(directory, name), { throwIfNoEntry: false })?.size,
      )
      most = Math.max(
        most,
        sizes.reduce<number>((sum, size = 0) => sum + size, 0),
      )
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const looking = look()
  await work.finally(() => {
    isDone = true
  })
  await looking
  return most
}

/** The body with one to four things done to it. */
function mutate(whole: Buffer, random: (below: number) => number): Buffer {
  const pieces = [
    '\r\n',
    '\r',
    '\n',
    '--',
    `--${BOUNDARY}`,
    `\r\n--${BOUNDARY}\r\n`,
    '"',
    ';',
    ':',
    '\0',
    '\xff',
    '\\',
    '%',
  ]
  let bytes = whole
  for (let times = 1 + random(4); times > 0; times--) {
    const at = random(bytes.length + 1)
    const to = Math.min(bytes.length, at + random(30))
    const piece = Buffer.from(pieces[random(pieces.length)] as string, 'latin1')
    const change = [
      () => Buffer.concat([bytes.subarray(0, at), bytes.subarray(to)]),
      () => Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)]),
      () => Buffer.concat([bytes.subarray(0, to), bytes.subarray(at)]),
      () => Buffer.concat([bytes.subarray(0, at), Buffer.from([random(256)]), bytes.subarray(at + 1)]),
      () => bytes.subarray(0, at),
    ][random(5)] as () => Buffer
    bytes = change()
  }
  // an empty body would be none
  return bytes.length === 0 ? Buffer.from('-') : bytes
}
