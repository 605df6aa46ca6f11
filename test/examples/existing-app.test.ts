import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { findFreePort, type Program, readProjectFile, startFile, toUrl, untilAnswer } from '../support/program.js'
import { connectTo, type TestClient } from '../support/server.js'

const json = { 'Content-Type': 'application/json' }

describe('an API in an app that exists', () => {
  let database: TestDatabase
  let program: Program
  let client: TestClient

  beforeAll(async () => {
    database = await createDatabase({
      schema: `
        create table books (
          id int generated always as identity primary key,
          title varchar(20) not null,
          added_by text not null,
          archived boolean not null default false
        );
        insert into books (title, added_by, archived) values ('Zazie', 'Bob', false), ('Out of print', 'Bob', true)`,
    })
    const port = await findFreePort()
    program = startFile('examples/existing-app.ts', { DATABASE_URL: toUrl(database.connection), PORT: String(port) })
    await untilAnswer(program, port, '/')
    client = connectTo(port)
  })
  afterAll(async () => {
    await program?.stop()
    await database.drop()
  })

  it('is what the book quotes', () => {
    const quoted = /```ts\n(const bySession.*?)```/s.exec(readProjectFile('docs/how-to/existing-app.md'))?.[1]
    expect(quoted).toBeDefined()
    expect(readProjectFile('examples/existing-app.ts')).toContain(quoted)
  })

  it("leaves the app's own routes and errors as they were", async () => {
    const home = await client.send({ path: '/' })
    expect(home).toMatchObject({ status: 200, text: 'The bookshop. Its books are at /api/v1/books' })
    expect(home.headers).not.toHaveProperty('x-content-type-options')
    expect(await client.send({ path: '/nothing' })).toMatchObject({ status: 404, text: 'Not Found' })
    expect(await client.send({ method: 'DELETE', path: '/login' })).toMatchObject({
      status: 405,
      text: 'Method Not Allowed',
      headers: { allow: 'POST' },
    })
  })

  it("knows the users of the app's session", async () => {
    const book = { path: '/api/v1/books', headers: json, body: '{"title":"Momo","added_by":"Eve"}' }
    expect(await client.send(book)).toMatchObject({ status: 401, json: { status: 401 } })
    const login = await client.send({ path: '/login', headers: json, body: '{"name":"Ann"}' })
    expect(login.status).toBe(302)
    const cookie = login.headers['set-cookie']?.map((text) => text.split(';', 1)[0]).join('; ')
    const created = await client.send({ ...book, headers: { ...json, Cookie: cookie } })
    expect(created).toMatchObject({ status: 201, json: { id: 3, title: 'Momo', added_by: 'Ann' } })
    expect(created.headers.location).toBe('/api/v1/books/3')
  })

  it("reads bodies that the app's own parser has read", async () => {
    const login = await client.send({ path: '/login', headers: json, body: '{"name":"Ann"}' })
    const Cookie = login.headers['set-cookie']?.map((text) => text.split(';', 1)[0]).join('; ')
    const refused = await client.send({ path: '/api/v1/books', headers: { ...json, Cookie }, body: '{"title":"M"}' })
    expect(refused).toMatchObject({ status: 400, json: { errors: { title: [expect.any(String)] } } })
  })

  it('lists for everybody, and answers its own errors as JSON', async () => {
    const list = await client.send({ path: '/api/v1/books' })
    expect(list).toMatchObject({ status: 200, json: { count: 2, results: [{ title: 'Momo' }, { title: 'Zazie' }] } })
    expect(await client.send({ path: '/api/v1/books/2' })).toMatchObject({ status: 404 })
    expect(await client.send({ path: '/api/v1/books/9' })).toMatchObject({ status: 404, json: { status: 404 } })
    expect(await client.send({ method: 'PUT', path: '/api/v1/books' })).toMatchObject({
      status: 405,
      json: { status: 405 },
      headers: { allow: 'GET, POST, HEAD, OPTIONS' },
    })
  })
})
