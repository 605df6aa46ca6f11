/** Recorded changes of objects whose ids are signed by another key than before: while the key is replaced both are written. */
import type Koa from 'koa'
import { Model } from 'objection'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import {
  ChangeStreamMixin,
  type Changes,
  ChangesMixin,
  ensureChangesTable,
  HistoryMixin,
  readChanges,
} from '../../lib/changes/index.js'
import { APIRouter, type APIRouterOptions, configure, IDMixin, ModelViewSet, modelSerializer } from '../../lib/index.js'
import { ensureWebhookTables, WebhookDispatcher, WebhookEndpointViewSet } from '../../lib/webhooks/index.js'
import { type Client, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { openEvents } from '../support/event-source.js'
import { runsAsRole } from '../support/roles.js'
import { receiveWebhooks } from '../support/webhook-receiver.js'

const [OLD, NEW] = ['the key until today, long enough', 'the key from today on, long enough']
const ROLE = `replaced_keys_${Math.random().toString(36).slice(2, 10)}`
const asUser: Koa.Middleware = (ctx, next) => {
  ctx.state['user'] = { id: Number(ctx.get('X-User')) }
  return next()
}
const as = (user: number) => ({ 'X-User': String(user) })

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({
    schema: `create table notes (id int generated always as identity primary key, title text not null, owner int not null);
      create role ${ROLE};
      create table lines (note_id int references notes, no int, text text, primary key (note_id, no));
      grant select, insert, update, delete on notes to ${ROLE};
      create policy own on notes to ${ROLE} using (current_setting('app.user') in ('0', owner::text))`,
  })
  Model.knex(database.knex)
  configure({ secretKey: 'a secret of the test, long enough' })
  await ensureChangesTable(database.knex)
  await ensureWebhookTables(database.knex)
})
afterAll(async () => {
  configure({})
  await database.knex.raw(`drop owned by ${ROLE}; drop role ${ROLE}`)
  await database.drop()
})

/** An API of one version: who owns a note sees it, and user 0 all of them. */
async function serve(
  hmacKeys: readonly [string, ...string[]],
  options: APIRouterOptions,
): Promise<{ api: APIRouter; client: Client; endpoints: typeof WebhookEndpointViewSet }> {
  class Note extends IDMixin(Model) {
    static override tableName = 'notes'
    static override idConfig = { mode: 'signed', alphabet: 'mn7swcxDfgkGrBtv4qj6phd3b952CzF8', hmacKeys } as const
    declare id: number
    declare title: string
    declare owner: number
  }
  class Notes extends HistoryMixin(ChangeStreamMixin(ChangesMixin(ModelViewSet<Note>))) {
    static override model = Note
    static override serializerClass = modelSerializer(Note, { fields: ['id', 'title', 'owner'] })
    static override changes: Changes = { visibleBy: ['owner'] }
    override getQueryset() {
      const { id } = this.ctx.state['user'] as { id: number }
      const all = Note.query(this.knex)
      return id === 0 || options.databaseRole ? all : all.where('notes.owner', id)
    }
  }
  class Hooks extends WebhookEndpointViewSet {
    static override events = ['note.*']
    static override receivers = { allowHttp: true, allowedAddresses: ['127.0.0.1'] }
  }
  const api = new APIRouter(options).register('notes', Notes, 'note')
  const hooks = new APIRouter().register('hooks', Hooks, 'hook')
  for (const one of [api, hooks]) await one.prepare()
  const client = await serving(asUser, api.routes(), hooks.routes())
  onTestFinished(() => client.close())
  return { api, client, endpoints: Hooks }
}

