/** What groups ask about related objects where querysets read tables of other schemas: what the related list would show. */
import {
  APIRouter,
  FieldFilter,
  type FilterRelations,
  ModelSerializer,
  ModelViewSet,
  NestedSerializer,
  type SerializerClass,
} from 'koa-viewsets'
import { Model } from 'objection'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Client, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { serializerOf, serveViews } from '../support/views.js'

const SCHEMAS = ['public', 'a', 'b'] as const
type Schema = (typeof SCHEMAS)[number]

const SCHEMA = SCHEMAS.map(
  (schema, place) => `
  create schema if not exists ${schema};
  create table ${schema}.authors (id int primary key, name text);
  create table ${schema}.items (id int primary key, name text);
  create table ${schema}.reviews (id int primary key, item_id int, stars int, author_id int);
  create table ${schema}.tags (id int primary key, label text);
  create table ${schema}.items_tags (item_id int, tag_id int);
  insert into ${schema}.authors select n, case when (n + ${place}) % 3 = 0 then 'Ada' else 'Ben' end from generate_series(1, 6) n;
  insert into ${schema}.items select n, 'item' from generate_series(1, 9) n;
  insert into ${schema}.reviews select n, (n * ${place + 2}) % 9 + 1, (n + ${place}) % 5, n % 6 + 1 from generate_series(1, 7) n;
  insert into ${schema}.tags select n, case when (n + ${place}) % 2 = 0 then 'x' else 'y' end from generate_series(1, 4) n;
  insert into ${schema}.items_tags select n % 9 + 1, (n * ${place + 1}) % 4 + 1 from generate_series(1, 6) n;`,
).join('')

class Author extends Model {
  static override tableName = 'authors'
}
class Tag extends Model {
  static override tableName = 'tags'
}
class Review extends Model {
  static override tableName = 'reviews'
  static override relationMappings = () => ({
    author: {
      relation: Model.BelongsToOneRelation,
      modelClass: Author,
      join: { from: 'reviews.author_id', to: 'authors.id' },
    },
  })
}
class Item extends Model {
  static override tableName = 'items'
  static override relationMappings = () => ({
    reviews: { relation: Model.HasManyRelation, modelClass: Review, join: { from: 'items.id', to: 'reviews.item_id' } },
    tags: {
      relation: Model.ManyToManyRelation,
      modelClass: Tag,
      join: {
        from: 'items.id',
        through: { from: 'items_tags.item_id', to: 'items_tags.tag_id' },
        to: 'tags.id',
      },
    },
  })
}

class ItemSerializer extends ModelSerializer<Item> {
  static override model = Item
  static override fields = ['id']
}
class ReviewSerializer extends ModelSerializer<Review> {
  static override model = Review
  static override fields = ['id', 'stars']
}
class TagSerializer extends ModelSerializer<Tag> {
  static override model = Tag
  static override fields = ['id']
}

const named = (schema: Schema) => (schema === 'public' ? undefined : schema)

function reviewsOf(schema: Schema) {
  return class Reviews extends ModelViewSet<Review> {
    static override model = Review
    static override serializerClass: SerializerClass = ReviewSerializer
    static override filtersetFields = ['stars', 'author__name']
    override getQueryset() {
      const query = super.getQueryset()
      const own = named(schema)
      return own === undefined ? query : query.withSchema(own).where('stars', '<', 4)
    }
  }
}
class Reviews extends ModelViewSet<Review> {
  static override model = Review
  static override serializerClass: SerializerClass = ReviewSerializer
  static override filtersetFields = ['stars', 'author__name']
}
class Tags extends ModelViewSet<Tag> {
  static override model = Tag
  static override serializerClass: SerializerClass = TagSerializer
  static override filtersetFields = ['label']
}

const PAIRS = SCHEMAS.flatMap((own) => SCHEMAS.map((related) => [own, related] as const))

let database: TestDatabase
let client: Client

beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  for (const model of [Author, Tag, Review, Item]) model.knex(database.knex)
  const api = new APIRouter()
  for (const [own, related] of PAIRS) {
    class Items extends ModelViewSet<Item> {
      static override model = Item
      static override serializerClass: SerializerClass = ItemSerializer
      static override filterBackends = [new FieldFilter({ groupParam: 'filter' })]
      static override filterRelations: FilterRelations = {
        reviews: related === 'public' ? Reviews : reviewsOf(related),
        tags: Tags,
      }
      override getQueryset() {
        const schema = named(own)
        return schema === undefined ? super.getQueryset() : super.getQueryset().withSchema(schema)
      }
    }
    api.register(`${own}-${related}`, Items, `${own}-${related}`)
  }
  await api.prepare()
  client = await serving(api.routes())
})
afterAll(async () => {
  await client?.close()
  await database?.drop()
})
afterEach(() => expect(client.reported.splice(0)).toEqual([]))

async function found(path: string, filter: string): Promise<number[]> {
  const { status, json } = await client.get(`/${path}?filter=${encodeURIComponent(filter)}`)
  expect([filter, status, json]).toEqual([filter, 200, json])
  return json.map(({ id }: { id: number }) => id).sort((one: number, other: number) => one - other)
}

async function inSql(sql: string): Promise<number[]> {
  const { rows } = await database.knex.raw<{ rows: { id: number }[] }>(`${sql} order by id`)
  return rows.map(({ id }) => id)
}

describe.each(PAIRS)('items of %s ask about reviews that are listed of %s', (own, related) => {
  const path = `${own}-${related}`
  const shown = related === 'public' ? 'true' : 'r.stars < 4'
  const reviews = `from ${related}.reviews r where r.item_id = i.id and ${shown}`

  it('that there is one, or none, and how many there are', async () => {
    expect(await found(path, 'any(reviews)')).toEqual(
      await inSql(`select id from ${own}.items i where exists (select ${reviews})`),
    )
    expect(await found(path, 'none(reviews,stars__gte=2)')).toEqual(
      await inSql(`select id from ${own}.items i where not exists (select ${reviews} and r.stars >= 2)`),
    )
    expect(await found(path, 'count(reviews)__gte=1')).toEqual(
      await inSql(`select id from ${own}.items i where (select count(*) ${reviews}) >= 1`),
    )
  })

  it('by what is related to them, as their own list is filtered', async () => {
    const expected = await inSql(`select id from ${own}.items i where exists (select ${reviews}
      and exists (select from ${related}.authors a where a.id = r.author_id and a.name = 'Ada'))`)
    expect(await found(path, 'any(reviews,author__name=Ada)')).toEqual(expected)
    expect(await found(path, 'none(reviews,author__name=Ada)')).toEqual(
      Array.from({ length: 9 }, (_, index) => index + 1).filter((id) => !expected.includes(id)),
    )
  })

  it('and over the join table of their own schema', async () => {
    expect(await found(path, 'any(tags,label=x)')).toEqual(
      await inSql(`select id from ${own}.items i where exists (select from ${own}.items_tags j
        join public.tags t on t.id = j.tag_id where j.item_id = i.id and t.label = 'x')`),
    )
  })
})

it('filters by the related objects that it shows, where their list names no schema and its own does', async () => {
  class Few extends Reviews {
    override getQueryset() {
      return super.getQueryset().where('stars', '<', 4)
    }
  }
  class Shown extends ModelViewSet<Item> {
    static override model = Item
    static override serializerClass: SerializerClass = serializerOf(Item, ['id', 'reviews'], {
      reviews: new NestedSerializer(ReviewSerializer, { many: true, readOnly: true }),
    })
    static override related: FilterRelations = { reviews: Few }
    static override filterBackends = [FieldFilter]
    static override filtersetFields = ['reviews__stars']
    override getQueryset() {
      return super.getQueryset().withSchema('a')
    }
  }
  const { get } = await serveViews({ items: Shown })
  const stars = (item: { reviews: { stars: number }[] }) => item.reviews.map((one) => one.stars)
  const all = (await get('/items')).json
  for (const star of [0, 1, 2, 3]) {
    expect((await get(`/items?reviews__stars=${star}`)).json).toEqual(
      all.filter((item: never) => stars(item).includes(star)),
    )
  }
})
