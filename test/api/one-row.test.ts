/** Changing and deleting one object by statements of ours is what Objection's own would be. */
import { Model } from 'objection'
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { APIRouter, ModelSerializer, ModelViewSet } from '../../lib/index.js'
import { type Client, serveApp } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'

class Thing extends Model {
  static override tableName = 'things'
  declare id: number
  declare name: string
}

let database: TestDatabase
const seen: unknown[] = []

beforeAll(async () => {
  database = await createDatabase({
    schema: 'create table things (id int primary key, name text, shown text, extra jsonb, unused text)',
  })
  Thing.knex(database.knex)
})
afterAll(() => database.drop())
beforeEach(async () => {
  seen.length = 0
  await database.knex('things').delete()
  await database.knex('things').insert({ id: 1, name: 'one', shown: 'x', extra: '{"n":12345678901234567890}' })
})

async function serve(model: typeof Thing): Promise<Client> {
  class Serializer extends ModelSerializer<Thing> {
    static override model = model
    static override fields = ['id', 'name', 'extra']
  }
  class Things extends ModelViewSet<Thing> {
    static override model = model
    static override serializerClass = Serializer
    override async performUpdate(serializer: Serializer, instance: Thing): Promise<void> {
      const saved = await serializer.save()
      seen.push([instance.name, saved.name, instance instanceof model, saved instanceof model])
    }
  }
  const api = new APIRouter()
  api.register('things', Things)
  await api.prepare()
  return serveApp(api.routes())
}

it('the object that was read has the new values, too', async () => {
  const client = await serve(Thing)
  const { status, text } = await client.send('PATCH', '/things/1', { name: 'two' })
  expect([status, text]).toEqual([200, '{"id":1,"name":"two","extra":{"n": 12345678901234567890}}'])
  expect(seen).toEqual([['two', 'two', true, true]])
  expect(await database.knex('things').select('name', 'shown')).toEqual([{ name: 'two', shown: 'x' }])
})

it('a column that goes while the process runs is not missed', async () => {
  const client = await serve(Thing)
  await database.knex.raw('alter table things drop column unused')
  onTestFinished(async () => {
    await database.knex.raw('alter table things add column unused text')
  })
  expect((await client.send('PATCH', '/things/1', { name: 'two' })).status).toBe(200)
  expect((await client.send('DELETE', '/things/1')).status).toBe(204)
  expect(await database.knex('things')).toEqual([])
})

it('a key without a row is 404 for both', async () => {
  const client = await serve(Thing)
  expect((await client.send('PATCH', '/things/2', { name: 'two' })).status).toBe(404)
  expect((await client.send('DELETE', '/things/2')).status).toBe(404)
})

it.each([
  ['beforeUpdate', 'PATCH'],
  ['afterUpdate', 'PATCH'],
  ['beforeDelete', 'DELETE'],
  ['afterDelete', 'DELETE'],
  ['beforeFind', 'PATCH'],
  ['afterFind', 'PATCH'],
] as const)("a model's static %s runs on %s", async (hook, method) => {
  class Hooked extends Thing {}
  Object.defineProperty(Hooked, hook, { value: () => void seen.push(hook) })
  const client = await serve(Hooked)
  seen.length = 0
  const { status } = await client.send(method, '/things/1', method === 'PATCH' ? { name: 'two' } : undefined)
  expect(status).toBeLessThan(300)
  // the view's own performUpdate() may have changed the row since it was returned
  expect(seen.filter((one) => one === hook)).toHaveLength(hook.endsWith('Find') ? 2 : 1)
})

it.each([
  ['$beforeUpdate', 'PATCH'],
  ['$afterUpdate', 'PATCH'],
  ['$beforeDelete', 'DELETE'],
  ['$afterDelete', 'DELETE'],
  ['$afterFind', 'PATCH'],
] as const)("a model's %s runs once on %s", async (hook, method) => {
  class Hooked extends Thing {}
  Object.defineProperty(Hooked.prototype, hook, { value: () => void seen.push(hook) })
  const client = await serve(Hooked)
  const { status } = await client.send(method, '/things/1', method === 'PATCH' ? { name: 'two' } : undefined)
  expect(status).toBeLessThan(300)
  expect(seen.filter((one) => one === hook)).toHaveLength(hook === '$afterFind' ? 2 : 1)
})
