import Koa from 'koa'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { VersionRoutes } from '../../lib/assets/index.js'
import { ConfigurationError } from '../../lib/kernel/errors.js'
import { errors, versionRouter } from '../../plugins/index.js'
import { exchange, serve, type TestServer } from '../support/server.js'

const versionMap = { v2: 'green', v1: 'blue', v3: 'red' }

let server: TestServer
let asked: number

async function serving(routes: VersionRoutes) {
  const app = new Koa()
  // signed cookies of the application are its own matter
  app.keys = ['k']
  app.use(errors()).use(versionRouter(routes))
  app.use((ctx) => {
    asked++
    ctx.vary('Accept')
    ctx.body = {}
  })
  server = await serve(app)
  return (headers: Record<string, string | string[]> = {}) => server.send({ headers })
}

beforeEach(() => {
  asked = 0
})
afterEach(() => server?.close())

describe('versionRouter()', () => {
  it.each([
    [{ 'X-App-Requested-Version': 'v1' }, 'blue'],
    [{ 'X-App-Requested-Version': 'v2' }, 'green'],
    [{ Cookie: 'app_version=v2' }, 'green'],
    [{ Cookie: 'a=b; app_version=v2; c=d' }, 'green'],
    [{ Cookie: 'app_version="v2"' }, 'green'],
    [{ Cookie: 'app_version=%76%32' }, 'green'],
    [{ 'X-App-Requested-Version': 'v1', Cookie: 'app_version=v2' }, 'blue'],
    [{ 'X-App-Requested-Version': '', Cookie: 'app_version=v2' }, 'green'],
    [{ 'X-App-Requested-Version': 'v1', Cookie: 'app_version=%zz' }, 'blue'],
    [{}, 'blue'],
    [{ Cookie: 'app_version=' }, 'blue'],
    [{ Cookie: 'other=v2' }, 'blue'],
    [{ Cookie: 'xapp_version=v2' }, 'blue'],
  ])('sends %j to %s', async (headers, backend) => {
    const ask = await serving({ versionMap, defaultVersion: 'v1' })
    const answer = await ask(headers)
    expect(answer.headers).toMatchObject({
      'x-backend-target': backend,
      vary: 'X-App-Requested-Version, Cookie, Accept',
    })
    expect([answer.status, asked, answer.headers['set-cookie']]).toEqual([200, 1, undefined])
  })

  it('sets no backend without a default, and says what else would set one', async () => {
    const ask = await serving({ versionMap })
    expect(versionRouter({ versionMap }).name).toBe('routeByVersion')
    for (const headers of [{}, { 'X-App-Requested-Version': '' }, { Cookie: 'app_version=' }]) {
      const answer = await ask({ ...headers, 'x-backend-target': 'evil' })
      expect(answer).toMatchObject({ status: 200, headers: { vary: 'X-App-Requested-Version, Cookie, Accept' } })
      expect(answer.headers).not.toHaveProperty('x-backend-target')
    }
  })

  it("[G7] ignores the request's own x-backend-target", async () => {
    const ask = await serving({ versionMap, defaultVersion: 'v1' })
    expect((await ask({ 'x-backend-target': 'evil' })).headers['x-backend-target']).toBe('blue')
  })

  it.each([
    { 'X-App-Requested-Version': 'v9' },
    { 'X-App-Requested-Version': 'V1' },
    { 'X-App-Requested-Version': '__proto__' },
    { 'X-App-Requested-Version': 'constructor' },
    { 'X-App-Requested-Version': 'toString' },
    { 'X-App-Requested-Version': 'v1, v2' },
    { 'X-App-Requested-Version': ['v1', 'v2'] },
    { 'X-App-Requested-Version': 'blue' },
    { 'X-App-Requested-Version': '\u00ff' },
    { Cookie: 'app_version=v1%0d%0aX-Evil: 1' },
    { Cookie: 'app_version=v1%00' },
    { Cookie: 'app_version=%zz' },
    { Cookie: 'app_version=%ff' },
    { Cookie: 'app_version=__proto__' },
    { Cookie: 'app_version=<script>alert(1)</script>' },
  ])('[G7] row 50 answers 409 to %j, lists the versions and repeats nothing', async (headers) => {
    const ask = await serving({ versionMap, defaultVersion: 'v1' })
    const answer = await ask(headers)
    expect([answer.status, answer.text]).toEqual([
      409,
      '{"detail":"Unknown app version. Available versions: v1, v2, v3","status":409,"available_versions":["v1","v2","v3"]}',
    ])
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    expect(answer.headers).not.toHaveProperty('x-backend-target')
    expect(answer.headers).not.toHaveProperty('x-evil')
    expect(asked).toBe(0)
  })

  it('[G7] answers 409 to 10 kB', async () => {
    const ask = await serving({ versionMap, defaultVersion: 'v1' })
    for (const headers of [
      { 'X-App-Requested-Version': 'x'.repeat(10_000) },
      { Cookie: `app_version=${'%41'.repeat(3_300)}` },
    ]) {
      const answer = await ask(headers)
      expect([answer.status, answer.text.length]).toEqual([409, 115])
    }
  })

  it('[G7] answers 409 to two headers of one name', async () => {
    await serving({ versionMap, defaultVersion: 'v1' })
    const answer = await exchange(
      server.port,
      'GET / HTTP/1.1\r\nHost: x\r\nX-App-Requested-Version: v1\r\nX-App-Requested-Version: v2\r\n\r\n',
    )
    expect(answer).toMatch(/^HTTP\/1\.1 409 /)
  })

  it('has own keys only, whatever they are called', async () => {
    const ask = await serving({ versionMap: { ['__proto__']: 'proto', v1: 'blue' } })
    expect((await ask({ 'X-App-Requested-Version': '__proto__' })).headers['x-backend-target']).toBe('proto')
    await server.close()
    const inherited = await serving({
      versionMap: Object.create({ v9: 'evil' }, { v1: { value: 'blue', enumerable: true } }),
    })
    expect((await inherited({ 'X-App-Requested-Version': 'v9' })).status).toBe(409)
  })
})

describe('wrong routes', () => {
  it.each([
    [{ versionMap: {} }, 'versionRouter(): versionMap has no version; add one'],
    [
      { versionMap: { v1: 'a\r\nb' } },
      'versionRouter(): versionMap has {"v1":"a\\r\\nb"}; give both as characters from ! to ~',
    ],
    [{ versionMap: { v1: '' } }, 'versionRouter(): versionMap has {"v1":""}; give both as characters from ! to ~'],
    [
      { versionMap: { 'v 1': 'a' } },
      'versionRouter(): versionMap has {"v 1":"a"}; give both as characters from ! to ~',
    ],
    [{ versionMap, defaultVersion: 'v9' }, 'versionRouter(): defaultVersion "v9" is not in versionMap; add it'],
    [
      { versionMap, defaultVersion: 'toString' },
      'versionRouter(): defaultVersion "toString" is not in versionMap; add it',
    ],
  ])('%j fail at the start', (routes, message) => {
    expect(() => versionRouter(routes)).toThrow(new ConfigurationError(message))
  })
})
