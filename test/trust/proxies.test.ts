/** P13 behind proxies: nginx and haproxy change nothing that HTTP asks of the app, and pass QUERY. In the long run, where installed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findProgram } from '../../examples/support/programs.js'
import { findFreePort } from '../support/program.js'
import { as, createClient, type Hit, json, type Shot, type TrialClient } from './support/client.js'
import { isLong, report } from './support/size.js'
import { startTrialDatabase, startTrialServer, type TrialDatabase, type TrialServer } from './support/trial.js'

interface Kind {
  readonly program: string
  /** Its configuration, from a port of 127.0.0.1 to another one, with a cache for what is below CACHED. */
  config(folder: string, from: number, to: number): string
  args(file: string, folder: string): string[]
}

const CACHED = '/api/asked'

const KINDS: readonly Kind[] = [
  {
    program: 'nginx',
    config: (folder, from, to) => `
      daemon off; pid ${folder}/pid; error_log ${folder}/error.log; worker_processes 1;
      events { worker_connections 256; }
      http {
        access_log off; client_max_body_size 8m;
        ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')}
        proxy_cache_path ${folder}/cache keys_zone=answers:1m;
        proxy_http_version 1.1; proxy_set_header Connection "";
        proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto https;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        server {
          listen 127.0.0.1:${from};
          location / { proxy_pass http://127.0.0.1:${to}; }
          location ${CACHED} {
            proxy_pass http://127.0.0.1:${to};
            proxy_cache answers; proxy_cache_methods GET HEAD POST;
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
cache answers
  total-max-size 4
  max-age 60
frontend all
  bind 127.0.0.1:${from}
  http-request set-header X-Forwarded-Proto https
  default_backend app
backend app
  acl cached path_beg ${CACHED}
  http-request set-var(txn.cached) bool(true) if cached
  http-request cache-use answers if cached
  http-response del-header Vary if { var(txn.cached) -m bool }
  http-response cache-store answers if { var(txn.cached) -m bool }
  server app 127.0.0.1:${to}
`,
    args: (file) => ['-db', '-f', file],
  },
]

const alice = as('alice')
const large = Buffer.alloc(2_000_000, 32)
const LONG = {
  filter: { title__in: Array.from({ length: 1_000 }, (_, n) => `title ${n} ${'x'.repeat(n % 7 ? 30 : 0)}`) },
}

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
  'a QUERY': () => json('QUERY', '/api/asked', { filter: { or: [{ n: 1 }, { title: 'title 3' }] }, page_size: 3 }),
  'a QUERY with a body that is longer than a URL may be': () => json('QUERY', '/api/asked', LONG),
  'a QUERY of a page': () => json('QUERY', '/api/asked?page=2', { page_size: 3 }),
  'a wrong value in a QUERY': () => json('QUERY', '/api/asked', { filter: { n: 'x' } }),
  'a QUERY without a body': () => json('QUERY', '/api/asked'),
  'a QUERY where there is none': () => json('QUERY', '/api/books', {}),
}

/** What a proxy must hand on as it is. */
const HEADERS = [
  ...['content-type', 'etag', 'cache-control', 'vary', 'allow', 'www-authenticate', 'location', 'retry-after', 'link'],
  ...['content-disposition', 'accept-post', 'accept-patch', 'accept-query', 'x-content-type-options', 'accept-ranges'],
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

  it.skipIf(path === undefined)('a QUERY has the bytes of the GET that says the same', async () => {
    const query = await proxied.fire(
      json('QUERY', CACHED, { filter: { n: 1, or: [{ id__lt: 50 }, { tags__overlap: 'tag 1' }] } }),
    )
    const get = await direct.fire(json('GET', `${CACHED}?n=1&filter=or(id__lt=50,tags__overlap=%22tag%201%22)`))
    expect([query.status, query.text]).toEqual([200, get.text])
  })

  it.skipIf(path === undefined)('a GET is kept, a QUERY is not, and each body has its own answer', async () => {
    const asked = async (...shots: Shot[]) => {
      const { requests } = await server.state()
      const texts: string[] = []
      for (const shot of shots) texts.push((await proxied.fire(shot)).text)
      return { texts, passed: (await server.state()).requests - requests }
    }
    const url = `${CACHED}?page_size=2`
    const get = json('GET', url)
    const [one, two] = [1, 2].map((n) => json('QUERY', url, { filter: { n } })) as [Shot, Shot]
    const before = await asked(one, two)
    const kept = await asked(get, get, get)
    const after = await asked(one, two, one, two)
    expect([before.passed, kept.passed, after.passed]).toEqual([2, 1, 4])
    const texts = [(await direct.fire(one)).text, (await direct.fire(two)).text]
    expect(before.texts).toEqual(texts)
    expect(after.texts).toEqual([...texts, ...texts])
    expect(new Set([...texts, (await direct.fire(get)).text, ...kept.texts]).size).toBe(3)
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
