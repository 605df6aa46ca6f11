/** Endpoints of webhooks over HTTP: all that view sets can do, and no secret in what is answered, told or described. */
import { randomUUID } from 'node:crypto'
import knexLibrary from 'knex'
import type Koa from 'koa'
import { knexSnakeCaseMappers, Model } from 'objection'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ChangesMixin, ensureChangesTable, HistoryMixin } from '../../lib/changes/index.js'
import { ensureIdempotencyTable } from '../../lib/idempotency/index.js'
import { APIRouter, BulkCreateMixin, BulkModelViewSet, type SerializerClass } from '../../lib/index.js'
import {
  ensureWebhookTables,
  WebhookDispatcher,
  WebhookEndpoint,
  WebhookEndpointSerializer,
  WebhookEndpointViewSet,
} from '../../lib/webhooks/index.js'
import { type Client, serving } from '../support/client.js'
import { Book, BookSerializer, database, useLibrary } from '../support/library.js'
import { receiveWebhooks } from '../support/webhook-receiver.js'

useLibrary()

class BookViewSet extends ChangesMixin(BulkModelViewSet<Book>) {
  static override model = Book
  static override serializerClass: SerializerClass = BookSerializer
}
class Hook extends WebhookEndpoint {
  static override tableName = 'rich_hooks'
  declare version: number
}
class HookSerializer extends WebhookEndpointSerializer {
  static override model = Hook
  static override schemaName = 'Hook'
  static override fields = [...WebhookEndpointSerializer.fields, 'colour']
}
/** All that view sets can have besides. */
class HookViewSet extends HistoryMixin(ChangesMixin(BulkCreateMixin(WebhookEndpointViewSet))) {
  static override model = Hook
  static override serializerClass = HookSerializer
  static override events = ['book.*']
  static override receivers = { allowHttp: true, allowedAddresses: ['127.0.0.1'] }
  static override concurrency = 'created_at'
  static override idempotent = true
}

const asUser: Koa.Middleware = (ctx, next) => {
  if (ctx.get('X-User')) ctx.state['user'] = { id: ctx.get('X-User') }
  return next()
}
const asOne = { 'X-User': '1' }

let api: APIRouter
let client: Client
beforeAll(async () => {
  const { knex } = database
  await ensureChangesTable(knex)
  await ensureWebhookTables(knex)
  await ensureIdempotencyTable(knex)
  await knex.raw(`create table rich_hooks (like koa_viewsets_webhook_endpoints including all);
    alter table rich_hooks add colour text check (colour <> 'grey')`)
  api = new APIRouter().register('books', BookViewSet).register('hooks', HookViewSet, 'hook')
  await api.prepare()
  client = await serving(asUser, api.routes())
})
afterAll(async () => {
  await client.close()
  await database.knex.raw('drop table rich_hooks')
})
beforeEach(() => database.knex.raw('truncate rich_hooks, koa_viewsets_webhook_deliveries'))

const BODY = { url: 'http://127.0.0.1:1/', events: ['book.created'], colour: 'red' }
const secretOf = async (id: string) => (await client.get(`/hooks/${id}/secret`, asOne)).json.secret as string

