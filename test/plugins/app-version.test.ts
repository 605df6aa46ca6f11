import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import Koa from 'koa'
import Koa2 from 'koa2'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { refreshAppVersion } from '../../lib/assets/app-version.js'
import { ConfigurationError } from '../../lib/kernel/errors.js'
import { configure } from '../../lib/kernel/settings.js'
import { type AppVersionOptions, appVersion, errors, etag } from '../../plugins/index.js'
import { serve, type TestServer } from '../support/server.js'

const VERSION = 'ab12cd34ef56'
const PAGE = '<!doctype html><html><body><p>Größe</p></body></html>'
const SETTINGS = ['APP_VERSION', 'APP_VERSION_HEADER', 'APP_VERSION_MISMATCH']

let server: TestServer | undefined
let reported: unknown[]

async function serving(handler: Koa.Middleware, options: AppVersionOptions = {}, before: Koa.Middleware[] = []) {
  const app = new Koa()
  reported = []
  app.on('error', (error) => reported.push(error))
  for (const one of before) app.use(one)
  app.use(appVersion(options)).use(handler)
  server = await serve(app)
  return server.send
}

const json: Koa.Middleware = (ctx) => {
  ctx.body = {}
}

/** A page's answer, with these headers. */
function page(body: unknown, headers: Record<string, string> = {}): Koa.Middleware {
  return (ctx) => {
    ctx.type = 'html'
    ctx.set(headers)
    ctx.body = body
  }
}

beforeEach(() => {
  for (const name of SETTINGS) vi.stubEnv(name, undefined)
  configure({ appVersion: VERSION })
})
afterEach(async () => {
  vi.unstubAllEnvs()
  configure({})
  await server?.close()
  server = undefined
})

describe('X-App-Version', () => {
  it('comes from a named middleware, unless it is switched off', async () => {
    expect(appVersion().name).toBe('sendAppVersion')
    const send = await serving(json)
    expect((await send({})).headers['x-app-version']).toBe(VERSION)
    await server?.close()
    configure({ appVersion: VERSION, appVersionHeader: false })
    expect((await (await serving(json))({})).headers).not.toHaveProperty('x-app-version')
    await server?.close()
    const again = await serving(json, { header: true })
    expect((await again({})).headers['x-app-version']).toBe(VERSION)
  })

  it('is the version of the moment', async () => {
    const send = await serving(json)
    configure({ appVersion: 'next' })
    expect((await send({})).headers['x-app-version']).toBe('next')
  })

  const failures: Record<string, Koa.Middleware> = {
    'an error that reaches Koa': () => {
      throw new Error('bug')
    },
    'an error with a status': (ctx) => ctx.throw(403, 'No'),
    'something thrown that is no error': () => {
      // oxlint-disable-next-line typescript/only-throw-error
      throw 'text'
    },
    'an answer past Koa': (ctx) => {
      ctx.respond = false
      ctx.res.writeHead(202, { 'Content-Type': 'text/plain' }).end('raw')
    },
    'an unanswered request': () => {},
  }

  it.each(Object.keys(failures))('[G11] is on %s', async (name) => {
    for (const before of [[], [errors()]]) {
      const send = await serving(failures[name] as Koa.Middleware, {}, before)
      expect((await send({})).headers['x-app-version']).toBe(VERSION)
      await server?.close()
    }
  })

  it('[G11] is on an error of the middleware before it, too', async () => {
    const send = await serving(json, {}, [
      async (_ctx, next) => {
        await next()
        throw new Error('late')
      },
    ])
    expect(await send({})).toMatchObject({ status: 500, headers: { 'x-app-version': VERSION } })
  })

  it('is there, and so is the script, on Koa 2', async () => {
    const app = new Koa2()
    app.silent = true
    app.use(appVersion()).use((ctx) => {
      if (ctx.path === '/bug') throw new Error('bug')
      if (ctx.path === '/disk') {
        ctx.body = new Readable({ read: () => {} })
        setImmediate(() => (ctx.body as Readable).destroy(new Error('disk')))
        return
      }
      ctx.body = PAGE
    })
    server = await serve(app)
    for (const path of ['/bug', '/disk']) {
      expect(await server.send({ path })).toMatchObject({ status: 500, headers: { 'x-app-version': VERSION } })
    }
    expect((await server.send({})).text).toContain('window.__serviceAppVersion=')
    const head = await server.send({ method: 'HEAD' })
    expect(head.status).toBe(200)
    expect(head.headers).not.toHaveProperty('content-length')
  })
})

