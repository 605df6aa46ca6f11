/** A shop with relations of all kinds, for tests of what is asked about related objects. */
import { Model } from 'objection'
import {
  BaseAuthentication,
  BasePermission,
  type Context,
  FieldFilter,
  type FilterRelations,
  type Filters,
  ModelSerializer,
  OrderingFilter,
  PageNumberPagination,
  type Pagination,
  ReadOnlyModelViewSet,
  SearchFilter,
} from '../../lib/index.js'
import { createDatabase, type TestDatabase } from './database.js'

const SCHEMA = `
  create table makers (id int primary key, name text, boss_id int references makers);
  create table items (id int primary key, title text not null, price numeric(6,2), maker_id int references makers);
  create table reviews (
    id int primary key, item_id int not null references items, stars int, text text, owner text not null default 'ada',
    hidden boolean not null default false, secret text not null default 's'
  );
  create table tags (id int primary key, name text not null);
  create table items_tags (item_id int references items, tag_id int references tags, main boolean not null default true);
  create table boxes (id int primary key, item_id int references items, size int);
  create table orders (region text, number int, note text, primary key (region, number));
  create table lines (id int primary key, region text, number int, amount int, foreign key (region, number) references orders);
  insert into makers values (1, 'Ada', null), (2, 'Ben', 1), (3, null, 2);
  insert into items values (1, 'chair', 10, 1), (2, 'table', 20, 1), (3, 'lamp', null, 2), (4, 'rug', 5, 3), (5, 'vase', 7.5, null);
  insert into reviews values
    (1, 1, 5, 'very good', 'ada', false), (2, 1, 2, 'bad', 'ben', false), (3, 2, 4, 'good', 'ben', false),
    (4, 2, null, 'good', 'ada', false), (5, 3, 1, null, 'ada', false), (6, 4, 5, 'good', 'ada', true);
  insert into tags values (1, 'new'), (2, 'old'), (3, 'red');
  insert into items_tags values (1, 1, true), (1, 1, true), (1, 3, false), (2, 2, true), (3, 1, false);
  insert into boxes values (1, 1, 10), (2, 2, null);
  insert into orders values ('eu', 1, 'a'), ('eu', 2, 'b'), ('us', 1, null);
  insert into lines values (1, 'eu', 1, 5), (2, 'eu', 1, 7), (3, 'us', 1, 7);
`

export class Maker extends Model {
  static override tableName = 'makers'
  static override relationMappings = () => ({
    boss: {
      relation: Model.BelongsToOneRelation,
      modelClass: Maker,
      join: { from: 'makers.boss_id', to: 'makers.id' },
    },
    workers: { relation: Model.HasManyRelation, modelClass: Maker, join: { from: 'makers.id', to: 'makers.boss_id' } },
    items: { relation: Model.HasManyRelation, modelClass: Item, join: { from: 'makers.id', to: 'items.maker_id' } },
  })
}

export class Review extends Model {
  static override tableName = 'reviews'
  static override relationMappings = () => ({
    item: { relation: Model.BelongsToOneRelation, modelClass: Item, join: { from: 'reviews.item_id', to: 'items.id' } },
  })
}

export class Tag extends Model {
  static override tableName = 'tags'
}

class Box extends Model {
  static override tableName = 'boxes'
}

const throughTags = {
  from: 'items.id',
  through: { from: 'items_tags.item_id', to: 'items_tags.tag_id' },
  to: 'tags.id',
}
const toReviews = { from: 'items.id', to: 'reviews.item_id' }

export class Item extends Model {
  static override tableName = 'items'
  static override relationMappings = () => ({
    maker: {
      relation: Model.BelongsToOneRelation,
      modelClass: Maker,
      join: { from: 'items.maker_id', to: 'makers.id' },
    },
    reviews: { relation: Model.HasManyRelation, modelClass: Review, join: toReviews },
    goodReviews: {
      relation: Model.HasManyRelation,
      modelClass: Review,
      modify: (query: { where(column: string, operator: string, value: number): unknown }) =>
        query.where('reviews.stars', '>=', 4),
      join: toReviews,
    },
    // of several reviews it shows the last
    newest: {
      relation: Model.HasOneRelation,
      modelClass: Review,
      modify: (query: { orderBy(column: string, direction: string): unknown }) => query.orderBy('id', 'desc'),
      join: toReviews,
    },
    tags: { relation: Model.ManyToManyRelation, modelClass: Tag, join: throughTags },
    mainTags: {
      relation: Model.ManyToManyRelation,
      modelClass: Tag,
      join: { ...throughTags, through: { ...throughTags.through, filter: { main: true } } },
    },
    box: { relation: Model.HasOneRelation, modelClass: Box, join: { from: 'items.id', to: 'boxes.item_id' } },
  })
}

