/** Streams of changes: those hear of a change whose list shows the object, or showed it before; and nobody else. */
import http from 'node:http'
import type { Knex } from 'knex'
import type Koa from 'koa'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  ChangeStreamMixin,
  type ChangeStreamOptions,
  type Changes,
  ChangesMixin,
  ensureChangesTable,
  recordChange,
} from '../../lib/changes/index.js'
import {
  APIRouter,
  BulkModelViewSet,
  CurrentUserDefault,
  type DeclaredFields,
  HiddenField,
  IsAuthenticated,
  ModelSerializer,
  ModelViewSet,
  NestedRouter,
  NestedViewSetMixin,
  type SerializerClass,
  type SoftDelete,
} from '../../lib/index.js'
import { any, rule, sql } from '../../lib/rules/index.js'
import { type Client, serveApp, serving } from '../support/client.js'
import { type EventSource, openEvents } from '../support/event-source.js'
import { Author, AuthorSerializer, Book, BookSerializer, database, useLibrary } from '../support/library.js'
import { Random } from '../trust/support/random.js'
import { report, seed, size } from '../trust/support/size.js'

useLibrary({ sql: 'alter table books add tenant text, add deleted_at timestamptz' })

const asUser: Koa.Middleware = (ctx, next) => {
  const id = ctx.get('X-User')
  if (id) ctx.state['user'] = { id: Number(id), tenant: ctx.get('X-Tenant') }
  return next()
}

class OwnSerializer extends BookSerializer {
  static override readOnlyFields = ['deleted_at']
}
class BookViewSet extends ChangeStreamMixin(ChangesMixin(BulkModelViewSet<Book>)) {
  static override model = Book
  static override serializerClass: SerializerClass = BookSerializer
}
/** Each author sees his own books. */
class OwnBooks extends BookViewSet {
  static override softDelete: SoftDelete = 'deleted_at'
  static override serializerClass: SerializerClass = OwnSerializer
  override getQueryset() {
    const { user } = this.ctx.state
    return Book.query(this.knex).where('author_id', (user as { id: number } | undefined)?.id ?? 0)
  }
}

let api: APIRouter
let client: Client
beforeAll(async () => {
  await ensureChangesTable(database.knex)
  api = new APIRouter().register('books', BookViewSet).register('own', OwnBooks, 'own')
  await api.prepare()
  client = await serving(asUser, api.routes())
})
afterAll(() => client.close())

const ids = (events: readonly { readonly data: any }[]) => events.map(({ data }) => data.id)

const lastChange = async () => {
  const { rows } = await database.knex.raw('select coalesce(max(id), 0) as id from koa_viewsets_changes')
  return rows[0].id as string
}
const changedSince = async (last: string) => {
  const { rows } = await database.knex.raw('select key from koa_viewsets_changes where id > ? order by id', [last])
  return (rows as { key: string }[]).map(({ key }) => Number(key))
}
const expectDone = ({ status }: { readonly status: number }) => expect(status).toBeLessThan(300)

interface Told {
  readonly name: string
  readonly path: string
  readonly caller: Readonly<Record<string, string>>
  readonly events: EventSource
  readonly expected: number[]
}

