/** Webhooks where something is wrong with one owner, one resource or one change: nobody else waits, and nothing is lost. */
import { randomBytes } from 'node:crypto'
import type Koa from 'koa'
import { Model } from 'objection'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ChangesMixin, ensureChangesTable, recordChange } from '../../lib/changes/index.js'
import {
  APIRouter,
  type APIRouterOptions,
  BasePermission,
  BulkModelViewSet,
  ModelSerializer,
  ModelViewSet,
  type SerializerClass,
  ServiceUnavailable,
} from '../../lib/index.js'
import { rule } from '../../lib/rules/index.js'
import { sweepDeliveries } from '../../lib/webhooks/delivery-table.js'
import {
  ensureWebhookTables,
  type ReceiverOptions,
  WebhookDispatcher,
  type WebhookDispatcherOptions,
  WebhookEndpoint,
  WebhookEndpointViewSet,
} from '../../lib/webhooks/index.js'
import { type Client, serveApp, serving } from '../support/client.js'
import { createDatabase } from '../support/database.js'
import {
  Author,
  AuthorSerializer,
  Book,
  BookSerializer,
  database,
  LIBRARY,
  Tag,
  TagSerializer,
  useLibrary,
} from '../support/library.js'
import { untilWaiting } from '../support/waiting.js'
import { receiveWebhooks } from '../support/webhook-receiver.js'

useLibrary()

const PATIENT = { timeout: 15_000, interval: 50 }

const asUser: Koa.Middleware = (ctx, next) => {
  ctx.state['user'] = { id: Number(ctx.get('X-User') || '1') }
  return next()
}
/** What is wrong with users 6 and above, while it is. */
let trouble: { owner?: (id: string) => unknown; queryset?: boolean; permission?: Error } = {}
const findOwner = (id: string) => (id === '6' ? (trouble.owner?.(id) ?? { id: 6 }) : { id: Number(id) })

class Sometimes extends BasePermission {
  override hasPermission(ctx: Koa.Context): boolean {
    if (ctx.state['user']?.id === 6 && trouble.permission) throw trouble.permission
    return true
  }
}
class BookViewSet extends ChangesMixin(BulkModelViewSet<Book>) {
  static override model = Book
  static override serializerClass: SerializerClass = BookSerializer
  static override permissionClasses = [Sometimes]

  override getQueryset() {
    if (this.ctx.state['user']?.id === 6 && trouble.queryset) throw new Error('a queryset fails')
    return super.getQueryset()
  }
}
class NovelViewSet extends BookViewSet {
  static override permissionClasses = []
}
class AuthorViewSet extends ChangesMixin(ModelViewSet<Author>) {
  static override model = Author
  static override serializerClass: SerializerClass = AuthorSerializer
}
class ComputedViewSet extends AuthorViewSet {
  override getQueryset() {
    return super.getQueryset().select('authors.*', Author.raw(`upper(name) as name`))
  }
}
const RECEIVERS: ReceiverOptions = { allowHttp: true, allowedAddresses: ['127.0.0.1'] }
class HookViewSet extends WebhookEndpointViewSet {
  static override events = ['book.*', 'novel.updated', 'author.*']
  static override receivers = RECEIVERS
}
class AuthorHookViewSet extends HookViewSet {
  static override events = ['author.*']
}
class OwnHook extends WebhookEndpoint {
  static override tableName = 'own_hooks'
}
class OwnHookViewSet extends HookViewSet {
  static override model = OwnHook
}

/** Users from 6 on see all books, others those of the author that has their id. */
const RULES = [
  rule(Book, {
    read: ({ user }) => (Number(user?.id) >= 6 ? true : { author_id: user?.id }),
    create: true,
    update: true,
    delete: true,
  }),
]
function makeApi(authors: typeof AuthorViewSet = AuthorViewSet) {
  return new APIRouter({ rules: RULES })
    .register('books', BookViewSet)
    .register('novels', NovelViewSet, 'novel')
    .register('authors', authors)
    .register('hooks', HookViewSet, 'hook')
}

