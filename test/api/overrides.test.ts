/** What an application overrides is found wherever a class can have it, and is never passed over. */
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import {
  APIRouter,
  BaseFilter,
  BasePagination,
  BulkCreateMixin,
  bulkModelViewSet,
  type ListSource,
  type ModelViewSet,
  modelSerializer,
  modelViewSet,
  NotFound,
  type PageRequest,
  table,
} from 'koa-viewsets'
import { Model } from 'objection'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { type Client, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { serveViews } from '../support/views.js'

const Note = table('notes')
class NoteSerializer extends modelSerializer(Note, { fields: ['id', 'owner'] }) {}

class ByMethod extends modelViewSet(Note, { serializerClass: NoteSerializer }) {
  override getQueryset() {
    return super.getQueryset().where('owner', 'me')
  }
}
class ByField extends modelViewSet(Note, { serializerClass: NoteSerializer }) {
  override getQueryset = () => Note.query().where('owner', 'me') as never
}
function narrowing<Base extends new (...args: never[]) => ModelViewSet>(base: Base): Base {
  const mixed = class extends (base as unknown as typeof ModelViewSet) {
    override getQueryset() {
      return super.getQueryset().where('owner', 'me')
    }
  }
  return mixed as unknown as Base
}
class ByMixin extends modelViewSet(Note, { serializerClass: NoteSerializer, mixins: [narrowing] }) {}
class ByAccessor extends modelViewSet(Note, { serializerClass: NoteSerializer }) {}
Object.defineProperty(ByAccessor.prototype, 'getQueryset', {
  get: () => () => Note.query().where('owner', 'me'),
})
class ByRequest extends modelViewSet(Note, { serializerClass: NoteSerializer }) {
  override getKnex() {
    this.getQueryset = () => Note.query().where('owner', 'me')
    return super.getKnex()
  }
}

let database: TestDatabase
let client: Client

beforeAll(async () => {
  database = await createDatabase({
    schema: `create table notes (id serial primary key, owner text check (owner || '' <> 'nobody')); insert into notes (owner) values ('me'), ('her')`,
  })
  Model.knex(database.knex)
  const api = new APIRouter()
    .register('method', ByMethod, 'method')
    .register('field', ByField, 'field')
    .register('mixin', ByMixin, 'mixin')
    .register('accessor', ByAccessor, 'accessor')
    .register('request', ByRequest, 'request')
  await api.prepare()
  client = await serving(api.routes())
})
afterAll(async () => {
  await client.close()
  await database.drop()
})

it.each(['method', 'field', 'mixin', 'accessor'])('a queryset that is narrowed by a %s hides rows', async (way) => {
  for (let round = 0; round < 2; round++) {
    expect((await client.get(`/${way}`)).json).toEqual([{ id: 1, owner: 'me' }])
    expect((await client.get(`/${way}/2`)).status).toBe(404)
    expect((await client.send('PATCH', `/${way}/2`, { owner: 'me' })).status).toBe(404)
    expect((await client.send('DELETE', `/${way}/2`)).status).toBe(404)
  }
})

it.each([
  ['GET', '/request'],
  ['GET', '/request/2'],
  ['PATCH', '/request/2'],
  ['DELETE', '/request/2'],
])('a queryset that a request sets on its view is an error: %s %s', async (method, path) => {
  const { length } = client.reported
  expect((await client.send(method, path, method === 'PATCH' ? { owner: 'me' } : undefined)).status).toBe(500)
  expect(String(client.reported.at(length))).toContain('ByRequest: getQueryset() was set on a view while it answers')
})

it('a getObject() that finds nothing is 404, for all that the path names', async () => {
  class Found extends modelViewSet(Note, { serializerClass: NoteSerializer }) {
    override async getObject() {
      return (await this.getQueryset().findById(Number(this.ctx.params['id']))) as never
    }
  }
  const served = await serveViews({ found: Found })
  expect((await served.get('/found/1')).json).toEqual({ id: 1, owner: 'me' })
  for (const method of ['GET', 'PATCH', 'PUT', 'DELETE']) {
    const { status } = await served.send(method, '/found/99', method.startsWith('P') ? { owner: 'me' } : undefined)
    expect([method, status]).toEqual([method, 404])
  }
  expect(served.reported).toEqual([])
})

it('a toError() and a finalizeResponse() that are async are waited for', async () => {
  class Waiting extends modelViewSet(Note, { serializerClass: NoteSerializer }) {
    override async toError(error: unknown) {
      await setImmediate()
      if (error instanceof NotFound) throw new NotFound('Not now.')
      return super.toError(error)
    }
    override finalizeResponse() {
      const later = async () => {
        await setImmediate()
        super.finalizeResponse()
        if (this.ctx.query['fail']) throw new Error('no header')
        this.ctx.set('X-Late', 'yes')
      }
      return later() as never
    }
  }
  const served = await serveViews({ waiting: Waiting })
  expect((await served.get('/waiting')).headers['x-late']).toBe('yes')
  expect((await served.get('/waiting/99')).json).toEqual({ detail: 'Not now.', status: 404 })
  expect(served.reported).toEqual([])
  expect((await served.get('/waiting?fail=1')).status).toBe(500)
  expect(served.reported).toEqual([new Error('no header')])
})

it('a getObject() that finds a list is told, and nothing is written', async () => {
  class Several extends modelViewSet(Note, { serializerClass: NoteSerializer }) {
    override async getObject() {
      return (await this.getQueryset()) as never
    }
  }
  const served = await serveViews({ several: Several })
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    expect((await served.send(method, '/several/1', method === 'PATCH' ? { owner: 'you' } : undefined)).status).toBe(
      500,
    )
  }
  const told = 'ConfigurationError: Several: getObject() returned an instance of Array; return one object, or nothing'
  expect(served.reported.map(String)).toEqual([told, told, told])
})