class Line extends Model {
  static override tableName = 'lines'
}

class Order extends Model {
  static override tableName = 'orders'
  static override idColumn = ['region', 'number']
  static override relationMappings = () => ({
    lines: {
      relation: Model.HasManyRelation,
      modelClass: Line,
      join: { from: ['orders.region', 'orders.number'], to: ['lines.region', 'lines.number'] },
    },
  })
}

class ItemSerializer extends ModelSerializer<Item> {
  static override model = Item
  static override fields = ['id', 'title']
}
class MakerSerializer extends ModelSerializer<Maker> {
  static override model = Maker
  static override fields = ['id', 'name']
}
export class ReviewSerializer extends ModelSerializer<Review> {
  static override model = Review
  static override fields = ['id', 'stars']
}
class TagSerializer extends ModelSerializer<Tag> {
  static override model = Tag
  static override fields = ['id', 'name']
}
class BoxSerializer extends ModelSerializer<Box> {
  static override model = Box
  static override fields = ['id']
}
class LineSerializer extends ModelSerializer<Line> {
  static override model = Line
  static override fields = ['id']
}
class OrderSerializer extends ModelSerializer<Order> {
  static override model = Order
  static override fields = ['region', 'number']
}

const grouped: Filters = [new FieldFilter({ groupParam: 'filter' }), SearchFilter, OrderingFilter]

/** Who asks stands in a header. */
export class ByHeader extends BaseAuthentication {
  authenticate(ctx: Context) {
    const id = ctx.get('X-User')
    return id === '' ? null : { user: { id } }
  }
}
export class Known extends BasePermission {
  override hasPermission(ctx: Context) {
    return ctx.state['user'] !== undefined && ctx.state['user'] !== null
  }
}

export class Reviews extends ReadOnlyModelViewSet<Review> {
  static override model: typeof Review | null = Review
  static override serializerClass = ReviewSerializer
  static override filterBackends: Filters = grouped
  static override filtersetFields = ['id', 'stars', 'text', 'item__title']
  static override filterRelations: FilterRelations = { item: () => Items }
}
export class Tags extends ReadOnlyModelViewSet<Tag> {
  static override model = Tag
  static override serializerClass = TagSerializer
  static override filtersetFields = ['name']
}
class Boxes extends ReadOnlyModelViewSet<Box> {
  static override model = Box
  static override serializerClass = BoxSerializer
  static override filtersetFields = ['size']
}
export class Makers extends ReadOnlyModelViewSet<Maker> {
  static override model = Maker
  static override serializerClass = MakerSerializer
  static override authenticationClasses = [ByHeader]
  static override filterBackends = grouped
  static override filtersetFields = ['name', 'boss__name']
  static override filterRelations: FilterRelations = {
    boss: () => Makers,
    workers: () => Makers,
    items: () => Items,
  }
}

export class Items extends ReadOnlyModelViewSet<Item> {
  static override model = Item
  static override serializerClass = ItemSerializer
  static override authenticationClasses = [ByHeader]
  static override paginationClass: Pagination = new PageNumberPagination({ pageSize: 100 })
  static override filterBackends = grouped
  static override filtersetFields = ['title', 'price']
  static override searchFields = ['title']
  static override ordering = ['id']
  static override filterRelations: FilterRelations = {
    maker: Makers,
    reviews: () => Reviews,
    goodReviews: Reviews,
    tags: Tags,
    mainTags: Tags,
    box: Boxes,
  }
}

class Lines extends ReadOnlyModelViewSet<Line> {
  static override model = Line
  static override serializerClass = LineSerializer
  static override filtersetFields = ['amount']
}
export class Orders extends ReadOnlyModelViewSet<Order> {
  static override model = Order
  static override serializerClass = OrderSerializer
  static override lookupField = 'number'
  static override filterBackends = grouped
  static override filterRelations: FilterRelations = { lines: Lines }
}

/** Creates the shop and binds its models to it. */
export async function createShop(): Promise<TestDatabase> {
  const database = await createDatabase({ schema: SCHEMA })
  for (const model of [Maker, Item, Review, Tag, Box, Order, Line]) model.knex(database.knex)
  return database
}
