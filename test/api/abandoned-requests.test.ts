/** What a request has begun in the database ends with its client (promise I10). */
import { once } from 'node:events'
import { mkdtempSync, readdirSync } from 'node:fs'
import http2 from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import knexLibrary, { type Knex } from 'knex'
import Koa from 'koa'
import {
  APIRouter,
  BaseAuthentication,
  configure,
  FullTextSearchFilter,
  ModelSerializer,
  ModelViewSet,
  MultiPartParser,
  modelSerializer,
  NestedSerializer,
  PageNumberPagination,
  ServerCursorPagination,
} from 'koa-viewsets'
import { max } from 'koa-viewsets/views'
import { Model, type QueryBuilder } from 'objection'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { MULTIPART, multipart } from '../support/multipart.js'
import { exchange, serve, type TestServer } from '../support/server.js'

const SCHEMA = `
  create table naps (id int primary key, seconds float8 not null, name text default 'a nap');
  insert into naps values (1, 30), (2, 0.1), (3, 0);
  create table sleepers (id int primary key);
  insert into sleepers values (1);
  create view slow_naps as select id from naps where pg_sleep(seconds) is not null;`

class Nap extends Model {
  static override tableName = 'naps'
}

class NapSerializer extends ModelSerializer<Nap> {
  static override model = Nap
  static override fields = ['id', 'seconds']
}

/** Sleeps for each of its rows. */
class NapViewSet extends ModelViewSet<Nap> {
  static override model = Nap
  static override serializerClass = NapSerializer
  static override filterBackends = [FullTextSearchFilter]
  static override searchFields = ['name']
  static override aggregates = { longest: max('seconds') }
  static override groupBy = ['name']
  static override facets = ['seconds']

  override getQueryset(): QueryBuilder<Nap> {
    return super.getQueryset().whereRaw('pg_sleep(seconds) is not null')
  }

  override async performCreate(serializer: ModelSerializer<Nap>): Promise<unknown> {
    await sleep(300)
    return serializer.save()
  }
}

/** The same as instances, whose related rows are slow, too. */
class ReadNapViewSet extends NapViewSet {
  static override serializerClass = class ReadNapSerializer extends NapSerializer {
    override toRepresentation(nap: Nap): unknown {
      return super.toRepresentation(nap)
    }
  }
  static override paginationClass = PageNumberPagination
}

/** Each nap once: what is counted is a query of its own. */
class DistinctNapViewSet extends ReadNapViewSet {
  override getQueryset(): QueryBuilder<Nap> {
    return super.getQueryset().distinct('naps.*')
  }
}

class CappedNapViewSet extends NapViewSet {
  static override paginationClass = new PageNumberPagination({ count: 'capped' })
}

class HeldNapViewSet extends NapViewSet {
  static override paginationClass = ServerCursorPagination
}

/** Naps whose own rows are read at once, and those that are related by a view that sleeps. */
class Sleeper extends Model {
  static override tableName = 'sleepers'
  static override relationMappings = () => ({
    naps: {
      relation: Model.HasManyRelation,
      modelClass: Slow,
      join: { from: 'sleepers.id', to: 'slow_naps.id' },
    },
  })
}

class Slow extends Model {
  static override tableName = 'slow_naps'
}

const SlowSerializer = modelSerializer(Slow, { fields: ['id'] })

class SleeperViewSet extends ModelViewSet<Sleeper> {
  static override model = Sleeper
  static override serializerClass = class SleeperSerializer extends modelSerializer(Sleeper, {
    fields: ['id', 'naps'],
    declaredFields: { naps: new NestedSerializer(SlowSerializer, { many: true, readOnly: true }) },
  }) {
    override toRepresentation(object: Sleeper): unknown {
      return super.toRepresentation(object)
    }
  }
}

let database: TestDatabase
let knex: Knex
let server: TestServer
const faults: unknown[] = []
const statuses: number[] = []
/** The clients that the server knows to be gone. */
let gone = 0
const statements: string[] = []

beforeAll(async () => {
  configure({ secretKey: 'a secret of the clients that leave' })
  database = await createDatabase({ schema: SCHEMA })
  knex = knexLibrary({
    client: 'pg',
    connection: { ...(database.connection as Knex.PgConnectionConfig) },
    pool: { min: 0, max: 2 },
  })
  for (const model of [Nap, Sleeper, Slow]) model.knex(knex)
  knex.on('query', ({ sql }: { sql: string }) => statements.push(sql))
  const api = new APIRouter()
  api.register('naps', NapViewSet)
  api.register('read', ReadNapViewSet, 'read')
  api.register('distinct', DistinctNapViewSet, 'distinct')
  api.register('capped', CappedNapViewSet, 'capped')
  api.register('held', HeldNapViewSet, 'held')
  api.register('sleepers', SleeperViewSet)
  await api.prepare()
  const app = new Koa()
  app.on('error', (error) => faults.push(error))
  app.use(async (ctx, next) => {
    ctx.req.socket.once('close', () => gone++)
    await next()
    statuses.push(ctx.status)
  })
  server = await serve(app.use(api.routes()))
})
afterAll(async () => {
  await server.close()
  await knex.destroy()
  await database.drop()
})
beforeEach(() => {
  for (const list of [faults, statuses, statements]) list.length = 0
  gone = 0
})

