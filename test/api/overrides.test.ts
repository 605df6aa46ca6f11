/** What an application overrides is found wherever a class can have it, and is never passed over. */
import { APIRouter, type ModelViewSet, modelSerializer, modelViewSet, table } from 'koa-viewsets'
import { Model } from 'objection'
import { afterAll, beforeAll, expect, it } from 'vitest'
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
    schema: `create table notes (id serial primary key, owner text); insert into notes (owner) values ('me'), ('her')`,
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
