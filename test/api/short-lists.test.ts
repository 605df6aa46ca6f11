/** Searches that find little are read once for their page and their count (promises D3, E22). */
import {
  APIRouter,
  FieldFilter,
  NestedSerializer,
  OrderingFilter,
  PageNumberPagination,
  SearchFilter,
} from 'koa-viewsets'
import { Model } from 'objection'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../support/client.js'
import { countQueries, createDatabase, type TestDatabase } from '../support/database.js'
import { serializerOf, serveRouter, serveViews, tableOf, viewOf } from '../support/views.js'

/** The tables have names that statements of ours might use, too. */
const SCHEMA = `
  create table inserted (id int primary key, name text not null);
  insert into inserted select n, 'author ' || n from generate_series(1, 10) n;
  create table list (
    id serial primary key, title text, price numeric(6, 2), author_id int references inserted);
  insert into list (title, price, author_id)
    select 'title ' || n || case when n % 5 = 0 then ' rare' else '' end || case when n % 60 = 0 then ' single' else '' end,
      nullif(n % 40, 7), nullif(n % 11, 0)
    from generate_series(1, 1200) n;`

/** Rows are put before a page's own statement by a name of their own. */
const WHOLE = /^with "koa_viewsets_found" as materialized/
const BESIDE = /^with "koa_viewsets_page" as materialized/

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  Model.knex(database.knex)
})
afterAll(() => database.drop())

const Author = tableOf('inserted')
const Item = tableOf('list', {
  relationMappings: () => ({
    author: {
      relation: Model.BelongsToOneRelation,
      modelClass: Author,
      join: { from: 'list.author_id', to: 'inserted.id' },
    },
  }),
})

/** Views of one table by rows, by native JSON and by instances, which count by a statement of their own. */
function serveItems(nested = true): Promise<Client> {
  const author = new NestedSerializer(serializerOf(Author, ['id', 'name']), { readOnly: true })
  const Shown = serializerOf(Item, ['id', 'title', 'price'], nested ? { author } : {})
  class Instances extends Shown {
    override toRepresentation(object: Model): unknown {
      return super.toRepresentation(object)
    }
  }
  const declared = {
    filterBackends: [FieldFilter, SearchFilter, OrderingFilter],
    searchFields: ['title', 'author__name'],
    filtersetFields: ['title', 'price', 'author_id'],
    orderingFields: ['price', 'id', 'title'],
    paginationClass: new PageNumberPagination({ pageSize: 30 }),
  }
  return serveViews({
    rows: viewOf(Item, Shown, declared),
    native: viewOf(Item, Shown, { ...declared, useNativeJson: true }),
    instances: viewOf(Item, Instances, declared),
  })
}

/** The statements of a request. */
async function statements(client: Client, path: string): Promise<string[]> {
  const texts = await countQueries(database.knex, async () => {
    expect((await client.get(path)).status).toBe(200)
  })
  return [...texts]
}

