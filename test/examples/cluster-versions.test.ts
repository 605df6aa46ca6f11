import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Koa from 'koa'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createVersionRouter } from '../../examples/cluster/version-router.js'
import { createFolder, writeFiles } from '../support/files.js'
import { findFreePort, type Program, startProgram, untilAnswer } from '../support/program.js'
import { connectTo, serve, type TestClient, type TestServer } from '../support/server.js'

const REFUSAL =
  '{"detail":"Unknown app version. Available versions: v1, v2","status":409,"available_versions":["v1","v2"]}'
const hasNginx = spawnSync('nginx', ['-v']).status === 0
if (!hasNginx) console.warn('nginx is not installed: the version router is not tried behind it')

describe('the version router of the cluster example', () => {
  it('names the backend, or lists the versions', async () => {
    const router = await serve(createVersionRouter())
    const answers = await Promise.all(
      ['v1', 'v2', 'v3'].map((version) => router.send({ headers: { 'X-App-Requested-Version': version } })),
    )
    await router.close()
    expect(answers.map(({ status, headers }) => [status, headers['x-backend-target']])).toEqual([
      [204, 'blue'],
      [204, 'green'],
      [409, undefined],
    ])
  })
})

describe.skipIf(!hasNginx)('behind nginx', () => {
  const servers: TestServer[] = []
  let proxy: Program
  let client: TestClient

  beforeAll(async () => {
    servers.push(await serve(createVersionRouter()))
    for (const name of ['blue', 'green']) servers.push(await serve(backend(name)))
    const port = await findFreePort()
    const folder = createFolder()
    writeFiles(folder, { 'nginx.conf': configuration(folder, port), 'logs/error.log': '' })
    proxy = startProgram({
      command: 'nginx',
      args: ['-p', folder, '-c', join(folder, 'nginx.conf'), '-g', `daemon off; pid ${folder}/pid;`, '-e', 'stderr'],
      env: {},
    })
    await untilAnswer(proxy, port, '/')
    client = connectTo(port)
  })
  afterAll(async () => {
    await proxy?.stop('SIGTERM')
    for (const server of servers) await server.close()
  })

  /** The example's configuration with free ports, and folders of our own for what nginx writes. */
  function configuration(folder: string, port: number): string {
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (kind) => `${kind}_temp_path ${folder}/${kind};`,
    )
    const example = readFileSync(new URL('../../examples/cluster/nginx-versions.conf', import.meta.url), 'utf8')
    const ports = new Map([
      ['8080', port],
      ...servers.map((server, index) => [`${3000 + index}`, server.port] as const),
    ])
    return [...ports]
      .reduce((text, [from, to]) => text.replace(new RegExp(`\\b${from};`), `${to};`), example)
      .replace('http {', `http { access_log off; ${paths.join(' ')}`)
  }

  it.each([
    [{ 'X-App-Requested-Version': 'v1' }, 'blue'],
    [{ 'X-App-Requested-Version': 'v2' }, 'green'],
    [{ Cookie: 'app_version=v2' }, 'green'],
    [{}, 'blue'],
    [{ 'x-backend-target': 'green' }, 'blue'],
  ])('[G7] sends %j to %s', async (headers, name) => {
    const answer = await client.send({ path: '/a?b=c', headers })
    expect([answer.status, answer.json]).toEqual([200, { name, method: 'GET', url: '/a?b=c' }])
    expect(answer.headers['vary']).toBe('X-App-Requested-Version, Cookie')
    expect(answer.headers).not.toHaveProperty('x-backend-target')
  })

  it('sends bodies and the answers of a backend through, errors too', async () => {
    const post = await client.send({ body: '{}', headers: { 'X-App-Requested-Version': 'v2' } })
    expect(post.json).toMatchObject({ name: 'green', method: 'POST' })
    expect(await client.send({ path: '/bug' })).toMatchObject({ status: 500, text: 'blue has a bug' })
  })

  it("row 50 passes the router's 409 on", async () => {
    for (const version of ['v9', '__proto__', 'green']) {
      const answer = await client.send({ headers: { 'X-App-Requested-Version': version } })
      expect([answer.status, answer.text]).toEqual([409, REFUSAL])
    }
  })
})

function backend(name: string): Koa {
  return new Koa().use((ctx) => {
    ctx.status = ctx.path === '/bug' ? 500 : 200
    ctx.body = ctx.path === '/bug' ? `${name} has a bug` : { name, method: ctx.method, url: ctx.url }
  })
}