const databaseSettings: APIRouterOptions['databaseSettings'] = ({ state }) => ({ 'app.user': state['user'].id })
const DECIDING: [string, APIRouterOptions][] = [
  ['a queryset', {}],
  ['policies of the database', { databaseRole: ROLE, databaseSettings }],
]
it.each(runsAsRole() ? DECIDING.slice(0, 1) : DECIDING)(
  'are those of one object in histories, streams and webhooks, where %s decides',
  async (_, options) => {
    const { knex } = database
    await knex.raw(`truncate koa_viewsets_webhook_endpoints, koa_viewsets_webhook_deliveries;
    alter table notes ${options.databaseRole ? 'enable' : 'disable'} row level security`)
    const old = await serve([OLD], options)
    const { api, client, endpoints } = await serve([NEW, OLD], options)
    const dispatcher = () => new WebhookDispatcher({ knex, api, endpoints, findOwner: (id) => ({ id: Number(id) }) })
    const begun = dispatcher()
    await begun.start()
    await begun.stop()
    const [mine, all] = [await receiveWebhooks(), await receiveWebhooks()]
    for (const [user, { url }] of [mine, all].map((one, index) => [1 - index, one] as const))
      expect((await client.send('POST', '/hooks', { url, events: ['note.*'] }, as(user))).status).toBe(201)
    const { position } = await readChanges(knex, { position: 'now' })

    const { json: made } = await old.client.send('POST', '/notes', { title: 'secret', owner: 2 }, as(0))
    const { json: changed } = await client.send('PATCH', `/notes/${made.id}`, { title: 'shown', owner: 1 }, as(0))
    expect(changed.id).not.toBe(made.id)

    const history = await client.get(`/notes/${changed.id}/history`, as(1))
    expect(history.json.map(({ action }: { action: string }) => action)).toEqual(['update', 'create'])

    // who did not see the note after the first change hears of the second one alone
    const streams = [1, 0].map((user) =>
      openEvents(client.port, '/notes/changes', { ...as(user), 'Last-Event-ID': position }),
    )
    const [own, whole] = await Promise.all(streams)
    await whole?.hear(2)
    await own?.hear(1)
    expect(own?.events.map(({ data }) => data.id)).toEqual([changed.id])

    const telling = dispatcher()
    await telling.start()
    onTestFinished(() => telling.stop())
    await all.receive(2)
    await mine.receive(1)
    expect(all.received.map(({ body }) => [body.type, body.data.id])).toEqual([
      ['note.created', changed.id],
      ['note.updated', changed.id],
    ])
    expect(mine.received.map(({ body: { type, data } }) => [type, data.before, data.after?.title])).toEqual([
      ['note.updated', null, 'shown'],
    ])
    // in one queue
    const { rows } = await knex.raw('select distinct endpoint_id, object from koa_viewsets_webhook_deliveries')
    expect(rows).toHaveLength(2)
  },
)

it('are those of one object whose key holds such an id beside other columns', async () => {
  const { knex } = database
  await knex.raw('truncate koa_viewsets_webhook_endpoints, koa_viewsets_webhook_deliveries')
  const { rows: made } = await knex.raw("insert into notes (title, owner) values ('a', 1) returning id")
  const [old, next] = await Promise.all([[OLD] as const, [NEW, OLD] as const].map(serveLines))
  if (!old || !next) throw new Error('there are two versions')
  const { api, client, endpoints } = next
  const dispatcher = () => new WebhookDispatcher({ knex, api, endpoints, findOwner: (id) => ({ id: Number(id) }) })
  const begun = dispatcher()
  await begun.start()
  await begun.stop()
  const receiver = await receiveWebhooks()
  expect((await client.send('POST', '/hooks', { url: receiver.url, events: ['line.*'] }, as(0))).status).toBe(201)
  const [note, again] = [old, next].map(({ noteId }) => noteId(made[0].id))
  expect((await old.client.send('POST', '/lines', { note_id: note, no: 1, text: 'a' }, as(0))).status).toBe(201)
  expect((await client.send('PATCH', `/lines/${again},1`, { text: 'b' }, as(0))).status).toBe(200)

  const history = await client.get(`/lines/${again},1/history`, as(0))
  expect(history.json.map(({ action }: { action: string }) => action)).toEqual(['update', 'create'])
  const telling = dispatcher()
  await telling.start()
  onTestFinished(() => telling.stop())
  await receiver.receive(2)
  expect(receiver.received.map(({ body }) => body.data.id)).toEqual([`${again},1`, `${again},1`])
  const { rows } = await knex.raw('select distinct object from koa_viewsets_webhook_deliveries')
  expect(rows).toHaveLength(1)
})

/** An API of one version, of the lines of notes. */
async function serveLines(hmacKeys: readonly [string, ...string[]]) {
  class Note extends IDMixin(Model) {
    static override tableName = 'notes'
    static override idConfig = { mode: 'signed', alphabet: 'mn7swcxDfgkGrBtv4qj6phd3b952CzF8', hmacKeys } as const
  }
  class Line extends Model {
    static override tableName = 'lines'
    static override idColumn = ['note_id', 'no']
    static override relationMappings = () => ({
      note: { relation: Model.BelongsToOneRelation, modelClass: Note, join: { from: 'lines.note_id', to: 'notes.id' } },
    })
  }
  class Lines extends HistoryMixin(ChangesMixin(ModelViewSet<Line>)) {
    static override model = Line
    static override serializerClass = modelSerializer(Line, { fields: ['note_id', 'no', 'text'] as never })
  }
  class Hooks extends WebhookEndpointViewSet {
    static override events = ['line.*']
    static override receivers = { allowHttp: true, allowedAddresses: ['127.0.0.1'] }
  }
  const api = new APIRouter().register('lines', Lines, 'line').register('hooks', Hooks, 'hook')
  await api.prepare()
  const client = await serving(asUser, api.routes())
  onTestFinished(() => client.close())
  return { api, client, endpoints: Hooks, noteId: (id: number) => Note.encodeId(id) }
}