it.each([
  [
    'getSerializerClass',
    () => new NoteSerializer(),
    'an instance of NoteSerializer; return a serializer class, at once',
  ],
  ['getSerializer', async () => new NoteSerializer(), 'a promise; return a serializer, at once'],
  ['getInputSerializer', () => undefined, 'undefined; return a serializer, at once'],
  ['getSerializerContext', async () => ({}), 'a promise; return an object, at once'],
  ['getQueryset', async () => Note.query(), 'a promise; return a query, at once'],
])('a %s() that returns something else is told', async (name, returned, message) => {
  class Odd extends modelViewSet(Note, { serializerClass: NoteSerializer }) {}
  // what only a request can tell
  const odd = function (this: ModelViewSet) {
    return this.ctx.method === '' ? undefined : returned()
  }
  Object.assign(Odd.prototype, { [name]: odd })
  const served = await serveViews({ odd: Odd })
  expect((await served.send('POST', '/odd', { owner: 'me' })).status).toBe(500)
  expect(String(served.reported[0])).toBe(`ConfigurationError: Odd: ${name}() returned ${message}`)
})

it('what hooks begin and do not wait for is done before the answer', async () => {
  class Hasty extends modelViewSet(Note, { serializerClass: NoteSerializer, mixins: [BulkCreateMixin] }) {
    override async performCreate(serializer: NoteSerializer) {
      void serializer.save()
    }
    override async performUpdate(serializer: NoteSerializer, note: InstanceType<typeof Note>) {
      void super.performUpdate(serializer, note)
    }
    override async performDestroy(note: InstanceType<typeof Note>) {
      void super.performDestroy(note)
    }
  }
  const served = await serveViews({ hasty: Hasty })
  const made = await served.send('POST', '/hasty', { owner: 'it' })
  expect([made.status, made.json['owner']]).toEqual([201, 'it'])
  const path = `/hasty/${made.json['id']}`
  expect((await served.send('PATCH', path, { owner: 'us' })).json['owner']).toBe('us')
  expect((await served.send('PATCH', path, { owner: 'nobody' })).status).toBe(400)
  expect((await served.send('POST', '/hasty/bulk', [{ owner: 'one' }, { owner: 'two' }])).json).toMatchObject([
    { owner: 'one' },
    { owner: 'two' },
  ])
  expect((await served.send('DELETE', path)).status).toBe(204)
  expect((await served.get(path)).status).toBe(404)
  expect(served.reported).toEqual([])
})

