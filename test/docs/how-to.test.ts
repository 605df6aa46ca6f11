/** Pages that are programs tell the truth: each is loaded, started and asked, and answers as it is printed there. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename } from 'node:path'
import S3rver from '@20minutes/s3rver'
import type { Knex } from 'knex'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { isProgram, readBook } from '../support/book.js'
import { createDatabase } from '../support/database.js'
import { createFolder, readFiles } from '../support/files.js'
import { issuerKey, serveKeys, tokenBy } from '../support/issuer.js'
import { COVER, expectAnswers, startPage } from '../support/page-program.js'
import { toUrl } from '../support/program.js'
import { startDatabaseProxy } from '../support/proxy.js'
import { expectRollbacks } from '../support/rollbacks.js'
import { connectTo } from '../support/server.js'
import { askCurl, stepsOf } from '../support/tutorial.js'

const pages = readBook()
  .filter(isProgram)
  .map((page) => ({ ...page, name: basename(page.path, '.md') }))
const printed = pages.filter((page) => stepsOf(page).some(({ answer }) => answer))

const pageOf = (name: string) => pages.find((page) => page.name === name) as (typeof pages)[number]
const authorization = (token: string) => ({ headers: { Authorization: token } })

const bucket = createFolder()
const storedObjects = () => Object.keys(readFiles(bucket)).filter((path) => path.includes('.png'))

beforeAll(async () => {
  const server = new S3rver({
    ...{ address: '127.0.0.1', port: 0, silent: true, directory: bucket },
    configureBuckets: [{ name: 'covers', configs: [] }],
  })
  const { port } = await server.run()
  Object.assign(process.env, { S3_ENDPOINT: `http://127.0.0.1:${port}`, S3_KEY: 'S3RVER', S3_SECRET: 'S3RVER' })
  return () => server.close()
})

describe('a page that is a program', () => {
  it.each(printed)('answers as $name says', async (page) => {
    const program = await startPage(page)
    await expectAnswers(page, program)
    expect(program.reported).toEqual([])
  })

  it('has requests, or a test of its own below', () => {
    const others = pages.filter((page) => !printed.includes(page)).map(({ name }) => name)
    expect(others).toEqual(['identity-providers', 'several-databases', 'tenant-databases', 'testing'])
  })
})

describe('one transaction with another library', () => {
  it.each(['plain-knex', 'plain-pg', 'drizzle', 'kysely'])('undoes both sides, 100 times of 100: %s', async (name) => {
    const page = pageOf(name)
    await expectRollbacks(page, await startPage(page))
  })
})

describe('uploads to S3', () => {
  it('are stored with their type, given out by a signed address, and gone when the request is refused', async () => {
    const { port, client, folder } = await startPage(pageOf('uploads-to-s3'))
    const upload = {
      line: 0,
      answer: undefined,
      command: 'curl localhost:3000/api/books -F title=Momo -F cover=@cover.png',
    }
    await askCurl(upload, port, folder)
    const { json } = await connectTo(port).send({ path: '/api/books/1/download' })
    const stored = await fetch(json.url)
    expect(stored.headers.get('content-type')).toBe('image/png')
    expect(stored.headers.get('content-disposition')).toBe('attachment')
    expect(Buffer.from(await stored.arrayBuffer())).toEqual(COVER)

    const { rows } = await client.query<{ cover: string }>('select cover from books')
    const before = storedObjects()
    expect(before).toContainEqual(expect.stringContaining(String(rows[0]?.cover)))
    const answer = { page: '', line: 0, language: 'http', text: '' }
    // the title is taken
    expect(await askCurl({ ...upload, answer }, port, folder)).toBe('HTTP/1.1 400 Bad Request\n')
    expect(storedObjects()).toEqual(before)
  })
})

describe('tokens of several issuers', () => {
  it('are checked by the keys of their own issuer, found by discovery', async () => {
    const issuers = [await serveIssuer('one'), await serveIssuer('two')] as const
    process.env['ISSUERS'] = issuers.map(({ url }) => url).join(' ')
    const { port } = await startPage(pageOf('identity-providers'))
    const ask = (token: string) => connectTo(port).send({ path: '/api/whoami', ...authorization(`Bearer ${token}`) })

    for (const { url, token } of issuers) {
      expect(await ask(token(url))).toMatchObject({ status: 200, json: { id: `${url}#alice` } })
    }
    const [one, two] = issuers
    for (const wrong of [one.token(two.url), two.token(one.url), one.token('https://elsewhere.test'), 'a.b.c']) {
      const { status, headers } = await ask(wrong)
      expect([status, headers['www-authenticate']]).toEqual([401, expect.stringContaining('invalid_token')])
    }
    expect(await ask(one.token(one.url, { scope: 'read:books' }))).toMatchObject({
      status: 403,
      headers: { 'www-authenticate': expect.stringContaining('scope="read:me"') },
    })
    expect(await connectTo(port).send({ path: '/api/whoami' })).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Bearer realm="api"' },
    })
  })

  it('stop the start where a discovery document is of another issuer', async () => {
    const issuer = await serveIssuer('one', 'https://elsewhere.test')
    process.env['ISSUERS'] = issuer.url
    await expect(startPage(pageOf('identity-providers'))).rejects.toThrow('is of another issuer')
  })

  /** An issuer with its discovery document and one key. */
  async function serveIssuer(kid: string, issuer?: string) {
    const key = issuerKey(kid)
    const keys = await serveKeys(key.jwk)
    const server = createServer((_, response) =>
      response.end(JSON.stringify({ issuer: issuer ?? url, jwks_uri: keys.url })),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    onTestFinished(async () => {
      server.close()
      server.closeAllConnections()
      await keys.close()
    })
    const seconds = Math.floor(Date.now() / 1000)
    const usual = { aud: 'https://api.example.com', iat: seconds, exp: seconds + 600, scope: 'read:me' }
    return { url, token: (iss: string, claims = {}) => tokenBy(key, { claims: { ...usual, iss, ...claims } }) }
  }
})