describe('random changes', () => {
  class ManyStreams extends BookViewSet {
    static override changeStream: ChangeStreamOptions = { perCaller: 100 }
  }
  const user = (view: { ctx: Koa.Context }) => view.ctx.state['user'] as { id: number; tenant: string }
  /** By conditions of the application's own querysets. */
  const QUERYSETS: Record<string, typeof BookViewSet> = {
    own: class extends ManyStreams {
      override getQueryset() {
        return Book.query(this.knex).where('author_id', user(this).id).orWhere('tenant', user(this).tenant)
      }
    },
    written: class extends ManyStreams {
      override getQueryset() {
        return Book.query(this.knex).whereRaw('(n > 1) = (author_id = ?)', [user(this).id])
      }
    },
    related: class extends ManyStreams {
      override getQueryset() {
        return Book.query(this.knex).whereExists(Book.relatedQuery('author').where('name', user(this).tenant))
      }
    },
    beside: class extends ManyStreams {
      override getQueryset() {
        const same = Book.query()
          .alias('other')
          .whereColumn('other.id', 'books.id')
          .where('other.author_id', user(this).id)
        return Book.query(this.knex).whereExists(same)
      }
    },
    placed: class extends ManyStreams {
      override getQueryset() {
        return Book.query(this.knex).withSchema('public').where('author_id', user(this).id)
      }
    },
    kept: class extends ManyStreams {
      static override softDelete: SoftDelete = 'deleted_at'
      static override serializerClass: SerializerClass = OwnSerializer
      override getQueryset() {
        return Book.query(this.knex).whereNot('tenant', user(this).tenant)
      }
    },
  }
  const RULES = {
    columns: rule(Book, {
      read: ({ user }) => ({ or: [{ tenant: user?.['tenant'] }, { not: { author_id: user?.id } }] }),
    }),
    related: rule(Book, { read: ({ user }) => any('author', { name: user?.['tenant'] }) }),
    sql: rule(Book, { read: ({ user }) => sql`tenant = ${user?.['tenant']} or n > ${user?.id}` }),
  }
  it(
    'are told to those whose list shows the object before or after them, and to nobody else',
    async () => {
      const random = new Random(seed)
      const all = new APIRouter().register('books', BookViewSet)
      for (const [name, view] of Object.entries(QUERYSETS)) all.register(`q-${name}`, view, `q-${name}`)
      const ruled = Object.entries(RULES).map(([name, own]) =>
        new APIRouter({ prefix: `/${name}`, rules: [own] }).register('books', ManyStreams, 'listed'),
      )
      await database.knex.raw(`
      do $$ begin create role stream_reader; exception when duplicate_object then null; end $$;
      grant select on books, authors to stream_reader;
      create policy own on books for select to stream_reader using (author_id = current_setting('app.user')::int);
      create policy tenants on books for select to public
        using (exists (select from authors where authors.id = books.author_id and name = current_setting('app.tenant')));
      create policy few on books as restrictive for select to stream_reader using (n is null or n < 2);
      alter table books enable row level security`)
      onTestFinished(() => database.knex.raw('alter table books disable row level security').then(() => {}))
      const secured = new APIRouter({
        prefix: '/secured',
        databaseRole: 'stream_reader',
        databaseSettings: ({ state: { user } }) => ({ 'app.user': user?.id, 'app.tenant': user?.tenant }),
      }).register('books', ManyStreams, 'secured')
      ruled.push(secured)
      for (const one of [all, ...ruled]) await one.prepare()
      const served = await serveApp(asUser, all.routes(), ...ruled.map((one) => one.routes()))
      const paths = [
        ...Object.keys(QUERYSETS).map((name) => `/q-${name}`),
        ...Object.keys(RULES).map((name) => `/${name}/books`),
        '/secured/books',
      ]
      const callers = [
        { 'X-User': '1', 'X-Tenant': 'Ada' },
        { 'X-User': '2', 'X-Tenant': 'Ben' },
      ]
      const heard = await openEvents(served.port, '/books/changes')
      const listeners: Told[] = []
      for (const path of paths) {
        for (const caller of callers) {
          const events = await openEvents(served.port, `${path}/changes`, caller)
          expect(events.status).toBe(200)
          listeners.push({ name: `${path} of ${caller['X-User']}`, path, caller, events, expected: [] as number[] })
        }
      }
      let told = 0
      /** All before it was told to all. */
      const settle = async () => {
        for (let index = 0; index < 2; index++) {
          await database.knex.transaction((trx) => recordChange(trx, { model: 'books', key: 0, action: 'none' }))
          const isTold = () => heard.events.filter(({ data }) => data.id === 0).length > told
          await vi.waitFor(() => expect(isTold()).toBe(true), { timeout: 10_000, interval: 5 })
          told++
        }
      }
      const shown = async ({ path, caller }: Told) => {
        const { status, json } = await served.get(path, caller)
        expect(status).toBe(200)
        return (json as { id: number }[]).map(({ id }) => id)
      }
      const body = () => ({
        title: random.pick(['a', 'b']),
        ...(random.chance(0.5) ? { tenant: random.pick([null, 'Ada', 'Ben']) } : {}),
        ...(random.chance(0.5) ? { author_id: random.pick([null, 1, 2]) } : {}),
        ...(random.chance(0.5) ? { n: random.below(3) } : {}),
      })
      for (let step = 0; step < size(25, 1_000); step++) {
        const { json } = await served.get('/books')
        const present = (json as { id: number }[]).map(({ id }) => id)
        const before = await Promise.all(listeners.map(shown))
        const chosen = random.some(present, 0.3)
        const last = await lastChange()
        const kind = random.below(5)
        if (kind === 0 || chosen.length === 0) expectDone(await served.send('POST', '/books', body()))
        else if (kind === 1) expectDone(await served.send('PATCH', `/books/${chosen[0]}`, body()))
        else if (kind === 2)
          expectDone(
            await served.send(
              'PATCH',
              '/books/bulk',
              chosen.map((id) => ({ id, ...body() })),
            ),
          )
        else {
          const isKept = kind === 3
          const seen = before[listeners.findIndex(({ name }) => name === '/q-kept of 1')] as number[]
          const [id] = isKept ? chosen.filter((one) => seen.includes(one)) : chosen
          if (id === undefined) continue
          expectDone(await served.send('DELETE', `${isKept ? '/q-kept' : '/books'}/${id}`, undefined, callers[0]))
        }
        const changed = await changedSince(last)
        await settle()
        const after = await Promise.all(listeners.map(shown))
        for (const [index, { expected }] of listeners.entries()) {
          const visible = new Set([...(before[index] as number[]), ...(after[index] as number[])])
          expected.push(...changed.filter((id) => visible.has(id)))
        }
      }
      for (const { name, events, expected } of listeners) expect([name, ids(events.events)]).toEqual([name, expected])
      report('change streams', { seed, bells: listeners.reduce((sum, { expected }) => sum + expected.length, 0) })
    },
    size(60_000, 600_000),
  )
})

