import { mkdirSync, rmSync, symlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import Koa from 'koa'
// @ts-expect-error no types of its own
import mount from 'koa-mount'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { refreshAppVersion } from '../../lib/assets/app-version.js'
import { collectStatic } from '../../lib/assets/collect-static.js'
import { ConfigurationError } from '../../lib/kernel/errors.js'
import { configure } from '../../lib/kernel/settings.js'
import { errors, staticAssets } from '../../plugins/index.js'
import { createFolder, writeFiles } from '../support/files.js'
import { exchange, serve, type TestServer } from '../support/server.js'

const YEAR = 'public, max-age=31536000, immutable'
const MINUTE = 'public, max-age=60'
const HASHED = '/static/js/app.min.3879a5d930ae.js'
const CODE = 'console.log(1)\n'

let root: string
let source: string
const reported: unknown[] = []
let server: TestServer | undefined
let get: (path: string, headers?: Record<string, string>) => ReturnType<TestServer['send']>

async function serving(...middleware: Koa.Middleware[]) {
  const app = new Koa()
  // the last answer may be read before its stream has ended here
  app.on('error', (error) => error.code !== 'ERR_STREAM_PREMATURE_CLOSE' && reported.push(error))
  app.use(errors())
  for (const one of middleware) app.use(one)
  app.use((ctx) => {
    if (ctx.path.startsWith('/app')) ctx.body = 'app'
    ctx.set('X-Path', ctx.url)
  })
  await server?.close()
  server = await serve(app)
  const { send } = server
  get = (path, headers = {}) => send({ path, headers })
}

beforeEach(async () => {
  source = createFolder({ 'js/app.min.js': CODE, 'img/ü b.svg': '<svg/>', LICENSE: 'MIT' })
  root = join(createFolder(), 'out')
  await collectStatic({ staticDirs: [source], staticRoot: root })
  await serving(staticAssets({ root }))
})
afterEach(async () => {
  await server?.close()
  server = undefined
  configure({})
  expect(reported.splice(0)).toEqual([])
})

describe('staticAssets()', () => {
  it('is a named middleware', () => {
    expect(staticAssets({ root }).name).toBe('serveStaticAssets')
  })

  it('serves a hashed name for a year, and others for a minute', async () => {
    const hashed = await get(HASHED)
    expect(hashed).toMatchObject({ status: 200, text: CODE })
    expect(hashed.headers).toMatchObject({
      'cache-control': YEAR,
      'content-type': 'text/javascript; charset=utf-8',
      'content-length': '15',
      'x-content-type-options': 'nosniff',
      'last-modified': expect.stringMatching(/GMT$/),
      etag: expect.stringMatching(/^"[0-9a-f]{12}"$/),
    })
    expect(hashed.headers).not.toHaveProperty('vary')
    const plain = await get('/static/js/app.min.js')
    expect(plain).toMatchObject({ status: 200, text: CODE })
    expect(plain.headers).toMatchObject({ 'cache-control': MINUTE, etag: expect.stringMatching(/^W\/"f-[0-9a-f]+"$/) })
  })

  it('gives no cookie of a session to shared caches', async () => {
    const session: Koa.Middleware = async (ctx, next) => {
      await next()
      ctx.cookies.set('session', 'x')
    }
    await serving(session, staticAssets({ root }))
    for (const headers of [{}, { 'If-None-Match': '*' }] as Record<string, string>[]) {
      expect((await get(HASHED, headers)).headers).toMatchObject({
        'set-cookie': expect.anything(),
        'cache-control': YEAR.replace('public', 'private'),
      })
    }
  })

  it('serves names that need escaping, and types by their ending', async () => {
    expect((await get('/static/img/%C3%BC%20b.svg')).headers['content-type']).toBe('image/svg+xml')
    expect(await get('/static/LICENSE')).toMatchObject({
      text: 'MIT',
      headers: { 'content-type': 'application/octet-stream' },
    })
  })

  it('answers HEAD as GET, without the body', async () => {
    const [head, full] = [await server?.send({ method: 'HEAD', path: HASHED }), await get(HASHED)]
    const { date: _, ...headers } = full.headers
    expect(head).toMatchObject({ status: 200, text: '', headers })
  })

  it('answers 304 to a client that has the file', async () => {
    const { headers } = await get(HASHED)
    for (const known of [headers.etag as string, `"x", W/${headers.etag}`, '*']) {
      const again = await get(HASHED, { 'If-None-Match': known })
      expect(again).toMatchObject({ status: 304, text: '', headers: { etag: headers.etag, 'cache-control': YEAR } })
      expect(again.headers).not.toHaveProperty('content-type')
    }
    const since = headers['last-modified'] as string
    expect((await get(HASHED, { 'If-Modified-Since': since })).status).toBe(304)
    expect((await get(HASHED, { 'If-Modified-Since': since, 'If-None-Match': '"x"' })).status).toBe(200)
    expect((await get(HASHED, { 'If-Modified-Since': 'Thu, 01 Jan 1970 00:00:00 GMT' })).status).toBe(200)
    expect((await get(HASHED, { 'If-Modified-Since': 'nonsense' })).status).toBe(200)
    expect((await get(HASHED, { 'If-None-Match': `${headers.etag}`.slice(1) })).status).toBe(200)
  })

  it.each([
    ['br', brotliCompressSync(CODE), '.br', 'br'],
    ['gzip, deflate', gzipSync(CODE), '.gz', 'gzip'],
    ['gzip, deflate, br, zstd', brotliCompressSync(CODE), '.br', 'br'],
  ])('serves the compressed sibling to %s', async (accepted, content, extension, encoding) => {
    writeFiles(root, { [`js/app.min.3879a5d930ae.js${extension}`]: content })
    const answer = await get(HASHED, { 'Accept-Encoding': accepted })
    expect(answer.headers).toMatchObject({
      'content-encoding': encoding,
      'content-length': String(content.length),
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': YEAR,
      vary: 'Accept-Encoding',
    })
    const plain = await get(HASHED)
    expect(plain.text).toBe(CODE)
    expect(plain.headers).toMatchObject({ vary: 'Accept-Encoding' })
    expect(plain.headers).not.toHaveProperty('content-encoding')
    expect(plain.headers.etag).not.toBe(answer.headers.etag)
    for (const refused of ['identity', `${encoding};q=0`, '']) {
      expect((await get(HASHED, { 'Accept-Encoding': refused })).text).toBe(CODE)
    }
    const again = await get(HASHED, { 'Accept-Encoding': accepted, 'If-None-Match': answer.headers.etag as string })
    expect(again).toMatchObject({ status: 304, headers: { vary: 'Accept-Encoding' } })
    expect(again.headers).not.toHaveProperty('content-encoding')
  })

  it('leaves a compressed sibling that is older than its file', async () => {
    writeFiles(root, { 'js/app.min.js.br': brotliCompressSync('old') })
    utimesSync(join(root, 'js/app.min.js.br'), 1_000, 1_000)
    expect(await get('/static/js/app.min.js', { 'Accept-Encoding': 'br' })).toMatchObject({ text: CODE })
  })

  it('leaves everything else to the app, with its path as it was', async () => {
    for (const path of [
      '/app',
      '/app/static/js/app.min.js',
      '/static',
      '/static/',
      '/static/none.js?x=1',
      '/statics/x',
    ]) {
      const answer = await get(path)
      expect([path, answer.headers['x-path']]).toEqual([path, path])
      expect(answer.status).toBe(path.startsWith('/app') ? 200 : 404)
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      expect((await server?.send({ method, path: HASHED }))?.status).toBe(404)
    }
  })

  it('leaves a hashed file that has vanished to the app', async () => {
    expect((await get(HASHED)).status).toBe(200)
    rmSync(join(root, 'js/app.min.3879a5d930ae.js'))
    const answer = await get(`${HASHED}?x`)
    expect(answer).toMatchObject({ status: 404, headers: { 'x-path': `${HASHED}?x` } })
  })

  it('says nothing of a vanished file where the app answers in its place', async () => {
    await serving(staticAssets({ root }), (ctx) => {
      ctx.body = 'index'
    })
    expect((await get(HASHED)).text).toBe(CODE)
    rmSync(join(root, 'js/app.min.3879a5d930ae.js'))
    const { status, text, headers } = await get(HASHED)
    expect({ status, text }).toEqual({ status: 200, text: 'index' })
    expect(headers['content-type']).toBe('text/plain; charset=utf-8')
    for (const name of ['cache-control', 'etag', 'last-modified']) expect(headers).not.toHaveProperty(name)
  })

  it('works under a prefix of its own, at the root, and under koa-mount', async () => {
    await serving(staticAssets({ root, prefix: '/a/b/' }))
    expect((await get('/a/b/js/app.min.js')).text).toBe(CODE)
    await serving(staticAssets({ root, prefix: '/' }))
    expect((await get('/js/app.min.js')).text).toBe(CODE)
    expect((await get('/app')).text).toBe('app')
    const inner = new Koa().use(staticAssets({ root }))
    await serving(mount('/inner', inner))
    expect((await get('/inner/static/js/app.min.js')).text).toBe(CODE)
  })

  it('serves sources under their own names while there is no manifest', async () => {
    const first = createFolder({ 'js/app.min.js': 'first' })
    await serving(staticAssets({ root: join(source, 'none'), dirs: [first, source] }))
    expect(await get('/static/js/app.min.js?v=3879a5d930ae')).toMatchObject({
      text: 'first',
      headers: { 'cache-control': MINUTE },
    })
    expect((await get('/static/LICENSE')).text).toBe('MIT')
    expect((await get(HASHED)).status).toBe(404)
  })

  it('takes a new manifest after a refresh', async () => {
    await get(HASHED)
    writeFiles(source, { 'js/new.js': 'new' })
    const { manifest } = await collectStatic({ staticDirs: [source], staticRoot: root })
    const path = `/static/${manifest.paths.get('js/new.js')}`
    expect((await get(path)).headers['cache-control']).toBe(MINUTE)
    refreshAppVersion()
    expect((await get(path)).headers['cache-control']).toBe(YEAR)
    expect((await get(HASHED)).headers['cache-control']).toBe(YEAR)
  })
})

describe('[I23] wrong settings', () => {
  afterEach(() => void vi.unstubAllEnvs())

  it.each([
    ['STATIC_DEV_VERSION_QUERY', 'maybe', 'STATIC_DEV_VERSION_QUERY is "maybe": give true or false'],
    ['STATIC_URL', 'static files', 'STATIC_URL is "static files": give a path such as /static'],
  ])('a wrong %s fails at the start, whatever the options', (name, value, message) => {
    vi.stubEnv(name, value)
    for (const options of [{ root }, { root, prefix: '/static' }]) {
      expect(() => staticAssets(options)).toThrow(ConfigurationError)
      expect(() => staticAssets(options)).toThrow(message)
    }
  })
})

describe('[F17] a path that leads out is never a file', () => {
  beforeEach(() => {
    const outside = createFolder({ 'secret.txt': 'CLASSIFIED', 'dir/secret.txt': 'CLASSIFIED' })
    symlinkSync(join(outside, 'secret.txt'), join(root, 'link.txt'))
    symlinkSync(join(outside, 'dir'), join(root, 'linked'))
    symlinkSync(join(outside, 'secret.txt'), join(root, 'js/app.min.js.br'))
    symlinkSync('loop', join(root, 'loop'))
    writeFiles(root, { '.env': 'CLASSIFIED', '.git/config': 'CLASSIFIED' })
    writeFiles(join(root, '..'), { x: 'CLASSIFIED', 'out-of/x': 'CLASSIFIED' })
    mkdirSync(join(root, 'folder.js'))
  })

  it.each([
    '/static/../x',
    '/static/..%2fx',
    '/static/..%2f..%2fx',
    '/static/%2e%2e/x',
    '/static/%2e%2e%2fx',
    '/static/js/..%2f..%2fx',
    '/static/..%5cx',
    '/static/..\\x',
    '/static/../out-of/x',
    '/static/%00',
    '/static/js/app.min.js%00.txt',
    '/static//etc/passwd',
    '/static/%2fetc/passwd',
    '/static///etc/passwd',
    '/static/C:/x',
    '/static/.env',
    '/static/.git/config',
    '/static/js/.%2e/.env',
    '/static/link.txt',
    '/static/linked/secret.txt',
    '/static/loop',
    '/static/folder.js',
    '/static/js',
    '/static/js/',
    '/static/LICENSE/',
    '/static/LICENSE/x',
    '/static/%zz',
    '/static/%',
    '/static/%ff',
    `/static/${'a'.repeat(300)}`,
    `/static/${'a/'.repeat(100)}x`,
    '/static/.collecting-000000000000/0',
    '/static/__proto__',
    '/static/constructor',
  ])('%s', async (path) => {
    const answer = await exchange(
      (server as TestServer).port,
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      () => false,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 404 /)
    expect(answer).not.toContain('CLASSIFIED')
  })

  it('a compressed sibling that is a link out is none', async () => {
    const answer = await get('/static/js/app.min.js', { 'Accept-Encoding': 'br' })
    expect(answer.text).toBe(CODE)
  })

  it('nor by a manifest that says so', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    writeFiles(root, { 'staticfiles.json': '{"paths":{"x":"../x"},"hash":"a"}' })
    await serving(staticAssets({ root }))
    expect((await get('/static/x')).status).toBe(404)
    expect((await get(HASHED)).headers['cache-control']).toBe(MINUTE)
    warn.mockRestore()
  })
})
