/**
 * Behind PgBouncer, by session and by transaction: fewer connections of the server's than of our pool, so that clients
 * share them. `npm run test:pgbouncer` takes the other tests there.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import knexLibrary, { type Knex } from 'knex'
import {
  APIRouter,
  BulkModelViewSet,
  CSVRenderer,
  CursorPagination,
  configure,
  FieldFilter,
  FullTextSearchFilter,
  JSONRenderer,
  ModelSerializer,
  NestedSerializer,
  OrderingFilter,
  PageNumberPagination,
  ReadOnlyModelViewSet,
  ServerCursorPagination,
  StreamMixin,
} from 'koa-viewsets'
import { errors, transaction } from 'koa-viewsets/plugins'
import { rule } from 'koa-viewsets/rules'
import { DatabaseAnonThrottle, DatabaseThrottle } from 'koa-viewsets/throttling'
import { Model } from 'objection'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Client, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { Author, Book, LIBRARY } from '../support/library.js'
import { findPgBouncer, type PoolMode, startPgBouncer, warnWithoutPgBouncer } from '../support/pgbouncer.js'
import { report } from './support/size.js'

const BOOKS = 1_000
const CLIENTS = 12
const ROLE = `test_${randomBytes(8).toString('hex')}`
const SECRET = { secretKey: '0123456789abcdef0123456789abcdef' }
const SCHEMA = `${LIBRARY}
  alter table books add extra jsonb;
  create table notes (id int primary key, tenant text not null);
  insert into authors (name) select 'author ' || n from generate_series(3, 5) n;
  insert into books (title, n, author_id, extra)
    select 'a word of book ' || n, n % 10, n % 5 + 1, jsonb_build_object('n', n) from generate_series(1, ${BOOKS}) n;
  insert into notes select n, 'tenant ' || n % 2 from generate_series(1, 10) n;
  alter table notes enable row level security;
  create policy own on notes using (tenant = current_setting('app.tenant', true));
  create role ${ROLE};
  grant select on notes to ${ROLE};
`

class AuthorSerializer extends ModelSerializer<Author> {
  static override model = Author
  static override fields = ['id', 'name']
}
class BookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'n', 'extra', 'author']
  static override declaredFields = { author: new NestedSerializer(AuthorSerializer, { required: false }) }
}
class Books extends StreamMixin(BulkModelViewSet<Book>) {
  static override model = Book
  static override serializerClass = BookSerializer
  static override rendererClasses = [JSONRenderer, CSVRenderer]
  static override paginationClass = PageNumberPagination
  static override filterBackends = [FieldFilter, OrderingFilter]
  static override filtersetFields = ['id', 'n', 'title']
  static override orderingFields = ['id', 'n']
}
class NativeBooks extends Books {
  static override useNativeJson = true
}
class SearchedBooks extends ReadOnlyModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override filterBackends = [FullTextSearchFilter]
  static override searchFields = ['title']
}
class Pages extends ReadOnlyModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override filterBackends = [FieldFilter]
  static override filtersetFields = ['id']
  static override paginationClass = new CursorPagination({ ordering: '-id', pageSize: 100 })
}
class Exports extends ReadOnlyModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override filterBackends = [FieldFilter]
  static override filtersetFields = ['id']
  static override paginationClass = new ServerCursorPagination({ pageSize: 400, maxTotal: 11 })
}
class Throttled extends ReadOnlyModelViewSet<Author> {
  static override model = Author
  static override serializerClass = AuthorSerializer
  static override throttleClasses = [new DatabaseAnonThrottle({ rate: '20/day' })]
}
/** A statement that ends only when it is stopped. */
class SlowBooks extends Books {
  override getQueryset() {
    return super.getQueryset().whereRaw('pg_sleep(60) is not null')
  }
}

/** What is shown of a book depends on who asks. */
const RULES = [
  rule(Book, {
    read: ({ ctx }) => ({ n__lt: Number(ctx.get('X-Below')) }),
    create: { n__lt: 100 },
    fields: { extra: { read: ({ ctx }) => ({ n__gte: Number(ctx.get('X-Below')) - 2 }), write: false } },
  }),
]

