/** Webhooks: endpoints are told, in order and at least once, of each change of what their owners see, and of nothing else. */
import { Ajv2020 as Ajv } from 'ajv/dist/2020.js'
import knexOf, { type Knex } from 'knex'
import type Koa from 'koa'
import { Model } from 'objection'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ChangeStreamMixin, type Changes, ChangesMixin, ensureChangesTable } from '../../lib/changes/index.js'
import { APIRouter, BulkModelViewSet, IsAdminUser, NestedSerializer, type SerializerClass } from '../../lib/index.js'
import { rule } from '../../lib/rules/index.js'
import { formatExplanations } from '../../lib/tools/index.js'
import {
  ensureWebhookTables,
  type ReceiverOptions,
  WebhookDispatcher,
  type WebhookDispatcherOptions,
  WebhookEndpointViewSet,
} from '../../lib/webhooks/index.js'
import { type Client, serveApp, serving } from '../support/client.js'
import { createDatabase } from '../support/database.js'
import { Author, AuthorSerializer, Book, BookSerializer, database, LIBRARY, useLibrary } from '../support/library.js'
import { pagesReadBy } from '../support/pages-read.js'
import { startDatabaseProxy } from '../support/proxy.js'
import { lint } from '../support/redocly.js'
import { runsAsRole } from '../support/roles.js'
import { serializerOf, viewOf } from '../support/views.js'
import { isGenuine, type ReceivedWebhook, receiveWebhooks } from '../support/webhook-receiver.js'

useLibrary()

const asUser: Koa.Middleware = (ctx, next) => {
  const id = ctx.get('X-User')
  if (id) ctx.state['user'] = userOf(id)
  return next()
}
const userOf = (id: string) => (id === 'gone' ? undefined : { id: Number(id), is_staff: id === '9' })

class BookViewSet extends ChangesMixin(BulkModelViewSet<Book>) {
  static override model = Book
  static override serializerClass: SerializerClass = BookSerializer
}
class AuthorViewSet extends ChangesMixin(BulkModelViewSet<Author>) {
  static override model = Author
  static override serializerClass: SerializerClass = AuthorSerializer
  static override permissionClasses = [IsAdminUser]
}
class HookViewSet extends WebhookEndpointViewSet {
  static override events = ['book.*', 'author.created']
  static override receivers: ReceiverOptions = { allowHttp: true, allowedAddresses: ['127.0.0.1'] }
}

/** Each sees the books of the author that has his id; user 9 sees all, but no price. */
const RULES = [
  rule(Book, {
    read: ({ user }) => (user?.['is_staff'] ? true : { author_id: user?.id }),
    create: true,
    update: true,
    delete: true,
    fields: { price: { read: ({ user }) => user?.id !== 9 } },
  }),
]

let api: APIRouter
let client: Client
beforeAll(async () => {
  await ensureChangesTable(database.knex)
  await ensureWebhookTables(database.knex)
  api = new APIRouter({ rules: RULES })
  api.register('books', BookViewSet).register('authors', AuthorViewSet).register('hooks', HookViewSet, 'hook')
  await api.prepare()
  client = await serving(asUser, api.routes())
})
afterAll(() => client.close())
beforeEach(() => database.knex.raw('truncate koa_viewsets_webhook_endpoints, koa_viewsets_webhook_deliveries'))

const as = (user: string) => ({ 'X-User': user })

async function subscribe(url: string, { user = '1', events = ['book.*'] } = {}) {
  const { status, json } = await client.send('POST', '/hooks', { url, events }, as(user))
  expect(status).toBe(201)
  const { json: secret } = await client.get(`/hooks/${json.id}/secret`, as(user))
  return { id: json.id as string, secret: secret.secret as string }
}

/** Runs until the test ends. */
async function dispatch(options: Partial<WebhookDispatcherOptions> = {}): Promise<WebhookDispatcher> {
  const onError = (error: unknown) => expect.soft(String(error)).toBe('')
  const dispatcher = new WebhookDispatcher({ knex: database.knex, api, findOwner: userOf, onError, ...options })
  await dispatcher.start()
  onTestFinished(() => dispatcher.stop())
  return dispatcher
}

/** What takes as long as the dispatcher rests. */
const PATIENT = { timeout: 10_000, interval: 100 }

const told = (received: readonly { readonly body: any }[]) => received.map(({ body }) => [body.type, body.data.id])