describe('an endpoint', () => {
  it('is created, changed, replaced and deleted, with no secret but where it is asked for', async () => {
    const seen: string[] = []
    const send = async (method: string, path: string, body?: unknown, headers = {}) => {
      const answer = await client.send(method, path, body, { ...asOne, ...headers })
      seen.push(JSON.stringify([answer.headers, answer.json]))
      return answer
    }
    const key = { 'Idempotency-Key': randomUUID() }
    const created = await send('POST', '/hooks', BODY, key)
    expect(created.status).toBe(201)
    expect((await send('POST', '/hooks', BODY, key)).json).toEqual(created.json)
    const { id } = created.json
    const path = `/hooks/${id}`
    const etag = created.headers['etag'] as string
    expect((await send('PATCH', path, { description: 'a' }, { 'If-Match': '"other"' })).status).toBe(412)
    const patched = await send('PATCH', path, { description: 'a', is_active: true }, { 'If-Match': etag })
    expect(patched.json).toMatchObject({ description: 'a', is_active: true, problem: null, colour: 'red' })
    const forged = { secret: 'x', owner: '2', failures: 3, problem: 'x', id: randomUUID(), paused_until: null }
    const ifMatch = { 'If-Match': patched.headers['etag'] as string }
    expect((await send('PUT', path, { ...BODY, ...forged }, ifMatch)).json).toMatchObject({ id, problem: null })
    const bulk = await send('POST', '/hooks/bulk', [BODY, BODY])
    expect(bulk.json).toHaveLength(2)
    expect((await send('PATCH', path, { url: 'http://10.0.0.1/' }, { 'If-Match': '*' })).status).toBe(400)
    expect((await send('PATCH', path, { colour: 'grey' }, { 'If-Match': '*' })).status).toBeLessThan(500)
    for (const other of ['/hooks', path, `${path}/history`, `${path}/deliveries`]) {
      expect((await send('GET', other)).status).toBe(200)
      await send('OPTIONS', other)
    }
    await send('GET', '/hooks?ordering=secret&search=whsec&secret=x&fields=secret')
    const secrets = [await secretOf(id), await secretOf(bulk.json[0].id), await secretOf(bulk.json[1].id)]
    expect(new Set(secrets).size).toBe(3)
    const replaced = await client.send('POST', `${path}/secret`, undefined, { ...asOne, 'If-Match': '*' })
    expect(replaced.status).toBe(200)
    secrets.push(replaced.json.secret as string)
    expect((await send('DELETE', path, undefined, { 'If-Match': '*' })).status).toBe(204)
    expect((await send('GET', path)).status).toBe(404)
    const { rows } = await database.knex.raw('select * from koa_viewsets_changes')
    const document = JSON.stringify(api.getSchema())
    for (const secret of secrets) {
      for (const text of [...seen, JSON.stringify(rows), document]) expect(text).not.toContain(secret)
    }
    expect(JSON.stringify(rows)).not.toContain('whsec_')
    expect(document).not.toContain('old_secret"')
    expect(client.reported).toEqual([])
  })

  it('takes no event of a resource whose name goes on behind a dot', async () => {
    for (const event of ['book.author.*', 'book.author.created']) {
      const { status, text } = await client.send('POST', '/hooks', { ...BODY, events: [event] }, asOne)
      expect([status, text]).toEqual([400, expect.stringContaining('is none of the events: book.*')])
    }
  })

  it('belongs to a user of one kind', async () => {
    const ids = ['1', '["a","1"]', '[x', 'O\'Brien "é"\\', '9'.repeat(40)]
    for (const user of ids) {
      const headers = { 'X-User': encodeURIComponent(user) }
      expect((await client.send('POST', '/hooks', BODY, headers)).status).toBe(201)
      expect((await client.get('/hooks', headers)).json).toHaveLength(1)
    }
  })
})

it('endpoints and dispatchers work where knex maps names', async () => {
  const mapped = knexLibrary({
    client: 'pg',
    connection: database.knex.client.config.connection,
    ...knexSnakeCaseMappers(),
  })
  Model.knex(mapped)
  onTestFinished(async () => {
    Model.knex(database.knex)
    await mapped.destroy()
  })
  class MappedHook extends WebhookEndpoint {}
  class MappedHookViewSet extends WebhookEndpointViewSet {
    static override model = MappedHook
    static override events = ['book.*']
    static override receivers = { allowHttp: true, allowedAddresses: ['127.0.0.1'] }
  }
  const own = new APIRouter().register('books', BookViewSet).register('hooks', MappedHookViewSet, 'hook')
  const findOwner = (id: string) => ({ id })
  const onError = (error: unknown) => expect.soft(String(error)).toBe('')
  const dispatcher = new WebhookDispatcher({ knex: mapped, api: own, findOwner, onError })
  await dispatcher.start()
  onTestFinished(() => dispatcher.stop())
  const receiver = await receiveWebhooks()
  const body = { url: receiver.url, events: ['book.*'] }
  const mappedClient = await serving(asUser, own.routes())
  onTestFinished(() => mappedClient.close())
  const created = await mappedClient.send('POST', '/hooks', body, asOne)
  expect(created.json).toMatchObject({ is_active: true })
  const path = `/hooks/${created.json.id}`
  const secret = await mappedClient.send('POST', `${path}/secret`, undefined, asOne)
  expect(secret.json).toEqual({ secret: expect.any(String), old_secret_until: expect.any(String) })
  const [id] = await Promise.all([
    mappedClient.send('POST', '/books', { title: 'a' }).then(({ json }) => json.id),
    receiver.receive(1),
  ])
  const told = async () => (await mappedClient.get(`${path}/deliveries`, asOne)).json
  await vi.waitFor(async () => expect(await told()).toMatchObject([{ state: 'delivered' }]))
  expect(await told()).toMatchObject([{ event: 'book.created', change_id: expect.anything(), attempts: 1 }])
  const off = await mappedClient.send('PATCH', path, { is_active: false }, asOne)
  expect(off.json).toEqual({ ...created.json, is_active: false })
  expect((await mappedClient.get('/hooks', asOne)).json).toEqual([off.json])
  expect((await mappedClient.send('POST', `${path}/replay`, {}, asOne)).json).toEqual({ replayed: 0 })
  expect(receiver.received[0]?.body.data.id).toBe(id)
})
