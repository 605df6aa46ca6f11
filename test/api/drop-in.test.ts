/**
 * The API in an app that is there already: whichever parser, mount, Koa and module system it has, the
 * answers are the same, the links fit, and the app's own answers stay what they were, byte for byte.
 */
import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transformWithEsbuild } from 'vite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf } from '../support/book.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import type { HabitName, KoaName, MountName, ParserName, Shop } from '../support/drop-in-server.js'
import { createFolder } from '../support/files.js'
import { MULTIPART, multipart } from '../support/multipart.js'
import { findFreePort, readProjectFile, startProgram, toUrl, untilAnswer } from '../support/program.js'
import { connectTo, exchange, type TestRequest } from '../support/server.js'
import { isLong } from '../trust/support/size.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SCHEMA = `
  create table authors (id int generated always as identity primary key, name text not null);
  create table books (
    id int generated always as identity primary key,
    title varchar(20) not null,
    published_on date,
    author_id int not null references authors
  )`
const SEED = `
  truncate authors, books restart identity;
  insert into authors (name) values ('Ada'), ('Ben');
  insert into books (title, author_id) values ('Momo', 1), ('Zazie', 2), ('Emil', 1)`

type ModuleSystem = 'import' | 'require'

/** Packages that some doors, or the applications themselves, need. */
const OPTIONAL = ['@koa/router', 'ajv', 'flydrive', 'jose']

/** What an application's file says first. */
const APPS: Readonly<Record<ModuleSystem, { file: string; text: string }>> = {
  import: {
    file: 'app.mjs',
    text: `
      import * as viewsets from 'koa-viewsets'
      import * as plugins from 'koa-viewsets/plugins'
      import Koa2 from 'koa2'
      import Koa3 from 'koa'
      import Router from '@koa/router'
      import mount from 'koa-mount'
      import * as koaBodies from 'koa-body'
      import { bodyParser } from '@koa/bodyparser'
      import compose from 'koa-compose'
      import compress from 'koa-compress'
      import cors from '@koa/cors'
      import helmet from 'koa-helmet'
      import jwt from 'koa-jwt'
      import passport from 'koa-passport'
      import pino from 'koa-pino-logger'
      import qs from 'koa-qs'
      import ratelimit from 'koa-ratelimit'
      import knex from 'knex'
      import { Model } from 'objection'
      import { serveShops } from './server.mjs'
      const koaBody = koaBodies.koaBody ?? koaBodies.default
      await serveShops({
        viewsets, plugins, koas: { 'Koa 2': Koa2, 'Koa 3': Koa3 }, Router, mount, koaBody, bodyParser, knex, Model,
        habits: { compose, compress, cors, helmet, jwt, passport, pino, qs, ratelimit },
      })`,
  },
  require: {
    file: 'app.cjs',
    text: `
      const viewsets = require('koa-viewsets')
      const plugins = require('koa-viewsets/plugins')
      const Koa2 = require('koa2')
      const Koa3 = require('koa')
      const { Router } = require('@koa/router')
      const mount = require('koa-mount')
      const koaBodies = require('koa-body')
      const koaBody = koaBodies.koaBody ?? koaBodies
      const { bodyParser } = require('@koa/bodyparser')
      const compose = require('koa-compose')
      const compress = require('koa-compress')
      const cors = require('@koa/cors')
      const helmet = require('koa-helmet')
      const jwt = require('koa-jwt')
      const passport = require('koa-passport')
      const pino = require('koa-pino-logger')
      const qs = require('koa-qs')
      const ratelimit = require('koa-ratelimit')
      const knex = require('knex')
      const { Model } = require('objection')
      const { serveShops } = require('./server.cjs')
      serveShops({
        viewsets, plugins, koas: { 'Koa 2': Koa2, 'Koa 3': Koa3 }, Router, mount, koaBody, bodyParser, knex, Model,
        habits: { compose, compress, cors, helmet, jwt, passport, pino, qs, ratelimit },
      })`,
  },
}

const MODULE_SYSTEMS: readonly ModuleSystem[] = ['import', 'require']
const KOAS: readonly KoaName[] = ['Koa 2', 'Koa 3']
const PARSERS: readonly ParserName[] = ['no parser', 'koa-body', '@koa/bodyparser']
const MOUNTS: readonly MountName[] = ['app.use()', 'koa-mount', 'a nested @koa/router', 'a @koa/router with a prefix']

const ALONE: HabitName = 'no other middleware'

/** All mounts in the long run; else so many that any two choices meet. */
const mountsOf = (modules: number, koa: number, parser: number) =>
  MOUNTS.filter(
    (_, mount) => isLong || (modules === (parser + mount) % 2 && koa === (parser + Math.floor(mount / 2)) % 2),
  )

const combinations = MODULE_SYSTEMS.flatMap((modules, first) =>
  KOAS.flatMap((koa, second) => [
    ...PARSERS.flatMap((parser, third) =>
      mountsOf(first, second, third).map((mount) => ({ modules, koa, parser, mount, habit: ALONE })),
    ),
    { modules, koa, parser: 'koa-body', mount: 'koa-mount', habit: 'the usual middleware' },
  ]),
)

/** Middleware that the shops with the usual one have. */
const HABITS = [
  ...['koa-compose', 'koa-compress', '@koa/cors', 'koa-helmet', 'koa-jwt', 'koa-passport', 'koa-pino-logger', 'koa-qs'],
  'koa-ratelimit',
]

interface StartedApp {
  readonly child: ChildProcess
  readonly shops: readonly Shop[]
  /** What it has printed so far. */
  output(): string
}

let database: TestDatabase
let folder: string
const apps = new Map<ModuleSystem, StartedApp>()

beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  folder = await installApps()
  const started = await Promise.all(MODULE_SYSTEMS.map((modules) => start(join(folder, APPS[modules].file))))
  for (const [index, app] of started.entries()) apps.set(MODULE_SYSTEMS[index] as ModuleSystem, app)
})
afterAll(async () => {
  for (const { child } of apps.values()) {
    const exit = once(child, 'exit')
    child.disconnect()
    await exit
  }
  await database.drop()
})

/**
 * A folder as npm leaves it: the package as it is published, and beside it the packages that it needs by its own word, and
 * no others but the app's own.
 */
async function installApps(): Promise<string> {
  const made = createFolder({
    ...Object.fromEntries(Object.values(APPS).map(({ file, text }) => [file, text])),
    'node_modules/koa-viewsets/package.json': readProjectFile('package.json'),
  })
  const modules = join(made, 'node_modules')
  const declared = JSON.parse(readProjectFile('package.json')) as Record<string, Record<string, unknown>>
  const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta: optional = {} } = declared
  const peers = Object.keys(peerDependencies).filter((name) => !(name in optional) || OPTIONAL.includes(name))
  const own = ['koa2', 'koa-mount', 'koa-body', '@koa/bodyparser', ...HABITS]
  for (const name of [...Object.keys(dependencies), ...peers, ...own]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  }
  const source = join(ROOT, 'test/support/drop-in-server.ts')
  for (const [file, format] of [
    ['server.mjs', 'esm'],
    ['server.cjs', 'cjs'],
  ] as const) {
    const { code } = await transformWithEsbuild(readFileSync(source, 'utf8'), source, { format, target: 'node20' })
    writeFileSync(join(made, file), code)
  }
  const dist = join(modules, 'koa-viewsets/dist')
  // what all tests of the run import; that the package as it is published does the same is published-package.test.ts's
  const { COMPILED_SOURCES: compiled = '' } = process.env
  cpSync(compiled, dist, { recursive: true, filter: (path) => !/\.map$|\/(?:test|examples)$/.test(path) })
  return made
}

async function start(file: string): Promise<StartedApp> {
  const { NODE_ENV: _, NODE_OPTIONS: __, ...env } = process.env
  const child = fork(file, {
    env: { ...env, CONNECTION: JSON.stringify(database.connection) },
    execArgv: ['--unhandled-rejections=strict'],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data) => (output += String(data)))
  const [shops] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error(output))),
  ])) as [Shop[]]
  return { child, shops, output: () => output }
}

interface Row {
  readonly title: string
  readonly request: TestRequest
  readonly status: number
  readonly headers?: Readonly<Record<string, unknown>>
  /** The whole body: a text, or what JSON it is. Undefined for none. */
  readonly body?: unknown
}

const JSON_TYPE = 'application/json; charset=utf-8'
const CSV = 'id,title,published_on,author_id\r\n1,Momo,,1\r\n2,Zazie,,2\r\n'

const book = (id: number, title: string, author_id: number, published_on: string | null = null) => ({
  id,
  title,
  published_on,
  author_id,
})

function sending(method: string, path: string, data: unknown): TestRequest {
  return { method, path, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(data) }
}

/** The requests, one after the other, with the answers that are right for an API under `base`. */
function conversation(base: string): readonly Row[] {
  const books = `${base}/books`
  const ofAda = `${base}/authors/1/books`
  const all = 'GET, POST, HEAD, OPTIONS'
  const ofOne = 'GET, PUT, PATCH, DELETE, HEAD, OPTIONS'
  const notFound = { status: 404, body: { detail: 'Not found', status: 404 } }
  const required = { title: ['This field is required.'] }
  const field = { required: false, read_only: true }
  const metadata = {
    name: 'BookViewSet',
    description: 'The books of the shop.',
    allowed_methods: ['get', 'post', 'head', 'options'],
    actions: {
      fields: {
        id: { type: 'integer', ...field },
        title: { type: 'string', required: true, read_only: false, max_length: 20 },
        published_on: { type: 'string', ...field },
        author_id: { type: 'integer', required: true, read_only: false },
      },
    },
  }
  const page = { count: 3, next: `${books}?page=2`, previous: null, results: [book(1, 'Momo', 1), book(2, 'Zazie', 2)] }
  const created = (title: string, body: object, location: string, request: TestRequest): Row => ({
    title,
    request,
    status: 201,
    headers: { location },
    body,
  })
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
  const parts = multipart({ name: 'title', content: 'Ronja' }, { name: 'author_id', content: '2' })
  return [
    { title: 'the root', request: { path: base }, status: 200, body: { book: books, author: `${base}/authors` } },
    { title: 'a page', request: { path: books }, status: 200, headers: { 'content-type': JSON_TYPE }, body: page },
    {
      title: 'a page by suffix',
      request: { path: `${books}.json` },
      status: 200,
      headers: { 'content-type': JSON_TYPE },
    },
    {
      title: 'the page after it',
      request: { path: page.next },
      status: 200,
      body: { ...page, next: null, previous: `${books}?page=1`, results: [book(3, 'Emil', 1)] },
    },
    {
      title: 'no page',
      request: { path: `${books}?page=9` },
      status: 404,
      body: { detail: 'Invalid page', status: 404 },
    },
    { title: 'a book', request: { path: `${books}/2` }, status: 200, body: book(2, 'Zazie', 2) },
    {
      title: 'its head',
      request: { method: 'HEAD', path: `${books}/2` },
      status: 200,
      headers: { 'content-length': '58' },
    },
    { title: 'no book', request: { path: `${books}/99` }, headers: { 'cache-control': 'no-store' }, ...notFound },
    {
      title: 'CSV by suffix',
      request: { path: `${books}.csv` },
      status: 200,
      headers: { 'content-type': 'text/csv; charset=utf-8', 'content-disposition': 'attachment; filename="book.csv"' },
      body: CSV,
    },
    {
      title: 'CSV by Accept',
      request: { path: books, headers: { Accept: 'text/csv' } },
      status: 200,
      headers: { 'content-type': 'text/csv; charset=utf-8', vary: expect.stringMatching(/\bAccept$/) },
      body: CSV,
    },
    {
      title: 'metadata',
      request: { method: 'OPTIONS', path: books },
      status: 200,
      headers: { allow: all },
      body: metadata,
    },
    {
      title: 'an unmapped method',
      request: { method: 'PUT', path: books },
      status: 405,
      headers: { allow: all, 'content-type': JSON_TYPE },
      body: { detail: 'Method PUT not allowed', status: 405 },
    },
    {
      title: 'an unmapped method with a body',
      request: sending('POST', `${books}/1`, { title: 'x' }),
      status: 405,
      headers: { allow: ofOne },
      body: { detail: 'Method POST not allowed', status: 405 },
    },
    {
      title: 'nested books',
      request: { path: ofAda },
      status: 200,
      body: { count: 2, next: `${ofAda}?page=2`, previous: null, results: [book(1, 'Momo', 1)] },
    },
    { title: "another's nested book", request: { path: `${ofAda}/2` }, ...notFound },
    { title: 'books of nobody', request: { path: `${base}/authors/9/books` }, ...notFound },
    created('a nested book', book(4, 'Krabat', 1), `${ofAda}/4`, sending('POST', ofAda, { title: 'Krabat' })),
    created(
      'a book as JSON',
      book(5, 'Pippi', 2),
      `${books}/5`,
      sending('POST', books, { title: 'Pippi', author_id: 2 }),
    ),
    created('a book by a form', book(6, 'Tschick', 1), `${books}/6`, {
      path: books,
      headers: form,
      body: 'title=Tschick&author_id=1',
    }),
    created('a book by multipart', book(7, 'Ronja', 2), `${books}/7`, { path: books, headers: MULTIPART, body: parts }),
    created('a book as chunks', book(8, 'Heidi', 2), `${books}/8`, {
      path: books,
      headers: { 'Content-Type': 'application/json' },
      body: ['{"title":"Hei', 'di","author_id":2}'],
    }),
    {
      title: 'a bad book',
      request: sending('POST', books, { author_id: 1 }),
      status: 400,
      body: { detail: 'Validation failed', status: 400, errors: required },
    },
    {
      title: 'no body',
      request: { method: 'POST', path: ofAda },
      status: 400,
      body: { detail: 'Validation failed', status: 400, errors: required },
    },
    {
      title: 'a body of another type',
      request: { path: books, headers: { 'Content-Type': 'text/plain' }, body: 'title=x' },
      status: 415,
      headers: { 'accept-post': 'application/json, application/x-www-form-urlencoded, multipart/form-data' },
    },
    {
      title: 'a full update',
      request: sending('PUT', `${books}/5`, { title: 'Pippi 2', author_id: 1 }),
      status: 200,
      body: book(5, 'Pippi 2', 1),
    },
    {
      title: 'a part',
      request: sending('PATCH', `${books}/5`, { title: 'Pippi' }),
      status: 200,
      body: book(5, 'Pippi', 1),
    },
    {
      title: 'an action',
      request: sending('POST', `${books}/5/publish`, { published_on: '2026-05-01' }),
      status: 200,
      body: book(5, 'Pippi', 1, '2026-05-01'),
    },
    {
      title: 'bad input of an action',
      request: sending('POST', `${books}/5/publish`, { published_on: 'May' }),
      status: 400,
      headers: { 'content-type': JSON_TYPE },
    },
    { title: 'a book that goes', request: { method: 'DELETE', path: `${books}/5` }, status: 204 },
    {
      title: 'many new books',
      request: sending('POST', `${books}/bulk`, [
        { title: 'Jim', author_id: 1 },
        { title: 'Lukas', author_id: 1 },
      ]),
      status: 201,
      body: [book(9, 'Jim', 1), book(10, 'Lukas', 1)],
    },
    {
      title: 'many changes',
      request: sending('PATCH', `${books}/bulk`, [
        { id: 10, title: 'Lukas 2' },
        { id: 9, author_id: 2 },
      ]),
      status: 200,
      body: [book(10, 'Lukas 2', 1), book(9, 'Jim', 2)],
    },
    {
      title: 'a bad item',
      request: sending('POST', `${books}/bulk`, [{ title: 'ok', author_id: 1 }, { author_id: 1 }]),
      status: 400,
      body: { detail: 'Validation failed', status: 400, errors: { 1: required } },
    },
    {
      title: 'a route written by hand',
      request: { path: '/staff' },
      status: 401,
      headers: { 'www-authenticate': 'Session realm="api"', 'cache-control': 'no-store' },
      body: { detail: 'Authentication required', status: 401 },
    },
    {
      title: 'many books that go',
      request: sending('DELETE', `${books}/bulk`, [9, { id: 10 }]),
      status: 200,
      body: { deleted: [9, 10] },
    },
  ]
}

/** Requests that are none of the API's, as bytes. */
function foreign({ base, parser }: Shop): readonly string[] {
  const body = (method: string, path: string, type: string, text: string) =>
    `${method} ${path} HTTP/1.1\r\nContent-Type: ${type}\r\nContent-Length: ${text.length}\r\n~${text}`
  const plain = (method: string, path: string) => `${method} ${path} HTTP/1.1\r\n~`
  return [
    plain('GET', '/'),
    plain('HEAD', '/'),
    plain('GET', '/boom'),
    plain('GET', '/teapot'),
    plain('DELETE', '/echo'),
    plain('OPTIONS', '/echo'),
    body('POST', '/echo', 'application/json', '{"a":[1]}'),
    body('POST', '/echo', 'application/x-www-form-urlencoded', 'a=1&b=2'),
    body('POST', '/echo', 'application/json', '{"a":'),
    plain('GET', '/after?x=1'),
    plain('DELETE', '/after'),
    body('POST', '/after', 'application/json', '{"a":[1]}'),
    body('POST', '/after', 'text/csv', 'a,b'),
    plain('GET', '/nothing'),
    plain('POST', '/nothing'),
    plain('OPTIONS', '/nothing'),
    plain('GET', `${base}x`),
    plain('GET', `${base}/nothing`),
    plain('GET', `${base}/Books`),
    plain('GET', `${base}/books/abc`),
    plain('GET', `${base}/books.xml`),
    plain('DELETE', `${base}/books/1/nothing`),
    body('POST', `${base}/books/abc`, 'application/json', '{"title":"x"}'),
    plain('GET', `/elsewhere${base}/books`),
    // what the app's own parser refuses
    ...(parser === 'no parser' ? [] : [body('POST', `${base}/books`, 'application/json', '{"title":')]),
  ].map((text) => text.replace('~', 'Host: shop.test\r\nConnection: close\r\n\r\n'))
}

async function answerOf(port: number, request: string): Promise<string> {
  const answer = await exchange(port, request, () => false)
  return answer.replace(/^Date: .*\r\n/m, '')
}

describe.each(combinations)(
  'an app with $parser and $habit, on $koa, loaded by $modules, the API by $mount',
  (choice) => {
    const shopOf = () => {
      const { modules, ...sought } = choice
      const names = Object.keys(sought) as (keyof typeof sought)[]
      return apps.get(modules)?.shops.find((one) => names.every((name) => one[name] === sought[name])) as Shop
    }

    it('gets the same answers, with links that fit', async () => {
      const { port, base } = shopOf()
      await database.knex.raw(SEED)
      const { send } = connectTo(port)
      for (const { title, request, status, headers = {}, body } of conversation(base)) {
        const answer = await send(request)
        expect({ title, status: answer.status, headers: answer.headers }).toMatchObject({ title, status, headers })
        expect(answer.headers).toMatchObject({ 'x-shop': 'Zazie & Momo', 'x-content-type-options': 'nosniff' })
        if (body !== undefined) expect([title, answer.json ?? answer.text]).toEqual([title, body])
      }
    })

    it('answers everything else as it did without it', async () => {
      const { port, portWithoutApi } = shopOf()
      for (const request of foreign(shopOf())) {
        const [answer, own] = [await answerOf(port, request), await answerOf(portWithoutApi, request)]
        expect({ request, answer }).toEqual({ request, answer: own })
      }
    })
  },
)

describe('docs/how-to/javascript-and-commonjs.md', () => {
  const page = 'docs/how-to/javascript-and-commonjs.md'
  const blocks = blocksOf({ path: page, text: readProjectFile(page) })
  const inOneFile = join(createFolder(), 'main.cjs')
  let tables: TestDatabase

  beforeAll(async () => {
    const sql = blocks.find(({ language }) => language === 'sql')?.text as string
    tables = await createDatabase({ schema: sql })
    mkdirSync(join(folder, 'src'))
    for (const { file, text, language } of blocks) {
      if (language === 'js') writeFileSync(join(folder, file as string), text)
    }
    const bundle = blocks.find(({ language, text }) => language === 'sh' && text.includes('esbuild'))?.text as string
    // beside no node_modules
    const command = bundle
      .replace('npx esbuild', join(ROOT, 'node_modules/.bin/esbuild'))
      .replace('=main.cjs', `=${inOneFile}`)
    execFileSync('bash', ['-c', command], { cwd: folder, stdio: 'pipe' })
  })
  afterAll(() => tables.drop())

  const run = (file: string, env = {}) =>
    startProgram({ command: process.execPath, args: [resolve(folder, file)], env: { NODE_OPTIONS: '', ...env } })

  it.each([
    ['src/main.cjs', 'src/main.cjs'],
    ['src/main.mjs', 'src/main.mjs'],
    ['the one file', inOneFile],
  ])('%s is an application that runs', async (_, file) => {
    const port = await findFreePort()
    const program = run(file, { DATABASE_URL: toUrl(tables.connection), PORT: String(port) })
    try {
      await untilAnswer(program, port, '/api/books')
      const { send } = connectTo(port)
      const list = (await send({ path: '/api/books' })).json
      const [momo] = list.results ?? list
      expect(momo).toEqual({ id: 1, title: 'Momo', author_id: 1, author: { id: 1, name: 'Ada' } })
      const created = await send(sending('POST', '/api/books', { title: 'Zazie', author_id: 2 }))
      expect([created.status, created.json]).toMatchObject([201, { title: 'Zazie', author: { name: 'Ben' } }])
      expect((await send(sending('POST', '/api/books', { title: 'Zazie' }))).json.errors).toEqual({
        author_id: ['This field is required.'],
      })
      expect((await send({ method: 'DELETE', path: `/api/books/${created.json.id}` })).status).toBe(204)
      const isCommon = file.endsWith('.cjs')
      const own = isCommon ? { path: '/api/books/number' } : { method: 'POST', path: '/api/books/1/shout' }
      expect((await send(own)).json).toEqual(isCommon ? { number: 2 } : { shouted: 'MOMO' })
    } finally {
      await program.stop()
    }
    expect(program.output()).toBe('')
  })

  it('shows what a mistake is', async () => {
    const program = run('src/mistake.cjs')
    await once(program.child, 'close')
    expect(program.output()).toContain(blocks.find(({ language }) => language === 'text')?.text.trim())
  })

  it('has every door required, without a warning, as the copy that is imported', async () => {
    const doors = Object.keys(JSON.parse(readProjectFile('package.json')).exports).map((door) =>
      door.replace('.', 'koa-viewsets'),
    )
    const text = `
      const doors = ${JSON.stringify(doors)}
      const required = doors.map((door) => require(door))
      Promise.all(doors.map((door) => import(door, door.endsWith('.json') ? { with: { type: 'json' } } : {}))).then((imported) => {
        const same = imported.filter((door, index) => door === required[index] || door.default === required[index])
        console.log(same.length, 'APIRouter' in required[0], 'default' in required[0])
      })`
    writeFileSync(join(folder, 'src/doors.cjs'), text)
    const program = run('src/doors.cjs')
    await once(program.child, 'close')
    expect(program.output()).toBe(`${doors.length} true false\n`)
  })
})

it('answers the document, and how to get the page, where swagger-ui-dist is not installed', async () => {
  const text = `
    import Koa from 'koa'
    import { APIRouter } from 'koa-viewsets'
    import { docs } from 'koa-viewsets/plugins'
    const server = new Koa().use(docs(new APIRouter(), { title: 'A <shop>' })).listen(0, '127.0.0.1', async () => {
      const get = async (path) => {
        const answer = await fetch('http://127.0.0.1:' + server.address().port + path)
        return [answer.status, answer.headers.get('content-security-policy'), await answer.text()]
      }
      console.log(JSON.stringify(await Promise.all(['/docs', '/docs/', '/docs/start.js', '/openapi.json'].map(get))))
      server.close().closeAllConnections()
    })`
  const args = ['--input-type=module', '-e', text]
  const printed = execFileSync(process.execPath, args, {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  })
  const [page, inFolder, script, document] = JSON.parse(printed) as [number, string | null, string][]
  expect(page).toEqual([200, expect.stringContaining("default-src 'none'"), expect.any(String)])
  expect(page?.[2]).toContain('npm install swagger-ui-dist')
  expect(page?.[2]).toContain('<h1>A &#60;shop&#62;</h1>')
  expect(page?.[2]).toContain('href="openapi.json"')
  expect(inFolder?.[2]).toContain('href="../openapi.json"')
  expect(script?.[0]).toBe(404)
  expect([document?.[0], JSON.parse(document?.[2] ?? '')]).toMatchObject([
    200,
    { openapi: '3.1.0', info: { title: 'A <shop>' } },
  ])
})

it('loads and runs without a warning', () => {
  expect([...apps.values()].map(({ output }) => output())).toEqual(['', ''])
})