describe('wrong settings', () => {
  it.each([
    ['APP_VERSION', 'v\r\nX: y', 'APP_VERSION is "v\\r\\nX: y": give 1 to 128 characters from ! to ~, without spaces'],
    ['APP_VERSION_HEADER', 'maybe', 'APP_VERSION_HEADER is "maybe": give true or false'],
    ['APP_VERSION_MISMATCH', 'Reload', 'APP_VERSION_MISMATCH is "Reload": give reload, warn, ignore'],
    ['STATIC_DEV_VERSION_QUERY', 'maybe', 'STATIC_DEV_VERSION_QUERY is "maybe": give true or false'],
    [
      'STATIC_URL',
      'static files',
      'STATIC_URL is "static files": give a path such as /static, or an address such as https://cdn.example.com/static',
    ],
  ])('[G4] a wrong %s fails at the start', (name, value, message) => {
    configure({})
    vi.stubEnv(name, value)
    expect(() => appVersion()).toThrow(new ConfigurationError(message))
  })

  it('a wrong option too', () => {
    expect(() => appVersion({ mismatch: 'panic' as never })).toThrow(
      'appVersion({ mismatch }) is "panic": give reload, warn, ignore',
    )
  })

  it.each(['true', '1', 'YES', 'on', ''])('APP_VERSION_HEADER=%s is true', async (value) => {
    vi.stubEnv('APP_VERSION_HEADER', value)
    const send = await serving(json)
    expect((await send({})).headers).toHaveProperty('x-app-version')
  })

  it.each(['false', '0', 'No', 'off'])('APP_VERSION_HEADER=%s is false', async (value) => {
    vi.stubEnv('APP_VERSION_HEADER', value)
    const send = await serving(json)
    expect((await send({})).headers).not.toHaveProperty('x-app-version')
  })
})

