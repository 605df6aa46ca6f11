/** Requests that read go to streaming replicas, and nobody reads less than they have written. */
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import knex, { type Knex } from 'knex'
import Koa from 'koa'
import compose from 'koa-compose'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ChangeStreamMixin, ChangesMixin, ensureChangesTable } from '../../lib/changes/index.js'
import {
  APIRouter,
  configure,
  listAction,
  modelSerializer,
  modelViewSet,
  objectAction,
  PageNumberPagination,
  SerializerMethodField,
  table,
  ViewSet,
} from '../../lib/index.js'
import { mcp } from '../../lib/mcp/index.js'
import { ReplicaSet, type ReplicaSetOptions } from '../../lib/replicas/index.js'
import { formatExplanations } from '../../lib/tools/index.js'
import { errors, readFrom, slowRequests, transaction } from '../../plugins/index.js'
import { messageOf } from '../support/agent.js'
import { countQueries } from '../support/database.js'
import { openEvents } from '../support/event-source.js'
import { startDatabaseProxy } from '../support/proxy.js'
import { runsAsRole } from '../support/roles.js'
import { serve, type TestResponse, type TestServer } from '../support/server.js'
import { type Cluster, startCluster } from '../support/standbys.js'
import { listen } from '../support/traced.js'
import { size } from '../trust/support/size.js'

interface Row {
  id: number
  name: string
}

const Item = table<Row>('items')

class ItemSerializer extends modelSerializer(Item, { fields: ['id', 'name'] }) {}

class Items extends modelViewSet(Item, {
  serializerClass: ItemSerializer,
  paginationClass: PageNumberPagination,
  actions: {
    touch: listAction({ methods: ['GET'] }, async function () {
      this.ctx.append('Server-Timing', 'touch')
      await this.knex?.raw("insert into visits values ('touched')")
      return { touched: true }
    }),
    made: listAction({ methods: ['GET'] }, async function () {
      const knex = this.knex as NonNullable<typeof this.knex>
      const { rows } = await knex.raw(
        'select coalesce(array_agg(made), array[]::int[]) as made, pg_is_in_recovery() as standby from items',
      )
      return rows[0] as object
    }),
    remote: listAction({ methods: ['GET'] }, async function () {
      await this.knex?.raw('select * from remote_items')
      return {}
    }),
    where: listAction({ methods: ['GET'] }, async function () {
      const { rows } = await (this.knex as NonNullable<typeof this.knex>).raw('select pg_is_in_recovery() as standby')
      return rows[0] as { standby: boolean }
    }),
    fail: objectAction({ methods: ['POST'] }, async function (item) {
      await item.$query(this.trx).patch({ name: 'never' })
      throw new Error('no')
    }),
  },
}) {}

/** Creates within a transaction. */
class Held extends Items {
  override performCreate(serializer: ItemSerializer) {
    return super.performCreate(serializer)
  }
}

let cluster: Cluster

beforeAll(async () => {
  configure({ secretKey: 'a secret of the tests' })
  cluster = await startCluster([{}, {}])
  Item.knex(cluster.primary.knex)
  await cluster.primary.knex.raw('create table items (id serial primary key, name text); create table visits (at text)')
})
afterAll(() => cluster.stop())
beforeEach(async () => {
  await cluster.primary.knex.raw('truncate items restart identity')
  await caughtUp()
})

/** All standbys have what was written. */
async function caughtUp(): Promise<void> {
  const { rows } = await cluster.primary.knex.raw('select pg_current_wal_insert_lsn() as lsn')
  // what a read has logged on the primary, such as a hint, is sent with the next commit
  await cluster.primary.knex.raw("select pg_logical_emit_message(true, 'test', 'commit')")
  for (const { knex } of cluster.standbys) {
    await expect
      .poll(
        async () =>
          (await knex.raw('select pg_last_wal_replay_lsn() >= ?::pg_lsn as there', [rows[0].lsn])).rows[0].there,
        { timeout: 20_000 },
      )
      .toBe(true)
  }
}

const pause = (on = true) =>
  Promise.all(
    cluster.standbys.map(({ knex }) => knex.raw(on ? 'select pg_wal_replay_pause()' : 'select pg_wal_replay_resume()')),
  )

async function serveItems(
  options: Partial<ReplicaSetOptions> = {},
  view = Items,
): Promise<TestServer & { readonly reported: unknown[] }> {
  const replicas = new ReplicaSet({
    primary: cluster.primary.knex,
    replicas: cluster.standbys.map(({ knex }) => knex),
    ...options,
  })
  const api = new APIRouter({ replicas })
  api.register('items', view)
  const reported: unknown[] = []
  const app = new Koa().use(api.routes())
  app.on('error', (error) => reported.push(error))
  await api.prepare()
  const server = await serve(app)
  onTestFinished(() => server.close())
  return { ...server, reported }
}

