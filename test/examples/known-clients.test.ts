import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { findFreePort, type Program, readProjectFile, startFile, toUrl, untilAnswer } from '../support/program.js'
import { connectTo, type TestClient } from '../support/server.js'

const PAGES = ['known-clients', 'filters-and-search', 'pages', 'join-tables'].map((page) => `docs/how-to/${page}.md`)

describe('an API whose clients know another wire', () => {
  let database: TestDatabase
  let program: Program
  let client: TestClient

  beforeAll(async () => {
    database = await createDatabase({
      schema: `
        create table books (id int generated always as identity primary key, title text not null unique, price numeric(6,2));
        create table reviews (id int generated always as identity primary key, book_id int not null references books);
        create table genres (id int generated always as identity primary key, name text not null);
        create table books_genres (book_id int not null references books, genre_id int not null references genres,
          primary key (book_id, genre_id));
        insert into books (title, price) values ('Momo', 9.5), ('Zazie', 12), ('Ubik', 20);
        insert into reviews (book_id) values (2), (2);
        insert into genres (name) values ('novel'), ('children');
        insert into books_genres values (2, 1)`,
    })
    const port = await findFreePort()
    program = startFile('examples/known-clients.ts', { DATABASE_URL: toUrl(database.connection), PORT: String(port) })
    await untilAnswer(program, port, '/api/books')
    client = connectTo(port)
  })
  afterAll(async () => {
    await program?.stop()
    await database.drop()
  })

  const get = (path: string) => client.send({ path })
  const send = (method: string, path: string, body?: object) =>
    client.send({ method, path, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body ?? {}) })

  it('is what the book quotes', () => {
    const example = readProjectFile('examples/known-clients.ts')
    const quoted = PAGES.map((page) =>
      [...readProjectFile(page).matchAll(/```ts\n(.*?)```/gs)].filter(([, code = '']) => example.includes(code)),
    )
    expect(quoted.map(({ length }) => length)).toEqual([2, 1, 1, 1])
  })

  it('reads the parameters that its clients send', async () => {
    const found = await get('/api/books?price:gt=10&select=title&orderBy=-price')
    expect(found.json).toMatchObject({ data: [{ title: 'Ubik' }, { title: 'Zazie' }] })
    expect(found.json.data[0]).not.toHaveProperty('id')
    expect((await get('/api/books?price:in=9.5,20&price:ne=20')).json.data).toMatchObject([{ title: 'Momo' }])
    expect((await get('/api/books?reviewed=true')).json.data).toMatchObject([{ title: 'Zazie' }])
    expect((await get('/api/books?price:gt=much')).status).toBe(400)
    expect((await get('/api/books?constructor=1&__proto__=1&:=1')).json.data).toHaveLength(3)
  })

  it('gives pages of its own shape, whatever number is asked for', async () => {
    const second = await get('/api/books?page=2&per_page=2&orderBy=title')
    expect(second.json).toEqual({
      metadata: { page: 2, per_page: 2, total_count: 3 },
      data: [{ id: 2, title: 'Zazie', price: '12.00' }],
    })
    const first = { metadata: { page: 1, per_page: 10 } }
    for (const page of ['0', '-1', '1.5', 'x', '1e400', '9'.repeat(30), '']) {
      expect((await get(`/api/books?page=${page}&per_page=${page}`)).json).toMatchObject(first)
    }
    expect((await get('/api/books?page=999999&per_page=999999')).json).toMatchObject({ data: [] })
  })

  it('answers writes in its own way, and 409 for a title that is taken', async () => {
    expect(await send('PATCH', '/api/books/1', { price: '8.00' })).toMatchObject({
      status: 200,
      json: { success: true },
    })
    expect((await get('/api/books/1')).json).toMatchObject({ price: '8.00' })
    const conflict = { status: 409, json: { detail: 'There is such a book already.' } }
    expect(await send('POST', '/api/books', { title: 'Momo' })).toMatchObject(conflict)
    expect(await send('PATCH', '/api/books/1', { title: 'Ubik' })).toMatchObject(conflict)
    expect(await send('POST', '/api/books', {})).toMatchObject({ status: 400 })
    expect(await send('PATCH', '/api/books/99', {})).toMatchObject({ status: 404 })
  })

  it('lists, adds and removes what stands in a join table', async () => {
    expect((await get('/api/catalogue/2/genres')).json).toEqual([{ id: 1, name: 'novel' }])
    expect((await send('POST', '/api/catalogue/2/genres/2')).status).toBe(204)
    expect((await get('/api/catalogue/2/genres')).json).toHaveLength(2)
    expect((await get('/api/catalogue/1/genres')).json).toEqual([])
    expect((await send('POST', '/api/catalogue/2/genres/2')).status).toBe(400)
    expect((await send('DELETE', '/api/catalogue/2/genres/2')).status).toBe(204)
    expect((await send('DELETE', '/api/catalogue/2/genres/2')).status).toBe(404)
    for (const path of ['/api/catalogue/2/genres/9', '/api/catalogue/9/genres/1']) {
      expect((await send('POST', path)).status).toBe(404)
    }
    expect((await get('/api/catalogue/9/genres')).status).toBe(404)
    expect((await send('POST', '/api/catalogue/2/genres/99999999999')).status).toBeLessThan(500)
  })
})