describe('the script', () => {
  const script = /<script>window\.__serviceAppVersion="ab12cd34ef56";[^<]*<\/script>/

  it.each([
    ['a text', PAGE],
    ['a buffer', Buffer.from(PAGE)],
  ])('[G6] goes before the </body> of %s, with the right length', async (_name, body) => {
    const send = await serving(page(body))
    const { text, headers } = await send({})
    expect(text.replace(script, '')).toBe(PAGE)
    expect(text).toMatch(/<\/script><\/body><\/html>$/)
    expect(headers['content-length']).toBe(String(Buffer.byteLength(text)))
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
  })

  it.each([
    ['<BODY></BODY >x</BoDy></html>', '<BODY></BODY >x', '</BoDy></html>'],
    ['<body></body><p></p></body></i></bod', '<body></body><p></p>', '</body></i></bod'],
    ['</body>', '', '</body>'],
  ])('goes before the last </body> of %j', async (html, before, after) => {
    for (const body of [html, Buffer.from(html)]) {
      const { text } = await (await serving(page(body)))({})
      expect(text.split(script)).toEqual([before, after])
      await server?.close()
    }
  })

  it.each([
    ['text/html'],
    ['TEXT/HTML;charset=UTF-8'],
    ['text/html; charset="utf-8"'],
    ['text/html;foo=bar; charset=utf8'],
  ])('goes into %s', async (type) => {
    const send = await serving(page(PAGE, { 'Content-Type': type }))
    expect(await send({})).toMatchObject({ text: expect.stringMatching(script), headers: { 'content-type': type } })
  })

  const untouched: Record<string, Koa.Middleware> = {
    'another type': page(PAGE, { 'Content-Type': 'text/plain' }),
    'a type that only begins so': page(PAGE, { 'Content-Type': 'text/htmlx' }),
    XHTML: page(PAGE, { 'Content-Type': 'application/xhtml+xml' }),
    'another charset': page(PAGE, { 'Content-Type': 'text/html; charset=iso-8859-1' }),
    'a page without </body>': page('<p>part</p>'),
    'an empty page': page(''),
    'a status that is not 200': (ctx) => {
      ctx.status = 404
      ctx.body = PAGE
      ctx.type = 'html'
    },
    JSON: (ctx) => {
      ctx.body = { html: '</body>' }
    },
    'an answer past Koa': (ctx) => {
      ctx.respond = false
      ctx.res.writeHead(200, { 'Content-Type': 'text/html' }).end(PAGE)
    },
  }

  it.each(Object.keys(untouched))('[G6] leaves %s as it is', async (name) => {
    const send = await serving(untouched[name] as Koa.Middleware)
    const answer = await send({})
    expect(answer.text).not.toContain('__serviceAppVersion')
    expect(answer.headers['x-app-version']).toBe(VERSION)
  })

  it('[G6] leaves a compressed page as it is, byte for byte', async () => {
    const body = gzipSync(PAGE)
    const send = await serving(page(body, { 'Content-Encoding': 'gzip', ETag: '"abc"' }))
    const { headers } = await send({})
    expect(headers).toMatchObject({ 'content-length': String(body.length), 'content-encoding': 'gzip', etag: '"abc"' })
  })

  it('[G6] leaves a streamed page as it is', async () => {
    const send = await serving((ctx) => {
      ctx.type = 'html'
      ctx.set('ETag', '"abc"')
      ctx.body = Readable.from([PAGE])
    })
    expect(await send({})).toMatchObject({ text: PAGE, headers: { etag: '"abc"' } })
  })

  it('ignore leaves every page as it is, the header stays', async () => {
    const send = await serving(page(PAGE, { ETag: '"abc"' }), { mismatch: 'ignore' })
    expect(await send({})).toMatchObject({ text: PAGE, headers: { 'x-app-version': VERSION, etag: '"abc"' } })
  })

  it('the action comes from the option, the setting, the environment, and is reload otherwise', async () => {
    const action = async (options: AppVersionOptions = {}) => {
      const { text } = await (await serving(page(PAGE), options))({})
      await server?.close()
      return /action='(\w+)'/.exec(text)?.[1]
    }
    expect(await action()).toBe('reload')
    vi.stubEnv('APP_VERSION_MISMATCH', 'warn')
    expect(await action()).toBe('warn')
    expect(await action({ mismatch: 'reload' })).toBe('reload')
    configure({ appVersion: VERSION, appVersionMismatch: 'ignore' })
    expect(await action()).toBeUndefined()
  })
})