const post = (server: Pick<TestServer, 'send'>, name: string, headers: Record<string, string> = {}) =>
  server.send({
    method: 'POST',
    path: '/items',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify({ name }),
  })
const tokenOf = ({ headers }: TestResponse) => String(headers['consistency-token'])
const isStandby = async (server: Pick<TestServer, 'send'>, headers: Record<string, string> = {}) =>
  (await server.send({ path: '/items/where', headers })).json.standby

/** The servers that were asked while the work was done. */
async function asked(work: () => Promise<unknown>): Promise<readonly string[]> {
  const names: string[] = []
  const count = async (name: string, knex: Cluster['primary']['knex'], inner: () => Promise<unknown>) => {
    if ((await countQueries(knex, inner)).length > 0) names.push(name)
  }
  const [one, two] = cluster.standbys.map(({ knex }) => knex)
  await count('primary', cluster.primary.knex, () => count('one', one as never, () => count('two', two as never, work)))
  return names
}

it.each([
  [{ header: 'Consistency Token' }, 'ReplicaSet: header is "Consistency Token"; give a name'],
  [{ cookie: 'token=' }, 'ReplicaSet: cookie is "token="; give a name'],
])('a set with %o is refused: each write would fail once it is committed', async (options, message) => {
  await expect(serveItems(options)).rejects.toThrow(message)
})

describe('who has written nothing', () => {
  it('reads from the replicas in turn, writes to the primary', async () => {
    const server = await serveItems()
    expect(await asked(() => server.send({ path: '/items' }))).toEqual(['one'])
    expect(await asked(() => server.send({ path: '/items/1' }))).toEqual(['two'])
    expect(await asked(() => server.send({ method: 'HEAD', path: '/items' }))).toEqual(['one'])
    expect(await asked(() => post(server, 'a'))).toEqual(['primary'])
  })

  it('reads where the application says', async () => {
    const server = await serveItems({
      readFrom: (ctx) => (ctx.get('X-Fresh') === 'yes' ? cluster.primary.knex : cluster.standbys[1]?.knex),
    })
    expect(await isStandby(server, { 'X-Fresh': 'yes' })).toBe(false)
    expect(await asked(() => server.send({ path: '/items' }))).toEqual(['two'])
  })

  it('is told what it is to return where it returns something else, such as the name of a server', async () => {
    const server = await serveItems({ readFrom: () => 'eu' as never })
    expect((await server.send({ path: '/items' })).status).toBe(500)
    expect(String(server.reported[0])).toContain('ReplicaSet: readFrom() returned "eu"; return a knex, or nothing')
  })
})

// each process would listen on each standby, which no standby allows, and tell late of what stands there late
it('a stream of changes is read on the primary', async () => {
  await ensureChangesTable(cluster.primary.knex)
  await caughtUp()
  class Told extends ChangeStreamMixin(ChangesMixin(Items)) {}
  const server = await serveItems({}, Told)
  await pause()
  try {
    const servers = await asked(async () => {
      const stream = await openEvents(server.port, '/items/changes')
      await post(server, 'a')
      expect(await stream.hear(1)).toMatchObject([{ data: { resource: 'item' } }])
    })
    expect(servers).toEqual(['primary'])
  } finally {
    await pause(false)
  }
})