describe('an endpoint', () => {
  it('is told of what its owner sees, before and after a change', async () => {
    const [one, two] = [await receiveWebhooks(), await receiveWebhooks()]
    const { secret } = await subscribe(one.url)
    await subscribe(two.url, { user: '2' })
    await dispatch()
    const { json } = await client.send('POST', '/books', { title: 'a', author_id: 1, price: '1.50' }, as('1'))
    const [first] = await one.receive(1)
    expect(first?.body).toEqual({
      type: 'book.created',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: { id: json.id, before: null, after: expect.objectContaining({ id: json.id, title: 'a', price: '1.50' }) },
    })
    expect(first && isGenuine(secret, first)).toBe(true)
    await client.send('PATCH', `/books/${json.id}`, { author_id: 2 }, as('9'))
    await one.receive(2)
    await client.send('PATCH', `/books/${json.id}`, { title: 'b' }, as('9'))
    await client.send('DELETE', `/books/${json.id}`, undefined, as('9'))
    await two.receive(3)
    expect(told(one.received)).toEqual([
      ['book.created', json.id],
      ['book.updated', json.id],
    ])
    expect(one.received[1]?.body.data).toMatchObject({ before: { author_id: 1 }, after: null })
    expect(told(two.received)).toEqual([
      ['book.updated', json.id],
      ['book.updated', json.id],
      ['book.deleted', json.id],
    ])
    expect(two.received[0]?.body.data).toMatchObject({ before: null, after: { author_id: 2 } })
    expect(two.received[2]?.body.data).toMatchObject({ before: { title: 'b' }, after: null })
  })

  it('is told only of events that it asks for, of lists that its owner may read, and no field that he may not', async () => {
    const [mine, staff] = [await receiveWebhooks(), await receiveWebhooks()]
    await subscribe(mine.url, { events: ['book.deleted', 'author.created'] })
    await subscribe(staff.url, { user: '9', events: ['book.*', 'author.created'] })
    await dispatch()
    await client.send('POST', '/authors', { name: 'Cy' }, as('9'))
    const { json } = await client.send('POST', '/books', { title: 'a', author_id: 1, price: '1.50' }, as('1'))
    await client.send('DELETE', `/books/${json.id}`, undefined, as('1'))
    await staff.receive(3)
    expect(told(await mine.receive(1))).toEqual([['book.deleted', json.id]])
    expect(new Set(staff.received.map(({ body }) => body.type))).toEqual(
      new Set(['author.created', 'book.created', 'book.deleted']),
    )
    for (const { body } of staff.received) expect(body.data.after ?? {}).not.toHaveProperty('price')
  })

  it('is told of what is nested what its owner may read of it', async () => {
    class Nesting extends ChangesMixin(BulkModelViewSet<Book>) {
      static override model = Book
      static override serializerClass: SerializerClass = serializerOf(Book, ['title', 'author_id', 'author'], {
        author: new NestedSerializer(AuthorSerializer, { readOnly: true }),
      })
      static override changes: Changes = { fields: ['title', 'author'] }
    }
    const own = new APIRouter({ rules: [rule(Author, { fields: { name: { read: ({ user }) => user?.id === 1 } } })] })
    own.register('books', Nesting).register('authors', AuthorViewSet).register('hooks', HookViewSet, 'hook')
    const served = await serveApp(asUser, own.routes())
    const [one, two] = [await receiveWebhooks(), await receiveWebhooks()]
    await subscribe(one.url)
    await subscribe(two.url, { user: '2' })
    await dispatch({ api: own })
    expect((await served.send('POST', '/books', { title: 'a', author_id: 1 })).status).toBe(201)
    expect((await one.receive(1))[0]?.body.data.after).toEqual({ title: 'a', author: { id: 1, name: 'Ada' } })
    expect((await two.receive(1))[0]?.body.data.after).toEqual({ title: 'a', author: { id: 1 } })
  })
})