let api: APIRouter
let client: Client
beforeAll(async () => {
  const { knex } = database
  await ensureChangesTable(knex)
  await ensureWebhookTables(knex)
  await knex.raw('create table own_hooks (like koa_viewsets_webhook_endpoints including all)')
  api = makeApi().register('own-hooks', OwnHookViewSet, 'own-hook')
  await api.prepare()
  client = await serving(asUser, api.routes())
})
afterAll(async () => {
  await client.close()
  await database.knex.raw('drop table own_hooks')
})
beforeEach(async () => {
  trouble = {}
  await database.knex.raw(
    'truncate koa_viewsets_webhook_endpoints, own_hooks, koa_viewsets_webhook_deliveries, koa_viewsets_changes',
  )
})

async function subscribe(url: string, { user = '1', events = ['book.*'], path = '/hooks' } = {}): Promise<string> {
  const { status, json } = await client.send('POST', path, { url, events }, { 'X-User': user })
  expect(status).toBe(201)
  return json.id as string
}

/** Runs until the test ends. @returns what it reports, too */
async function dispatch(options: Partial<WebhookDispatcherOptions> = {}) {
  const errors: string[] = []
  const onError = (error: unknown) => void errors.push((error as Error).message)
  const dispatcher = new WebhookDispatcher({
    knex: database.knex,
    api,
    findOwner,
    onError,
    endpoints: HookViewSet,
    ...options,
  })
  await dispatcher.start()
  onTestFinished(() => dispatcher.stop())
  return { dispatcher, errors }
}

const post = async (body: object = {}) =>
  (await client.send('POST', '/books', { title: 'a', author_id: 1, ...body })).json.id as number
const patch = (id: number, body: object) => client.send('PATCH', `/books/${id}`, body, { 'X-User': '9' })
const titles = (received: readonly { readonly body: any }[]) => received.map(({ body }) => body.data.after?.title)

