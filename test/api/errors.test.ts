import { once } from 'node:events'
import { connect, createServer, type IncomingHttpHeaders } from 'node:http2'
import type { AddressInfo } from 'node:net'
import knex from 'knex'
import { Model, type QueryBuilder } from 'objection'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  APIRouter,
  ApiError,
  AuthenticationFailed,
  BadRequest,
  BasePermission,
  BaseThrottle,
  BulkCreateMixin,
  BulkModelViewSet,
  Conflict,
  CreateMixin,
  FieldFilter,
  GenericViewSet,
  ListMixin,
  ModelSerializer,
  ModelViewSet,
  NotFound,
  PermissionDenied,
  type Serializer,
  ServiceUnavailable,
  Throttled,
  ValidationError,
} from '../../lib/index.js'
import { errors } from '../../plugins/index.js'
import { type Client, expectRules, LEAKS, serveApp } from '../support/client.js'
import { countQueries } from '../support/database.js'
import { endsHeadOfHttp2 } from '../support/installed.js'
import { Author, AuthorSerializer, Book, BookViewSet, database, useLibrary } from '../support/library.js'
import { runsAsRole } from '../support/roles.js'

useLibrary({ sql: 'alter table books add unique (author_id, title)' })

class AuthorViewSet extends ModelViewSet<Author> {
  static override model = Author
  static override serializerClass = AuthorSerializer
}

/** Serves books with this view set, and authors. */
async function library(Books: typeof BookViewSet = BookViewSet): Promise<Client> {
  const api = new APIRouter({ prefix: '/api' }).register('books', Books).register('authors', AuthorViewSet)
  await api.prepare()
  const client = await serveApp(async (ctx, next) => {
    ctx.set('X-App-Version', '7')
    await next()
  }, api.routes())
  return client
}

/** What the views of these tests throw. */
const THROWN = Object.fromEntries([401, 403, 404, 409, 410, 418, 429].map((status) => [status, 'Thrown.']))

/** Books whose create does this, inside its transaction and behind an insert. */
function creating(work: (view: ModelViewSet<Book>, serializer: Serializer<Book>) => unknown): typeof BookViewSet {
  return class Books extends BookViewSet {
    static override responses = THROWN
    override async performCreate(serializer: Serializer<Book>): Promise<unknown> {
      await Book.query(this.trx).insert({ title: 'first' })
      return work(this, serializer)
    }
  }
}

function pool(db: { client: unknown }): { used: number; waiting: number } {
  const { pool } = db.client as { pool: { numUsed(): number; numPendingAcquires(): number } }
  return { used: pool.numUsed(), waiting: pool.numPendingAcquires() }
}