it('what hooks of lists begin and do not wait for is done before the answer', async () => {
  class Hasty extends bulkModelViewSet(Note, { serializerClass: NoteSerializer }) {
    override async performCreate(serializer: NoteSerializer) {
      await setImmediate()
      return serializer.save()
    }
    override performUpdate(serializer: NoteSerializer) {
      return this.performCreate(serializer)
    }
    override async performDestroy(note: InstanceType<typeof Note>) {
      await setImmediate()
      return super.performDestroy(note)
    }
    override async performBulkCreate(serializer: NoteSerializer) {
      void super.performBulkCreate(serializer)
    }
    override async performBulkUpdate(serializer: NoteSerializer, notes: readonly InstanceType<typeof Note>[]) {
      void super.performBulkUpdate(serializer, notes)
    }
    override async performBulkDestroy(notes: readonly InstanceType<typeof Note>[]) {
      void super.performBulkDestroy([...notes])
    }
  }
  const served = await serveViews({ hasty: Hasty })
  const bulk = (method: string, items: unknown) => served.send(method, '/hasty/bulk', items)
  const made = (await bulk('POST', [{ owner: 'one' }, { owner: 'two' }])).json as unknown as { id: number }[]
  expect(made).toMatchObject([{ owner: 'one' }, { owner: 'two' }])
  const ids = made.map(({ id }) => id)
  expect((await bulk('PATCH', [{ id: ids[0], owner: 'us' }])).json).toEqual([{ id: ids[0], owner: 'us' }])
  expect((await bulk('PATCH', [{ id: ids[0], owner: 'nobody' }])).status).toBe(400)
  expect((await bulk('DELETE', ids)).json).toEqual({ deleted: ids })
  expect((await served.get(`/hasty/${ids[1]}`)).status).toBe(404)
})

it.each([
  ['of a view set', {}, { filterQueryset: () => undefined }, 'Odd: filterQueryset() returned undefined'],
  [
    'of a filter backend',
    {
      filterBackends: [
        Object.assign(new (class Broken extends BaseFilter {})(), { filterQueryset: async () => undefined }),
      ],
    },
    {},
    'Broken: filterQueryset() returned a promise',
  ],
  [
    'of a filter backend, or a read() that is asynchronous,',
    { filterBackends: [Object.assign(new (class Late extends BaseFilter {})(), { read: async () => ({}) })] },
    {},
    'Late: read() returned a promise',
  ],
])('a filterQueryset() %s that returns no query is told', async (_whose, statics, methods, message) => {
  class Odd extends modelViewSet(Note, { serializerClass: NoteSerializer }) {}
  Object.assign(Odd, statics)
  Object.assign(Odd.prototype, methods)
  const served = await serveViews({ odd: Odd })
  expect((await served.get('/odd')).status).toBe(500)
  expect(String(served.reported[0])).toContain(`ConfigurationError: ${message}; return the `)
})

it.each([
  ['of Node', (rows: object[]) => Readable.from(rows)],
  ['of the web', (rows: object[]) => ReadableStream.from(rows)],
])('a stream %s that gives objects ends its answer, and not the process', async (_whose, streamOf) => {
  class Rows extends modelViewSet(Note, { serializerClass: NoteSerializer }) {
    override async list() {
      return streamOf(await this.getQueryset()) as never
    }
  }
  const served = await serveViews({ rows: Rows })
  await expect(served.get('/rows')).rejects.toThrow(/hang up|aborted/)
  const message =
    'a body is a stream of values of the type object; give it texts or bytes, such as a line of JSON for each'
  expect(String(served.reported[0])).toBe(`ConfigurationError: ${message}`)
})