describe.each(['rows', 'native'])('a search by %s', (kind) => {
  it('is read once, where it was short when it was last counted', async () => {
    const client = await serveItems()
    expect(await statements(client, `/${kind}?search=rare`)).toEqual([expect.stringMatching(BESIDE)])
    expect(await statements(client, `/${kind}?search=rare`)).toEqual([expect.stringMatching(WHOLE)])
    expect(await statements(client, `/${kind}?search=rar&page=2`)).toEqual([expect.stringMatching(WHOLE)])
  })

  it('is read once by a lookup that looks for a pattern, and by no other', async () => {
    const client = await serveItems()
    for (const [filter, text] of [
      ['title__icontains=RARE', WHOLE],
      ['price__gte=20', BESIDE],
    ] as const) {
      await client.get(`/${kind}?${filter}`)
      expect(await statements(client, `/${kind}?${filter}`)).toEqual([expect.stringMatching(text)])
    }
  })

  it('is the same as by instances, on each page and in each order', async () => {
    const client = await serveItems()
    const searches = ['rare', 'single', 'author 3', 'rare author', 'none']
    for (const order of ['', 'price', '-price', '-title,price', 'id'])
      for (const search of searches)
        for (let page = 1; page <= 9; page += page === 1 ? 1 : 3) {
          const query = `?search=${encodeURIComponent(search)}&page=${page}${order && `&ordering=${order}`}`
          const expected = (await client.get(`/instances${query}`)).text.replaceAll('/instances?', `/${kind}?`)
          // once as it is asked first, once more where it may have been counted
          expect((await client.get(`/${kind}${query}`)).text).toBe(expected)
          expect((await client.get(`/${kind}${query}`)).text).toBe(expected)
        }
  })

  it('is whole where it has become longer, shorter or empty since', async () => {
    const client = await serveItems()
    const path = `/${kind}?search=`
    const pageOf = async (search: string) => {
      const { json } = await client.get(path + search)
      return [json.count, json.results.length]
    }
    expect(await pageOf('rare')).toEqual([240, 30])
    expect(await pageOf('title')).toEqual([1200, 30])
    expect(await pageOf('title')).toEqual([1200, 30])
    expect(await pageOf('rare')).toEqual([240, 30])
    expect(await pageOf('nothing')).toEqual([0, 0])
    expect(await pageOf('rare')).toEqual([240, 30])
    expect(await pageOf('single')).toEqual([20, 20])
    expect(await pageOf('rare')).toEqual([240, 30])
    // read once, and then in the ordinary way
    expect(await statements(client, `${path}title`)).toEqual([
      expect.stringMatching(WHOLE),
      expect.stringMatching(BESIDE),
    ])
  })

  it('says that a page behind the end is none', async () => {
    const client = await serveItems()
    await client.get(`/${kind}?search=rare`)
    expect((await client.get(`/${kind}?search=rare&page=8`)).json.results).toHaveLength(30)
    for (const page of [9, 9]) expect((await client.get(`/${kind}?search=rare&page=${page}`)).status).toBe(404)
    const rename = (from: string, to: string) =>
      database.knex.raw('update list set title = replace(title, ?, ?) where id > 1100', [from, to])
    await rename('rare', 'hidden')
    expect((await client.get(`/${kind}?search=rare&page=8`)).json.results).toHaveLength(10)
    await rename('hidden', 'rare')
    expect((await client.get(`/${kind}?search=rare&page=8`)).json.results).toHaveLength(30)
  })
})

it('lists up to 1,000 found rows are read once, and not one more', async () => {
  const client = await serveItems(false)
  const more = (most: number) => `/rows?title__contains=title&price__gte=${most}`
  for (const [least, count, text] of [
    [7, 960, WHOLE],
    [4, 1050, BESIDE],
  ] as const) {
    const { json } = await client.get(more(least))
    expect(json.count).toBe(count)
    expect((await statements(client, more(least))).at(-1)).toMatch(text)
  }
})

describe('a table that has a name of our statements', () => {
  it('is counted, joined and inserted into as any other', async () => {
    const author = new NestedSerializer(serializerOf(Author, ['id', 'name']), { readOnly: true })
    const Name = serializerOf(Item, ['id', 'title'])
    const nested = new NestedSerializer(Name, { readOnly: true })
    const Review = tableOf('reviews_of_list', {
      relationMappings: () => ({
        item: {
          relation: Model.BelongsToOneRelation,
          modelClass: Item,
          join: { from: 'reviews_of_list.item_id', to: 'list.id' },
        },
      }),
    })
    await database.knex.raw(
      'create table if not exists reviews_of_list (id serial primary key, item_id int references list)',
    )
    const Reviews = viewOf(Review, serializerOf(Review, ['id', 'item_id'], { item: nested }), {
      filterBackends: [FieldFilter],
      filtersetFields: ['item_id'],
      paginationClass: new PageNumberPagination({ pageSize: 2 }),
    })
    const Items = viewOf(Item, serializerOf(Item, ['id', 'title', 'author_id'], { author }))
    const api = new APIRouter()
    api.register('reviews', Reviews, 'reviews')
    api.register('items', Items, 'items')
    const client = await serveRouter(api)
    const one = await client.send('POST', '/reviews', { item_id: 3 })
    expect([one.status, one.json.item]).toEqual([201, { id: 3, title: 'title 3' }])
    const all = await client.send('POST', '/reviews/bulk', [{ item_id: 3 }, { item_id: 3 }, { item_id: 4 }])
    expect(all.status).toBe(201)
    const { json } = await client.get('/reviews?item_id=3')
    expect([json.count, json.results.length, json.results[1].item.title]).toEqual([3, 2, 'title 3'])
    const item = await client.send('POST', '/items', { title: 'new', author_id: 2 })
    expect([item.status, item.json.author]).toEqual([201, { id: 2, name: 'author 2' }])
    await database.knex('list').where({ title: 'new' }).delete()
  })
})
