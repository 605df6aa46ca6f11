import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { findFreePort, type Program, readProjectFile, startFile, toUrl, untilAnswer } from '../support/program.js'
import { connectTo, type TestClient } from '../support/server.js'

describe('the quickstart', () => {
  let database: TestDatabase
  let program: Program
  let client: TestClient

  beforeAll(async () => {
    database = await createDatabase({
      schema: `
        create table books (
          id int generated always as identity primary key,
          title varchar(20) not null unique,
          price numeric(6, 2) check (price >= 0),
          created_at timestamptz not null default now()
        );
        insert into books (title, price, created_at) values ('Momo', 9.9, '2026-01-01 12:00:00.123456+00')`,
    })
    const port = await findFreePort()
    program = startFile('examples/quickstart.ts', { DATABASE_URL: toUrl(database.connection), PORT: String(port) })
    await untilAnswer(program, port, '/api/books')
    client = connectTo(port)
  })
  afterAll(async () => {
    await program?.stop()
    await database.drop()
  })

  it('is the example of the README, in at most 30 lines', () => {
    const source = readProjectFile('examples/quickstart.ts')
    expect(source.split('\n').length - 1).toBeLessThanOrEqual(30)
    const [, block] = /```ts\n(.*?)```/s.exec(readProjectFile('README.md')) ?? []
    expect(block).toBe(source)
  })

  it('lists and shows a table it knows nothing of but the name', async () => {
    const momo = { id: 1, title: 'Momo', price: '9.90', created_at: '2026-01-01T12:00:00.123456Z' }
    expect((await client.send({ path: '/api/books' })).json).toEqual({
      count: 1,
      next: null,
      previous: null,
      results: [momo],
    })
    expect((await client.send({ path: '/api/books/1' })).json).toEqual(momo)
    expect((await client.send({ path: '/api/' })).json).toEqual({ book: '/api/books' })
  })

  it('writes, and checks what the columns demand', async () => {
    const created = await post({ title: 'Emma', price: '12.5' })
    expect(created).toMatchObject({ status: 201, json: { title: 'Emma', price: '12.50' } })
    const path = created.headers.location as string
    const headers = { 'Content-Type': 'application/json' }
    const patched = await client.send({ method: 'PATCH', path, headers, body: '{"price":null}' })
    expect(patched).toMatchObject({ status: 200, json: { title: 'Emma', price: null } })
    expect(await client.send({ method: 'DELETE', path })).toMatchObject({ status: 204, text: '' })
    expect(await client.send({ path })).toMatchObject({ status: 404, json: { detail: 'Not found', status: 404 } })

    const errorsOf = async (book: object) => (await post(book)).json.errors
    expect(Object.keys(await errorsOf({}))).toEqual(['title'])
    expect(Object.keys(await errorsOf({ title: 'x'.repeat(21), price: '1.234' }))).toEqual(['title', 'price'])
    expect(Object.keys(await errorsOf({ title: 'Momo' }))).toEqual(['title'])
    expect(Object.keys(await errorsOf({ title: 'Ronja', price: '-1' }))).toEqual(['price'])
  })

  it('answers unknown paths as JSON', async () => {
    expect(await client.send({ path: '/nothing' })).toMatchObject({ status: 404, json: { status: 404 } })
  })

  function post(book: object) {
    return client.send({
      path: '/api/books',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(book),
    })
  }
})