describe('a stream', () => {
  const post = (title: string) => client.send('POST', '/books', { title })

  it('tells of objects that change, one by one and in bulk, and of nothing else', async () => {
    const books = await openEvents(client.port, '/books/changes')
    expect(books.status).toBe(200)
    expect(books.headers).toMatchObject({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    const { json } = await post('a')
    const [told] = await books.hear(1)
    expect(told).toEqual({ event: 'message', data: { resource: 'book', id: json.id, position: books.lastId } })
    await client.send('PATCH', `/books/${json.id}`, { title: 'b' })
    await client.send('PATCH', `/books/${json.id}`, { title: 'b' })
    await client.send('DELETE', `/books/${json.id}`)
    await client.send('POST', '/books', { title: 'c', author_id: 'x' })
    await client.send('POST', '/books/bulk', [{ title: 'c' }, { title: 'd' }])
    expect(ids(await books.hear(5))).toEqual([1, 1, 1, 2, 3])
  })

  it('tells nothing before COMMIT, and nothing of what is rolled back', async () => {
    const books = await openEvents(client.port, '/books/changes')
    const record = (trx: Knex.Transaction, key: number) => recordChange(trx, { model: 'books', key, action: 'create' })
    const [late, never] = [await database.knex.transaction(), await database.knex.transaction()]
    await record(late, 70)
    await record(never, 71)
    await database.knex.transaction((trx) => record(trx, 72))
    expect(ids(await books.hear(1))).toEqual([72])
    await never.rollback()
    await late.commit()
    expect(ids(await books.hear(2))).toEqual([72, 70])
  })

  it('goes on where the client was, and tells of each change once', async () => {
    const first = await openEvents(client.port, '/books/changes')
    await post('a')
    await first.hear(1)
    first.close()
    for (let index = 0; index < 5; index++) await post('b')
    const second = await openEvents(client.port, '/books/changes', { 'Last-Event-ID': first.lastId })
    const posting = Promise.all(['c', 'd', 'e'].map(post))
    expect(ids(await second.hear(5)).slice(0, 5)).toEqual([2, 3, 4, 5, 6])
    await posting
    await second.hear(8)
    await post('f')
    expect(ids(await second.hear(9)).sort((one, other) => one - other)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10])
    // each event says how far the client came
    const [, , third] = second.events
    const again = await openEvents(client.port, '/books/changes', { 'Last-Event-ID': third?.data.position })
    expect(ids(await again.hear(6))).toEqual(ids(second.events.slice(3)))
  })

  it.each([
    'x',
    '1',
    '0:0:',
    '2:1:',
    '5:9:4',
    '5:9:7,6',
    '9999999999999999999:9999999999999999999:',
    '900000000:900000000:',
    '1:1:;5:9:7;99999999999999999999',
    '1:1:1,1,1',
  ])('that is asked to go on behind %o begins anew', async (id) => {
    const books = await openEvents(client.port, '/books/changes', { 'Last-Event-ID': id })
    expect(books.status).toBe(200)
    expect(await books.hear(1)).toEqual([{ event: 'reset', data: {} }])
    await post('a')
    expect(ids(await books.hear(2))[1]).toBe(1)
  })

  it('begins anew behind more than 5,000 changes', async () => {
    const first = await openEvents(client.port, '/books/changes')
    await post('a')
    await first.hear(1)
    first.close()
    await database.knex.raw(
      "insert into koa_viewsets_changes (model, key, action) select 'books', '1', 'x' from generate_series(1, 5001)",
    )
    const second = await openEvents(client.port, '/books/changes', { 'Last-Event-ID': first.lastId })
    expect(await second.hear(1)).toEqual([{ event: 'reset', data: {} }])
  })

  it('is refused to a caller who has ten, until one of them ends', async () => {
    const open = []
    for (let index = 0; index < 10; index++)
      open.push(await openEvents(client.port, '/books/changes', { 'X-User': '7' }))
    const refused = await client.get('/books/changes', { 'X-User': '7' })
    expect(refused.status).toBe(429)
    expect(refused.headers['retry-after']).toBe('30')
    expect((await openEvents(client.port, '/books/changes', { 'X-User': '8' })).status).toBe(200)
    open[0]?.close()
    await vi.waitFor(async () => {
      expect((await openEvents(client.port, '/books/changes', { 'X-User': '7' })).status).toBe(200)
    })
  })

  it('gives its place to another one where its client leaves before it is open', async () => {
    const headers = { 'X-User': '21', 'Last-Event-ID': '1:1:' }
    const gone = Array.from({ length: 30 }, () =>
      http.get({ host: '127.0.0.1', port: client.port, path: '/books/changes', agent: false, headers }),
    )
    for (const request of gone) {
      request
        .on('error', () => {})
        .on('socket', (socket) => socket.once('connect', () => setImmediate(() => request.destroy())))
    }
    await Promise.all(gone.map((request) => new Promise((resolve) => request.once('close', resolve))))
    await vi.waitFor(async () => {
      const open = []
      for (let index = 0; index < 10; index++)
        open.push(await openEvents(client.port, '/books/changes', { 'X-User': '21' }))
      for (const one of open) one.close()
      expect(open.map(({ status }) => status)).toEqual(open.map(() => 200))
    }, 10_000)
    expect(client.reported).toEqual([])
  })

  it('is refused beyond ten that are asked for at the same time', async () => {
    const headers = { 'X-User': '22', 'Last-Event-ID': '1:1:' }
    const all = Array.from({ length: 15 }, () => openEvents(client.port, '/books/changes', headers))
    const statuses = (await Promise.all(all)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(10)
    expect(statuses.filter((status) => status === 429)).toHaveLength(5)
  })

  it('is let go where its client does not read', async () => {
    const own = new APIRouter().register('books', BookViewSet, 'b'.repeat(2_000))
    const { port } = await serveApp(own.routes())
    const request = http.get({ host: '127.0.0.1', port, path: '/books/changes', agent: false })
    const response = await new Promise<http.IncomingMessage>((resolve) => request.once('response', resolve))
    const ended = new Promise((resolve) => response.once('close', resolve).on('error', () => {}))
    response.pause()
    const heard = await openEvents(port, '/books/changes')
    // more than sockets and the stream hold
    for (let round = 1; round <= 10; round++) {
      await database.knex.raw(
        "insert into koa_viewsets_changes (model, key, action) select 'books', '1', 'x' from generate_series(1, 500)",
      )
      await post('a')
      await heard.hear(round * 501)
    }
    response.resume()
    await ended
  }, 60_000)

  it('has the headers that middleware adds behind it, and tells what came meanwhile', async () => {
    const own = new APIRouter().register('books', BookViewSet)
    const late: Koa.Middleware = async (ctx, next) => {
      await next()
      if (!ctx.path.endsWith('/changes')) return
      // the stream has begun for all others: it is told of as soon as it is committed
      const heard = await openEvents(client.port, '/books/changes')
      await post('meanwhile')
      await heard.hear(1)
      ctx.set('X-Late', 'yes')
    }
    const { port } = await serveApp(late, own.routes())
    const events = await openEvents(port, '/books/changes')
    expect(events.headers).toMatchObject({ 'x-late': 'yes', 'content-type': 'text/event-stream' })
    expect(events.headers).not.toHaveProperty('content-length')
    await events.hear(1)
    expect(events.isOpen).toBe(true)
  })

  it('gives way, and its place, to what middleware answers instead', async () => {
    const own = new APIRouter().register('books', BookViewSet)
    const instead: Koa.Middleware = async (ctx, next) => {
      await next()
      ctx.body = { isClosed: true }
    }
    const { port, reported } = await serveApp(instead, own.routes())
    // more than one caller may have at a time
    for (let index = 0; index < 12; index++) {
      const answer = await fetch(`http://127.0.0.1:${port}/books/changes`, { headers: { 'X-User': '23' } })
      expect(answer.status).toBe(200)
      expect(await answer.json()).toEqual({ isClosed: true })
    }
    expect(reported).toEqual([])
  })

  it('ends with the API while it still reads what was missed', async () => {
    const own = new APIRouter().register('books', BookViewSet)
    await own.prepare()
    const served = await serveApp(own.routes())
    const first = await openEvents(served.port, '/books/changes')
    await post('a')
    await first.hear(1)
    await database.knex.raw(
      "insert into koa_viewsets_changes (model, key, action) select 'books', '1', 'x' from generate_series(1, 4000)",
    )
    const second = await openEvents(served.port, '/books/changes', { 'Last-Event-ID': first.lastId })
    await own.close()
    await Promise.all([first.ended(), second.ended()])
    await post('b')
    expect(served.reported).toEqual([])
  })

  it('ends with the API, and after its time', async () => {
    class ShortBooks extends BookViewSet {
      static override changeStream: ChangeStreamOptions = { seconds: 1 }
    }
    const own = new APIRouter().register('books', BookViewSet).register('short', ShortBooks, 'short')
    await own.prepare()
    const served = await serveApp(own.routes())
    const [long, short] = [
      await openEvents(served.port, '/books/changes'),
      await openEvents(served.port, '/short/changes'),
    ]
    await short.ended()
    expect(long.isOpen).toBe(true)
    await own.close()
    await long.ended()
  })

  it('answers HEAD without one', async () => {
    const { status, headers, text } = await client.send('HEAD', '/books/changes')
    expect({ status, type: headers['content-type'], text }).toEqual({
      status: 200,
      type: 'text/event-stream',
      text: '',
    })
  })

  it('needs what the list needs', async () => {
    class Closed extends BookViewSet {
      static override permissionClasses = [IsAuthenticated]
    }
    class Hidden extends BookViewSet {}
    const own = new APIRouter({ rules: [rule(Book, { fields: { id: { read: false } } })] })
    own.register('closed', Closed, 'closed').register('hidden', Hidden, 'hidden')
    const served = await serveApp(asUser, own.routes())
    expect((await served.get('/closed/changes')).status).toBe(401)
    expect((await served.get('/hidden/changes')).status).toBe(404)
  })

  it('asks for columns that decide who sees a row, where they are not recorded', async () => {
    class Secretive extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['id', 'title']
    }
    class Tenants extends BookViewSet {
      static override serializerClass: SerializerClass = Secretive
      override getQueryset() {
        return Book.query(this.knex).where('tenant', 'a')
      }
    }
    class Named extends Tenants {
      static override changes: Changes = { visibleBy: ['tenant'] }
    }
    const own = new APIRouter().register('tenants', Tenants, 'tenant').register('named', Named, 'named')
    const served = await serveApp(own.routes())
    expect((await served.get('/tenants/changes')).status).toBe(500)
    expect(String(served.reported[0])).toContain(
      "Tenants: tenant decides who sees an object, and is not recorded of it; add it: static changes = { visibleBy: ['tenant'] }",
    )
    expect((await openEvents(served.port, '/named/changes')).status).toBe(200)
  })

  it('knows the owner that the server says by itself', async () => {
    class OwnedSerializer extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['id', 'title']
      static override declaredFields: DeclaredFields = {
        author_id: new HiddenField({ default: new CurrentUserDefault() }),
      }
    }
    class Owned extends BookViewSet {
      static override serializerClass: SerializerClass = OwnedSerializer
      override getQueryset() {
        const { user } = this.ctx.state
        return Book.query(this.knex).where('author_id', (user as { id: number }).id)
      }
    }
    const served = await serveApp(asUser, new APIRouter().register('owned', Owned, 'owned').routes())
    const owned = await openEvents(served.port, '/owned/changes', { 'X-User': '1' })
    expect(owned.status).toBe(200)
    await served.send('POST', '/owned', { title: 'a' }, { 'X-User': '1' })
    await owned.hear(1)
    await served.send('PATCH', '/owned/1', { title: 'b' }, { 'X-User': '1' })
    await owned.hear(2)
    await client.send('PATCH', '/books/1', { author_id: 2 })
    expect(ids(await owned.hear(3))).toEqual([1, 1, 1])
  })

  it('is of objects below another one, where it is asked for there', async () => {
    class AuthorBooks extends NestedViewSetMixin(BookViewSet) {
      static override parentLookupField = 'author_id'
    }
    class AuthorViewSet extends ModelViewSet<Author> {
      static override model = Author
      static override serializerClass = AuthorSerializer
    }
    const own = new APIRouter().register('authors', AuthorViewSet)
    new NestedRouter(own, 'authors', { lookup: 'author_id' }).register('books', AuthorBooks)
    const served = await serveApp(own.routes())
    const books = await openEvents(served.port, '/authors/1/books/changes')
    expect((await served.get('/authors/9/books/changes')).status).toBe(404)
    await served.send('POST', '/authors/2/books', { title: 'a' })
    await served.send('POST', '/authors/1/books', { title: 'b' })
    await books.hear(1)
    await client.send('PATCH', '/books/2', { author_id: 2 })
    await client.send('PATCH', '/books/2', { title: 'c' })
    await client.send('PATCH', '/books/1', { author_id: 1 })
    expect(ids(await books.hear(3))).toEqual([2, 2, 1])
  })

  it.each([
    [{ changeStream: { seconds: 'x' } }, 'static changeStream: seconds'],
    [{ changeStream: { second: 5 } }, 'static changeStream'],
    [{ changeStream: { seconds: 0 } }, 'static changeStream: seconds is not above 0'],
    [{ changes: false }, 'ChangeStreamMixin() tells of recorded changes; add ChangesMixin'],
  ])('is refused by prepare() with %o', async (statics, message) => {
    class Wrong extends BookViewSet {}
    Object.assign(Wrong, statics)
    await expect(new APIRouter().register('books', Wrong).prepare()).rejects.toThrow(message)
  })
})
