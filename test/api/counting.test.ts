import { Model } from 'objection'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  APIRouter,
  type CountKind,
  FieldFilter,
  LimitOffsetPagination,
  ModelSerializer,
  PageNumberPagination,
  type Pagination,
  ReadOnlyModelViewSet,
  SerializerMethodField,
} from '../../lib/index.js'
import { type Client, serveApp } from '../support/client.js'
import { countQueries, createDatabase, type TestDatabase } from '../support/database.js'
import { runsAsRole } from '../support/roles.js'

class Item extends Model {
  static override tableName = 'items'
}
class ItemSerializer extends ModelSerializer {
  static override model = Item
  static override fields = ['id']
}
/** Needs model instances. */
class LabelledSerializer extends ModelSerializer {
  static override model = Item
  static override fields = ['id', 'label']
  static override declaredFields = { label: new SerializerMethodField() }
  getLabel() {
    return ''
  }
}

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase({
    schema: 'create table items (id int primary key); insert into items select generate_series(1, 100); analyze items',
  })
  Item.knex(database.knex)
})
afterAll(() => database.drop())

function routerOf(pagination: Pagination, instances = false, least = 0) {
  class Items extends ReadOnlyModelViewSet {
    static override model = Item
    static override serializerClass = instances ? LabelledSerializer : ItemSerializer
    static override paginationClass = pagination
    override getQueryset() {
      return least === 0 ? super.getQueryset() : super.getQueryset().where('id', '>', least)
    }
  }
  return new APIRouter().register('items', Items)
}

async function clientFor(pagination: Pagination, instances = false, least = 0): Promise<Client> {
  return serveApp(routerOf(pagination, instances, least).routes())
}

const numbers = (count: CountKind, countLimit?: number) =>
  new PageNumberPagination({ pageSize: 30, count, ...(countLimit && { countLimit }) })

async function pageOf(client: Client, path: string) {
  const { status, json } = await client.get(path)
  return status === 200 ? [json.count, json.results.length, json.next, json.previous] : status
}

describe.each([
  ['rows', false],
  ['instances', true],
])('a list of %s', (_name, instances) => {
  it.each<[CountKind, number | null]>([
    ['exact', 100],
    // nothing is estimated under a role
    ...(runsAsRole() ? [] : [['estimated', 100] as [CountKind, number]]),
    ['capped', 40],
    ['none', null],
  ])('[D3] counted as %s, by pages', async (kind, count) => {
    const client = await clientFor(numbers(kind, 40), instances)
    expect(await pageOf(client, '/items')).toEqual([count, 30, '/items?page=2', null])
    expect(await pageOf(client, '/items?page=3')).toEqual([count, 30, '/items?page=4', '/items?page=2'])
    expect(await pageOf(client, '/items?page=4')).toEqual([count, 10, null, '/items?page=3'])
    expect(await pageOf(client, '/items?page=5')).toBe(404)
    expect(await pageOf(client, '/items?page=1&page_size=100')).toEqual([count, 100, null, null])
  })

  it.each<[CountKind, number | null]>([
    ['exact', 100],
    // nothing is estimated under a role
    ...(runsAsRole() ? [] : [['estimated', 100] as [CountKind, number]]),
    ['capped', 40],
    ['none', null],
  ])('[D3] counted as %s, by slices', async (kind, count) => {
    const client = await clientFor(
      new LimitOffsetPagination({ defaultLimit: 30, count: kind, countLimit: 40 }),
      instances,
    )
    expect(await pageOf(client, '/items')).toEqual([count, 30, '/items?limit=30&offset=30', null])
    expect(await pageOf(client, '/items?offset=90')).toEqual([count, 10, null, '/items?offset=60&limit=30'])
    expect(await pageOf(client, '/items?offset=500')).toEqual([count, 0, null, '/items?offset=470&limit=30'])
  })

  it.skipIf(runsAsRole())('counts no further than it must', async () => {
    const texts = async (kind: CountKind, path: string) => {
      const client = await clientFor(numbers(kind, 40), instances)
      await client.get('/items')
      return countQueries(database.knex, () => client.get(path))
    }
    expect(await texts('none', '/items?page=2')).toHaveLength(1)
    expect(await texts('estimated', '/items?page=4')).toHaveLength(1)
    expect((await texts('estimated', '/items?page=2')).at(-1)).toMatch(/^explain \(format json\) select/)
    expect((await texts('capped', '/items?page=2')).at(-1)).toMatch(
      /^select count\(\*\) as count from \(select 1 .*limit \$\d\)/,
    )
  })

  it.skipIf(runsAsRole())('estimates only what nobody narrows, and counts with a cap else', async () => {
    const narrowed = await clientFor(numbers('estimated', 40), instances, 20)
    expect(await pageOf(narrowed, '/items')).toEqual([40, 30, '/items?page=2', null])
    class Filtered extends ReadOnlyModelViewSet {
      static override model = Item
      static override serializerClass = instances ? LabelledSerializer : ItemSerializer
      static override paginationClass = numbers('estimated', 40)
      static override filterBackends = [FieldFilter]
      static override filtersetFields = ['id']
    }
    const filtered = await serveApp(new APIRouter().register('items', Filtered).routes())
    const texts = await countQueries(database.knex, () => filtered.get('/items?id__gte=3'))
    expect(texts.filter((text) => text.startsWith('explain'))).toEqual([])
    expect(((await pageOf(filtered, '/items?id__gte=3')) as number[])[0]).toBe(40)
    expect(((await pageOf(filtered, '/items')) as number[])[0]).toBe(100)
  })

  it('answers what a page has shown before an estimate', async () => {
    const client = await clientFor(numbers('estimated'), instances, 60)
    const [count, length] = (await pageOf(client, '/items')) as number[]
    expect(length).toBe(30)
    expect(count).toBeGreaterThan(30)
    expect(await pageOf(client, '/items?page=2')).toEqual([40, 10, null, '/items?page=1'])
    const empty = await clientFor(numbers('estimated'), instances, 1000)
    expect(await pageOf(empty, '/items')).toEqual([0, 0, null, null])
  })
})

describe('what is wrong with a declaration', () => {
  it('is found by prepare()', async () => {
    class Wrong extends PageNumberPagination {
      override readonly count = 'some'
    }
    await expect(routerOf(Wrong).prepare()).rejects.toThrow(
      /Wrong: count "some" must be one of exact, estimated, capped, none/,
    )
    await expect(routerOf(new LimitOffsetPagination({ countLimit: 0 })).prepare()).rejects.toThrow(
      /countLimit must be a whole/,
    )
  })
})