const version = findPgBouncer()
if (!version) warnWithoutPgBouncer()
/** It follows prepared statements from 1.21 on, where it is told to. */
const followsNames = version !== undefined && Number(version[1]) >= 21

describe.skipIf(!version)('behind PgBouncer', () => {
  let database: TestDatabase
  let direct: Knex
  let open: (() => Promise<unknown>)[] = []

  beforeAll(async () => {
    database = await createDatabase({ schema: SCHEMA })
    direct = knexLibrary({ client: 'pg', connection: { ...database.direct }, pool: { min: 0, max: 1 } } as Knex.Config)
  })
  afterEach(async () => {
    vi.restoreAllMocks()
    for (const close of open.reverse()) await close()
    open = []
    configure({})
  })
  afterAll(async () => {
    await direct.raw(`drop owned by ${ROLE}; drop role ${ROLE}`)
    await direct.destroy()
    await database.drop()
  })

  /** The API on a pool of its own, through a PgBouncer of its own. */
  async function start(mode: PoolMode, servers: number, settings: Record<string, number> = {}) {
    const bouncer = await startPgBouncer({
      mode,
      server: database.direct,
      settings: { default_pool_size: servers, ...settings },
    })
    open.push(bouncer.stop)
    const [{ name }] = await directly('select current_database() as name')
    const knex = knexLibrary({
      client: 'pg',
      connection: { ...bouncer.connection, database: name },
      pool: { min: 0, max: CLIENTS },
      acquireConnectionTimeout: 10_000,
      log: { warn() {}, error() {}, debug() {}, deprecate() {} },
    })
    open.push(() => knex.destroy())
    Model.knex(knex)
    await DatabaseThrottle.ensureTable(knex)
    await knex.raw('truncate koa_viewsets_throttles')
    DatabaseThrottle.setBackend(knex)
    const api = new APIRouter({ prefix: '/api' })
      .register('books', Books)
      .register('native', NativeBooks, 'native')
      .register('searched', SearchedBooks, 'searched')
      .register('pages', Pages, 'page')
      .register('exports', Exports, 'export')
      .register('throttled', Throttled, 'throttled')
      .register('slow', SlowBooks, 'slow')
    const ruled = new APIRouter({ prefix: '/ruled', rules: RULES }).register('books', Books)
    await api.prepare()
    await ruled.prepare()
    const client = await serving(errors(), api.routes(), ruled.routes(), transaction(knex), async (ctx) => {
      const { trx } = ctx.state as { trx: Knex.Transaction }
      await trx.raw(`set local role ${ROLE}`)
      await trx.raw(`select set_config('app.tenant', ?, true)`, [ctx.get('X-Tenant')])
      ctx.body = await trx('notes').orderBy('id').pluck('id')
    })
    open.push(async () => {
      DatabaseThrottle.close()
      await api.close()
      await ruled.close()
      await client.close()
    })
    return { bouncer, knex, client }
  }

  /** What PostgreSQL sees of PgBouncer: connections that are not ours. */
  async function backends(where = 'true'): Promise<number> {
    const [{ count }] = await directly(
      `select count(*)::int as count from pg_stat_activity
       where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid() and ${where}`,
    )
    return count
  }

  /** Rows from PostgreSQL itself, on a connection of its own. */
  async function directly(sql: string): Promise<any> {
    return (await direct.raw(sql)).rows
  }

  // a session keeps its connection: there are as many as clients
  const modes = [
    ['transaction', 5],
    ['session', CLIENTS + 2],
  ] as const

  it.each(modes)('[P9] by %s, %i connections serve everything to 12 clients at once', async (mode, servers) => {
    configure({ ...SECRET, preparedStatements: mode === 'session' })
    const warn = vi.spyOn(process, 'emitWarning')
    const { client, knex } = await start(mode, servers)
    let requests = 0
    let most = 0
    const counted: Client['send'] = async (...request) => {
      requests++
      const response = await client.send(...request)
      expect([request.slice(0, 2), response.status, response.text.slice(0, 200)]).toEqual([
        request.slice(0, 2),
        expect.toBeOneOf([200, 201, 204]),
        expect.anything(),
      ])
      return response
    }
    const get = (path: string) => counted('GET', path)
    /** Each caller is shown, and may write, what rules say of this one. */
    async function ruledFor(number: number, id: number) {
      const below = { 'X-Below': String(1 + (number % 9)) }
      const { json: shown } = await counted(
        'GET',
        `/ruled/books?id__lte=${BOOKS}&page_size=5&ordering=-n`,
        undefined,
        below,
      )
      expect(shown.count).toBe((BOOKS / 10) * (1 + (number % 9)))
      expect(shown.results.map((one: { n: number; extra?: unknown }) => [one.n, 'extra' in one])).toEqual(
        Array(5).fill([number % 9, true]),
      )
      expect((await client.send('POST', '/ruled/books', { title: 'never', n: 100 }, below)).status).toBe(403)
      expect((await client.send('PATCH', `/ruled/books/${id}`, { n: 100 }, below)).status).toBe(403)
      expect((await client.send('PATCH', `/ruled/books/${id}`, { extra: 1 }, below)).status).toBe(403)
    }
    async function walk(number: number) {
      for (let round = 0; round < 4; round++) {
        const mine = `of ${number} in ${round}`
        const title = { title: mine }
        const { json: made } = await counted('POST', '/api/books', { ...title, author: { name: mine } })
        expect((await get(`/api/books/${made.id}`)).json).toEqual(made)
        const { json: many } = await counted('POST', '/api/books/bulk', [title, title, title])
        expect((await get(`/api/books?title=${encodeURIComponent(mine)}&ordering=-id`)).json.count).toBe(4)
        expect((await get(`/api/native/${made.id}`)).json).toEqual(made)
        expect((await get(`/api/books?n=${number % 10}&page_size=5&ordering=id`)).json.results).toEqual(
          (await get(`/api/native?n=${number % 10}&page_size=5&ordering=id`)).json.results,
        )
        expect((await get(`/api/searched?search=word+${number + 1}`)).json).toHaveLength(1)
        const tenant = number % 2
        expect((await counted('GET', '/notes', undefined, { 'X-Tenant': `tenant ${tenant}` })).json).toEqual(
          [2, 4, 6, 8, 10].map((id) => (tenant === 0 ? id : id - 1)),
        )
        if (round === 0) await ruledFor(number, made.id)
        await counted('PATCH', `/api/books/${made.id}`, { n: round })
        await counted('DELETE', '/api/books/bulk', [made.id, ...many.map(({ id }: { id: number }) => id)])
        most = Math.max(most, knex.client.pool.numUsed())
      }
      const seen: number[] = []
      for (let url = `/api/pages?id__lte=${BOOKS}`; url; ) {
        const { json } = await get(url)
        seen.push(...json.results.map(({ id }: { id: number }) => id))
        url = json.next
      }
      expect(seen).toEqual(Array.from({ length: BOOKS }, (_, index) => BOOKS - index))
    }
    async function exportAll() {
      const seen: number[] = []
      let path = `/api/exports?id__lte=${BOOKS}`
      for (;;) {
        const { json } = await get(path)
        seen.push(...json.results.map(({ id }: { id: number }) => id))
        if (json.exhausted) break
        path = `/api/exports?server_cursor=${json.cursor_id}`
      }
      expect(seen.sort((a, b) => a - b)).toEqual(Array.from({ length: BOOKS }, (_, index) => index + 1))
    }
    const streamAll = async () =>
      expect((await client.get(`/api/books.csv?ordering=id`)).text.split('\r\n').length).toBeGreaterThan(BOOKS)

    await Promise.all([...Array.from({ length: CLIENTS }, (_, number) => walk(number)), exportAll(), streamAll()])
    expect(most).toBeGreaterThan(5)
    expect(await backends()).toBeLessThanOrEqual(servers)

    const throttled = await Promise.all(Array.from({ length: 40 }, () => client.get('/api/throttled')))
    expect(throttled.filter(({ status }) => status === 200)).toHaveLength(20)
    expect(throttled.filter(({ status }) => status === 429)).toHaveLength(20)

    expect(client.reported).toEqual([])
    expect((await knex('books').count()).at(0)).toEqual({ count: String(BOOKS) })
    const { rows } = await knex.raw(`select current_user as role, current_setting('app.tenant', true) as tenant`)
    expect([[''], [null]]).toContainEqual([rows[0].tenant])
    expect(rows[0].role).not.toBe(ROLE)
    expect(await backends(`state like 'idle in%'`)).toBe(0)
    expect(knex.client.pool.numUsed()).toBe(0)
    expect(warn).not.toHaveBeenCalled()
    report('PgBouncer', { mode, 'server connections': await backends(), 'pool in use': most, requests })
  })

  it.each(modes)('[I10] by %s, stops what PostgreSQL does for a client that has gone', async (mode, servers) => {
    configure({ ...SECRET, preparedStatements: mode === 'session' })
    const { client, knex } = await start(mode, servers)
    const socket = connect(client.port, '127.0.0.1')
    socket.write('GET /api/slow.csv HTTP/1.1\r\nHost: x\r\n\r\n')
    await vi.waitFor(async () => expect(await backends(`state = 'active' and query like 'fetch%'`)).toBe(1), 5_000)
    socket.destroy()
    await once(socket, 'close')
    await vi.waitFor(async () => expect(await backends(`state <> 'idle'`)).toBe(0), 5_000)
    await vi.waitFor(() => expect(knex.client.pool.numUsed()).toBe(0), 5_000)
    expect((await client.get('/api/books/1')).status).toBe(200)
  })

  it('[I8] answers 503 where no connection is to be had, where they are cut and where it is gone', async () => {
    configure({ ...SECRET, preparedStatements: false })
    const { client, knex, bouncer } = await start('transaction', 1, { query_wait_timeout: 1 })
    const away = { status: 503, headers: { 'retry-after': '1' } }
    const body = { title: 'never' }
    const trx = await knex.transaction()
    await trx.raw('select 1')
    const waiting = await Promise.all([client.get('/api/books'), client.send('POST', '/api/books', body)])
    for (const answer of waiting) expect(answer).toMatchObject(away)
    await trx.rollback()
    expect((await client.get('/api/books/1')).status).toBe(200)

    await cutWhileReading(client)
    await vi.waitFor(async () => expect((await client.get('/api/books/1')).status).toBe(200), 5_000)

    await bouncer.stop()
    for (const method of ['GET', 'POST']) {
      expect(await client.send(method, '/api/books', method === 'POST' ? body : undefined)).toMatchObject(away)
    }
    expect(knex.client.pool.numUsed()).toBe(0)
  })

  /** All connections of the server's end while a statement runs. */
  async function cutWhileReading(client: Client): Promise<void> {
    const reading = client.get('/api/slow')
    await vi.waitFor(async () => expect(await backends(`state = 'active'`)).toBe(1), 5_000)
    await directly(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    )
    expect(await reading).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
  }

  it('[I21] stays right with named statements left on, and says once what to set', async () => {
    configure(SECRET)
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { client } = await start('transaction', 5)
    const expected = (await client.get('/api/books?n=3&ordering=id')).json
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          client.get(index % 2 === 0 ? '/api/books?n=3&ordering=id' : `/api/books/${index + 1}`),
        ),
      )
      for (const [index, { status, json }] of answers.entries()) {
        expect(status).toBe(200)
        if (index % 2 === 0) expect(json).toEqual(expected)
        else expect(json.id).toBe(index + 1)
      }
    }
    expect(client.reported).toEqual([])
    if (followsNames) return
    expect(warn.mock.calls.map(([text]) => text)).toEqual([
      expect.stringMatching(/a pooler hands these out by transaction.* Set PREPARED_STATEMENTS=false/),
    ])
  })

  it('is refused by prepare() where it gives each statement another connection', async () => {
    configure(SECRET)
    const bouncer = await startPgBouncer({ mode: 'statement', server: database.direct })
    open.push(bouncer.stop)
    const [{ name }] = await directly('select current_database() as name')
    const knex = knexLibrary({ client: 'pg', connection: { ...bouncer.connection, database: name } })
    open.push(() => knex.destroy())
    const api = new APIRouter().register(
      'books',
      class extends ReadOnlyModelViewSet {
        static override model = Book
        static override serializerClass = BookSerializer
      },
    )
    await expect(api.prepare({ knex })).rejects.toThrow(/takes no transactions.* pool_mode to transaction or session/)
  })
})