describe('an API for admin front ends', () => {
  let database: TestDatabase
  let program: Program
  let client: TestClient

  beforeAll(async () => {
    database = await createDatabase({
      schema: `
        create table books (
          id int generated always as identity primary key, title varchar(20) not null, price numeric(6,2), author_id int);
        insert into books (title, price, author_id) select 'book ' || i, i, 1 + i % 3 from generate_series(1, 9) i`,
    })
    const port = await findFreePort()
    program = startFile('examples/admin-front-ends.ts', {
      DATABASE_URL: toUrl(database.connection),
      PORT: String(port),
    })
    await untilAnswer(program, port, '/refine/books')
    client = connectTo(port)
  })
  afterAll(async () => {
    await program?.stop()
    await database.drop()
  })

  const get = (path: string) => client.send({ path })
  const send = (method: string, path: string, body: object) =>
    client.send({ method, path, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })
  const found = async (path: string) => {
    const { json, headers } = await get(path)
    return [json.map(({ id }: { id: number }) => id), headers['x-total-count']]
  }

  it('is what the book quotes', () => {
    const example = readProjectFile('examples/admin-front-ends.ts')
    const blocks = [...readProjectFile('docs/how-to/admin-front-ends.md').matchAll(/```ts\n(.*?)```/gs)]
    // one application has one shape of errors
    const quoted = blocks.map(([, code = '']) => code.replace(/^configure.*\n/, ''))
    expect(quoted.map((code) => example.includes(code))).toEqual([true, true, true])
  })

  it('reads what the providers ask: order, range, filters, lists of keys', async () => {
    const simple = (query: object) =>
      `/react-admin/books?${Object.entries(query)
        .map(([name, value]) => `${name}=${encodeURIComponent(JSON.stringify(value))}`)
        .join('&')}`
    expect(await found(simple({ sort: ['id', 'DESC'], range: [2, 4], filter: {} }))).toEqual([[7, 6, 5], '9'])
    expect(await found(simple({ sort: ['id', 'ASC'], range: [0, 9], filter: { author_id: 2 } }))).toEqual([
      [1, 4, 7],
      '3',
    ])
    expect(await found(simple({ filter: { id: [3, 5] } }))).toEqual([[3, 5], '2'])
    expect((await get('/react-admin/books?sort=x&filter={')).status).toBe(400)
    expect(await found('/refine/books?_start=2&_end=5&_sort=id&_order=desc')).toEqual([[7, 6, 5], '9'])
    expect(await found('/refine/books?price_gte=8&title_like=9&_sort=id&_order=asc')).toEqual([[9], '1'])
    expect(await found('/refine/books?id=3&id=5')).toEqual([expect.arrayContaining([3, 5]), '2'])
    const { json } = await get('/django/books/?page=2&page_size=4&ordering=-id')
    expect(json).toMatchObject({ count: 9, results: [{ id: 5 }, { id: 4 }, { id: 3 }, { id: 2 }] })
  })

  it('takes a PUT of a part, and tells errors as forms read them', async () => {
    expect((await send('PUT', '/react-admin/books/1', { price: '5.00' })).json).toMatchObject({
      title: 'book 1',
      price: '5.00',
    })
    const { status, json } = await send('POST', '/refine/books', { title: 'a title that is much too long' })
    expect({ status, json }).toEqual({
      status: 400,
      json: { message: 'Validation failed', errors: { title: expect.stringContaining('20') } },
    })
  })
})