describe('an owner who cannot be asked', () => {
  const hang = () => new Promise(() => {})
  it.each<[string, typeof trouble, string]>([
    [
      'findOwner() throws',
      {
        owner: () => {
          throw new Error('nobody answers')
        },
      },
      'nobody answers',
    ],
    ['findOwner() rejects', { owner: () => Promise.reject(new Error('nobody answers')) }, 'nobody answers'],
    ['findOwner() finds a list', { owner: () => [{ id: 6 }] }, 'findOwner() returned a list'],
    ['findOwner() hangs', { owner: hang }, 'no answer within'],
    ['getQueryset() throws', { queryset: true }, 'a queryset fails'],
    ['a permission throws', { permission: new Error('a permission fails') }, 'a permission fails'],
    ['a permission cannot tell', { permission: new ServiceUnavailable(1) }, 'unavailable'],
  ])('is told later, in order, while others wait for nothing: %s', { timeout: 30_000 }, async (_, wrong, message) => {
    const [one, bad] = [await receiveWebhooks(), await receiveWebhooks()]
    await subscribe(one.url)
    await subscribe(bad.url, { user: '6' })
    trouble = wrong
    const { errors } = await dispatch()
    const id = await post({ title: '1' })
    await one.receive(1)
    for (const title of ['2', '3', '4']) await patch(id, { title })
    await one.receive(4)
    expect(titles(one.received)).toEqual(['1', '2', '3', '4'])
    expect(errors.filter((error) => error.includes(message))).not.toEqual([])
    expect(bad.received).toEqual([])
    // what nobody knows yet whether he sees it is not shown
    const [hook] = (await client.get('/hooks', { 'X-User': '6' })).json
    expect((await client.get(`/hooks/${hook.id}/deliveries`, { 'X-User': '6' })).json).toEqual([])
    trouble = {}
    await bad.receive(4)
    expect(titles(bad.received)).toEqual(['1', '2', '3', '4'])
  })

  it('is told nothing of what he does not see once he is asked, nor of events that he asks for no more', async () => {
    const bad = await receiveWebhooks()
    const hook = await subscribe(bad.url, { user: '6', events: ['book.*', 'author.*'] })
    trouble = { queryset: true }
    const { errors } = await dispatch()
    const id = await post({ title: '1' })
    await vi.waitFor(() => expect(errors).not.toEqual([]), PATIENT)
    await database.knex.raw('delete from books where id = ?', [id])
    await patch(await post({ title: '2' }), { title: '3' })
    await client.send('PATCH', `/hooks/${hook}`, { events: ['book.updated'] }, { 'X-User': '6' })
    trouble = {}
    await bad.receive(1)
    expect(titles(bad.received)).toEqual(['3'])
    const { rows } = await database.knex.raw(`select state from koa_viewsets_webhook_deliveries`)
    await vi.waitFor(() => expect(rows).toHaveLength(1), PATIENT)
  })

  it('has jobs once it is known what he is told', async () => {
    const bad = await receiveWebhooks()
    await subscribe(bad.url, { user: '6' })
    trouble = { queryset: true }
    const jobs: string[] = []
    const { errors, dispatcher } = await dispatch({
      enqueue: async (_, made) => void jobs.push(...made.map(({ id }) => id)),
    })
    await post({ title: '1' })
    await vi.waitFor(() => expect(errors).not.toEqual([]), PATIENT)
    expect(jobs).toEqual([])
    trouble = {}
    await vi.waitFor(() => expect(jobs).toHaveLength(1), PATIENT)
    await vi.waitFor(async () => expect(await dispatcher.deliver(jobs[0] as string)).toBe(true), PATIENT)
    expect(bad.received).toHaveLength(1)
  })

  it('is told by a process that knows the events, though others ask before, and number view sets otherwise', async () => {
    const bad = await receiveWebhooks()
    await subscribe(bad.url, { user: '6', events: ['book.*', 'author.*'] })
    trouble = { queryset: true }
    const { errors, dispatcher } = await dispatch()
    const id = await post({ title: '1' })
    await patch(id, { title: '2' })
    const states = async () => (await database.knex.raw('select state from koa_viewsets_webhook_deliveries')).rows
    await vi.waitFor(async () => expect(await states()).toHaveLength(2), PATIENT)
    await dispatcher.stop()
    expect(errors).not.toEqual([])
    trouble = {}
    // an older version, which knows no books
    const older = new APIRouter().register('authors', AuthorViewSet).register('hooks', AuthorHookViewSet, 'hook')
    const { dispatcher: old } = await dispatch({ api: older, endpoints: AuthorHookViewSet })
    await client.send('POST', '/authors', { name: 'Cy' })
    await bad.receive(1)
    expect(await states()).toHaveLength(3)
    // a newer one has another view set of books before them
    const newer = new APIRouter({ rules: RULES })
      .register('novels', NovelViewSet, 'novel')
      .register('books', BookViewSet)
      .register('authors', AuthorViewSet)
    await dispatch({ api: newer })
    await bad.receive(3)
    expect(bad.received.map(({ body }) => body.type)).toEqual(['author.created', 'book.created', 'book.updated'])
    // what nobody knows is forgotten
    await database.knex.raw(
      `update koa_viewsets_webhook_deliveries set state = 'postponed', event = 'pen.created', created_at = now() - interval '2 hours'
       where event = 'book.created'`,
    )
    await old.stop()
    await dispatch({ api: older, endpoints: AuthorHookViewSet })
    await vi.waitFor(async () => expect(await states()).toHaveLength(2), PATIENT)
  })

  it('keeps no process from ending', async () => {
    const bad = await receiveWebhooks()
    await subscribe(bad.url, { user: '6' })
    let isAsked = false
    trouble = {
      owner: () =>
        new Promise(() => {
          isAsked = true
        }),
    }
    const { dispatcher } = await dispatch()
    await post()
    await vi.waitFor(() => expect(isAsked).toBe(true), PATIENT)
    await dispatcher.stop({ seconds: 0.1 })
  })
})