/** Sends a request; the function that is returned breaks it off. */
function begin(head: string, body = ''): () => void {
  const socket = connect(server.port, '127.0.0.1')
  socket.on('error', () => {})
  const length = body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`
  socket.write(`${head} HTTP/1.1\r\nHost: x\r\n${length}\r\n${body}`)
  return () => socket.destroy()
}

async function untilSleeping(count: number): Promise<void> {
  await vi.waitFor(async () => {
    const { rows } = await database.knex.raw(
      `select 1 from pg_stat_activity where datname = current_database() and (query like '%pg_sleep(seconds)%' or query ~ 'slow_naps|fetch forward')
        and state = 'active' and pid <> pg_backend_pid()`,
    )
    expect(rows).toHaveLength(count)
  })
}

/** The pool's next connection, once none is in use: a pooler may give it another backend each time. */
async function nextConnection(): Promise<unknown> {
  const { client } = knex
  await vi.waitFor(() => expect((client.pool as { numUsed(): number }).numUsed()).toBe(0))
  const connection = await client.acquireConnection()
  expect((await connection.query('select 1')).rowCount).toBe(1)
  await client.releaseConnection(connection)
  return connection
}

describe('a client that goes away', () => {
  it.each([
    ...['/naps', '/naps/1', '/naps/aggregate', '/naps/aggregate?group_by=name', '/naps/facets', '/naps?search=nap'],
    ...[
      '/read',
      '/read/1',
      '/read?page=2',
      '/distinct',
      '/distinct?page=2',
      '/capped?page=2',
      '/sleepers',
      '/sleepers/1',
    ],
    '/held',
  ])('takes the statement of %s with it', async (path) => {
    const before = await nextConnection()
    const leave = begin(`GET ${path}`)
    await untilSleeping(1)
    leave()
    await untilSleeping(0)
    await vi.waitFor(() => expect(statuses).toEqual([499]))
    // the connection is as good as it was
    expect(await nextConnection()).toBe(before)
    expect(faults).toEqual([])
  })

  it('has no statement begun that still waits for a connection', async () => {
    const holding = [begin('GET /naps/1'), begin('GET /naps/1')]
    await untilSleeping(2)
    const waiting = Array.from({ length: 20 }, () => begin('GET /naps'))
    const pool = (knex.client as Knex.Client).pool as { numPendingAcquires(): number }
    await vi.waitFor(() => expect(pool.numPendingAcquires()).toBe(20))
    for (const leave of waiting) leave()
    await vi.waitFor(() => expect(gone).toBe(20))
    expect(statements).toHaveLength(2)
    for (const leave of holding) leave()
    await vi.waitFor(() => expect(statuses).toEqual(Array(22).fill(499)))
    expect(statements).toHaveLength(2)
    expect(faults).toEqual([])
  })

  it('does not take with it what it wrote', async () => {
    const leave = begin('POST /naps', JSON.stringify({ id: 4, seconds: 0 }))
    await sleep(100)
    leave()
    await vi.waitFor(async () => {
      expect(await database.knex('naps').where('id', 4)).toHaveLength(1)
    })
    expect(faults).toEqual([])
  })

  it('stops nobody else, whenever it goes', async () => {
    let over = false
    const seen: number[] = []
    const others = [0, 1, 2].map(async () => {
      while (!over) seen.push((await server.send({ path: '/naps/3' })).status)
    })
    for (let turn = 0; turn < 60 || seen.length < 60; turn++) {
      const leave = begin('GET /naps/2')
      // its statement takes 100 ms, and so does our next look
      await sleep(turn % 2 === 0 ? 5 : 95 + Math.random() * 20)
      leave()
    }
    over = true
    await Promise.all(others)
    expect(seen.filter((status) => status !== 200)).toEqual([])
    expect(faults).toEqual([])
  })
})

it('leaves nothing on the disk of an upload that was answered before it came, and whose client went away', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'naps-'))
  class Uploads extends NapViewSet {
    static override parserClasses = [new MultiPartParser({ directory, keptFiles: 'all' })]
  }
  const api = new APIRouter().register('naps', Uploads)
  await api.prepare()
  // as middleware does that limits the time of a request
  const late: Koa.Middleware = async (ctx, next) => {
    void next()
    await vi.waitFor(() => expect(readdirSync(directory)).toHaveLength(1))
    ctx.body = 'late'
  }
  const own = await serve(new Koa().use(late).use(api.routes()))
  onTestFinished(() => own.close())
  const client = connect(own.port, '127.0.0.1')
  client.write(
    `POST /naps HTTP/1.1\r\nHost: x\r\nContent-Type: ${MULTIPART['Content-Type']}\r\nContent-Length: 9999\r\n\r\n`,
  )
  client.write(multipart({ name: 'file', filename: 'a.txt', content: 'x'.repeat(1000) }).subarray(0, -100))
  client.once('data', () => client.destroy())
  await vi.waitFor(() => expect(client.destroyed).toBe(true))
  await vi.waitFor(() => expect(readdirSync(directory)).toEqual([]))
})

describe('an API that closes', () => {
  it.each<[string, string]>([
    ['POST', 'application/json'],
    ['PATCH', 'application/x-www-form-urlencoded'],
    ['POST', 'multipart/form-data; boundary=x'],
    ['QUERY', 'application/json'],
  ])('refuses at once whose body has not come: %s of %s', async (method, type) => {
    const api = new APIRouter()
    class Asked extends NapViewSet {
      static override queryMethod = true
    }
    api.register('naps', Asked)
    await api.prepare()
    let begun = 0
    const count: Koa.Middleware = (_, next) => {
      begun++
      return next()
    }
    const own = await serve(new Koa().use(count).use(api.routes()))
    onTestFinished(() => own.close())
    const path = method === 'PATCH' ? '/naps/3' : '/naps'
    const answer = exchange(
      own.port,
      `${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: 40\r\n\r\n{`,
    )
    await vi.waitFor(() => expect(begun).toBe(1))
    await sleep(50)
    // no timer ends: what waits for one waits for longer than the test may take
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    await api.close()
    expect(await answer).toMatch(/^HTTP\/1.1 503 [\s\S]*Connection: close/)
  })

  it('closes all that it holds, also where some of it fails to close', async () => {
    const closed: string[] = []
    class Failing extends BaseAuthentication {
      override authenticate() {
        return null
      }
      override async close() {
        throw new Error('stuck')
      }
    }
    class Paged extends PageNumberPagination {
      override async close() {
        closed.push('paginator')
      }
    }
    class Closed extends NapViewSet {
      static override authenticationClasses = [Failing]
      static override paginationClass = Paged
    }
    const api = new APIRouter().register('naps', Closed)
    await expect(api.close()).rejects.toThrow('stuck')
    expect(closed).toEqual(['paginator'])
  })

  it('leaves nothing on the disk of an upload that has come in part', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'naps-'))
    class Uploads extends NapViewSet {
      static override parserClasses = [new MultiPartParser({ directory, keptFiles: 'all' })]
    }
    const api = new APIRouter().register('naps', Uploads)
    await api.prepare()
    const own = await serve(new Koa().use(api.routes()))
    onTestFinished(() => own.close())
    const body = multipart({ name: 'file', filename: 'a.txt', content: 'x'.repeat(1000) })
      .toString()
      .slice(0, -100)
    const answer = exchange(
      own.port,
      `POST /naps HTTP/1.1\r\nHost: x\r\nContent-Type: ${MULTIPART['Content-Type']}\r\nContent-Length: 9999\r\n\r\n${body}`,
    )
    await vi.waitFor(() => expect(readdirSync(directory)).toHaveLength(1))
    await api.close()
    expect(readdirSync(directory)).toEqual([])
    expect(await answer).toMatch(/^HTTP\/1.1 503 /)
  })

  it('nor of one over HTTP/2, whose stream it ends', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'naps-'))
    class Uploads extends NapViewSet {
      static override parserClasses = [new MultiPartParser({ directory, keptFiles: 'all' })]
    }
    const api = new APIRouter().register('naps', Uploads)
    await api.prepare()
    const handle = new Koa({ env: 'test' })
      .on('error', () => {})
      .use(api.routes())
      .callback()
    const server = http2.createServer((req, res) => void handle(req, res)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    onTestFinished(() => {
      session.destroy()
      server.close()
    })
    const stream = session.request({ ':method': 'POST', ':path': '/naps', 'content-type': MULTIPART['Content-Type'] })
    const answered = once(stream, 'response')
    stream.write(multipart({ name: 'file', filename: 'a.txt', content: 'x'.repeat(1000) }).subarray(0, -100))
    await vi.waitFor(() => expect(readdirSync(directory)).toHaveLength(1))
    await api.close()
    expect(readdirSync(directory)).toEqual([])
    expect((await answered)[0]).toMatchObject({ ':status': 503 })
  })
})