describe('[I30] who has written', () => {
  it('is told by a cookie and a header, only for what has succeeded', async () => {
    const server = await serveItems()
    const made = await post(server, 'a')
    expect(made.status).toBe(201)
    expect(made.headers['set-cookie']).toEqual([
      expect.stringMatching(
        /^consistency_token=\d+-1-[0-9a-f]+\.[\w-]{22}; path=\/; expires=.*; samesite=lax; httponly$/,
      ),
    ])
    expect(tokenOf(made)).toMatch(/^\d+-1-[0-9a-f]+\.[\w-]{22}$/)
    const failed = await server.send({ method: 'POST', path: '/items/1/fail' })
    const wrong = await server.send({
      method: 'POST',
      path: '/items',
      headers: { 'Content-Type': 'application/json' },
      body: '{"name":7}',
    })
    expect([failed.status, wrong.status]).toEqual([500, 400])
    for (const { headers } of [failed, wrong]) expect(headers).not.toHaveProperty('consistency-token')
  })

  it('is told by what has failed outside of a transaction, too', async () => {
    const write = async ({ knex, ctx }: { knex?: Knex | undefined; ctx: { status: number } }) => {
      await knex?.raw("insert into visits values ('kept')")
      ctx.status = 409
      return { detail: 'kept' }
    }
    class Loose extends modelViewSet(Item, {
      serializerClass: ItemSerializer,
      actions: {
        refuse: listAction({ methods: ['POST'], atomic: false }, function () {
          return write(this)
        }),
        fail: listAction({ methods: ['POST'], atomic: false }, async function () {
          await write(this)
          throw new Error('no')
        }),
        undo: listAction({ methods: ['POST'] }, function () {
          return write(this)
        }),
      },
    }) {}
    const replicas = new ReplicaSet({
      primary: cluster.primary.knex,
      replicas: cluster.standbys.map(({ knex }) => knex),
    })
    const api = new APIRouter({ replicas }).register('items', Loose)
    await api.prepare()
    const app = new Koa().use(api.routes()).on('error', () => {})
    const server = await serve(app)
    onTestFinished(() => server.close())
    const answers = []
    for (const action of ['refuse', 'fail', 'undo']) {
      const { status, headers } = await server.send({ method: 'POST', path: `/items/${action}` })
      answers.push([status, 'consistency-token' in headers])
    }
    expect(answers).toEqual([
      [409, true],
      [500, true],
      [409, false],
    ])
  })

  it.skipIf(runsAsRole()).each([
    ['COMMIT', Held],
    ['insert', Items],
  ])('reads from the primary where the connection was lost between %s and its answer', async (sent, view) => {
    const { proxy, through } = await startDatabaseProxy(cluster.primary.postgres.connection)
    const pool = knex({ client: 'pg', connection: through as Knex.PgConnectionConfig })
    onTestFinished(async () => {
      await pool.destroy()
      await proxy.remove()
    })
    pool.on('query', ({ sql }: { sql: string }) => {
      if (!sql.startsWith(sent)) return
      proxy.delay(60_000)
      void vi.waitFor(async () => expect(await Item.query()).toHaveLength(1)).then(proxy.cut, proxy.cut)
    })
    class Cut extends view {
      override getKnex() {
        return this.ctx.method === 'POST' ? pool : super.getKnex()
      }
    }
    const { send } = await serveItems({}, Cut)
    const lost = await post({ send }, 'a')
    expect(lost.status).toBe(503)
    await caughtUp()
    expect(await isStandby({ send })).toBe(true)
    expect(tokenOf(lost)).toMatch(/^primary\./)
    expect(await isStandby({ send }, { 'Consistency-Token': tokenOf(lost) })).toBe(false)
  })

  // a role begins transactions of its own
  it.skipIf(runsAsRole()).each<[string, (replicas: ReplicaSet) => Koa.Middleware]>([
    [
      'a view set',
      (replicas) => {
        class Inside extends Items {
          override getKnex() {
            return (this.ctx.state['trx'] as Knex | undefined) ?? super.getKnex()
          }
        }
        const api = new APIRouter({ replicas }).register('items', Inside)
        return api.routes() as Koa.Middleware
      },
    ],
    [
      'a route',
      (replicas) =>
        compose<Koa.ParameterizedContext>([
          readFrom(replicas),
          async (ctx) => {
            await (ctx.state['trx'] as Knex)('items').insert({ name: 'a' })
            ctx.status = 201
          },
        ]),
    ],
  ])('reads from the primary where a transaction around %s has not ended', async (_what, routes) => {
    const { knex: primary } = cluster.primary
    const replicas = new ReplicaSet({ primary, replicas: cluster.standbys.map(({ knex }) => knex) })
    const server = await serve(new Koa().use(transaction(primary)).use(routes(replicas)))
    onTestFinished(() => server.close())
    const made = await post(server, 'a')
    expect([made.status, tokenOf(made)]).toEqual([201, expect.stringMatching(/^primary\./)])
  })

  it.each<[string, object]>([
    ['options that are left out', {}],
    ['options of an environment that has none', { wait: undefined, retryAfter: undefined, maxAge: undefined }],
  ])('reads from a replica that has it, and from the primary where none has, with %s', async (_, options) => {
    const server = await serveItems(options)
    const made = await post(server, 'a')
    const own = { 'Consistency-Token': tokenOf(made) }
    await caughtUp()
    expect(await isStandby(server, own)).toBe(true)
    await pause()
    const later = { 'Consistency-Token': tokenOf(await post(server, 'b')) }
    try {
      expect((await server.send({ path: '/items', headers: later })).json.count).toBe(2)
      expect(await isStandby(server, later)).toBe(false)
      // others may not wait
      expect((await server.send({ path: '/items' })).json.count).toBe(1)
      expect(await isStandby(server, { Cookie: `consistency_token=${later['Consistency-Token']}` })).toBe(false)
    } finally {
      await pause(false)
    }
  })

  it('is waited for, within bounds', async () => {
    const server = await serveItems({ wait: 5_000 })
    await pause()
    const own = { 'Consistency-Token': tokenOf(await post(server, 'a')) }
    const reading = isStandby(server, own)
    await sleep(100)
    await pause(false)
    expect(await reading).toBe(true)
  })

  it('asks a replica once, and no more where it is known to have come so far', async () => {
    const server = await serveItems()
    const own = { 'Consistency-Token': tokenOf(await post(server, 'a')) }
    await caughtUp()
    await server.send({ path: '/items', headers: own })
    const [one, two] = cluster.standbys.map(({ knex }) => knex)
    const first = await countQueries(one as never, () => server.send({ path: '/items/1', headers: own }))
    const second = await countQueries(two as never, () => server.send({ path: '/items/1', headers: own }))
    expect([...first, ...second].filter((sql) => sql.includes('pg_')).length).toBeLessThanOrEqual(1)
  })

  it.each([
    ['none of ours', '123-1-ff.AAAAAAAAAAAAAAAAAAAAAA'],
    ['without a signature', '123-1-ff'],
    ['empty of sense', '.'],
    ['long', 'x'.repeat(4_000)],
  ])('with a token that is %s reads from the primary', async (_what, token) => {
    const server = await serveItems()
    expect(await isStandby(server, { 'Consistency-Token': token })).toBe(false)
  })

  it('with a token that is sent twice reads from the primary, by header and by a cookie that is not ours', async () => {
    const server = await serveItems()
    const token = tokenOf(await post(server, 'a'))
    await caughtUp()
    expect(await isStandby(server, { 'Consistency-Token': token })).toBe(true)
    expect(await isStandby(server, { 'Consistency-Token': [token, token] as never })).toBe(false)
    expect(await isStandby(server, { Cookie: `consistency_token=other.x; consistency_token=${token}` })).toBe(false)
    // the header counts where both are there
    expect(await isStandby(server, { 'Consistency-Token': token, Cookie: 'consistency_token=other.x' })).toBe(true)
  })

  it('with a token that is ahead of all servers reads from the primary', async () => {
    const server = await serveItems({ wait: 20 })
    const { writeToken, readToken } = await import('../../lib/replicas/token.js')
    const place = readToken(tokenOf(await post(server, 'a')))
    if (place === 'primary') throw new Error('no place')
    await caughtUp()
    const later = { 'Consistency-Token': writeToken({ ...place, lsn: place.lsn + 2n ** 40n }) }
    expect(await isStandby(server, later)).toBe(false)
    expect((await server.send({ path: '/items', headers: later })).json.count).toBe(1)
    const largest = { ...place, timeline: 9_999_999_999, lsn: 2n ** 64n - 1n }
    expect(await isStandby(server, { 'Consistency-Token': writeToken(largest) })).toBe(false)
    expect(server.reported).toEqual([])
  })

  it('may be told by a cookie alone, by a header alone, and under other names', async () => {
    const byCookie = await post(await serveItems({ header: null, cookie: 'seen' }), 'a')
    expect([Object.keys(byCookie.headers), String(byCookie.headers['set-cookie'])]).toEqual([
      expect.not.arrayContaining(['consistency-token']),
      expect.stringMatching(/^seen=\d+-1-/),
    ])
    const server = await serveItems({ header: 'X-Seen', cookie: null })
    const byHeader = await post(server, 'b')
    expect([byHeader.headers['x-seen'], byHeader.headers['set-cookie']]).toEqual([
      expect.stringMatching(/^\d+-1-/),
      undefined,
    ])
    await pause()
    try {
      const late = String((await post(server, 'c')).headers['x-seen'])
      expect(await isStandby(server, { 'X-Seen': late })).toBe(false)
      // nobody asked for these
      expect(await isStandby(server, { 'Consistency-Token': late, Cookie: `consistency_token=${late}` })).toBe(true)
    } finally {
      await pause(false)
    }
  })

  it.skipIf(runsAsRole())('reads from the primary where that could not say how far it has come', async () => {
    const { knex: primary, postgres } = cluster.primary
    await primary.raw('create role silent login; grant all on items, items_id_seq to silent')
    await primary.raw('revoke execute on function pg_current_wal_insert_lsn from public')
    const silent = knex({ client: 'pg', connection: { ...postgres.connection, user: 'silent' } })
    Item.knex(silent)
    try {
      const server = await serveItems({ primary: silent })
      const made = await post(server, 'a')
      expect([made.status, tokenOf(made)]).toEqual([201, expect.stringMatching(/^primary\.[\w-]{22}$/)])
      await caughtUp()
      expect(await isStandby(server)).toBe(true)
      expect(await isStandby(server, { 'Consistency-Token': tokenOf(made) })).toBe(false)
    } finally {
      Item.knex(primary)
      await silent.destroy()
      await primary.raw('grant execute on function pg_current_wal_insert_lsn to public')
    }
  })

  it('is of another system or history where a token says so, and reads from the primary', async () => {
    const server = await serveItems({ wait: 20 })
    const { writeToken, readToken } = await import('../../lib/replicas/token.js')
    const place = readToken(tokenOf(await post(server, 'a')))
    if (place === 'primary') throw new Error('no place')
    await caughtUp()
    expect(await isStandby(server, { 'Consistency-Token': writeToken({ ...place, timeline: 2 }) })).toBe(false)
    expect(await isStandby(server, { 'Consistency-Token': writeToken({ ...place, system: '1' }) })).toBe(false)
  })

  it(`never reads less than was written, ${size(50, 300)} times`, async () => {
    const server = await serveItems()
    const pairs = Array.from({ length: size(50, 300) }, async (_, index) => {
      const made = await post(server, `n${index}`)
      const read = await server.send({
        path: `/items/${made.json.id}`,
        headers: { 'Consistency-Token': tokenOf(made) },
      })
      return read.json?.name === `n${index}`
    })
    expect((await Promise.all(pairs)).filter((isFresh) => !isFresh)).toEqual([])
  })
})