describe('deliveries', () => {
  const post = async (body: object = {}) =>
    (await client.send('POST', '/books', { title: 'a', author_id: 1, ...body }, as('1'))).json.id as number
  const patch = (id: number, title: string) => client.send('PATCH', `/books/${id}`, { title }, as('1'))
  const listed = async (id: string, query = '') => (await client.get(`/hooks/${id}/deliveries${query}`, as('1'))).json
  /** What waits for another attempt waits no longer. */
  const hurry = () =>
    database.knex.raw(
      'update koa_viewsets_webhook_deliveries set due_at = now(); update koa_viewsets_webhook_endpoints set paused_until = null',
    )

  it('are tried again, with the same id, before what comes later of the same object; others wait for nothing', async () => {
    const receiver = await receiveWebhooks(({ body }) => (body.data.after?.title === 'bad' ? 500 : 204))
    const { id: hook } = await subscribe(receiver.url)
    await dispatch()
    const [one, two] = [await post(), await post()]
    await receiver.receive(2)
    await patch(one, 'bad')
    await receiver.receive(3)
    await patch(one, 'good')
    await patch(two, 'good')
    await vi.waitFor(async () => {
      await hurry()
      expect(receiver.received.filter(({ body }) => body.data.after?.title === 'good')).toHaveLength(1)
    }, PATIENT)
    expect(receiver.received.find(({ body }) => body.data.after?.title === 'good')?.body.data.id).toBe(two)
    const bad = receiver.received.filter(({ body }) => body.data.after?.title === 'bad')
    expect(bad.length).toBeGreaterThan(0)
    expect(new Set(bad.map(({ id }) => id)).size).toBe(1)
    receiver.answer = () => 200
    await vi.waitFor(async () => {
      await hurry()
      expect(told(receiver.received).filter(([, id]) => id === one).length).toBeGreaterThan(2)
      expect(receiver.received.at(-1)?.body.data).toMatchObject({ id: one, after: { title: 'good' } })
    }, PATIENT)
    expect((await listed(hook, '?state=delivered')).length).toBe(5)
  })

  it.each([
    [503, { 'Retry-After': '3600' }, 3_600],
    [500, {}, 5],
    [302, { Location: 'http://169.254.169.254/' }, 5],
  ])('that are answered %i wait, and say why', async (status, headers, seconds) => {
    const receiver = await receiveWebhooks((_, response) => void response.writeHead(status, headers).end())
    const { id } = await subscribe(receiver.url)
    await dispatch()
    await post()
    await receiver.receive(1)
    await vi.waitFor(async () => {
      const [delivery] = await listed(id)
      expect(delivery).toMatchObject({ state: 'pending', attempts: 1, status, event: 'book.created' })
      const wait = (Date.parse(delivery.due_at) - Date.now()) / 1_000
      expect(wait).toBeGreaterThan(seconds * 0.7 - 2)
      expect(wait).toBeLessThan(seconds * 1.3)
    })
    expect(receiver.received).toHaveLength(1)
  })

  it('that were given up are found among many that were not, and no list reads bodies', async () => {
    const { knex } = database
    const { id } = await subscribe('https://example.com/')
    await knex.raw(
      `insert into koa_viewsets_webhook_deliveries (id, endpoint_id, change_id, object, event, body, state, waits, ended_at)
       select n::text, ?, n, '', 'book.created', repeat('x', 500), case n when 7 then 'dead' else 'delivered' end, false, now()
       from generate_series(1, 2000) as n`,
      [id],
    )
    const sent: string[] = []
    const listen = ({ sql }: { sql: string }) => void sent.push(sql)
    knex.on('query', listen)
    const pages = await pagesReadBy(knex, async () => expect(await listed(id, '?state=dead')).toHaveLength(1))
    knex.off('query', listen)
    expect(pages).toBeLessThan(20)
    expect(sent.filter((sql) => sql.includes('koa_viewsets_webhook_deliveries')).join()).not.toMatch(/\*|body/)
  })

  it('that nobody answers hold up no other endpoint, and no connection', async () => {
    const hanging = await receiveWebhooks(() => undefined)
    const quick = await receiveWebhooks()
    const { id } = await subscribe(hanging.url)
    await subscribe(quick.url)
    await dispatch({ timeoutSeconds: 1, perEndpoint: 3 })
    for (let index = 0; index < 8; index++) await post()
    await quick.receive(8)
    expect(hanging.received.length).toBeLessThanOrEqual(3)
    await vi.waitFor(() => expect(database.knex.client.pool.numUsed()).toBe(0), { interval: 1 })
    await vi.waitFor(async () => {
      const deliveries = (await listed(id)) as { problem: string | null }[]
      expect(deliveries.map(({ problem }) => problem)).toContain('there was no answer within 1 s')
    }, 5_000)
  })

  it('end where the receiver is gone, until the endpoint is switched on', async () => {
    const receiver = await receiveWebhooks(() => 410)
    const { id } = await subscribe(receiver.url)
    await dispatch()
    await post()
    await vi.waitFor(async () => {
      const { json } = await client.get(`/hooks/${id}`, as('1'))
      expect(json).toMatchObject({ is_active: false, problem: 'it has answered 410' })
    })
    receiver.answer = () => 204
    const { json } = await client.send('PATCH', `/hooks/${id}`, { is_active: true }, as('1'))
    expect(json).toMatchObject({ is_active: true, problem: null })
    await hurry()
    await receiver.receive(2)
  })

  it('are given up after ten attempts, and replayed', async () => {
    const receiver = await receiveWebhooks(() => 500)
    const { id } = await subscribe(receiver.url)
    await dispatch()
    await post()
    await receiver.receive(1)
    await vi.waitFor(async () => expect((await listed(id))[0].status).toBe(500))
    await database.knex.raw('update koa_viewsets_webhook_deliveries set attempts = 9')
    await hurry()
    await vi.waitFor(async () => expect((await listed(id, '?state=dead')).length).toBe(1), PATIENT)
    await post()
    receiver.answer = () => 204
    await hurry()
    await vi.waitFor(async () => expect((await listed(id, '?state=delivered')).length).toBe(1), PATIENT)
    const [dead] = await listed(id, '?state=dead')
    expect((await client.send('POST', `/hooks/${id}/replay`, { deliveries: ['x'] }, as('1'))).json).toEqual({
      replayed: 0,
    })
    expect((await client.send('POST', `/hooks/${id}/replay`, {}, as('1'))).json).toEqual({ replayed: 1 })
    await vi.waitFor(async () => expect((await listed(id, '?state=delivered')).length).toBe(2), PATIENT)
    expect(receiver.received.at(-1)?.id).toBe(dead.id)
  })

  it('go on where a dispatcher has ended, and come once where several share the work', async () => {
    const receiver = await receiveWebhooks()
    await subscribe(receiver.url)
    const first = await dispatch()
    await post()
    await receiver.receive(1)
    await first.stop()
    const made = []
    for (let index = 0; index < 5; index++) made.push(await post())
    await Promise.all([dispatch(), dispatch(), dispatch()])
    await receiver.receive(6)
    await Promise.all(Array.from({ length: 20 }, () => post()))
    await receiver.receive(26)
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(26)
    expect(receiver.received).toHaveLength(26)
  })

  it('are given back by a dispatcher that ends, and free again where one was killed', async () => {
    const hanging = await receiveWebhooks(() => undefined)
    const { id } = await subscribe(hanging.url)
    const first = await dispatch()
    await post()
    await hanging.receive(1)
    await first.stop({ seconds: 0.1 })
    expect((await listed(id))[0]).toMatchObject({ state: 'pending', attempts: 0 })
    hanging.answer = () => 204
    await dispatch()
    await hanging.receive(2)
    await vi.waitFor(async () => expect((await listed(id))[0].state).toBe('delivered'))
    await database.knex.raw(
      "update koa_viewsets_webhook_deliveries set state = 'pending', leased_until = now() - interval '1 s'",
    )
    await hanging.receive(3)
    expect(new Set(hanging.received.map((one) => one.id)).size).toBe(1)
  })

  it('do not hold up the end of a dispatcher whose database says nothing', async () => {
    const { proxy, through } = await startDatabaseProxy(database.connection)
    const pool = knexOf({ client: 'pg', connection: through as Knex.PgConnectionConfig })
    onTestFinished(async () => {
      vi.useRealTimers()
      await proxy.remove()
      await pool.destroy()
    })
    const hanging = await receiveWebhooks(() => undefined)
    await subscribe(hanging.url)
    const errors: unknown[] = []
    const dispatcher = await dispatch({ knex: pool, onError: (error) => errors.push(error) })
    await post()
    await hanging.receive(1)
    proxy.silence()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const stopped = dispatcher.stop({ seconds: 1 })
    await vi.advanceTimersByTimeAsync(1_000)
    await vi.waitFor(async () => {
      await vi.advanceTimersByTimeAsync(1_000)
      expect(errors.map(String)).toEqual([
        expect.stringContaining('the database does not take what became of attempts'),
      ])
    })
    await stopped
  })

  it('that cannot be made are told of once, and again where they could be made in between', async () => {
    const rename = (from: string, to: string) => database.knex.raw('alter table ?? rename to ??', [from, to])
    const [table, away] = ['koa_viewsets_webhook_deliveries', 'deliveries_away']
    const errors: unknown[] = []
    let failed = 0
    const count = () => failed++
    database.knex.on('query-error', count)
    onTestFinished(() => void database.knex.removeListener('query-error', count))
    await dispatch({ onError: (error) => errors.push(error) })
    for (const told of [1, 2]) {
      const receiver = await receiveWebhooks()
      const { id } = await subscribe(receiver.url)
      await post()
      // what changed while the table was away is told now, too
      await vi.waitFor(async () => expect(await listed(id, '?state=delivered')).not.toHaveLength(0), PATIENT)
      await database.knex('koa_viewsets_webhook_endpoints').delete()
      await rename(table, away)
      failed = 0
      // each change has the dispatcher look again
      await vi.waitFor(async () => {
        await post()
        expect(failed).toBeGreaterThan(2)
      }, PATIENT)
      await rename(away, table)
      expect(errors.map(String)).toEqual(Array(told).fill(expect.stringContaining('does not exist')))
    }
  })

  it('are handed to a queue of jobs in the transaction that makes them', async () => {
    const receiver = await receiveWebhooks(() => 500)
    await subscribe(receiver.url)
    const jobs: string[] = []
    const dispatcher = await dispatch({
      enqueue: async (trx, deliveries) => {
        const { rows } = await trx.raw('select id from koa_viewsets_webhook_deliveries')
        jobs.push(...deliveries.map(({ id }) => id))
        expect(rows.map(({ id }: { id: string }) => id)).toEqual(expect.arrayContaining(jobs))
      },
    })
    const id = await post()
    await patch(id, 'b')
    await vi.waitFor(() => expect(jobs).toHaveLength(2))
    expect(receiver.received).toEqual([])
    const [one, two] = jobs as [string, string]
    expect(await dispatcher.deliver(two)).toBe(false)
    expect(await dispatcher.deliver(one)).toBe(false)
    receiver.answer = () => 200
    expect(await dispatcher.deliver(one)).toBe(true)
    expect(await dispatcher.deliver(one)).toBe(true)
    expect(await dispatcher.deliver(two)).toBe(true)
    expect(receiver.received.map((received) => received.id)).toEqual([one, one, two])
  })

  it('are handed to a queue of jobs once more as they are replayed', async () => {
    const receiver = await receiveWebhooks(() => 500)
    const { id: endpoint } = await subscribe(receiver.url)
    const jobs: string[] = []
    const dispatcher = await dispatch({ enqueue: async (_, made) => void jobs.push(...made.map(({ id }) => id)) })
    const id = await post()
    await patch(id, 'b')
    await vi.waitFor(() => expect(jobs).toHaveLength(2))
    const [one, two] = jobs as [string, string]
    await vi.waitFor(async () => expect(await listed(endpoint)).toHaveLength(2))
    await database.knex.raw('update koa_viewsets_webhook_deliveries set attempts = 9')
    for (const job of [one, two]) expect(await dispatcher.deliver(job)).toBe(false)
    expect(await listed(endpoint, '?state=dead')).toHaveLength(2)
    receiver.answer = () => 200
    await client.send('POST', `/hooks/${endpoint}/replay`, {}, as('1'))
    await vi.waitFor(() => expect(jobs).toEqual([one, two, one]), PATIENT)
    await vi.waitFor(async () => expect(await dispatcher.deliver(one)).toBe(true), PATIENT)
    await vi.waitFor(() => expect(jobs).toEqual([one, two, one, two]), PATIENT)
    await vi.waitFor(async () => expect(await dispatcher.deliver(two)).toBe(true), PATIENT)
  })

  it('are signed by the old secrets, too, each for a day, at most four of them', async () => {
    const receiver = await receiveWebhooks()
    const { id, secret } = await subscribe(receiver.url)
    await dispatch()
    const replace = async () => (await client.send('POST', `/hooks/${id}/secret`, undefined, as('1'))).json
    // as a client does that got no answer
    const secrets = [secret, (await replace()).secret as string]
    const { secret: last, old_secret_until: until } = await replace()
    secrets.push(last)
    expect(new Set(secrets).size).toBe(3)
    expect(Date.parse(until)).toBeGreaterThan(Date.now() + 23 * 3_600_000)
    const genuine = async (count: number) => {
      await post()
      const received = (await receiver.receive(count))[count - 1] as ReceivedWebhook
      return secrets.map((one) => isGenuine(one, received))
    }
    expect(await genuine(1)).toEqual([true, true, true])
    await database.knex.raw(
      `update koa_viewsets_webhook_endpoints set old_secrets = jsonb_set(old_secrets, '{1,until}', to_jsonb(now()))`,
    )
    for (let times = 0; times < 4; times++) secrets.push((await replace()).secret)
    expect(await genuine(2)).toEqual([false, false, true, true, true, true, true])
  })

  it('wait for their owner, however large they are', async () => {
    const receiver = await receiveWebhooks()
    await subscribe(receiver.url)
    let isThere = false
    const findOwner = (id: string) => {
      if (!isThere) throw new Error('not now')
      return userOf(id)
    }
    const errors: unknown[] = []
    await dispatch({ findOwner, onError: (error) => void errors.push(error) })
    await database.knex.raw(
      `insert into books (title, author_id) select string_agg(md5(random()::text), ''), 1
       from generate_series(1, 6) as book, generate_series(1, 60000) group by book`,
    )
    const { json } = await client.get('/books', as('1'))
    const items = (json as { id: number }[]).map(({ id }) => ({ id, n: 1 }))
    expect((await client.send('PATCH', '/books/bulk', items, as('1'))).status).toBe(200)
    await vi.waitFor(() => expect(errors.length).toBeGreaterThan(0), PATIENT)
    isThere = true
    await vi.waitFor(() => expect(receiver.received).toHaveLength(items.length), { timeout: 30_000, interval: 100 })
  }, 60_000)

  it('are none of an owner whom there is no more', async () => {
    const receiver = await receiveWebhooks()
    const { id } = await subscribe(receiver.url)
    await database.knex.raw("update koa_viewsets_webhook_endpoints set owner = 'gone' where id = ?", [id])
    await subscribe(receiver.url)
    await dispatch()
    await post()
    await receiver.receive(1)
    await post()
    await receiver.receive(2)
    expect(receiver.received).toHaveLength(2)
  })
})