describe('what is wrong with', () => {
  it('one resource keeps nobody from being told of others', async () => {
    const [one, two] = [await receiveWebhooks(), await receiveWebhooks()]
    await subscribe(one.url, { events: ['author.*', 'book.*'] })
    await subscribe(two.url)
    const broken = makeApi(ComputedViewSet)
    const { errors, dispatcher } = await dispatch({ api: broken })
    await client.send('POST', '/authors', { name: 'Cy' })
    await post()
    await Promise.all([one.receive(1), two.receive(1)])
    expect(errors).toContainEqual(
      expect.stringContaining('ComputedViewSet: webhooks tell columns as they are recorded'),
    )
    await dispatcher.stop()
    // and once it is mended, that is told, too
    await dispatch()
    // by their ids: what had arrived when the first dispatcher stopped may come again
    const types = () => [...new Map(one.received.map(({ id, body }) => [id, body.type])).values()]
    await vi.waitFor(() => expect(types()).toEqual(['book.created', 'author.created']), { timeout: 10_000 })
  })

  it('a key, however long, is nothing', async () => {
    const one = await receiveWebhooks()
    class TagViewSet extends ChangesMixin(ModelViewSet<Tag>) {
      static override model = Tag
      static override serializerClass = TagSerializer
    }
    class Hooks extends HookViewSet {
      static override events = ['tag.*']
    }
    await subscribe(one.url)
    await database.knex.raw(`update koa_viewsets_webhook_endpoints set events = '{tag.*}'`)
    await dispatch({ api: new APIRouter().register('tags', TagViewSet), endpoints: Hooks })
    // as long as the table of changes takes
    const key = randomBytes(2_000).toString('base64').slice(0, 2_666)
    const change = { model: 'tags', key, action: 'update', after: { label: '\u0000\ud800"\\', x: 1 } }
    await database.knex.transaction((trx) => recordChange(trx, change))
    const [first] = await one.receive(1)
    expect(first?.body).toMatchObject({ type: 'tag.updated', data: { id: key, after: { label: '\u0000\ud800"\\' } } })
  })

  it('a secret is a failed attempt', async () => {
    const [one, two] = [await receiveWebhooks(), await receiveWebhooks()]
    const hook = await subscribe(one.url)
    await subscribe(two.url)
    await database.knex.raw(`update koa_viewsets_webhook_endpoints set secret = 'whsec_short' where id = ?`, [hook])
    const { errors } = await dispatch()
    await post()
    await two.receive(1)
    await vi.waitFor(async () => {
      const { json } = await client.get(`/hooks/${hook}/deliveries`)
      expect(json).toMatchObject([{ state: 'pending', attempts: 1, problem: 'it could not be sent' }])
    }, PATIENT)
    expect(errors.join()).toContain('a secret is not whsec_')
    expect(errors.join()).not.toContain('whsec_short')
  })
})