describe('a route of the application', () => {
  it('reads on a replica, writes on the primary, and lets its caller remember', async () => {
    const replicas = new ReplicaSet({
      primary: cluster.primary.knex,
      replicas: cluster.standbys.map(({ knex }) => knex),
    })
    const app = new Koa().use(errors()).use(readFrom(replicas))
    app.on('error', () => {})
    app.use(async (ctx) => {
      const { knex } = ctx.state as { knex: Knex }
      if (ctx.method === 'POST') await knex('items').insert({ name: 'own' })
      if (ctx.path === '/refused') ctx.throw(409)
      if (ctx.path === '/failed') throw new Error('behind what is written')
      ctx.body = (
        await knex.raw('select pg_is_in_recovery() as standby, (select count(*)::int from items) as n')
      ).rows[0]
    })
    const server = await serve(app)
    onTestFinished(() => server.close())
    expect((await server.send({ path: '/' })).json).toEqual({ standby: true, n: 0 })
    await pause()
    try {
      const made = await server.send({ method: 'POST', path: '/' })
      const own = { 'Consistency-Token': tokenOf(made) }
      expect([made.json.standby, (await server.send({ path: '/', headers: own })).json]).toEqual([
        false,
        { standby: false, n: 1 },
      ])
    } finally {
      await pause(false)
    }
    for (const path of ['/refused', '/failed'])
      expect(tokenOf(await server.send({ method: 'POST', path }))).toMatch(/^[0-9]/)
    expect(() => readFrom({} as never)).toThrow('readFrom(): give it new ReplicaSet')
  })
})