describe('endpoints', () => {
  const create = (body: unknown, user = '1') => client.send('POST', '/hooks', body, as(user))

  it.each([
    ['http://10.0.0.1/', 'not public'],
    ['ftp://127.0.0.1/', 'https://'],
    ['http://a:b@127.0.0.1/', 'user or a password'],
    ['x', 'malformed'],
    ['http://0x7f.1/', undefined],
  ])('take no URL like %s', async (url, problem) => {
    const { status, json } = await create({ url, events: ['book.*'] })
    if (problem === undefined) expect(status).toBe(201)
    else {
      expect(status).toBe(400)
      expect(JSON.stringify(json.errors.url)).toContain(problem)
    }
  })

  it.each([[['book.created', 'books.*']], [['author.deleted']], [['*']], [[]], ['book.*'], [[7]], [null]])(
    'take no events like %j',
    async (events) => {
      const { status, json } = await create({ url: 'http://127.0.0.1/', events })
      expect(status).toBe(400)
      expect(json.errors).toHaveProperty('events')
    },
  )

  it('are their owners’, with secrets that nothing else shows', async () => {
    const { json } = await create({ url: 'http://127.0.0.1/', events: ['book.created'], secret: 'x', owner: '2' })
    expect(Object.keys(json).sort()).toEqual([
      'created_at',
      'description',
      'events',
      'id',
      'is_active',
      'problem',
      'url',
    ])
    for (const path of ['', '/secret', '/deliveries']) {
      expect((await client.get(`/hooks/${json.id}${path}`, as('2'))).status).toBe(404)
      expect((await client.get(`/hooks/${json.id}${path}`)).status).toBe(401)
    }
    expect((await client.send('POST', `/hooks/${json.id}/secret`, undefined, as('2'))).status).toBe(404)
    expect((await client.send('POST', `/hooks/${json.id}/replay`, {}, as('2'))).status).toBe(404)
    expect((await client.get('/hooks', as('2'))).json).toEqual([])
    const secret = await client.get(`/hooks/${json.id}/secret`, as('1'))
    expect(secret.headers['cache-control']).toBe('no-store')
    expect(secret.json).toEqual({ secret: expect.stringMatching(/^whsec_/), old_secret_until: null })
    expect((await client.get(`/hooks/${json.id}/deliveries?state=x`, as('1'))).status).toBe(400)
    expect((await client.get(`/hooks/${json.id}/deliveries?before=9&limit=101`, as('1'))).status).toBe(400)
    expect((await client.send('POST', `/hooks/${json.id}/replay`, { deliveries: [7] }, as('1'))).status).toBe(400)
  })
})