describe('endpoints', () => {
  it('are told the events of each view set of a model, as far as there are such events still', async () => {
    const one = await receiveWebhooks()
    await subscribe(one.url, { events: ['book.*', 'novel.updated'] })
    await database.knex.raw(`update koa_viewsets_webhook_endpoints set events = '{book.*,novel.*}'`)
    await dispatch()
    const id = await post()
    await patch(id, { title: 'b' })
    await one.receive(3)
    await patch(id, { title: 'c' })
    await one.receive(5)
    const types = one.received.map(({ body }) => body.type)
    expect(types[0]).toBe('book.created')
    expect(types.filter((type) => type === 'novel.updated')).toHaveLength(2)
    expect(new Set(one.received.map((received) => received.id)).size).toBe(5)
  })

  it('are told to those who may read the primary key, whatever paths name objects by', async () => {
    class ByIsbn extends BookViewSet {
      static override lookupField = 'isbn'
    }
    const read = ({ user }: { readonly user?: any }) => user?.id >= 6
    const own = new APIRouter({ rules: [rule(Book, { fields: { id: { read }, isbn: { read: false } } })] })
    await own.register('books', ByIsbn).prepare()
    const [guest, staff] = await Promise.all([receiveWebhooks(), receiveWebhooks()])
    await subscribe(guest.url)
    await subscribe(staff.url, { user: '9' })
    class Hooks extends HookViewSet {
      static override events = ['book.*']
    }
    await dispatch({ api: own, endpoints: Hooks })
    const id = await post({ isbn: '1' })
    const [told] = await staff.receive(1)
    expect(told?.body.data).toMatchObject({ id, after: { title: 'a' } })
    expect(guest.received).toEqual([])
  })

  it('are not told what an object was while their owner did not see it', async () => {
    const one = await receiveWebhooks()
    await subscribe(one.url, { user: '1' })
    const all = await receiveWebhooks()
    await subscribe(all.url, { user: '9' })
    const first = await dispatch()
    await first.dispatcher.stop()
    const id = await post({ title: 'mine', author_id: 1 })
    await patch(id, { author_id: 2 })
    await patch(id, { title: 'secret' })
    await patch(id, { title: 'public' })
    await patch(id, { author_id: 1 })
    await dispatch()
    await all.receive(5)
    await one.receive(3)
    const sides = one.received.map(({ body }) => [body.data.before?.title, body.data.after?.title])
    expect(sides).toEqual([
      [undefined, 'mine'],
      ['mine', undefined],
      [undefined, 'public'],
    ])
  })

  it('of two tables are told each for itself', async () => {
    const [one, two] = [await receiveWebhooks(), await receiveWebhooks()]
    await subscribe(one.url)
    await subscribe(two.url, { path: '/own-hooks' })
    await dispatch()
    await dispatch({ endpoints: OwnHookViewSet })
    for (let count = 1; count <= 5; count++) {
      await post()
      await Promise.all([one.receive(count), two.receive(count)])
    }
    const hook = await subscribe(two.url, { path: '/own-hooks' })
    expect((await client.get(`/own-hooks/${hook}`)).json).toMatchObject({ id: hook, url: two.url })
    await post()
    await two.receive(7)
    await database.knex.raw('delete from own_hooks where id = ?', [hook])
    await vi.waitFor(async () => {
      const { rows } = await database.knex.raw(`select from koa_viewsets_webhook_deliveries where state = 'delivered'`)
      expect(rows).toHaveLength(13)
    }, PATIENT)
    await sweepDeliveries(database.knex, 30)
    const { rows } = await database.knex.raw('select endpoint_id from koa_viewsets_webhook_deliveries')
    expect(rows).toHaveLength(12)
  })

  it('that hang, as many as there are attempts at a time, cost others nothing', { timeout: 30_000 }, async () => {
    const hanging = await receiveWebhooks(() => undefined)
    const quick = await receiveWebhooks()
    for (let index = 0; index < 12; index++) await subscribe(hanging.url)
    await subscribe(quick.url)
    const { dispatcher } = await dispatch({ concurrency: 4 })
    for (let index = 0; index < 20; index++) await post()
    await quick.receive(20)
    expect(await hanging.receive(12)).toHaveLength(12)
    await dispatcher.stop({ seconds: 0.1 })
  })

  it('that hang, however many, cost those nothing that have answered before', { timeout: 30_000 }, async () => {
    const hanging = await receiveWebhooks(() => undefined)
    const quick = await receiveWebhooks()
    await subscribe(quick.url)
    const { dispatcher } = await dispatch({ concurrency: 2 })
    await post()
    await quick.receive(1)
    // more than there are attempts at all
    for (let index = 0; index < 25; index++) await subscribe(hanging.url)
    for (let index = 0; index < 20; index++) await post()
    await quick.receive(21)
    await hanging.receive(19)
    await post()
    await quick.receive(22)
    expect(hanging.received).toHaveLength(19)
    await dispatcher.stop({ seconds: 0.1 })
  })

  it('have no more attempts at once than there are places, however soon each ends', async () => {
    let running = 0
    let most = 0
    const one = await receiveWebhooks((_, response) => {
      most = Math.max(most, ++running)
      setTimeout(() => {
        running--
        response.writeHead(204).end()
      }, 20)
      return undefined
    })
    for (let index = 0; index < 6; index++) await subscribe(one.url)
    await dispatch({ concurrency: 2 })
    for (let index = 0; index < 4; index++) await post()
    await one.receive(24)
    expect(most).toBeLessThanOrEqual(2)
  })

  it('of tenants are told what is in the schema of each', async () => {
    await database.knex.raw(`create table memos (id int primary key, text text);
      create schema tenant_1; create table tenant_1.memos (like memos including all);
      create schema tenant_2; create table tenant_2.memos (like memos including all)`)
    onTestFinished(() => database.knex.raw('drop schema tenant_1, tenant_2 cascade; drop table memos'))
    class Memo extends Model {
      static override tableName = 'memos'
    }
    Memo.knex(database.knex)
    class MemoSerializer extends ModelSerializer<Memo> {
      static override model = Memo
      static override fields = '__all__' as const
    }
    class Memos extends ChangesMixin(ModelViewSet<Memo>) {
      static override model = Memo
      static override serializerClass: SerializerClass = MemoSerializer
    }
    class MemoHooks extends HookViewSet {
      static override events = ['memo.*']
    }
    const databaseSettings: APIRouterOptions['databaseSettings'] = ({ state }) => ({
      search_path: `tenant_${Number(state['user'].id)}`,
    })
    const memos = new APIRouter({ databaseSettings }).register('memos', Memos)
    const hooks = new APIRouter().register('memo-hooks', MemoHooks, 'memo-hook')
    await Promise.all([memos.prepare(), hooks.prepare()])
    const { send } = await serveApp(asUser, memos.routes(), hooks.routes())
    const tenants = await Promise.all(['1', '2'].map(async (user) => ({ user, ...(await receiveWebhooks()) })))
    for (const { user, url } of tenants) {
      await send('POST', '/memo-hooks', { url, events: ['memo.*'] }, { 'X-User': user })
    }
    await dispatch({ api: memos, endpoints: MemoHooks })
    for (const { user } of tenants) await send('POST', '/memos', { id: 1, text: `of ${user}` }, { 'X-User': user })
    for (const { user } of tenants) await send('PATCH', '/memos/1', { text: `by ${user}` }, { 'X-User': user })
    for (const { user, receive, received } of tenants) {
      await receive(2)
      expect(received.map(({ body }) => body.data.after.text)).toEqual([`of ${user}`, `by ${user}`])
    }
  })

  it('of tenants with databases of their own are told nothing of another one', async () => {
    const other = await createDatabase({ schema: LIBRARY })
    onTestFinished(() => other.drop())
    await ensureChangesTable(other.knex)
    class TenantBooks extends BookViewSet {
      override async getKnex() {
        return this.ctx.state['user']?.tenant === 'other' ? other.knex : database.knex
      }
    }
    const own = new APIRouter().register('books', TenantBooks, 'book')
    await own.prepare()
    const [moved, one] = [await receiveWebhooks(), await receiveWebhooks()]
    await subscribe(moved.url, { user: '7' })
    await subscribe(one.url)
    class Hooks extends HookViewSet {
      static override events = ['book.*']
    }
    const tenantOf = (id: string) => ({ id: Number(id), tenant: id === '7' ? 'other' : 'one' })
    const { errors } = await dispatch({ api: own, endpoints: Hooks, findOwner: tenantOf })
    const id = await post()
    const received = await one.receive(1)
    await vi.waitFor(
      () => expect(errors).toContainEqual(expect.stringContaining('TenantBooks is of another database')),
      PATIENT,
    )
    expect(received.map(({ body }) => body.data.id)).toEqual([id])
    expect(moved.received).toEqual([])
  })

  it('that are deleted end what is told them, for jobs, too', async () => {
    const one = await receiveWebhooks()
    const hook = await subscribe(one.url)
    const jobs: string[] = []
    const { dispatcher } = await dispatch({ enqueue: async (_, made) => void jobs.push(...made.map(({ id }) => id)) })
    for (let index = 0; index < 7; index++) await post()
    await vi.waitFor(() => expect(jobs).toHaveLength(7), PATIENT)
    // a queue has its own measure of how many
    one.answer = (_, response) => void setTimeout(() => response.writeHead(204).end(), 300)
    const [last, ...others] = jobs as [string, ...string[]]
    const several = [...others, ...others].map((id) => dispatcher.deliver(id))
    expect((await Promise.all(several)).filter(Boolean)).toHaveLength(6)
    expect(one.received).toHaveLength(6)
    await client.send('PATCH', `/hooks/${hook}`, { is_active: false })
    expect(await dispatcher.deliver(last)).toBe(false)
    await client.send('DELETE', `/hooks/${hook}`)
    expect(await dispatcher.deliver(last)).toBe(true)
    expect(one.received).toHaveLength(6)
  })

  it('have what was given up replayed in order, before what waits', async () => {
    const one = await receiveWebhooks(() => 500)
    const hook = await subscribe(one.url)
    const { dispatcher } = await dispatch()
    const id = await post({ title: '1' })
    for (const title of ['2', '3', '4']) await patch(id, { title })
    await one.receive(1)
    await vi.waitFor(async () => {
      const { rows } = await database.knex.raw('select from koa_viewsets_webhook_deliveries')
      expect(rows).toHaveLength(4)
    }, PATIENT)
    await dispatcher.stop()
    const state = `update koa_viewsets_webhook_deliveries set due_at = now() - interval '1 min',`
    // as the attempts of two have ended
    await database.knex.raw(`${state} state = 'dead', ended_at = now(), waits = false where change_id in
      (select change_id from koa_viewsets_webhook_deliveries order by change_id limit 2)`)
    await database.knex.raw(`${state} waits = true where state = 'pending'`)
    one.answer = () => 204
    await client.send('PATCH', `/hooks/${hook}`, { is_active: true })
    const { json } = await client.send('POST', `/hooks/${hook}/replay`, {})
    expect(json).toEqual({ replayed: 2 })
    await dispatch()
    await one.receive(5)
    expect(titles(one.received)).toEqual(['1', '1', '2', '3', '4'])
  })
})