it('statements on a replica are told to the channels', async () => {
  const replicas = new ReplicaSet({
    primary: cluster.primary.knex,
    replicas: cluster.standbys.map(({ knex }) => knex),
  })
  const app = new Koa().use(slowRequests()).use(readFrom(replicas))
  app.use(async (ctx) => {
    ctx.body = (await (ctx.state['knex'] as Knex).raw('select pg_is_in_recovery() as standby')).rows[0]
  })
  const server = await serve(app)
  onTestFinished(() => server.close())
  const heard = listen('sql')
  expect((await server.send({ path: '/' })).json).toEqual({ standby: true })
  expect(heard.filter(({ phase }) => phase === 'asyncEnd').map(({ event }) => event['text'])).toEqual([
    'select pg_is_in_recovery() as standby',
  ])
})

describe('an agent', () => {
  it('reads what it has written, though it carries no token', async () => {
    const replicas = new ReplicaSet({
      primary: cluster.primary.knex,
      replicas: cluster.standbys.map(({ knex }) => knex),
    })
    const api = new APIRouter({ replicas })
    api.register('items', Items)
    const server = await serve(new Koa().use(mcp(api, { tools: ['items:*'] })).use(api.routes()))
    onTestFinished(() => server.close())
    const call = async (name: string, given: object) =>
      (await server.send(messageOf({ method: 'tools/call', params: { name, arguments: given } }))).json.result
    await pause()
    try {
      const made = await call('item_create', { body: { name: 'new' } })
      expect((await call('item_retrieve', { id: made.structuredContent.id })).structuredContent).toMatchObject({
        name: 'new',
      })
    } finally {
      await pause(false)
    }
  })
})