it.each(['HEAD', 'GET'])('a stream of texts, which an action returns, is let go after %s', async (method) => {
  const made: Readable[] = []
  class Texts extends modelViewSet(Note, { serializerClass: NoteSerializer }) {
    override async list() {
      this.ctx.type = 'application/json'
      made.push(Readable.from(['[{"id":1,"owner":', Buffer.from('null}]')]))
      return made[0] as never
    }
  }
  const served = await serveViews({ texts: Texts })
  expect((await served.send(method, '/texts')).json).toEqual(method === 'GET' ? [{ id: 1, owner: null }] : undefined)
  await vi.waitFor(() => expect(made[0]?.destroyed).toBe(true))
  expect(served.reported).toEqual([])
})

it('a paginate() that returns no page is told', async () => {
  class Empty extends BasePagination {
    async paginate() {
      return undefined as never
    }
  }
  class Odd extends modelViewSet(Note, { serializerClass: NoteSerializer, paginationClass: Empty }) {}
  const served = await serveViews({ odd: Odd })
  expect((await served.get('/odd')).status).toBe(500)
  expect(String(served.reported[0])).toBe('ConfigurationError: Empty: paginate() returned undefined; return the page')
})

it('a page that no list has, of numbers that a paginator has not checked, is 400', async () => {
  class Unchecked extends BasePagination {
    async paginate(source: ListSource, { query }: PageRequest) {
      // as it comes, as in JavaScript
      if (query['limit'] !== undefined) {
        const rows = await source.read({ limit: query['limit'] as never })
        return { results: rows.results(0, rows.length) }
      }
      const limit = Number(query['size'] ?? 10)
      const rows = await source.read({ limit, offset: Number(query['page'] ?? 0) * limit })
      return { results: rows.results(0, rows.length) }
    }
  }
  class Paged extends modelViewSet(Note, { serializerClass: NoteSerializer, paginationClass: Unchecked }) {}
  const { get } = await serveViews({ paged: Paged })
  for (const wrong of ['page=-1', 'page=1e300', 'page=x', 'page=Infinity', 'size=-1', 'size=1.5', 'size=x'])
    expect(await get(`/paged?${wrong}`)).toMatchObject({
      status: 400,
      json: { errors: { non_field_errors: ['Invalid value.'] } },
    })
  expect((await get('/paged?size=0')).json).toEqual({ results: [] })
  expect(await get('/paged?limit=10')).toMatchObject({ status: 200 })
  expect(await get('/paged?limit=x')).toMatchObject({ status: 400 })
})

it.each(['exact', 'capped'] as const)('a page behind the end says how many there are before it: %s', async (count) => {
  class Behind extends BasePagination {
    async paginate(source: ListSource) {
      const rows = await source.read({ limit: 10, offset: 50, count })
      return { count: rows.count, results: rows.results(0, rows.length) }
    }
  }
  class Hooked extends table('notes') {
    override $afterFind() {}
  }
  class Rows extends modelViewSet(Note, { serializerClass: NoteSerializer, paginationClass: Behind }) {}
  class Instances extends modelViewSet(Hooked, {
    serializerClass: modelSerializer(Hooked, { fields: ['id', 'owner'], schemaName: 'Hooked' }),
    paginationClass: Behind,
  }) {}
  const { get } = await serveViews({ rows: Rows, instances: Instances })
  const { json } = await get('/rows')
  expect(json).toEqual({ count: await Note.query().resultSize(), results: [] })
  expect((await get('/instances')).json).toEqual(json)
})