describe('a dispatcher', () => {
  const make = (options: Partial<WebhookDispatcherOptions> = {}) =>
    new WebhookDispatcher({ knex: database.knex, api, findOwner, endpoints: HookViewSet, ...options })

  it('begins anew where nobody knows any more how far it has read', async () => {
    const one = await receiveWebhooks()
    await subscribe(one.url)
    await dispatch()
    await post({ title: 'first' })
    await one.receive(1)
    await database.knex.raw('delete from koa_viewsets_webhook_progress')
    await post({ title: 'forgotten' })
    await vi.waitFor(async () => {
      const { rows } = await database.knex.raw('select from koa_viewsets_webhook_progress')
      expect(rows).toHaveLength(1)
    }, PATIENT)
    await post({ title: 'last' })
    await vi.waitFor(() => expect(titles(one.received)).toContain('last'), PATIENT)
  })

  it('begins once, and has ended when stop() returns, in whatever order they are called', async () => {
    const one = await receiveWebhooks()
    await subscribe(one.url)
    const dispatcher = make()
    await Promise.all([dispatcher.start(), dispatcher.start()])
    await post()
    await one.receive(1)
    await dispatcher.stop()
    const starting = dispatcher.start()
    await Promise.all([dispatcher.stop(), dispatcher.stop()])
    await starting
    await expect(dispatcher.deliver('x')).rejects.toThrow('deliver() needs a dispatcher that has started')
    await post()
    await dispatcher.start()
    onTestFinished(() => dispatcher.stop())
    await one.receive(2)
  })

  it('that begins while an earlier start() fails goes on, and can be stopped', async () => {
    const dispatcher = make()
    onTestFinished(() => dispatcher.stop())
    const holder = await database.knex.transaction()
    onTestFinished(async () => {
      if (!holder.isCompleted()) await holder.rollback()
    })
    await holder.raw('lock table koa_viewsets_webhook_progress')
    const failed = dispatcher.start().catch((error: Error) => error.message)
    await untilWaiting(database.knex)
    const stopped = dispatcher.stop()
    const begun = dispatcher.start()
    await untilWaiting(database.knex, 2)
    await database.knex.raw(
      `select pg_cancel_backend((select pid from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' order by query_start limit 1))`,
    )
    expect(await failed).toContain('canceling statement')
    await stopped
    await holder.rollback()
    await begun
    await expect(dispatcher.deliver('x')).resolves.toBe(true)
    await dispatcher.stop()
  })

  it('sends nothing of a job that comes as it ends', async () => {
    const one = await receiveWebhooks()
    await subscribe(one.url)
    const jobs: string[] = []
    const { dispatcher } = await dispatch({ enqueue: async (_, made) => void jobs.push(...made.map(({ id }) => id)) })
    await post()
    await vi.waitFor(() => expect(jobs).toHaveLength(1), PATIENT)
    const holder = await database.knex.transaction()
    onTestFinished(async () => {
      if (!holder.isCompleted()) await holder.rollback()
    })
    await holder.raw('lock table koa_viewsets_webhook_deliveries')
    const delivered = dispatcher.deliver(jobs[0] as string)
    await untilWaiting(database.knex)
    await dispatcher.stop({ seconds: 0 })
    await holder.rollback()
    expect(await delivered).toBe(false)
    expect(one.received).toEqual([])
    const { rows } = await database.knex.raw(
      'select state, attempts, leased_until from koa_viewsets_webhook_deliveries',
    )
    expect(rows).toEqual([{ state: 'pending', attempts: 0, leased_until: null }])
  })

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('onError fails')
      },
    ],
    ['rejects', () => Promise.reject(new Error('onError fails'))],
  ])('goes on where onError() %s', async (_, onError) => {
    const warnings: Error[] = []
    const listen = (warning: Error) => void warnings.push(warning)
    process.on('warning', listen)
    onTestFinished(() => void process.off('warning', listen))
    const [one, bad] = [await receiveWebhooks(), await receiveWebhooks()]
    await subscribe(bad.url, { user: '6' })
    await subscribe(one.url)
    trouble = { queryset: true }
    await dispatch({ onError })
    await post()
    await one.receive(1)
    await vi.waitFor(() => expect(warnings.map(({ message }) => message).join()).toContain('onError fails'), PATIENT)
  })

  it('needs its tables, and options that make sense', async () => {
    class Lost extends WebhookEndpoint {
      static override tableName = 'lost_hooks'
    }
    class LostViewSet extends HookViewSet {
      static override model = Lost
    }
    class Malformed extends HookViewSet {
      static override receivers = { allowedAddresses: ['10.0.0.0/40'] }
    }
    await expect(make({ endpoints: LostViewSet }).start()).rejects.toThrow(
      'the table "lost_hooks" is not there; await ensureWebhookTables(knex)',
    )
    await expect(make({ endpoints: Malformed }).start()).rejects.toThrow('"10.0.0.0/40" is no IP address')
    expect(() => make({ timeoutSeconds: 1e7 })).toThrow('timeoutSeconds is more than 3600')
    expect(() => make({ retentionDays: 1e9 })).toThrow('retentionDays is more than')
    expect(() => make({ concurrency: 0 })).toThrow('concurrency')
    await expect(make().stop({ seconds: Number.NaN })).rejects.toThrow('stop({ seconds })')
  })
})
