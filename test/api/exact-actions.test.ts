/** Actions of the application read instances with all that lists show of them. */
import { APIRouter, action, GenericAPIView, ModelSerializer, ModelViewSet, NestedSerializer } from 'koa-viewsets'
import { ListAPIView } from 'koa-viewsets/views'
import { Model } from 'objection'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Client, serving } from '../support/client.js'
import { countQueries, createDatabase, type TestDatabase } from '../support/database.js'

const SCHEMA = `
  create table shelves (id serial primary key, opened timestamptz);
  create table events (
    id serial primary key, shelf_id int references shelves, at timestamptz, naive timestamp, days timestamptz[], tree jsonb,
    spans interval[], amounts numeric[]
  );
  insert into shelves (opened) values ('2024-01-02 03:04:05.000007Z');
  insert into events (shelf_id, at, naive, days, tree, spans, amounts) select 1, '2024-03-04 05:06:07.123456Z', '0999-01-02 03:04:05.000001',
    array['2024-03-04 05:06:07.000009Z'::timestamptz], '{"n":9007199254740993}', array[interval '0.000001 second'],
    array[1.50, 12345678901234567890.123] from generate_series(1, 3);`

class Shelf extends Model {
  static override tableName = 'shelves'
}
class Event extends Model {
  static override tableName = 'events'
  static override relationMappings = () => ({
    shelf: {
      relation: Model.BelongsToOneRelation,
      modelClass: Shelf,
      join: { from: 'events.shelf_id', to: 'shelves.id' },
    },
  })
}
class ShelfSerializer extends ModelSerializer<Shelf> {
  static override model = Shelf
  static override fields = ['opened']
}
class EventSerializer extends ModelSerializer<Event> {
  static override model = Event
  static override fields = ['id', 'at', 'naive', 'days', 'tree', 'spans', 'amounts']
  static override declaredFields = { shelf: new NestedSerializer(ShelfSerializer, { readOnly: true }) }
}

class Events extends ModelViewSet<Event> {
  static override model = Event
  static override serializerClass = EventSerializer
  static override ordering = ['id']

  @action({ methods: ['GET'] })
  async awaited() {
    const obj = await this.getQueryset().withGraphFetched('shelf').orderBy('id')
    return this.getSerializer({ obj, many: true }).data
  }

  @action({ methods: ['GET'] })
  async filtered() {
    const obj = await this.filterQueryset(this.getQueryset())
    await this.loadRelated(obj as readonly object[])
    return this.getSerializer({ obj, many: true }).data
  }

  @action({ methods: ['GET'], detail: true })
  async one() {
    return this.getSerializer({ obj: await this.getObject() }).data
  }

  @action({ methods: ['POST'], detail: true })
  async held() {
    const event = await this.getObjectToWrite()
    await event.$query(this.trx).patch({ shelf_id: 1 })
    return this.getSerializer({ obj: event }).data
  }

  @action({ methods: ['GET'], detail: true })
  async first() {
    const obj = await this.getQueryset().withGraphFetched('shelf').findById(1)
    return this.getSerializer({ obj: obj as Event }).data
  }
}
/** What the package's own steps read goes through the application's queryset, and is read as rows. */
class Narrowed extends Events {
  override getQueryset() {
    return super.getQueryset().where('id', '>', 0)
  }
}
class Overridden extends Events {
  static override queryset = () => Event.query().where('id', '>', 0)
  override async list() {
    const obj = await this.getQueryset().withGraphFetched('shelf').orderBy('id')
    return this.getSerializer({ obj, many: true }).data
  }
}
class OfAll extends GenericAPIView<Event> {
  static override model = Event
  static override serializerClass = EventSerializer
  async get() {
    const obj = await this.getQueryset().withGraphFetched('shelf').orderBy('id')
    return this.getSerializer({ obj, many: true }).data
  }
}
class Listed extends ListAPIView<Event> {
  static override model = Event
  static override serializerClass = EventSerializer
  static override ordering = ['id']
}

let database: TestDatabase
let client: Client
let shown: string

beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  Model.knex(database.knex)
  const api = new APIRouter().register('events', Events)
  api.register('narrowed', Narrowed, 'narrowed').register('overridden', Overridden, 'overridden')
  await api.prepare()
  const all = OfAll.asView()
  const listed = Listed.asView()
  client = await serving(api.routes(), (ctx, next) => {
    if (ctx.path === '/all') return all(ctx)
    return ctx.path === '/listed' ? listed(ctx) : next()
  })
  shown = (await client.get('/events')).text
})
afterAll(async () => {
  await client.close()
  await database.drop()
})

it('compares with a list that shows all digits', () => {
  const first = JSON.parse(shown)[0]
  expect(first).toMatchObject({
    at: '2024-03-04T05:06:07.123456Z',
    naive: '0999-01-02T03:04:05.000001Z',
    days: ['2024-03-04T05:06:07.000009Z'],
    spans: ['PT0.000001S'],
    amounts: ['1.50', '12345678901234567890.123'],
    shelf: { opened: '2024-01-02T03:04:05.000007Z' },
  })
  expect(shown).toContain('"tree":{"n": 9007199254740993}')
})

it.each(['/events/awaited', '/events/filtered', '/narrowed', '/narrowed/awaited', '/overridden', '/all', '/listed'])(
  'shows at %s what the list shows',
  async (path) => {
    const { status, text } = await client.get(path)
    expect([status, text.replaceAll(': ', ':')]).toEqual([200, shown.replaceAll(': ', ':')])
  },
)

it.each([
  ['GET', '/events/1/one'],
  ['POST', '/events/1/held'],
  ['GET', '/events/1/first'],
  ['POST', '/narrowed/1/held'],
  ['GET', '/overridden/1/one'],
])('shows by %s %s the object as the list shows it', async (method, path) => {
  const { status, text } = await client.send(method, path)
  expect(status).toBe(200)
  expect(`[${text.replaceAll(': ', ':')}`).toBe(
    shown.replaceAll(': ', ':').slice(0, text.replaceAll(': ', ':').length + 1),
  )
})

it("reads rows as before where nothing but conditions is the application's", async () => {
  expect(await countQueries(database.knex, () => client.get('/narrowed'))).toHaveLength(1)
})
