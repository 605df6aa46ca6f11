/** A key that an agent gives names an object, and no other route: nothing is a tool but what `tools` names. */
import Koa from 'koa'
import { beforeAll, beforeEach, expect, it } from 'vitest'
import {
  APIRouter,
  bulkModelViewSet,
  CSVRenderer,
  JSONRenderer,
  listAction,
  modelSerializer,
  table,
} from '../../lib/index.js'
import { mcp } from '../../lib/mcp/index.js'
import { callTool, connectAgent } from '../support/agent.js'
import { database, useLibrary } from '../support/library.js'
import { serve, type TestServer } from '../support/server.js'

useLibrary()

interface PageRow {
  id: string
  title: string
}

const Page = table<PageRow>('pages')
class PageSerializer extends modelSerializer(Page, { fields: ['id', 'title'] }) {}

let purged = 0
class Pages extends bulkModelViewSet(Page, {
  serializerClass: PageSerializer,
  rendererClasses: [JSONRenderer, CSVRenderer],
  actions: {
    purge: listAction({ methods: ['DELETE'] }, async () => {
      purged += 1
      return {}
    }),
    newest: listAction({ methods: ['GET'] }, async () => ({ title: 'of an action' })),
  },
}) {}

let server: TestServer

beforeAll(async () => {
  await database.knex.raw('create table pages (id text primary key, title text not null)')
  Page.knex(database.knex)
  const api = new APIRouter().register('pages', Pages)
  const tools = ['pages:retrieve', 'pages:update', 'pages:partialUpdate', 'pages:destroy']
  const app = new Koa().use(mcp(api, { tools })).use(api.routes())
  await api.prepare()
  server = await serve(app)
  return () => server.close()
})
beforeEach(async () => {
  purged = 0
  await database.knex('pages').delete()
  await database
    .knex('pages')
    .insert(['one', 'one.json', 'one.csv', 'a b', 'é', 'purge', 'bulk'].map((id) => ({ id, title: `page ${id}` })))
})

it.each(['one', 'one.json', 'one.csv', 'a b', 'é', 'purge', 'bulk'])('[J4] is that of the object: %j', async (id) => {
  const client = await connectAgent(server)
  expect(await callTool(client, 'page_retrieve', { id })).toMatchObject({ json: { id, title: `page ${id}` } })
  const body = { title: 'new' }
  expect(await callTool(client, 'page_partial_update', { id, body })).toMatchObject({ json: { id, title: 'new' } })
  expect(await callTool(client, 'page_destroy', { id })).toMatchObject({ texts: ['Done.'] })
  expect(await Page.query().resultSize()).toBe(6)
})

it('[J4] is described as the key that it is: nobody but URLs escapes it', async () => {
  const { tools } = await (await connectAgent(server)).listTools()
  const keys = tools.map(({ inputSchema }) => inputSchema.properties?.['id'])
  expect(keys.map((key) => (key as { description: string }).description)).toEqual(tools.map(() => 'Names the page.'))
})

it.each<[string, Record<string, unknown>]>([
  ['page_retrieve', { id: 'newest' }],
  ['page_retrieve', { id: 'one/' }],
  ['page_retrieve', { id: '..' }],
  ['page_retrieve', { id: 'newest.json' }],
])('[J4] leads nowhere else: %s with %j', async (name, given) => {
  const rows = await database.knex('pages').orderBy('id')
  const answer = await callTool(await connectAgent(server), name, given)
  expect(answer).toMatchObject({ isError: true, texts: ['{"detail":"Not found","status":404}', expect.any(String)] })
  expect(await database.knex('pages').orderBy('id')).toEqual(rows)
  expect(purged).toBe(0)
})