describe('a dispatcher refuses', () => {
  const start = (
    views: typeof WebhookEndpointViewSet | undefined,
    register: (own: APIRouter) => unknown = () => {},
  ) => {
    const own = new APIRouter().register('books', BookViewSet)
    if (views) own.register('hooks', views, 'hook')
    register(own)
    return new WebhookDispatcher({ knex: database.knex, api: own, findOwner: userOf }).start()
  }

  it('an API without endpoints, or with events that it has not', async () => {
    class Misspelt extends HookViewSet {
      static override events = ['books.*']
    }
    class Silent extends HookViewSet {
      static override events = []
    }
    class Unrecorded extends BulkModelViewSet<Author> {
      static override model = Author
      static override serializerClass = AuthorSerializer
    }
    await expect(start(undefined)).rejects.toThrow('the API has no view set of endpoints')
    await expect(start(Misspelt)).rejects.toThrow(
      'Misspelt: events names "books", and the API has no list with this basename',
    )
    await expect(start(Silent)).rejects.toThrow('Silent: events names nothing')
    await expect(start(HookViewSet, (own) => own.register('authors', Unrecorded, 'author'))).rejects.toThrow(
      '"author" records no changes, or is nested',
    )
    expect(() => new WebhookDispatcher({ knex: database.knex, api, findOwner: 7 as never })).toThrow('findOwner')
  })

  it('view sets of another database, whose changes it does not read', async () => {
    const other = await createDatabase({ schema: LIBRARY })
    onTestFinished(() => other.drop())
    await ensureChangesTable(other.knex)
    class OldBook extends Model {
      static override tableName = 'books'
    }
    OldBook.knex(other.knex)
    class OldBookViewSet extends ChangesMixin(viewOf(OldBook, serializerOf(OldBook, ['id', 'title']))) {}
    class OldHookViewSet extends HookViewSet {
      static override events = ['book.*', 'old-book.*']
    }
    await expect(start(OldHookViewSet, (own) => own.register('old-books', OldBookViewSet, 'old-book'))).rejects.toThrow(
      "OldBookViewSet is of another database than the dispatcher's knex",
    )
  })
})