describe('a role', () => {
  it('holds on replicas, too', async () => {
    await cluster.primary.knex.raw(
      'create role reader; grant select on items to reader; alter table items enable row level security; create policy odd on items using (id % 2 = 1)',
    )
    await post(await serveItems(), 'one')
    await post(await serveItems(), 'two')
    await caughtUp()
    let timesAsked = 0
    class Scoped extends modelViewSet(Item, {
      serializerClass: ItemSerializer,
      databaseRole: () => {
        timesAsked++
        return 'reader'
      },
      actions: {
        who: listAction({ methods: ['GET'] }, async function () {
          const { rows } = await (this.trx as Knex).raw('select current_user as name, pg_is_in_recovery() as standby')
          return rows[0] as object
        }),
      },
    }) {}
    const replicas = new ReplicaSet({
      primary: cluster.primary.knex,
      replicas: cluster.standbys.map(({ knex }) => knex),
    })
    const api = new APIRouter({ replicas }).register('items', Scoped)
    await api.prepare()
    const server = await serve(new Koa().use(api.routes()))
    onTestFinished(() => server.close())
    expect((await server.send({ path: '/items/who' })).json).toEqual({ name: 'reader', standby: true })
    expect(timesAsked).toBe(1)
    expect((await server.send({ path: '/items' })).json.map(({ name }: Row) => name)).toEqual(['one'])
    await cluster.primary.knex.raw('drop policy odd on items; alter table items disable row level security')
  })
})

describe('explain()', () => {
  it('says where a route reads', async () => {
    const replicas = new ReplicaSet({
      primary: cluster.primary.knex,
      replicas: cluster.standbys.map(({ knex }) => knex),
    })
    const api = new APIRouter({ replicas }).register('items', Items)
    const told = await api.explain('item')
    expect(
      told.filter(({ name }) => /list|create/.test(name)).map(({ method, replicas: many }) => [method, many]),
    ).toEqual([
      ['GET', 2],
      ['POST', 0],
    ])
    expect(formatExplanations(told)).toContain('reads on     2 replicas, else the primary')
  })

  it('counts no replica for a view of another database, or of none', async () => {
    const replicas = new ReplicaSet({
      primary: cluster.primary.knex,
      replicas: cluster.standbys.map(({ knex }) => knex),
    })
    class Elsewhere extends Items {
      static override model = Item.bindKnex(cluster.standbys[0]?.knex as Knex)
    }
    class Pings extends ViewSet {
      list() {
        return {}
      }
    }
    const api = new APIRouter({ replicas }).register('items', Elsewhere, 'item').register('pings', Pings, 'ping')
    for (const name of ['item-list', 'ping-list']) expect(await api.explain(name)).toMatchObject([{ replicas: 0 }])
  })
})