describe('entity tags of pages', () => {
  it.each([
    ['"abc"', 'W/"abc-d8de14bc"'],
    ['W/"abc"', 'W/"abc-d8de14bc"'],
  ])('%s becomes %s', async (tag, marked) => {
    const send = await serving(page(PAGE, { ETag: tag }))
    expect((await send({})).headers['etag']).toBe(marked)
    expect((await send({ method: 'HEAD' })).headers['etag']).toBe(marked)
  })

  it('one that is malformed is dropped', async () => {
    expect((await (await serving(page(PAGE, { ETag: 'abc' })))({})).headers).not.toHaveProperty('etag')
  })

  it('a client that has the page gets 304, until the version changes', async () => {
    const send = await serving(page(PAGE, { ETag: '"abc"' }))
    const headers = { 'If-None-Match': 'W/"abc-d8de14bc"' }
    for (const method of ['GET', 'HEAD']) {
      const answer = await send({ method, headers })
      expect(answer).toMatchObject({ status: 304, text: '' })
      expect(answer.headers).toMatchObject({ etag: 'W/"abc-d8de14bc"', 'x-app-version': VERSION })
      expect(answer.headers).not.toHaveProperty('content-length')
    }
    configure({ appVersion: 'next' })
    const mark = createHash('sha256').update('next').digest('hex').slice(0, 8)
    expect(await send({ headers })).toMatchObject({ status: 200, headers: { etag: `W/"abc-${mark}"` } })
  })

  it("a page with a nonce is sent whole: a kept one's would be refused", async () => {
    const send = await serving(page(PAGE, { ETag: '"abc"' }), { nonce: () => 'abc' })
    expect((await send({ headers: { 'If-None-Match': 'W/"abc-d8de14bc"' } })).status).toBe(200)
  })

  it('has no validator where middleware around it would keep a page whose nonce is old', async () => {
    const send = await serving(page(PAGE, { ETag: '"abc"' }), { nonce: () => 'abc' })
    expect((await send({})).headers).not.toHaveProperty('etag')
  })

  it('has no time of a last change, which a new version leaves as it is', async () => {
    const headers = { 'Last-Modified': 'Mon, 02 Nov 2026 10:00:00 GMT' }
    const send = await serving(page(PAGE, headers))
    expect((await send({})).headers).not.toHaveProperty('last-modified')
    await server?.close()
    const plain = await serving(page('<p></p>', headers))
    expect((await plain({})).headers).toMatchObject({ 'last-modified': headers['Last-Modified'] })
  })

  it('a 304 of the application stays one', async () => {
    const send = await serving((ctx) => {
      ctx.set('ETag', '"abc"')
      ctx.status = 304
    })
    expect(await send({})).toMatchObject({ status: 304, headers: { etag: '"abc"', 'x-app-version': VERSION } })
  })
})

describe('HEAD', () => {
  it('[G6] of a page that GET changes has no length', async () => {
    const send = await serving(page(PAGE))
    const { status, headers, text } = await send({ method: 'HEAD' })
    expect([status, text, headers['content-type']]).toEqual([200, '', 'text/html; charset=utf-8'])
    expect(headers).not.toHaveProperty('content-length')
  })

  it('of a page that its handler gives no body has none either', async () => {
    const send = await serving((ctx) => {
      ctx.status = 200
      ctx.type = 'html'
      ctx.length = PAGE.length
      ctx.set('ETag', '"abc"')
    })
    const { headers } = await send({ method: 'HEAD' })
    expect(headers).toMatchObject({ etag: 'W/"abc-d8de14bc"' })
    expect(headers).not.toHaveProperty('content-length')
  })

  it('of what GET leaves alone keeps its length', async () => {
    const send = await serving(json)
    expect((await send({ method: 'HEAD' })).headers['content-length']).toBe('2')
    await server?.close()
    const part = await serving(page('<p></p>'))
    expect((await part({ method: 'HEAD' })).headers['content-length']).toBe('7')
  })
})

describe('the nonce', () => {
  it('is an attribute of the element', async () => {
    const send = await serving(page(PAGE), { nonce: (ctx) => ctx.get('X-Nonce') || undefined })
    expect((await send({ headers: { 'X-Nonce': 'aB3+/_-==' } })).text).toContain(
      '<script nonce="aB3+/_-==">window.__serviceAppVersion=',
    )
    expect((await send({})).text).toContain('<script>window.__serviceAppVersion=')
  })

  it.each(['', 'a b', '"><script>', 'a"', "'", 'a===', 'é', 'a\n', 7, 'a promise'])(
    '[G6] %j is none: nothing is injected, one error is reported',
    async (nonce) => {
      const given = () => (nonce === 'a promise' ? Promise.reject(new Error('late')) : nonce)
      const send = await serving(page(PAGE, { ETag: '"abc"' }), { nonce: given as () => string })
      for (let repeat = 0; repeat < 3; repeat++) {
        expect(await send({})).toMatchObject({ status: 200, text: PAGE, headers: { etag: '"abc"' } })
      }
      expect(reported).toEqual([
        new Error('appVersion({ nonce }) has given a value that is no nonce: pages are sent without the script'),
      ])
    },
  )
})