it('a pattern is of one resource, and of none whose name goes on behind a dot', async () => {
  class ShopHooks extends HookViewSet {
    static override events = ['shop.*', 'shop.author.*']
  }
  const shop = new APIRouter({ rules: RULES })
  shop.register('books', BookViewSet, 'shop').register('authors', AuthorViewSet, 'shop.author')
  shop.register('hooks', ShopHooks, 'hook')
  await shop.prepare()
  const { send } = await serveApp(asUser, shop.routes())
  const receiver = await receiveWebhooks()
  await send('POST', '/hooks', { url: receiver.url, events: ['shop.*'] }, as('9'))
  await dispatch({ api: shop })
  await send('POST', '/authors', { name: 'Ada' }, as('9'))
  await send('POST', '/books', { title: 'a', author_id: 1 }, as('9'))
  await receiver.receive(1)
  expect(await database.knex('koa_viewsets_webhook_deliveries').pluck('event')).toEqual(['shop.created'])
})

describe('the document', () => {
  it('has a webhook for each event', () => {
    const { webhooks = {}, components } = api.getSchema()
    expect(Object.keys(webhooks)).toEqual(['book.created', 'book.updated', 'book.deleted', 'author.created'])
    const { post } = webhooks['book.updated'] as { post: any }
    const { properties } = post.requestBody.content['application/json'].schema
    expect(properties.type).toEqual({ type: 'string', const: 'book.updated' })
    expect(properties.data.properties.before.anyOf[0]).toEqual({ $ref: '#/components/schemas/BookRecordOutput' })
    expect(Object.keys(components.schemas['BookRecordOutput']?.properties ?? {})).toContain('author_id')
    expect(properties.data.properties.after).toEqual(properties.data.properties.before)
    expect(post.parameters.map(({ name }: { name: string }) => name)).toEqual([
      'webhook-id',
      'webhook-timestamp',
      'webhook-signature',
    ])
  })

  it('asks for no field of what the application records by itself', async () => {
    class Hooks extends HookViewSet {
      static override events = ['book.*', 'book.discount']
    }
    const own = new APIRouter({ rules: RULES }).register('books', BookViewSet, 'book').register('hooks', Hooks, 'hook')
    await own.prepare()
    const { webhooks = {}, components } = own.getSchema()
    const { post } = webhooks['book.discount'] as { post: any }
    const { after } = post.requestBody.content['application/json'].schema.properties.data.properties
    const { required, ...rest } = components.schemas['BookRecordOutput'] as Record<string, unknown>
    expect(required).toContain('title')
    expect(after).toEqual({ anyOf: [rest, { type: 'null' }] })
  })

  it('asks for no field where the view set chooses what each owner is shown', async () => {
    class Choosing extends BookViewSet {
      override getSerializerClass() {
        return super.getSerializerClass()
      }
    }
    const own = new APIRouter({ rules: RULES })
      .register('books', Choosing, 'book')
      .register('hooks', HookViewSet, 'hook')
    await own.prepare()
    const { webhooks = {}, components } = own.getSchema()
    const { post } = webhooks['book.updated'] as { post: any }
    const { after } = post.requestBody.content['application/json'].schema.properties.data.properties
    expect(after.anyOf[0].properties).toHaveProperty('title')
    expect(after.anyOf[0]).not.toHaveProperty('required')
    // to which nothing would refer
    expect(components.schemas).not.toHaveProperty('BookRecordOutput')
  })

  it('has nothing that a linter finds wrong', async () => {
    const problems = await lint(api.getSchema({ license: { name: 'MIT', identifier: 'MIT' } }))
    expect(problems.filter((problem) => problem.includes('webhooks'))).toEqual([])
  }, 60_000)

  it('describes what is sent', async () => {
    const receiver = await receiveWebhooks()
    await subscribe(receiver.url)
    await dispatch()
    const { json } = await client.send('POST', '/books', { title: 'a', author_id: 1 }, as('1'))
    await client.send('DELETE', `/books/${json.id}`, undefined, as('1'))
    await receiver.receive(2)
    const { webhooks = {}, components } = api.getSchema()
    for (const { body } of receiver.received) {
      const { schema } = (webhooks as any)[body.type].post.requestBody.content['application/json']
      const check = new Ajv({ strict: false, validateFormats: false }).compile({ ...schema, components })
      expect([check(body), check.errors]).toEqual([true, null])
    }
  })

  it('asks for no keys of objects that rules keep from some owners, as their images have none', async () => {
    class KeyedSerializer extends BookSerializer {
      static override schemaName = 'KeyedBook'
      static override fields = ['id', 'title', 'author'] as never
    }
    class KeyedBookViewSet extends BookViewSet {
      static override serializerClass = KeyedSerializer as never
    }
    const own = new APIRouter({ rules: [...RULES, rule(Author, { read: ({ user }) => ({ id: user?.id }) })] })
    own.register('books', KeyedBookViewSet).register('authors', AuthorViewSet).register('hooks', HookViewSet, 'hook')
    await own.prepare()
    const { send } = await serveApp(asUser, own.routes())
    const receiver = await receiveWebhooks()
    await send('POST', '/hooks', { url: receiver.url, events: ['book.*'] }, as('1'))
    await dispatch({ api: own })
    await database.knex('books').insert({ title: 'a', author_id: 1 })
    await send('PATCH', '/books/1', { title: 'b' }, as('1'))
    const [told] = await receiver.receive(1)
    expect(told?.body.data.after).toEqual({ id: 1, title: 'b' })
    const { webhooks = {}, components } = own.getSchema()
    const { schema } = (webhooks as any)['book.updated'].post.requestBody.content['application/json']
    const check = new Ajv({ strict: false, validateFormats: false }).compile({ ...schema, components })
    expect([check(told?.body), check.errors]).toEqual([true, null])
  })
})

describe('explain()', () => {
  it('says who is told of a write, and by which columns', async () => {
    class StreamedBookViewSet extends ChangeStreamMixin(BookViewSet) {}
    const own = new APIRouter().register('books', StreamedBookViewSet).register('hooks', HookViewSet, 'hook')
    own.register('drafts', class DraftViewSet extends BookViewSet {}, 'draft')
    await own.prepare()
    const [patch] = await own.explain('book-partial_update')
    const by = runsAsRole() ? 'transaction' : 'statement'
    expect(patch).toMatchObject({ tells: ['book.created', 'book.updated', 'book.deleted'], write: { by } })
    expect((await own.explain('draft-partial_update'))[0]?.tells).toEqual(patch?.tells)
    const [stream] = await own.explain('book-changes')
    expect(stream?.seenBy).toEqual(['id', 'title', 'isbn', 'n', 'big', 'price', 'author_id'])
    const [list] = await own.explain('book-list')
    expect(list).not.toHaveProperty('tells')
    expect(formatExplanations(await own.explain('book'))).toMatch(/\n {2}tells {8}book\.created, .*\n/)
  })
})
