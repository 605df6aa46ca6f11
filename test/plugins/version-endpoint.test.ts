import { join } from 'node:path'
import Koa from 'koa'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { registerVersionComponent } from '../../lib/assets/index.js'
import { mountStaticFiles, StaticFiles } from '../../lib/assets/static-files.js'
import { clearVersionComponents } from '../../lib/assets/version-components.js'
import { configure } from '../../lib/index.js'
import { ConfigurationError } from '../../lib/kernel/errors.js'
import { appVersion, errors, versionEndpoint } from '../../plugins/index.js'
import { createFolder } from '../support/files.js'
import { serve, type TestServer } from '../support/server.js'

let server: TestServer | undefined

async function serving(...middleware: Koa.Middleware[]) {
  const app = new Koa()
  for (const one of middleware) app.use(one)
  server = await serve(app)
  return server.send
}

beforeEach(() => {
  for (const name of ['APP_VERSION', 'VERSION_ENDPOINT']) vi.stubEnv(name, undefined)
  const folder = createFolder({
    hello: 'hello',
    world: 'world',
    'staticfiles.json': '{"version":"1.1","paths":{},"hash":"07dad15b2f7f"}',
  })
  mountStaticFiles(new StaticFiles({ root: folder }))
  registerVersionComponent('templates', [join(folder, 'hello'), join(folder, 'world')])
})
afterEach(async () => {
  vi.unstubAllEnvs()
  configure({})
  clearVersionComponents()
  await server?.close()
  server = undefined
})

describe('versionEndpoint()', () => {
  it('answers as the wire format shows', async () => {
    expect(versionEndpoint().name).toBe('showVersion')
    const send = await serving(errors(), appVersion(), versionEndpoint())
    for (const path of ['/version', '/version/', '/version?x=1']) {
      const answer = await send({ path })
      expect([answer.status, answer.text]).toEqual([
        200,
        '{"version":"71a1794a68f2","source":"manifest","components":{"templates":2}}',
      ])
      expect(answer.headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'x-app-version': '71a1794a68f2',
      })
    }
    const head = await send({ method: 'HEAD', path: '/version' })
    expect(head).toMatchObject({ status: 200, text: '', headers: { 'content-length': '75' } })
  })

  it('refuses other methods, and tells which it takes', async () => {
    const send = await serving(versionEndpoint())
    for (const method of ['POST', 'PUT', 'DELETE', 'PROPFIND']) {
      expect(await send({ method, path: '/version' })).toMatchObject({
        status: 405,
        headers: { allow: 'GET, HEAD, OPTIONS' },
        json: { detail: `Method ${method} not allowed`, status: 405 },
      })
    }
    expect(await send({ method: 'OPTIONS', path: '/version' })).toMatchObject({
      status: 204,
      headers: { allow: 'GET, HEAD, OPTIONS' },
    })
  })

  it('leaves other paths to the app, and takes another path', async () => {
    const send = await serving(errors(), versionEndpoint({ path: '/about/version' }))
    expect((await send({ path: '/about/version' })).status).toBe(200)
    for (const path of ['/version', '/about/versions', '/about/version//', '/About/version']) {
      expect((await send({ path })).status).toBe(404)
    }
  })

  it.each(['false', '0', 'off'])('row 52 VERSION_ENDPOINT=%s leaves its path to the app', async (value) => {
    vi.stubEnv('VERSION_ENDPOINT', value)
    const send = await serving(errors(), versionEndpoint())
    expect((await send({ path: '/version' })).status).toBe(404)
  })

  it('wrong settings fail at the start', () => {
    vi.stubEnv('VERSION_ENDPOINT', '2')
    expect(() => versionEndpoint()).toThrow(new ConfigurationError('VERSION_ENDPOINT is "2": give true or false'))
    vi.stubEnv('VERSION_ENDPOINT', '')
    vi.stubEnv('APP_VERSION', 'a b')
    expect(() => versionEndpoint()).toThrow(ConfigurationError)
    vi.stubEnv('APP_VERSION', '')
    vi.stubEnv('STATIC_URL', 'static files')
    expect(() => versionEndpoint()).toThrow(/^STATIC_URL is "static files"/)
  })
})