describe('a database for each tenant', () => {
  it('answers and writes with the knex of the caller, and reads the tables once', async () => {
    const schema =
      'create table notes (id int generated always as identity primary key, title varchar(20) not null unique)'
    const tenants = [await createDatabase({ schema }), await createDatabase({ schema })] as const
    for (const [at, { direct, knex, drop }] of tenants.entries()) {
      onTestFinished(drop)
      process.env[`TENANT_${at + 1}_URL`] = toUrl(direct)
      await knex('notes').insert({ title: `of tenant ${at + 1}` })
    }
    const page = pageOf('tenant-databases')
    const { port, names } = await startPage({ ...page, text: `${page.text}\n\`\`\`sql\n${schema}\n\`\`\`\n` })
    onTestFinished(names['endPools'] as () => Promise<void>)
    const client = connectTo(port)
    const as = (name: string) => ({ ...authorization(`Token ${name}-token`), path: '/api/notes' })

    expect((await client.send(as('ada'))).json).toEqual([{ id: 1, title: 'of tenant 1' }])
    expect((await client.send(as('ben'))).json).toEqual([{ id: 1, title: 'of tenant 2' }])
    const body = JSON.stringify({ title: 'of tenant 1' })
    const written = { ...as('ben'), body }
    const headers = { ...written.headers, 'Content-Type': 'application/json' }
    expect(await client.send({ ...written, headers })).toMatchObject({ status: 201, json: { id: 2 } })
    expect(await client.send({ ...written, headers })).toMatchObject({ status: 400 })
    expect(await tenants[0].knex('notes')).toHaveLength(1)
    expect(await tenants[1].knex('notes')).toHaveLength(2)
  })
})

describe('several databases', () => {
  it('are each asked by the resources of its own models, and one that is away is 503 for these alone', async () => {
    const schema = 'create table orders (id int primary key); insert into orders values (7)'
    const archive = await createDatabase({ schema })
    onTestFinished(() => archive.drop())
    const { proxy, through } = await startDatabaseProxy(archive.direct)
    onTestFinished(() => proxy.remove())
    process.env['ARCHIVE_URL'] = toUrl(through)
    const { port, names, reported } = await startPage(pageOf('several-databases'))
    onTestFinished(() => (names['archive'] as Knex).destroy())
    const client = connectTo(port)
    const headers = { 'Content-Type': 'application/json' }
    const review = (order_id: number) =>
      client.send({ path: '/api/reviews', headers, body: JSON.stringify({ order_id, stars: 5 }) })

    expect((await client.send({ path: '/api/old-orders' })).json).toEqual([{ id: 7 }])
    expect(await review(7)).toMatchObject({ status: 201 })
    expect(await review(8)).toMatchObject({ status: 400, json: { errors: { order_id: ['There is no such order.'] } } })
    await proxy.cut()
    expect(await client.send({ path: '/api/old-orders' })).toMatchObject({ status: 503 })
    expect(reported).toHaveLength(1)
    expect((await client.send({ path: '/api/reviews' })).json).toEqual([{ id: 1, order_id: 7, stars: 5 }])
  })
})

describe('the outbox', () => {
  it('sends each message, and again what was not noted as sent', async () => {
    const { client, names } = await startPage(pageOf('outbox'))
    type Send = (change: { id: string; key: string }) => Promise<void>
    const [begin, send] = [
      names['beginMails'] as () => Promise<void>,
      names['sendMails'] as (send: Send) => Promise<boolean>,
    ]
    await begin()
    await client.query(
      "insert into koa_viewsets_changes (model, key, action) select 'orders', n, 'create' from generate_series(1, 45) n",
    )
    const sent: string[] = []
    await expect(
      send(async ({ key }) => {
        if (key === '3') throw new Error('away')
        sent.push(key)
      }),
    ).rejects.toThrow('away')
    while (await send(async ({ key }) => void sent.push(key)));
    expect(sent).toEqual(['1', '2', ...Array.from({ length: 45 }, (_, at) => String(at + 1))])
  })
})

describe('the tests of the page about testing', () => {
  it('pass, and tell an answer that is not as documented', async () => {
    const { names, client } = await startPage(pageOf('testing'))
    const tests = names['tests'] as [name: string, work: () => Promise<void>][]
    onTestFinished(async () => {
      for (const end of names['endings'] as (() => Promise<void>)[]) await end()
    })
    expect(tests.map(([name]) => name)).toEqual([
      'a book is stored and shown',
      'a title is taken only once',
      'strangers may not write',
    ])
    for (const [, work] of tests) await work()
    await client.query('truncate books restart identity; alter table books alter title drop not null')
    await client.query('insert into books default values')
    const ask = names['ask'] as (method: string, path: string) => Promise<unknown>
    await expect(ask('GET', '/api/books')).rejects.toMatchObject({
      actual: [expect.stringContaining('/0/title must be string')],
    })
  })
})
