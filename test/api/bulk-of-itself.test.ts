/**
 * A bulk request in which one row is an item and nested in another item: the answer shows what is stored, and items that
 * contradict each other are refused.
 */
import { type DeclaredFields, NestedSerializer } from 'koa-viewsets'
import { Model } from 'objection'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { serializerOf, serveViews, viewOf } from '../support/views.js'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({
    schema: 'create table nodes (id int primary key, title text, n int, parent_id int references nodes)',
  })
  Node.knex(database.knex)
})
beforeEach(() =>
  database.knex.raw(`truncate nodes; insert into nodes values (1, 'a', 1, null), (2, 'b', 1, 1), (3, 'c', 1, 2)`),
)
afterAll(() => database.drop())

class Node extends Model {
  static override tableName = 'nodes'
  static override relationMappings = () => ({
    children: {
      relation: Model.HasManyRelation,
      modelClass: Node,
      join: { from: 'nodes.id', to: 'nodes.parent_id' },
    },
    parent: {
      relation: Model.BelongsToOneRelation,
      modelClass: Node,
      join: { from: 'nodes.parent_id', to: 'nodes.id' },
    },
  })
}
const inner = serializerOf(Node, ['id', 'title', 'n'])
const children = new NestedSerializer(inner, { many: true, required: false })
const parent = new NestedSerializer(inner, { required: false, allowNull: true })

const CASES: readonly [string, DeclaredFields, (title: string) => { id: number }[]][] = [
  [
    'before it',
    { children },
    (title) =>
      [
        { id: 1, children: [{ id: 2, title }] },
        { id: 2, title: 'item' },
      ] as never,
  ],
  [
    'behind it',
    { children },
    (title) =>
      [
        { id: 2, title: 'item' },
        { id: 1, children: [{ id: 2, title }] },
      ] as never,
  ],
  [
    'with another field',
    { children },
    (title) =>
      [
        { id: 1, children: [{ id: 2, title }] },
        { id: 2, n: 5 },
      ] as never,
  ],
  [
    'as what it belongs to',
    { parent },
    (title) =>
      [
        { id: 2, parent: { title } },
        { id: 1, title: 'item' },
      ] as never,
  ],
]

const serving = (fields: DeclaredFields) =>
  serveViews({ nodes: viewOf(Node, serializerOf(Node, ['id', 'title', 'n'], fields)) })

it.each(CASES)('nested %s, of one mind', async (_, fields, itemsOf) => {
  const { get, send } = await serving(fields)
  const items = itemsOf('item')
  const answer = await send('PATCH', '/nodes/bulk', items)
  expect(answer.status).toBe(200)
  const stored = await Promise.all(items.map(async ({ id }) => (await get(`/nodes/${id}`)).json))
  expect(answer.json).toEqual(stored)
})

it.each(CASES)('nested %s, with another title', async (where, fields, itemsOf) => {
  const { send } = await serving(fields)
  const before = await database.knex('nodes').orderBy('id')
  const { status } = await send('PATCH', '/nodes/bulk', itemsOf('nested'))
  if (where === 'with another field') expect(status).toBe(200)
  else expect([status, await database.knex('nodes').orderBy('id')]).toEqual([400, before])
})

it('a row that its model hides once it is written is refused as it is alone, and not as one that has changed', async () => {
  class Shown extends Node {
    static override query(...args: never[]) {
      const query = super.query(...args)
      return query.onBuild((builder) => {
        if (builder.isFind()) void builder.whereNot('nodes.n', 7)
      }) as never
    }
    static override relationMappings = () => ({
      ...Node.relationMappings(),
      parent: { ...Node.relationMappings().parent, modelClass: Shown },
    })
  }
  const nested = new NestedSerializer(serializerOf(Shown, ['id', 'title', 'n']), { required: false, allowNull: true })
  const client = await serveViews({
    nodes: viewOf(Shown, serializerOf(Shown, ['id', 'title', 'n'], { parent: nested })),
  })
  const hidden = { id: 5, title: 'd', n: 7 }
  expect((await client.send('POST', '/nodes', hidden)).status).toBe(403)
  const list = [{ id: 4, title: 'e', n: 1, parent: { id: 6, title: 'f', n: 1 } }, hidden]
  expect((await client.send('POST', '/nodes/bulk', list)).status).toBe(403)
})
