/** P13 behind proxies: nginx and haproxy change nothing that HTTP asks of the app. In the long run, where installed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findFreePort } from '../support/program.js'
import { as, createClient, type Hit, json, type Shot, type TrialClient } from './support/client.js'
import { findProgram } from './support/installed.js'
import { isLong, report } from './support/size.js'
import { startTrialDatabase, startTrialServer, type TrialDatabase, type TrialServer } from './support/trial.js'

interface Kind {
  readonly program: string
  /** Its configuration, from a port of 127.0.0.1 to another one. */
  config(folder: string, from: number, to: number): string
  args(file: string, folder: string): string[]
}

const KINDS: readonly Kind[] = [
  {
    program: 'nginx',
    config: (folder, from, to) => `
      daemon off; pid ${folder}/pid; error_log ${folder}/error.log; worker_processes 1;
      events { worker_connections 256; }
      http {
        access_log off; client_max_body_size 8m;
        ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')}
        server {
          listen 127.0.0.1:${from};
          location / {
            proxy_pass http://127.0.0.1:${to}; proxy_http_version 1.1; proxy_set_header Connection "";
            proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto https;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
          }
        }
      }`,
    args: (file, folder) => ['-c', file, '-p', folder, '-e', join(folder, 'error.log')],
  },
  {
    program: 'haproxy',
    config: (_, from, to) => `
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  option forwardfor
frontend all
  bind 127.0.0.1:${from}
  http-request set-header X-Forwarded-Proto https
  default_backend app
backend app
  server app 127.0.0.1:${to}
`,
    args: (file) => ['-db', '-f', file],
  },
]

const alice = as('alice')
const large = Buffer.alloc(2_000_000, 32)

/** Rows of the conformance list that a proxy could break. `tag` is the entity tag of `/api/books/1`. */
const SHOTS: Record<string, (tag: string) => Shot> = {
  'a list': () => json('GET', '/api/books?page_size=3'),
  'an object': () => json('GET', '/api/books/1'),
  'HEAD of a list': () => json('HEAD', '/api/books'),
  'HEAD of an object': () => json('HEAD', '/api/books/1'),
  'the tag again': (tag) => json('GET', '/api/books/1', undefined, { 'If-None-Match': tag }),
  'a list of tags': (tag) => json('GET', '/api/books/1', undefined, { 'If-None-Match': `"x", ${tag}` }),
  'HEAD with the tag': (tag) => json('HEAD', '/api/books/1', undefined, { 'If-None-Match': tag }),
  'another If-Match': () => json('PATCH', '/api/books/1', { n: 1 }, { ...alice, 'If-Match': '"x"' }),
  'a method that is not there': () => json('PUT', '/api/books', {}),
  'an unknown method': () => json('PROPFIND', '/api/books/1'),
  OPTIONS: () => json('OPTIONS', '/api/books'),
  'no such path': () => json('GET', '/api/nowhere'),
  'no such object': () => json('GET', '/api/books/99999'),
  'an encoded path': () => json('GET', '/api/books/%31?title=%C3%A9%2B+%26'),
  'a wrong token': () => json('GET', '/api/books', undefined, as('mallory')),
  'no token': () => json('GET', '/api/private'),
  'a wrong value': () => json('POST', '/api/books', { title: null }, alice),
  'a body that is too large': () => ({
    method: 'POST',
    path: '/api/books',
    headers: { 'Content-Type': 'application/json', ...alice },
    body: large,
  }),
  'a wrong media type': () => json('POST', '/api/books', {}, { ...alice, 'Content-Type': 'application/xml' }),
  CSV: () => json('GET', '/api/books.csv?page_size=3'),
  'CSV by Accept': () => json('GET', '/api/books?page_size=3', undefined, { Accept: 'text/csv' }),
  'a stream of CSV': () => json('GET', '/api/stream.csv'),
  'a stream of NDJSON': () => json('GET', '/api/stream.ndjson'),
  'a range': () => json('GET', '/api/books/1', undefined, { Range: 'bytes=0-1' }),
  'links of pages': () => json('GET', '/api/authors/1/books?page_size=2&page=2'),
  'links of a cursor': () => json('GET', '/api/events'),
  'the version': () => json('GET', '/version'),
}

/** What a proxy must hand on as it is. */
const HEADERS = [
  ...['content-type', 'etag', 'cache-control', 'vary', 'allow', 'www-authenticate', 'location', 'retry-after', 'link'],
  ...['content-disposition', 'accept-post', 'accept-patch', 'x-content-type-options', 'accept-ranges'],
]

function shown({ status, headers, text, failure }: Hit) {
  return { status, failure, text, headers: Object.fromEntries(HEADERS.map((name) => [name, headers[name]])) }
}

describe.skipIf(!isLong).each(KINDS)('[P13] behind $program', ({ program, config, args }) => {
  const path = findProgram(program)
  if (isLong && path === undefined) console.warn(`${program} is not installed: P13 behind it is skipped`)
  let database: TrialDatabase
  let server: TrialServer
  let direct: TrialClient
  let proxied: TrialClient
  let child: ChildProcess | undefined
  let folder = ''
  let tag = ''

  beforeAll(async () => {
    if (path === undefined) return
    database = await startTrialDatabase()
    server = await startTrialServer(database.url)
    const port = await findFreePort()
    folder = mkdtempSync(join(tmpdir(), 'koa-viewsets-proxy-'))
    // nginx keeps large bodies there, as a user of its own
    chmodSync(folder, 0o777)
    const file = join(folder, 'proxy.conf')
    writeFileSync(file, config(folder, port, server.port))
    child = spawn(path, args(file, folder), { stdio: 'inherit' })
    while (!(await accepts(port))) {
      if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`)
      await sleep(20)
    }
    direct = createClient(server.port)
    proxied = createClient(port)
    tag = String((await direct.fire(json('GET', '/api/books/1'))).headers.etag)
  })
  afterAll(async () => {
    direct?.close()
    proxied?.close()
    if (child && child.exitCode === null) {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
    if (folder !== '') rmSync(folder, { recursive: true, force: true })
    await server?.remove()
    await database?.stop()
    if (path !== undefined) report('P13 behind', { proxy: program, rows: Object.keys(SHOTS).length })
  })

  it.skipIf(path === undefined).each(Object.entries(SHOTS))('%s is the same', async (_, create) => {
    const shot = create(tag)
    const [one, other] = [await direct.fire(shot), await proxied.fire(shot)]
    expect(other.failure).toBeUndefined()
    expect(shown(other)).toEqual(shown(one))
  })

  it.skipIf(path === undefined)('the links of pages are paths, whatever the proxy is called', async () => {
    const { text } = await proxied.fire(json('GET', '/api/books?page_size=2', undefined, { Host: 'shop.example' }))
    expect(JSON.parse(text).next).toMatch(/^\/api\/books\?/)
  })
})

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