describe('every error', () => {
  it.each<[string, () => unknown, number, string, Record<string, string>]>([
    ['BadRequest', () => new BadRequest('Bad'), 400, '{"detail":"Bad","status":400}', {}],
    [
      'ValidationError',
      () => new ValidationError({ title: ['No.'], author: { name: ['Nor this.'] } }),
      400,
      '{"detail":"Validation failed","status":400,"errors":{"title":["No."],"author":{"name":["Nor this."]}}}',
      {},
    ],
    [
      'ValidationError of no field',
      () => new ValidationError('No.'),
      400,
      '{"detail":"Validation failed","status":400,"errors":{"non_field_errors":["No."]}}',
      {},
    ],
    [
      'AuthenticationFailed',
      () => new AuthenticationFailed(),
      401,
      '{"detail":"Authentication required","status":401}',
      { 'www-authenticate': 'Session realm="api"' },
    ],
    ['PermissionDenied', () => new PermissionDenied(), 403, '{"detail":"Permission denied","status":403}', {}],
    ['NotFound', () => new NotFound(), 404, '{"detail":"Not found","status":404}', {}],
    ['Conflict', () => new Conflict('Busy'), 409, '{"detail":"Busy","status":409}', {}],
    ['ApiError 410', () => new ApiError(410, 'Gone'), 410, '{"detail":"Gone","status":410}', {}],
    ['ApiError 418', () => new ApiError(418, 'Short'), 418, '{"detail":"Short","status":418}', {}],
    [
      'Throttled',
      () => new Throttled(41.2),
      429,
      '{"detail":"Request was throttled. Retry after 42 seconds","status":429}',
      { 'retry-after': '42' },
    ],
  ])('%s is rolled back and answered in one form', async (_name, make, status, text, headers) => {
    const { send, reported } = await library(
      creating(() => {
        throw make()
      }),
    )
    const response = await send('POST', '/api/books', { title: 'One' })
    expect(response).toMatchObject({ status, text, headers: { ...headers, 'x-app-version': '7' } })
    expect(await Book.query().resultSize()).toBe(0)
    expect(reported).toEqual([])
  })

  it.each<[string, () => unknown]>([
    ['an error', () => new Error('select * from books where password = hunter2')],
    ['a TypeError', () => new TypeError('Cannot read properties of undefined')],
    ['a text', () => 'select secret from books'],
    ['nothing', () => undefined],
    ['null', () => null],
    ['an ApiError of 500', () => new ApiError(500, 'insert into books values')],
    ['an error with a status of 500', () => Object.assign(new Error('hunter2'), { status: 500, expose: true })],
    ['an error with a status of 200', () => Object.assign(new Error('hunter2'), { status: 200, expose: true })],
  ])('%s that nobody knows is one 500 and one event', async (_name, make) => {
    const thrown = make()
    const { send, reported } = await library(
      creating(() => {
        throw thrown
      }),
    )
    const response = await send('POST', '/api/books', { title: 'One' })
    expect(response.status).toBe(500)
    expect(response.text).toBe('{"detail":"Internal server error","status":500}')
    expect(response.headers).toMatchObject({ 'x-app-version': '7' })
    expect(reported).toHaveLength(1)
    if (thrown instanceof Error) expect(reported[0]).toBe(thrown)
    expect(await Book.query().resultSize()).toBe(0)
    expect(pool(database.knex)).toEqual({ used: 0, waiting: 0 })
  })

  it('of a view that cannot be made is answered in our form, too', async () => {
    class Books extends BookViewSet {
      readonly broken = (() => {
        throw new Error('no view')
      })()
    }
    const { get, reported } = await library(Books)
    expect(await get('/api/books')).toMatchObject({ status: 500, headers: { 'x-app-version': '7' } })
    expect(reported).toEqual([new Error('no view')])
  })

  it('has the same headers and no body for HEAD', async () => {
    const { get, send } = await library()
    const [whole, head] = [await get('/api/books/9'), await send('HEAD', '/api/books/9')]
    expect(head).toMatchObject({ status: 404, text: '' })
    const { date: _, ...headers } = head.headers
    expect(whole.headers).toMatchObject(headers)
    expect(headers['content-length']).toBe(String(whole.text.length))
  })

  it.skipIf(!endsHeadOfHttp2).each(['/api/books/9', '/api/nothing'])('has them over HTTP/2, too: %s', async (path) => {
    const { app } = await library()
    app.middleware.unshift(errors())
    const answer = app.callback()
    const server = createServer((req, res) => void answer(req, res)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    onTestFinished(() => {
      session.destroy()
      server.close()
    })
    const headersOf = async (method: string) => {
      const stream = session.request({ ':method': method, ':path': path }).resume()
      const [{ date: _, ...headers }] = (await once(stream, 'response')) as [IncomingHttpHeaders]
      return headers
    }
    const head = await headersOf('HEAD')
    expect(head).toMatchObject({ ':status': 404, 'cache-control': 'no-store' })
    expect(await headersOf('GET')).toEqual(head)
  })

  it('is JSON whatever Accept and the suffix say', async () => {
    const { get } = await library()
    for (const accept of ['text/csv', 'application/problem+json', 'text/html', ';;;', '']) {
      expectRules(await get('/api/books/9', { Accept: accept }))
    }
    expectRules(await get('/api/books/9.json'))
  })

  it('removes what the action has said of another answer', async () => {
    const { send } = await library(
      creating(({ ctx }) => {
        ctx.set({ Location: '/x', ETag: '"x"', 'Content-Disposition': 'attachment', 'X-Mine': 'stays' })
        ctx.body = 'begun'
        throw new Conflict('Busy')
      }),
    )
    const { headers, json } = await send('POST', '/api/books', { title: 'One' })
    expect(json).toEqual({ detail: 'Busy', status: 409 })
    expect(headers).toMatchObject({ 'x-mine': 'stays' })
    expect(headers).not.toHaveProperty('content-disposition')
  })

  it('keeps the connection', async () => {
    const { port } = await library()
    const { exchange } = await import('../support/server.js')
    const bad = 'POST /api/books HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n{x}'
    const good = 'GET /api/books HTTP/1.1\r\nHost: a\r\n\r\n'
    const text = await exchange(port, bad + good + bad + good, (answers) => answers.split('[]').length === 3)
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['400', '200', '400', '200'])
  })

  it('of a missing object is the same bytes, whatever the reason', async () => {
    class Books extends BookViewSet {
      override getQueryset(): QueryBuilder<Book> {
        return super.getQueryset().where('n', 0)
      }
      override async getObject(): Promise<Book> {
        return super.getObject()
      }
    }
    const { get } = await library(Books)
    await Book.query().insert({ title: 'hidden', n: 1 })
    const texts = await Promise.all(
      ['1', '2', '2147483648', '9223372036854775807'].map((id) => get(`/api/books/${id}`)),
    )
    expect(new Set(texts.map(({ text }) => text)).size).toBe(1)
  })
})