describe('a replica that', () => {
  it('is away is left out, told once, and tried again', async () => {
    const broken = knex({
      client: 'pg',
      connection: { host: '/nonexistent', user: 'x' },
      acquireConnectionTimeout: 300,
    })
    onTestFinished(() => broken.destroy())
    const server = await serveItems({ replicas: [broken], retryAfter: 60_000 })
    for (let index = 0; index < 4; index++) expect(await isStandby(server)).toBe(false)
    expect(server.reported.map((error) => (error as Error).name)).toEqual(['ReplicaDown'])
    const both = await serveItems({ replicas: [broken, cluster.standbys[0]?.knex as never] })
    expect([await isStandby(both), await isStandby(both), await isStandby(both)]).toEqual([true, true, true])
  })

  it.each([
    ['its login', { user: 'nobody' }],
    ['its database', { database: 'nowhere' }],
  ])('refuses %s is left out, too', async (_what, refused) => {
    const { connection } = (cluster.standbys[0] as Cluster['primary']).knex.client.config
    const broken = knex({ client: 'pg', connection: { ...connection, ...refused } })
    onTestFinished(() => broken.destroy())
    const server = await serveItems({ replicas: [broken], retryAfter: 60_000 })
    for (let index = 0; index < 2; index++) expect(await isStandby(server)).toBe(false)
    expect(server.reported.map((error) => (error as Error).name)).toEqual(['ReplicaDown'])
  })

  it.each(['25P03', '25P04', '57P05'])('has ended what took too long (%s) is not away', async (code) => {
    class Limited extends Items {
      override list(): Promise<never> {
        return Promise.reject(Object.assign(new Error('terminating connection'), { code }))
      }
    }
    const server = await serveItems({ retryAfter: 60_000 }, Limited)
    expect((await server.send({ path: '/items' })).status).toBe(503)
    expect(server.reported.map((error) => (error as Error).name)).not.toContain('ReplicaDown')
    expect(await isStandby(server)).toBe(true)
  })

  // under a role what reads cannot write, on the primary neither
  it.skipIf(runsAsRole())('cannot do what an action does is not asked to: it is done on the primary', async () => {
    const server = await serveItems()
    const { json, headers } = await server.send({ path: '/items/touch' })
    // of the attempt on the replica nothing is left
    expect([json, headers['server-timing']]).toEqual([{ touched: true }, 'touch'])
    expect(headers['consistency-token']).toMatch(/^[0-9]/)
    expect(server.reported).toEqual([])
    expect(await isStandby(server)).toBe(true)
  })

  it.skipIf(runsAsRole())('cannot reach another server itself is not away', async () => {
    await cluster.primary.knex.raw(`
      create extension postgres_fdw;
      create server away foreign data wrapper postgres_fdw options (host '/nonexistent');
      create user mapping for current_user server away;
      create foreign table remote_items (id int) server away`)
    await caughtUp()
    const server = await serveItems({ retryAfter: 60_000 })
    expect((await server.send({ path: '/items/remote' })).status).toBe(503)
    expect(server.reported.map((error) => (error as Error).name)).not.toContain('ReplicaDown')
    expect(await isStandby(server)).toBe(true)
  })

  it('does not have yet what a migration has made is not asked for it', async () => {
    const server = await serveItems()
    await server.send({ path: '/items' })
    await pause()
    try {
      await cluster.primary.knex.raw('alter table items add column made int default 7')
      expect((await server.send({ path: '/items/made' })).json).toEqual({ made: [], standby: false })
      expect(await isStandby(server)).toBe(true)
      expect(server.reported).toEqual([])
    } finally {
      await cluster.primary.knex.raw('alter table items drop column made')
      await pause(false)
    }
  })

  it.each([
    ['rows', {}],
    ['instances', { label: new SerializerMethodField({ methodName: 'getLabel' }) }],
  ])('has settings by which values would be misread is left out for %s', async (_way, declaredFields) => {
    const [{ postgres }] = cluster.standbys as [Cluster['primary']]
    const odd = knex({ client: 'pg', connection: { ...postgres.connection, options: '-c datestyle=German' } as never })
    onTestFinished(() => odd.destroy())
    class Labelled extends modelSerializer(Item, {
      fields: ['id', 'name', ...Object.keys(declaredFields)] as never,
      declaredFields,
    }) {
      getLabel() {
        return 'label'
      }
    }
    const replicas = new ReplicaSet({ primary: cluster.primary.knex, replicas: [odd] })
    const api = new APIRouter({ replicas }).register('items', modelViewSet(Item, { serializerClass: Labelled }))
    await api.prepare()
    const reported: Error[] = []
    const server = await serve(new Koa().on('error', (error) => reported.push(error)).use(api.routes()))
    onTestFinished(() => server.close())
    expect((await server.send({ path: '/items' })).status).toBe(200)
    expect(reported.map(({ name }) => name)).toEqual(['ReplicaDown'])
    expect(inspect(reported)).toContain('the database connection has DateStyle at "German, DMY"')
  })

  it('fails in the middle leaves nothing of its attempt in the answer', async () => {
    const done: string[] = []
    class Twice extends modelViewSet(Item, { serializerClass: modelSerializer(Item, { fields: ['id', 'name'] }) }) {
      override async list() {
        const { rows } = await (this.knex as Knex).raw('select pg_is_in_recovery() as standby')
        const [{ standby }] = rows
        this.ctx.append('Tried', standby ? 'standby' : 'primary')
        if (standby) this.ctx.set('Stale', 'yes')
        this.afterCommit(() => void done.push(standby ? 'standby' : 'primary'))
        if (standby) await (this.knex as Knex).raw("do $$ begin raise exception using errcode = '40001'; end $$")
        return super.list()
      }
    }
    const replicas = new ReplicaSet({
      primary: cluster.primary.knex,
      replicas: cluster.standbys.map(({ knex }) => knex),
    })
    const api = new APIRouter({ replicas }).register('items', Twice)
    await api.prepare()
    const server = await serve(new Koa().use(api.routes()))
    onTestFinished(() => server.close())
    const { status, headers } = await server.send({ path: '/items' })
    expect([status, headers['tried'], headers['stale'], done]).toEqual([200, 'primary', undefined, ['primary']])
  })

  it('fails while it looks whether a format is part of a key leaves the path as it was', async () => {
    await cluster.primary.knex.raw(`
      create table files (name text primary key); insert into files values ('a');
      create function fails_on_replicas() returns boolean language plpgsql as $$
        begin if pg_is_in_recovery() then raise exception using errcode = '40001'; end if; return true; end $$`)
    await caughtUp()
    const File = table('files', { idColumn: 'name' })
    File.knex(cluster.primary.knex)
    class Files extends modelViewSet(File, { serializerClass: modelSerializer(File, { fields: ['name'] }) }) {
      override getQueryset() {
        return super.getQueryset().whereRaw('(select fails_on_replicas())')
      }
    }
    const replicas = new ReplicaSet({
      primary: cluster.primary.knex,
      replicas: cluster.standbys.map(({ knex }) => knex),
    })
    const api = new APIRouter({ replicas }).register('files', Files)
    await api.prepare()
    const server = await serve(new Koa().use(api.routes()))
    onTestFinished(() => server.close())
    const { status, json } = await server.send({ path: '/files/a.json' })
    expect([status, json]).toEqual([200, { name: 'a' }])
  })

  it('fails between an object and its version gives its version to no other object', async () => {
    await cluster.primary.knex.raw(`
      create table papers (id int primary key, n int not null); insert into papers values (1, 1);
      create function refuses_on_replicas() returns boolean language plpgsql as $$
        begin if pg_is_in_recovery() then raise exception using errcode = '40001'; end if; return true; end $$;
      create function count_up() returns trigger language plpgsql as $$ begin new.n = old.n + 1; return new; end $$;
      create trigger count_up before update on papers for each row execute function count_up()`)
    await caughtUp()
    const Paper = table('papers')
    Paper.knex(cluster.primary.knex)
    let calls = 0
    class Papers extends modelViewSet(Paper, {
      serializerClass: modelSerializer(Paper, { fields: ['id', 'n'], readOnlyFields: ['n'] }),
    }) {
      static override concurrency = 'n'
      override async getObject() {
        if (++calls === 2) {
          await cluster.primary.knex('papers').update({ n: 2 })
          await this.knex?.raw('select refuses_on_replicas()')
        }
        return (await this.getQueryset().findById(1)) as never
      }
    }
    const replicas = new ReplicaSet({
      primary: cluster.primary.knex,
      replicas: cluster.standbys.map(({ knex }) => knex),
    })
    const api = new APIRouter({ replicas }).register('papers', Papers)
    await api.prepare()
    const server = await serve(new Koa().use(api.routes()))
    onTestFinished(() => server.close())
    const first = await server.send({ path: '/papers/1' })
    await caughtUp()
    const second = await server.send({ path: '/papers/1' })
    expect([first.status, first.json]).toEqual([200, { id: 1, n: 2 }])
    expect(first.headers['etag']).toBe(second.headers['etag'])
  })

  it('loses its connections in the middle is done without', async () => {
    const server = await serveItems({ retryAfter: 50 })
    for (let round = 0; round < 10; round++) {
      const reading = Array.from({ length: 20 }, () => server.send({ path: '/items' }))
      for (const { knex } of cluster.standbys) {
        const killing = knex.raw(
          "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'",
        )
        // the pool may not have noticed yet that its own connection was killed in the round before
        await killing.catch(() => {})
      }
      expect((await Promise.all(reading)).map(({ status }) => status).filter((status) => status !== 200)).toEqual([])
    }
  })
})

describe('a replica set', () => {
  it.each<[Partial<Record<keyof ReplicaSetOptions, unknown>>, string]>([
    [{ replicas: [] }, 'ReplicaSet: replicas is empty'],
    [{ replicas: ['postgres://'] }, 'ReplicaSet: replicas holds something that is no knex instance'],
    [{ primary: undefined }, 'ReplicaSet: primary holds something that is no knex instance'],
    [{ wait: -1 }, 'ReplicaSet: wait'],
    [{ waits: 1 } as never, 'did you mean "wait"?'],
  ])('is refused where an option is wrong: %j', (options, message) => {
    const { primary, standbys } = cluster
    const given = { primary: primary.knex, replicas: standbys.map(({ knex }) => knex), ...options }
    expect(() => new ReplicaSet(given as ReplicaSetOptions)).toThrow(message)
  })
})
