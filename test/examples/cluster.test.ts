import { readFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Model } from 'objection'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readExport } from '../../examples/cluster/read-export.js'
import { APIRouter, configure, ModelSerializer, ReadOnlyModelViewSet, ServerCursorPagination } from '../../lib/index.js'
import { type Client, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'

const configuration = readFileSync(new URL('../../examples/cluster/nginx.conf', import.meta.url), 'utf8')
/** The `map` of the configuration: patterns of ids, and where they go. */
const routes = [...configuration.matchAll(/^ +~(\S+) +(\w+);$/gm)].map(
  ([, pattern = '', node = '']) => [new RegExp(pattern), node] as const,
)

class Item extends Model {
  static override tableName = 'items'
}
class ItemSerializer extends ModelSerializer {
  static override model = Item
  static override fields = ['id']
}

let database: TestDatabase
let proxy: http.Server
const nodes = new Map<string, { client: Client; api: APIRouter }>()
const asked: string[] = []

beforeAll(async () => {
  configure({ secretKey: '0123456789abcdef0123456789abcdef' })
  database = await createDatabase({
    schema: 'create table items (id int primary key); insert into items select generate_series(1, 95)',
  })
  Item.knex(database.knex)
  for (const node of ['n1', 'n2']) await start(node)
  let turn = 0
  proxy = http.createServer((request, response) => {
    const id = new URL(request.url ?? '', 'http://proxy').searchParams.get('server_cursor') ?? ''
    const node = routes.find(([pattern]) => pattern.test(id))?.[1] ?? ['n1', 'n2'][turn++ % 2] ?? ''
    const { client } = (nodes.get(node) ?? nodes.get('n2')) as { client: Client }
    asked.push(node)
    void client.get(request.url ?? '').then(({ status, text }) => response.writeHead(status).end(text))
  })
  await new Promise<void>((resolve) => {
    proxy.listen(0, '127.0.0.1', resolve)
  })
})
afterAll(async () => {
  proxy.close()
  for (const node of nodes.keys()) await stop(node)
  await database.drop()
})

async function start(node: string): Promise<void> {
  class Items extends ReadOnlyModelViewSet {
    static override model = Item
    static override serializerClass = ItemSerializer
    static override paginationClass = new ServerCursorPagination({ pageSize: 10, node })
  }
  const api = new APIRouter().register('items', Items)
  nodes.set(node, { client: await serving(api.routes()), api })
}

async function stop(node: string): Promise<void> {
  const { api, client } = nodes.get(node) as { client: Client; api: APIRouter }
  nodes.delete(node)
  await api.close()
  await client.close()
}

describe('the cluster example', () => {
  const url = () => `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/items`
  const all = Array.from({ length: 95 }, (_, index) => ({ id: index + 1 }))

  it('names two processes', () => {
    expect(routes.map(([pattern, node]) => [pattern.source, node])).toEqual([
      ['^n1\\.', 'n1'],
      ['^n2\\.', 'n2'],
    ])
  })

  it('sends the requests of a cursor to the process that holds it', async () => {
    asked.length = 0
    expect(await readExport(url())).toEqual(all)
    expect(await readExport(url())).toEqual(all)
    expect([new Set(asked.slice(0, 10)), new Set(asked.slice(10))]).toEqual([new Set(['n1']), new Set(['n2'])])
  })

  it('[D15] starts again when that process has gone', async () => {
    asked.length = 0
    const reading = readExport(url())
    await expect.poll(() => asked.length, { interval: 1 }).toBeGreaterThan(2)
    await stop('n1')
    expect(await reading).toEqual(all)
  })
})