describe('the body', () => {
  it.each<[string, string, string]>([
    ['not JSON', '{', '{"detail":"Malformed JSON","status":400}'],
    ['a prototype', '{"title":"x","__proto__":{"is_admin":true}}', '"status":400'],
  ])('[A4] with %s is 400', async (_what, body, text) => {
    const { port } = await library()
    const { exchange } = await import('../support/server.js')
    const request = `POST /api/books HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    expect(await exchange(port, request, (answer) => answer.includes(text))).toMatch(/^HTTP\/1\.1 400 /)
  })

  it.each([
    ['null', null],
    ['1', 1],
    ['"x"', 'x'],
    ['[]', []],
    ['true', true],
    ['[{}]', [{}]],
  ])('[B12] %s where an object is due is 400', async (_text, body) => {
    const { send } = await library()
    const response = await send('POST', '/api/books', body)
    expect(response).toMatchObject({ status: 400, json: { errors: { non_field_errors: [expect.any(String)] } } })
    expect(await Book.query().resultSize()).toBe(0)
  })

  it.each<[string, unknown, string]>([
    ['[B1]', { title: 'x', n: 2147483648 }, 'n'],
    ['[B1]', { title: 'x', author_id: 2147483648 }, 'author_id'],
    ['[B3]', { title: 'x', big: 9007199254740992 }, 'big'],
    ['[B3]', { title: 'x', big: '9223372036854775808' }, 'big'],
    ['[B5]', { title: 'x', price: '123456.78' }, 'price'],
    ['[B5]', { title: 'x', price: '1.239' }, 'price'],
    ['[B7]', { title: 'a\0b' }, 'title'],
    ['[B8]', { title: 'x\ud800y' }, 'title'],
    ['[B13]', { title: ['x'] }, 'title'],
    ['[B13]', { title: 'x', n: '1' }, 'n'],
    ['[B13]', { title: 'x', n: 7.9 }, 'n'],
    ['[B13]', { title: 'x', n: true }, 'n'],
    ['[B13]', { title: null }, 'title'],
  ])('%s %j is 400 at its field, and sends no write', async (_id, body, field) => {
    const { send } = await library()
    const queries = await countQueries(database.knex, async () => {
      const response = await send('POST', '/api/books', body)
      expect(response).toMatchObject({ status: 400, json: { detail: 'Validation failed', status: 400 } })
      expect(Object.keys(response.json.errors)).toEqual([field])
    })
    expect(queries.filter((sql) => sql.startsWith('insert'))).toEqual([])
  })

  it('[B3] keeps all digits of an int8', async () => {
    const { get, send } = await library()
    const created = await send('POST', '/api/books', { title: 'x', big: '9007199254740993' })
    expect(created).toMatchObject({ status: 201, json: { big: '9007199254740993' } })
    expect((await get('/api/books/1')).json.big).toBe('9007199254740993')
    expect((await send('PATCH', '/api/books/1', { big: 9007199254740991 })).json.big).toBe(9007199254740991)
  })
})

/** Resources over tables that the database constrains in other ways than the library's, each with its bulk routes. */
async function constrained(): Promise<Client> {
  const api = new APIRouter({ prefix: '/api' })
  await database.knex.raw(CONSTRAINED)
  const related = (modelClass: typeof Model, from: string, to: string) => ({
    relation: Model.BelongsToOneRelation,
    modelClass,
    join: { from, to },
  })
  class Owner extends Model {
    static override tableName = 'owners'
  }
  class Code extends Model {
    static override tableName = 'codes'
    static override idColumn = 'code'
    static override relationMappings = () => ({ parent: related(Code, 'codes.up', 'codes.code') })
  }
  class Narrow extends Model {
    static override tableName = 'narrow'
    static override relationMappings = () => ({
      small: related(Owner, 'narrow.small_id', 'owners.id'),
      coded: related(Code, 'narrow.code', 'codes.code'),
    })
  }
  class Part extends Model {
    static override tableName = 'parts'
    static override relationMappings = () => ({ author: related(Author, 'parts.author_id', 'authors.id') })
  }
  for (const model of [Owner, Code, Narrow, Part]) {
    model.knex(database.knex)
    class TableSerializer extends ModelSerializer {
      static override schemaName = model.name
      static override model = model
      static override fields = '__all__'
    }
    // no single column of a partitioned table tells its rows apart
    const base: typeof BulkModelViewSet = model === Part ? (Created as never) : BulkModelViewSet
    class Table extends base {
      static override model = model
      static override serializerClass: typeof TableSerializer = TableSerializer
    }
    api.register(model.tableName, Table)
  }
  await api.prepare()
  return serveApp(api.routes())
}

const Created = BulkCreateMixin(CreateMixin(ListMixin(GenericViewSet)))

const CONSTRAINED = `
  drop table if exists narrow, codes, owners, parts;
  create table owners (id bigint primary key);
  create table codes (code text primary key, up text references codes);
  create table narrow (id int generated always as identity primary key, small_id int references owners, code varchar(5) references codes);
  create table parts (id int not null, slug text, n int check (abs(n) = n), author_id int references authors, unique (id, slug))
    partition by range (id);
  create table parts_low partition of parts (constraint low check (n + 0 < 100)) for values from (0) to (1000);`

describe('a constraint', () => {
  it('[I1] of uniqueness lets one of 50 creates through, and answers the others alike', async () => {
    const { send, reported } = await library()
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => send('POST', '/api/books', { title: `t${i}`, isbn: 'same' })),
    )
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
    expect(statuses).toEqual([201, ...Array(49).fill(400)])
    const refused = new Set(answers.filter(({ status }) => status === 400).map(({ text }) => text))
    expect([...refused]).toEqual([
      '{"detail":"Validation failed","status":400,"errors":{"isbn":["This field must be unique."]}}',
    ])
    expect(await Book.query().resultSize()).toBe(1)
    expect(reported).toEqual([])
  })

  it('[I1] is found before the write or by it, with the same bytes', async () => {
    // the second insert happens behind the serializer's own check
    const { send } = await library(
      creating(async (view, serializer) => {
        await Book.query(view.trx).insert({ title: 'beside', isbn: serializer.validatedData.isbn })
        return serializer.save()
      }),
    )
    const late = await send('POST', '/api/books', { title: 'One', isbn: '1' })
    await Book.query().insert({ title: 'One', isbn: '1' })
    const early = await send('POST', '/api/books', { title: 'Two', isbn: '1' })
    expect(late.status).toBe(400)
    expect(late.text).toBe(early.text)
  })

  it('over several columns is reported under no field, by PUT and PATCH too', async () => {
    const { send } = await library()
    await send('POST', '/api/books', { title: 'Same', author_id: 1 })
    await send('POST', '/api/books', { title: 'Other', author_id: 1 })
    const errors = { non_field_errors: ['The fields author_id, title must make a unique set.'] }
    expect(await send('POST', '/api/books', { title: 'Same', author_id: 1 })).toMatchObject({
      status: 400,
      json: { errors },
    })
    expect(await send('PATCH', '/api/books/2', { title: 'Same' })).toMatchObject({ status: 400, json: { errors } })
    expect(await send('PUT', '/api/books/2', { title: 'Same', author_id: 1 })).toMatchObject({
      status: 400,
      json: { errors },
    })
    expect((await send('PATCH', '/api/books/1', { title: 'Same' })).status).toBe(200)
  })

  it('of a foreign key names the value at its field', async () => {
    const { send } = await library()
    expect((await send('POST', '/api/books', { title: 'x', author_id: 999 })).text).toBe(
      '{"detail":"Validation failed","status":400,"errors":{"author_id":["Invalid pk \\"999\\" - object does not exist."]}}',
    )
  })

  it.each(['small_id', 'code'])(
    'of a foreign key names a value that %s cannot hold at its field, too',
    async (field) => {
      const { send } = await constrained()
      const key = field === 'small_id' ? 9_999_999_999 : 'too long'
      const errors = { [field]: [`Invalid pk "${key}" - object does not exist.`] }
      expect((await send('POST', '/api/narrow', { [field]: key })).json).toMatchObject({ errors })
      expect((await send('POST', '/api/narrow/bulk', [{ [field]: key }])).json).toMatchObject({ errors: { 0: errors } })
      expect((await send('POST', '/api/narrow', {})).status).toBe(201)
      expect((await send('PATCH', '/api/narrow/1', { [field]: key })).json).toMatchObject({ errors })
    },
  )

  it.each<[string, object, object]>([
    ['a foreign key', { author_id: 999 }, { author_id: ['Invalid pk "999" - object does not exist.'] }],
    ['a check', { n: -1 }, { n: ['Invalid value.'] }],
    ['a check of the partition alone', { n: 1_000 }, { n: ['Invalid value.'] }],
    [
      'a unique constraint',
      { id: 1, slug: 'taken' },
      { non_field_errors: ['The fields id, slug must make a unique set.'] },
    ],
  ])('of a partitioned table, %s, is named like any other', async (_what, values, errors) => {
    const { send } = await constrained()
    await database.knex('parts').insert({ id: 1, slug: 'taken' })
    const item = { id: 2, slug: 'free', ...values }
    expect((await send('POST', '/api/parts', item)).json).toMatchObject({ errors })
    const list = [{ id: 3, slug: 'other' }, item]
    expect((await send('POST', '/api/parts/bulk', list)).json).toMatchObject({ errors: { 1: errors } })
    expect(await database.knex('parts')).toHaveLength(1)
  })

  it('that only the database finds is reported with no word of its own', async () => {
    const { send } = await library(
      creating(({ ctx }, serializer) => serializer.save(JSON.parse(String(ctx.query['with'])) as object as never)),
    )
    const saving = async (values: object) => {
      const { status, json } = await send('POST', `/api/books?with=${JSON.stringify(values)}`, { title: 'x' })
      expect(status).toBe(400)
      return json.errors
    }
    expect(await saving({ title: null })).toEqual({ title: ['This field may not be null.'] })
    expect(await saving({ n: -1 })).toEqual({ n: ['Invalid value.'] })
    expect(await saving({ isbn: null, author_id: 999 })).toEqual({ author_id: [expect.stringMatching(/^Invalid /)] })
  })

  it('on DELETE is 409 while other objects refer to it', async () => {
    const { send } = await library()
    await Book.query().insert({ title: 'One', author_id: 1 })
    expect(await send('DELETE', '/api/authors/1')).toMatchObject({
      status: 409,
      text: '{"detail":"Object is referenced by other objects.","status":409}',
    })
    await Book.query().delete()
    const spare = await send('POST', '/api/authors', { name: 'Spare' })
    expect((await send('DELETE', `/api/authors/${spare.json.id}`)).status).toBe(204)
  })

  it('on a changed key is 409 while other objects refer to it', async () => {
    const { send } = await constrained()
    await database.knex('codes').insert([{ code: 'a' }, { code: 'b', up: 'a' }, { code: 'c' }])
    await database.knex('narrow').insert({ code: 'c' })
    const conflict = { status: 409, json: { detail: 'Object is referenced by other objects.' } }
    expect(await send('PATCH', '/api/codes/a', { code: 'z' })).toMatchObject(conflict)
    expect(await send('PATCH', '/api/codes/c', { code: 'z' })).toMatchObject(conflict)
    expect((await send('PATCH', '/api/codes/b', { code: 'z' })).status).toBe(200)
    // a value that reads like the database's own words
    const up = 'x) is still referenced from table "codes".'
    expect((await send('POST', '/api/codes', { code: 'y', up })).json).toMatchObject({
      errors: { up: [expect.stringMatching(/^Invalid pk /)] },
    })
  })

  it('[I2] holds between deleting an author and creating books', async () => {
    const { send, reported } = await library()
    for (let round = 0; round < 10; round++) {
      const { id } = (await send('POST', '/api/authors', { name: 'Cas' })).json
      const answers = await Promise.all([
        ...Array.from({ length: 10 }, (_, i) => send('POST', '/api/books', { title: `t${round}-${i}`, author_id: id })),
        send('DELETE', `/api/authors/${id}`),
        ...Array.from({ length: 10 }, (_, i) => send('POST', '/api/books', { title: `u${round}-${i}`, author_id: id })),
      ])
      const deleted = answers[10]?.status
      expect([204, 409]).toContain(deleted)
      for (const [index, { status, json }] of answers.entries()) {
        if (index === 10) continue
        expect([201, 400]).toContain(status)
        if (status === 400) {
          expect(json.errors).toEqual({ author_id: [`Invalid pk "${id}" - object does not exist.`] })
        }
      }
      const created = answers.filter(({ status }) => status === 201).length
      expect(await Book.query().where('author_id', id).resultSize()).toBe(deleted === 204 ? 0 : created)
      if (deleted === 204) expect(created).toBe(0)
    }
    expect(reported).toEqual([])
  })
})

describe('a value that only PostgreSQL can read', () => {
  class Place extends Model {
    static override tableName = 'places'
    static override idColumn = 'path'
  }
  class PlaceSerializer extends ModelSerializer {
    static override model = Place
    static override fields = '__all__'
  }
  class Places extends BulkModelViewSet {
    static override model = Place
    static override serializerClass = PlaceSerializer
    static override lookupField = 'path'
    static override filterBackends = [FieldFilter]
    static override filtersetFields = ['path']
  }
  beforeAll(async () => {
    await database.knex.raw('create extension ltree; create table places (path ltree primary key, words tsvector)')
    Place.knex(database.knex)
  })

  it('is the fault of the client', async () => {
    const api = new APIRouter({ prefix: '/api' }).register('places', Places)
    await api.prepare()
    const { get, send, reported } = await serveApp(api.routes())
    const errors = { non_field_errors: ['Invalid value.'] }
    const refused = { status: 400, json: { errors } }
    expect(await send('POST', '/api/places', { path: 'a b!' })).toMatchObject(refused)
    expect(await send('POST', '/api/places', { path: 'a', words: "'a" })).toMatchObject(refused)
    expect((await send('POST', '/api/places', { path: 'a' })).status).toBe(201)
    expect(await send('PATCH', '/api/places/a', { words: "'a" })).toMatchObject(refused)
    expect(await send('POST', '/api/places/bulk', [{ path: 'b' }, { path: 'a b!' }])).toMatchObject({
      status: 400,
      json: { errors: { 1: errors } },
    })
    expect(await send('PATCH', '/api/places/bulk', [{ path: 'a', words: "'a" }])).toMatchObject({
      status: 400,
      json: { errors: { 0: errors } },
    })
    expect(await get('/api/places?path=a%20b!')).toMatchObject({ status: 200, json: [] })
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      expect((await send(method, '/api/places/a%20b!', method === 'PATCH' ? {} : undefined)).status).toBe(404)
    }
    expect(reported).toEqual([])
  })
})

describe('an error of PostgreSQL', () => {
  const statuses: [string, string, number][] = [
    ['22P02', 'a bad value', 400],
    ['22003', 'a number out of range', 400],
    ['23514', 'a check', 400],
    ['44000', 'a check option of a view', 400],
    ['40001', 'a serialization failure', 503],
    ['40P01', 'a deadlock', 503],
    ['55P03', 'a lock timeout', 503],
    ['57014', 'a statement timeout', 503],
    ['53300', 'too many connections', 503],
    ['25006', 'a standby', 503],
    // under a role it says that nobody has no such right
    ['42501', 'row-level security', runsAsRole() ? 401 : 403],
    ['54001', 'too complex a statement', 400],
    ['42P01', 'a missing table', 500],
    ['42703', 'a missing column', 500],
    ['P0001', 'an exception of PL/pgSQL', 500],
    ['XX000', 'an internal error', 500],
    ['08P01', 'too many parameters', 500],
  ]
  it.each(statuses)('%s, %s, is %i', async (code, _what, status) => {
    const { send, reported } = await library(
      creating(({ trx }) =>
        trx?.raw(`do $$ begin raise exception 'failing row "a secret" violates' using errcode = '${code}'; end $$`),
      ),
    )
    const response = await send('POST', '/api/books', { title: 'One' })
    expect(response.status).toBe(status)
    expect(response.text).not.toMatch(/secret/)
    expect(reported).toHaveLength(status >= 500 ? 1 : 0)
    expect(await Book.query().resultSize()).toBe(0)
    expect(pool(database.knex)).toEqual({ used: 0, waiting: 0 })
  })

  it('that an action swallows takes the whole request back: no success is told that is none', async () => {
    const { send, reported } = await library(
      creating(async ({ trx }, serializer) => {
        const saved = await serializer.save()
        await trx?.raw('select 1/0').catch(() => undefined)
        return saved
      }),
    )
    const { status } = await send('POST', '/api/books', { title: 'One' })
    const stored = await Book.query().resultSize()
    expect({ status, stored }).toEqual({ status: 500, stored: 0 })
    expect(reported).toMatchObject([{ message: expect.stringContaining('savepoint'), cause: { code: '22012' } }])
  })

  it('that an action swallows in a savepoint takes back nothing else', async () => {
    const { send } = await library(
      creating(async ({ trx }, serializer) => {
        await trx?.transaction((inner) => inner.raw('select 1/0')).catch(() => undefined)
        return serializer.save()
      }),
    )
    expect((await send('POST', '/api/books', { title: 'One' })).status).toBe(201)
    expect(await Book.query().resultSize()).toBe(2)
  })
})

describe('a database that is away', () => {
  it('[I8] answers 503 with Retry-After for the connection that is cut, and serves the next request', async () => {
    const { send, reported } = await library(
      creating(({ trx }) => trx?.raw('select pg_terminate_backend(pg_backend_pid())')),
    )
    expect(await send('POST', '/api/books', { title: 'One' })).toMatchObject({
      status: 503,
      text: '{"detail":"Service temporarily unavailable","status":503}',
    })
    expect(reported).toMatchObject([{ name: 'ServiceUnavailable', cause: expect.any(Error) }])
    expect((await send('GET', '/api/books')).json).toEqual([])
    expect(pool(database.knex)).toEqual({ used: 0, waiting: 0 })
  })

  it('[I8] recovers by itself when every connection was cut', async () => {
    const { get } = await library()
    const own = knex({ client: 'pg', connection: { ...database.connection } as never, pool: { min: 0, max: 1 } })
    await Promise.all(Array.from({ length: 20 }, () => get('/api/books')))
    await own.raw(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    )
    await own.destroy()
    const answers = await Promise.all(Array.from({ length: 20 }, () => get('/api/books')))
    for (const { status } of answers) expect([200, 503]).toContain(status)
    await expect.poll(async () => (await get('/api/books')).status).toBe(200)
    expect(pool(database.knex)).toEqual({ used: 0, waiting: 0 })
  })

  it('is 503 while it refuses connections, for reading and writing', async () => {
    const away = knex({ client: 'pg', connection: { host: '127.0.0.1', port: 1, user: 'x' }, pool: { min: 0, max: 1 } })
    class Books extends BookViewSet {
      override getKnex() {
        return away
      }
    }
    const { send, reported } = await library(Books)
    for (const [method, path] of [
      ['GET', '/api/books'],
      ['GET', '/api/books/1'],
      ['POST', '/api/books'],
      ['PATCH', '/api/books/1'],
      ['DELETE', '/api/books/1'],
    ] as const) {
      const body = method === 'GET' || method === 'DELETE' ? undefined : { title: 'x' }
      expect(await send(method, path, body)).toMatchObject({ status: 503, headers: { 'x-app-version': '7' } })
    }
    expect(reported).toHaveLength(5)
    expect((await send('OPTIONS', '/api/books')).status).toBe(200)
    // whether it has the table at all, nobody could ask
    expect((await send('GET', '/api/books/2147483648')).status).toBe(503)
    await away.destroy()
  })

  it('[I7 R5] 46 is 503 when the pool is exhausted, then nothing is lost', async () => {
    const small = knex({
      client: 'pg',
      connection: { ...database.connection } as never,
      pool: { min: 0, max: 2 },
      acquireConnectionTimeout: 300,
    })
    class Anonymous extends BasePermission {
      override hasPermission({ query }: { query: Record<string, unknown> }): boolean {
        return query['refuse'] === undefined
      }
    }
    class Books extends BookViewSet {
      static override permissionClasses = [Anonymous as never]
      override getKnex() {
        return small
      }
    }
    const { get, send } = await library(Books)
    expect((await get('/api/books')).status).toBe(200)
    const held = await Promise.all([small.client.acquireConnection(), small.client.acquireConnection()])
    const answers = Promise.all([
      get('/api/books'),
      get('/api/books/1'),
      send('POST', '/api/books', { title: 'x' }),
      send('DELETE', '/api/books/1'),
    ])
    await vi.waitFor(() => expect(pool(small)).toEqual({ used: 2, waiting: 4 }))
    expect((await answers).map(({ status }) => status)).toEqual([503, 503, 503, 503])
    expect(pool(small)).toEqual({ used: 2, waiting: 0 })
    // what needs no database is answered as ever
    expect((await send('OPTIONS', '/api/books')).status).toBe(200)
    expect((await get('/api/books?refuse=1')).status).toBe(401)
    expect((await send('DELETE', '/api/books')).status).toBe(405)
    expect((await send('POST', '/api/books', {}, { 'Content-Type': 'text/plain' })).status).toBe(415)
    expect((await get('/api/books/abc')).status).toBe(404)
    for (const connection of held) await small.client.releaseConnection(connection)
    expect((await get('/api/books')).status).toBe(200)
    expect((await send('POST', '/api/books', { title: 'x' })).status).toBe(201)
    expect(pool(small)).toEqual({ used: 0, waiting: 0 })
    await small.destroy()
  })

  it('is 503 from hooks that say so themselves', async () => {
    const { send } = await library(
      creating(() => {
        throw new ServiceUnavailable(30)
      }),
    )
    expect(await send('POST', '/api/books', { title: 'x' })).toMatchObject({
      status: 503,
      headers: { 'retry-after': '30' },
    })
  })
})

describe('refusals before the action', () => {
  it('of a throttle is 429 with the same seconds in header and text', async () => {
    class Never extends BaseThrottle {
      check(): void {
        throw new Throttled(0.2)
      }
    }
    class Books extends BookViewSet {
      static override throttleClasses = [Never]
    }
    const { get } = await library(Books)
    expect(await get('/api/books')).toMatchObject({
      status: 429,
      headers: { 'retry-after': '1' },
      text: '{"detail":"Request was throttled. Retry after 1 seconds","status":429}',
    })
  })

  it('[E23] of a permission that throws is 500', async () => {
    class Broken extends BasePermission {
      override hasPermission(): boolean {
        throw new Error('select role from users')
      }
    }
    class Books extends BookViewSet {
      static override permissionClasses = [Broken]
    }
    const { get, reported } = await library(Books)
    expect((await get('/api/books')).text).toBe('{"detail":"Internal server error","status":500}')
    expect(reported).toHaveLength(1)
  })
})

describe('the oracle of leaks', () => {
  it.each([
    'select "books".* from "books" where "id" = 1',
    'insert into "books" ("title") values ($1)',
    'DETAIL: Failing row contains (1, hunter2)',
    'duplicate key value violates unique constraint',
    'column \\"secret\\"',
    'books_isbn_unique',
    'at Object.<anonymous> (/srv/app.js:1:2)',
    '/srv/node_modules/pg/lib/client.js',
    '23505',
  ])('sees %s', (text) => {
    expect(LEAKS.some((leak) => leak.test(text))).toBe(true)
  })

  it('is quiet about our own texts', () => {
    for (const text of [
      '{"detail":"Validation failed","status":400,"errors":{"n":["Invalid value."]}}',
      '/api/v1/books?page=2',
    ]) {
      expect(LEAKS.some((leak) => leak.test(text))).toBe(false)
    }
  })
})

describe('with errors() mounted first', () => {
  it('an answer of the API is left as it is, and the rest of the app answers in the same form', async () => {
    const api = new APIRouter({ prefix: '/api' }).register('books', BookViewSet)
    await api.prepare()
    const client = await serveApp(errors(), api.routes(), (ctx) => {
      if (ctx.path === '/bug') throw new Error('bug')
    })
    expect((await client.get('/api/books/9')).text).toBe('{"detail":"Not found","status":404}')
    expect((await client.get('/api/books/abc')).text).toBe('{"detail":"Not found","status":404}')
    expect((await client.get('/nowhere')).text).toBe('{"detail":"Not found","status":404}')
    expect((await client.get('/bug')).text).toBe('{"detail":"Internal server error","status":500}')
    expect((await client.send('DELETE', '/api/books')).status).toBe(405)
    expect(client.reported).toHaveLength(1)
  })
})