describe("a page's Content-Security-Policy", () => {
  it.each([
    ['none', '', undefined, true],
    ['one that names the nonce', "script-src 'nonce-abc'", 'abc', true],
    ['one that names the nonce for elements', "default-src 'none'; script-src-elem 'self' 'nonce-abc'", 'abc', true],
    ['one that says nothing of scripts', "frame-ancestors 'none'", undefined, true],
    ['one that allows inline scripts', "script-src 'self' 'unsafe-inline'", undefined, true],
    ['one that names another nonce', "script-src 'nonce-xyz'", 'abc', false],
    ['one of a page without inline scripts', "default-src 'none'; script-src 'self'", 'abc', false],
    ['two, of which one refuses', "script-src 'nonce-abc', script-src 'self'", 'abc', false],
    ['one whose nonce takes the inline scripts back', "script-src 'unsafe-inline' 'nonce-xyz'", undefined, false],
  ])('that is %s: "%s" with the nonce %s takes the script: %s', async (_name, policy, nonce, taken) => {
    const headers = policy === '' ? {} : { 'Content-Security-Policy': policy }
    const send = await serving(page(PAGE, headers), { nonce: () => nonce })
    const { text } = await send({})
    expect([text.includes('__serviceAppVersion'), text === PAGE, reported]).toEqual([taken, !taken, []])
  })
})

describe('with etag() and compression of the application', () => {
  it('an outer middleware sees the page as it is sent', async () => {
    let seen: unknown
    const send = await serving(page(PAGE), {}, [
      async (ctx, next) => {
        await next()
        seen = ctx.body
        ctx.body = gzipSync(String(ctx.body))
        ctx.set('Content-Encoding', 'gzip')
      },
    ])
    const { headers } = await send({})
    expect(String(seen)).toContain('__serviceAppVersion')
    expect(headers['content-length']).toBe(String(gzipSync(String(seen)).length))
  })

  it.each([
    ['behind etag()', true],
    ['in front of etag()', false],
  ])('a page is the same for GET and HEAD, and 304 when it is known, %s', async (_name, outside) => {
    const send = outside
      ? await serving(page(PAGE), {}, [etag()])
      : await serving(async (ctx, next) => etag()(ctx, async () => page(PAGE)(ctx, next)))
    const { headers, text } = await send({})
    const head = await send({ method: 'HEAD' })
    expect(text).toContain('__serviceAppVersion')
    expect([head.status, head.headers.etag]).toEqual([200, headers.etag])
    for (const method of ['GET', 'HEAD']) {
      const again = await send({ method, headers: { 'If-None-Match': headers.etag } })
      expect(again).toMatchObject({ status: 304, text: '', headers: { etag: headers.etag, 'x-app-version': VERSION } })
    }
    configure({ appVersion: 'next' })
    expect((await send({ headers: { 'If-None-Match': headers.etag } })).status).toBe(200)
  })

  it('refreshes without a restart', async () => {
    configure({})
    const send = await serving(page(PAGE))
    vi.stubEnv('APP_VERSION', 'one')
    refreshAppVersion()
    expect((await send({})).text).toContain('__serviceAppVersion="one"')
    vi.stubEnv('APP_VERSION', 'two')
    refreshAppVersion()
    expect((await send({})).text).toContain('__serviceAppVersion="two"')
  })
})
