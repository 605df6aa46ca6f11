/** Objects whose keys are dates, timestamps or decimals, and indexes that are no keys. */
import Router from '@koa/router'
import type Koa from 'koa'
import {
  APIRouter,
  BulkModelViewSet,
  ModelViewSet,
  NestedRouter,
  NestedSerializer,
  NestedViewSetMixin,
  SlugRelatedField,
} from 'koa-viewsets'
import { Model, type ModelOptions, type Pojo } from 'objection'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Client, serving } from '../support/client.js'
import { database, throughInstances, useReviewedBooks } from '../support/reviewed-books.js'
import {
  routerOf,
  type SerializerClass,
  serializerOf,
  serveViews,
  type ViewSetClass,
  viewOf,
} from '../support/views.js'

useReviewedBooks()

describe('[P14] A unique index with an expression', () => {
  it('is told by the fields that it is made of', async () => {
    class Account extends Model {
      static override tableName = 'accounts'
    }
    await database.knex.raw(`
      create table accounts (id serial primary key, tenant_id int, email text);
      create unique index on accounts (tenant_id, lower(email))`)
    const client = await serveViews({ accounts: viewOf(Account, serializerOf(Account, ['tenant_id', 'email'])) })
    expect((await client.send('POST', '/accounts', { tenant_id: 1, email: 'a@example.org' })).status).toBe(201)
    const { status, json } = await client.send('POST', '/accounts', { tenant_id: 1, email: 'A@example.org' })
    expect([status, json.errors]).toEqual([
      400,
      { non_field_errors: ['The fields tenant_id, email must make a unique set.'] },
    ])
  })
})

describe('[P14 B15 B17] A key that is a date, a timestamp or a decimal', () => {
  const STAMP = '2026-03-28T10:00:00.123456Z'

  class Day extends Model {
    static override tableName = 'days'
    static override idColumn = 'day'
  }
  class Stamp extends Model {
    static override tableName = 'stamps'
    static override idColumn = 'at'
    declare note: string
  }
  class Price extends Model {
    static override tableName = 'prices'
    static override idColumn = 'amount'
  }
  class Visit extends Model {
    static override tableName = 'visits'
    static override relationMappings = () => ({
      days: {
        relation: Model.ManyToManyRelation,
        modelClass: Day,
        join: {
          from: 'visits.id',
          through: { from: 'visit_days.visit_id', to: 'visit_days.day' },
          to: 'days.day',
        },
      },
      ...Object.fromEntries(
        [
          { name: 'theDay', modelClass: Day, from: 'visits.day', to: 'days.day' },
          { name: 'theStamp', modelClass: Stamp, from: 'visits.at', to: 'stamps.at' },
          { name: 'thePrice', modelClass: Price, from: 'visits.amount', to: 'prices.amount' },
        ].map(({ name, modelClass, from, to }) => [
          name,
          { relation: Model.BelongsToOneRelation, modelClass, join: { from, to } },
        ]),
      ),
    })
  }

  const keyed = (model: typeof Model, key: string) => viewOf(model, serializerOf(model, [key, 'note']))
  const slug = (queryset: typeof Model, slugField: string, source: string) =>
    new SlugRelatedField({ queryset, slugField, source, required: false })

  let client: Client
  beforeAll(async () => {
    await database.knex.raw(`
      create table days (day date primary key, note text);
      create table stamps (at timestamptz primary key, note text, slug text unique);
      create table prices (amount numeric(6,2) primary key, note text);
      create table visits (id serial primary key, day date references days, at timestamptz references stamps,
        amount numeric(6,2) references prices);
      create table visit_days (visit_id int references visits, day date references days)`)
    Model.knex(database.knex)
    const api = routerOf({
      days: keyed(Day, 'day'),
      'days-instances': viewOf(Day, throughInstances(serializerOf(Day, ['day', 'note']))),
      stamps: keyed(Stamp, 'at'),
      prices: keyed(Price, 'amount'),
      'prices-instances': viewOf(Price, throughInstances(serializerOf(Price, ['amount', 'note']))),
      visits: viewOf(Visit, serializerOf(Visit, ['id', 'day', 'at', 'amount', 'days'])),
      slugs: viewOf(
        Visit,
        serializerOf(Visit, ['id'], {
          day: slug(Day, 'day', 'theDay'),
          at: slug(Stamp, 'at', 'theStamp'),
          amount: slug(Price, 'amount', 'thePrice'),
        }),
      ),
    })
    await api.prepare()
    client = await serving(api.routes())
  })
  afterAll(() => client.close())
  beforeEach(() =>
    database.knex.raw(`
      truncate days, stamps, prices, visits, visit_days;
      insert into days values ('2026-03-28', 'a'), ('2026-03-29', 'b');
      insert into stamps values ('2026-03-28 10:00:00.123456Z', 'a', 's1'), ('2026-03-28 10:00:00.123457Z', 'b', 's2');
      insert into prices values (12.50, 'a'), (13, 'b')`),
  )

  it.each<Record<string, unknown>>([
    { day: '2026-03-28' },
    { at: STAMP },
    { at: '2026-03-28T12:00:00.123456+02:00' },
    { amount: '12.50' },
    { amount: '12.5' },
    { amount: 12.5 },
  ])('is found as a related object: %j', async (keys) => {
    const shown = 'at' in keys ? { at: STAMP } : 'amount' in keys ? { amount: '12.50' } : keys
    for (const path of ['/visits', '/slugs']) {
      const created = await client.send('POST', path, keys)
      expect(created.json).toMatchObject(shown)
      const { json } = await client.send('PATCH', `${path}/${created.json.id}`, keys)
      expect(json).toMatchObject(shown)
      expect((await client.get(`${path}/${created.json.id}`)).json).toEqual(json)
    }
    expect((await client.send('POST', '/visits', { days: [], day: '2026-01-01', at: STAMP })).json.errors).toEqual({
      day: ['Invalid pk "2026-01-01" - object does not exist.'],
    })
  })

  it.each([
    { path: '/days', body: { day: '2026-04-01', note: 'n' }, last: '2026-04-01' },
    { path: '/prices', body: { amount: '7.5', note: 'n' }, last: '7.50' },
  ])('is in the Location: $path', async ({ path, body, last }) => {
    for (const way of [path, `${path}-instances`]) {
      const { headers, json } = await client.send('POST', way, body)
      expect(headers.location).toBe(`${way}/${last}`)
      expect(await client.get(`${way}/${last}`)).toMatchObject({ status: 200, json })
      expect((await client.send('DELETE', `${way}/${last}`)).status).toBe(204)
    }
  })

  it('is one of a set', async () => {
    const { json } = await client.send('POST', '/visits', { days: ['2026-03-28'] })
    expect(json).toMatchObject({ days: ['2026-03-28'] })
    const changed = await client.send('PATCH', `/visits/${json.id}`, { days: ['2026-03-29', '2026-03-28'] })
    expect(changed.json.days).toEqual(['2026-03-28', '2026-03-29'])
    expect(await database.knex('visit_days')).toHaveLength(2)
    expect((await client.send('PATCH', `/visits/${json.id}`, { days: ['2026-03-29'] })).json.days).toEqual([
      '2026-03-29',
    ])
  })

  it.each([
    { path: '/days', key: 'day', value: '2026-03-28', other: '2026-03-29' },
    { path: '/prices', key: 'amount', value: '12.5', other: '13' },
  ])('names objects of bulk requests: $path', async ({ path, key, value, other: second }) => {
    const items = [
      { [key]: second, note: 'two' },
      { [key]: value, note: 'one' },
    ]
    const { status, json } = await client.send('PATCH', `${path}/bulk`, items)
    expect(status).toBe(200)
    expect(json.map(({ note }: { note: string }) => note)).toEqual(['two', 'one'])
    expect((await client.get(`${path}/${value}`)).json).toEqual(json[1])
    const twice = await client.send('DELETE', `${path}/bulk`, [value, value])
    expect(twice.json.errors).toEqual({ 1: { [key]: [`Invalid pk "${value}" - listed more than once.`] } })
    expect((await client.send('DELETE', `${path}/bulk`, [value])).status).toBe(200)
    expect((await client.get(`${path}/${value}`)).status).toBe(404)
  })
})

describe('[P14 B15] A key with microseconds', () => {
  const FIRST = '2026-03-28T10:00:00.123456Z'
  const SECOND = '2026-03-28T10:00:00.123457Z'

  /** What hooks of the model have seen. */
  const seen: unknown[] = []
  class Moment extends Model {
    static override tableName = 'moments'
    static override idColumn = 'at'
    declare at: Date
    declare note: string
  }
  class Hooked extends Moment {
    override $beforeUpdate(options: ModelOptions) {
      seen.push((options.old as Hooked).note)
    }
    override $beforeDelete() {
      seen.push([this.at instanceof Date, this.note])
    }
  }
  class Versioned extends Moment {
    declare version: number
    override $beforeUpdate({ old }: ModelOptions) {
      this.version = (old as Versioned).version + 1
    }
  }
  class Entry extends Model {
    static override tableName = 'entries'
    static override relationMappings = () => ({
      moment: {
        relation: Model.BelongsToOneRelation,
        modelClass: Moment,
        join: { from: 'entries.at', to: 'moments.at' },
      },
    })
  }
  const bulk = (model: typeof Model, fields: string[], attributes: object = {}) => {
    class View extends BulkModelViewSet {
      static override model = model
      static override serializerClass: SerializerClass = serializerOf(model, fields)
    }
    return Object.assign(View, attributes) as unknown as ViewSetClass
  }
  class Entries extends NestedViewSetMixin(ModelViewSet) {
    static override model = Entry
    static override serializerClass: any = serializerOf(Entry, ['id', 'at', 'label'])
    static override parentLookupField = 'at'
  }

  let client: Client
  beforeAll(async () => {
    await database.knex.raw(`
      create table moments (at timestamptz primary key, note text, slug text unique, version int not null default 1);
      create table entries (id serial primary key, at timestamptz references moments, label text)`)
    Model.knex(database.knex)
    const api = new APIRouter({ prefix: '' })
    api.register('moments', bulk(Moment, ['at', 'note']), 'moment')
    api.register('hooked', bulk(Hooked, ['at', 'note']), 'hooked')
    api.register('slugs', bulk(Moment, ['slug', 'note'], { lookupField: 'slug' }), 'slug')
    api.register('versioned', bulk(Versioned, ['at', 'note'], { concurrency: 'version' }), 'versioned')
    new NestedRouter(api, 'moments', { lookup: 'moment_at' }).register('entries', Entries, 'entry')
    await api.prepare()
    client = await serving(api.routes())
  })
  afterAll(() => client.close())
  beforeEach(() =>
    database.knex.raw(`truncate moments, entries;
      insert into moments values ('${FIRST}', 'one', 'first'), ('${SECOND}', 'two', 'second')`),
  )
  const notes = () => database.knex('moments').orderBy('at').pluck('note')

  it.each(['/moments', '/hooked', '/versioned'])(
    'is that of the row which is written and deleted: %s',
    async (path) => {
      seen.length = 0
      const changed = await client.send('PATCH', `${path}/${FIRST}`, { note: 'new' })
      expect([changed.status, changed.json]).toEqual([200, { at: FIRST, note: 'new' }])
      expect(changed.headers.etag).toBe((await client.get(`${path}/${FIRST}`)).headers.etag)
      expect((await client.send('DELETE', `${path}/${SECOND}`)).status).toBe(204)
      expect(await notes()).toEqual(['new'])
      expect((await client.get(`${path}/${SECOND}`)).status).toBe(404)
      expect(seen).toEqual(path === '/hooked' ? ['one', [true, 'two']] : [])
    },
  )

  it.each(['/moments', '/hooked'])('is that of the rows of a bulk request: %s', async (path) => {
    const items = [
      { at: SECOND, note: 'zwei' },
      { at: FIRST, note: 'eins' },
    ]
    expect((await client.send('PATCH', `${path}/bulk`, items)).json).toEqual(items)
    expect(await notes()).toEqual(['eins', 'zwei'])
    expect((await client.send('DELETE', `${path}/bulk`, [SECOND])).json).toEqual({ deleted: [SECOND] })
    expect(await notes()).toEqual(['eins'])
  })

  it('is that of rows named by another column', async () => {
    const items = [
      { slug: 'second', note: 'zwei' },
      { slug: 'first', note: 'eins' },
    ]
    expect((await client.send('PATCH', '/slugs/bulk', items)).json).toEqual(items)
    expect((await client.send('PATCH', '/slugs/first', { note: 'uno' })).json.note).toBe('uno')
    expect(await notes()).toEqual(['uno', 'zwei'])
  })

  it.each(['/moments', '/hooked'])('is in the Location as the wire has it: %s', async (path) => {
    const { headers, json } = await client.send('POST', path, { at: '2026-03-28T12:00:00.5+02:00', note: 'new' })
    expect(decodeURIComponent(headers.location ?? '')).toBe(`${path}/2026-03-28T10:00:00.5Z`)
    expect(await client.get(headers.location ?? '')).toMatchObject({ status: 200, json })
  })

  it('comes from the path of nested objects', async () => {
    const created = await client.send('POST', `/moments/${FIRST}/entries`, { label: 'x' })
    expect([created.status, created.json]).toMatchObject([201, { at: FIRST, label: 'x' }])
    expect((await client.get(`/moments/${FIRST}/entries`)).json).toEqual([created.json])
    expect((await client.get(`/moments/${SECOND}/entries`)).json).toEqual([])
  })
})

describe('A key that is a negative number, or has slashes', () => {
  class Place extends Model {
    static override tableName = 'places'
  }
  class Zone extends Model {
    static override tableName = 'zones'
    static override idColumn = 'name'
  }
  class Net extends Model {
    static override tableName = 'nets'
    static override idColumn = 'net'
  }
  class Sight extends Model {
    static override tableName = 'sights'
  }
  class Places extends viewOf(Place, serializerOf(Place, ['id', 'note'])) {}
  class Zones extends viewOf(Zone, serializerOf(Zone, ['name', 'note'])) {}
  class Nets extends viewOf(Net, serializerOf(Net, ['net', 'note'])) {}
  class Sights extends NestedViewSetMixin(ModelViewSet<Sight>) {
    static override model = Sight
    static override serializerClass = serializerOf(Sight, ['id'])
    static override parentLookupField = 'place_id'
  }

  const makeApi = () => {
    const api = new APIRouter({ prefix: '/api' })
      .register('places', Places)
      .register('zones', Zones)
      .register('nets', Nets)
    new NestedRouter(api, 'places', { lookup: 'place_id' }).register('sights', Sights)
    return api
  }

  beforeAll(async () => {
    Model.knex(database.knex)
    await database.knex.raw(`
      create table places (id bigint primary key, note text);
      create table zones (name text primary key, note text);
      create table nets (net cidr primary key, note text);
      create table sights (id int primary key, place_id bigint not null references places on delete cascade)`)
  })
  beforeEach(() => database.knex.raw('truncate places, zones, nets, sights'))

  it.each([
    ['routes()', (api: APIRouter) => api.routes()],
    [
      'a router of the application',
      (api: APIRouter) => {
        const router = new Router()
        api.mount(router)
        return router.routes() as Koa.Middleware
      },
    ],
  ])('has one path in Location and url(), which every method takes, by %s', async (_way, middleware) => {
    const api = makeApi()
    await api.prepare()
    const client = await serving(middleware(api))
    for (const [path, name, key, values] of [
      ['/api/places', 'place', 'id', [-2, 2, -1]],
      ['/api/zones', 'zone', 'name', ['Europe/Rome', 'a//b', '/', '../zones', 'a%2Fb', 'Europe']],
      ['/api/nets', 'net', 'net', ['10.0.0.0/8', '::/0']],
    ] as const) {
      for (const value of values) {
        const { headers, status } = await client.send('POST', path, { [key]: value, note: 'new' })
        expect([status, headers.location]).toEqual([201, `${path}/${encodeURIComponent(value)}`])
      }
      for (const value of values) {
        const own = `${path}/${encodeURIComponent(value)}`
        expect(api.url(`${name}-retrieve`, { id: value })).toBe(own)
        expect((await client.get(own)).json).toEqual({ [key]: value, note: 'new' })
        expect((await client.send('PATCH', own, { note: 'x' })).json).toEqual({ [key]: value, note: 'x' })
        expect((await client.send('DELETE', own)).status).toBe(204)
        expect((await client.get(own)).status).toBe(404)
      }
    }
    await client.close()
  })

  it('leads to what is nested in it', async () => {
    const client = await serving(makeApi().routes())
    await client.send('POST', '/api/places', { id: -1 })
    const created = await client.send('POST', '/api/places/-1/sights', { id: -7 })
    expect(created.headers.location).toBe('/api/places/-1/sights/-7')
    expect((await client.get('/api/places/-1/sights/-7')).json).toEqual({ id: -7 })
    expect((await client.get('/api/places/1/sights/-7')).status).toBe(404)
    await client.close()
  })
})

describe('A key that a model reads as a BigInt', () => {
  const LARGE = '9007199254740993'

  class Ledger extends Model {
    static override tableName = 'ledgers_of_bigints'
    override $parseDatabaseJson(row: Pojo): Pojo {
      const json = super.$parseDatabaseJson(row)
      return typeof json['id'] === 'string' ? { ...json, id: BigInt(json['id']) } : json
    }
  }

  it('is that of the row which is written and deleted', async () => {
    await database.knex.raw(`
      create table ledgers_of_bigints (id bigint primary key, label text);
      insert into ledgers_of_bigints values (${LARGE}, 'one'), (2, 'two')`)
    const client = await serveViews({ ledgers: viewOf(Ledger, serializerOf(Ledger, ['id', 'label'])) })
    const changed = await client.send('PATCH', `/ledgers/${LARGE}`, { label: 'new' })
    expect([changed.status, changed.json.label]).toEqual([200, 'new'])
    const items = [
      { id: LARGE, label: 'eins' },
      { id: 2, label: 'zwei' },
    ]
    expect((await client.send('PATCH', '/ledgers/bulk', items)).status).toBe(200)
    expect(await database.knex('ledgers_of_bigints').orderBy('id').pluck('label')).toEqual(['zwei', 'eins'])
    expect((await client.send('DELETE', `/ledgers/${LARGE}`)).status).toBe(204)
  })
})

describe('A key of a view that several rows have', () => {
  class Shared extends Model {
    static override tableName = 'shared_slugs'
    static override idColumn = 'slug'
  }
  class Hooked extends Shared {
    override $beforeUpdate(): void {}
    override $beforeDelete(): void {}
  }

  it.each([
    ['rows', Shared, false],
    ['instances', Hooked, true],
  ])('writes none of them: %s', async (name, model, isRead) => {
    await database.knex.raw(`
      create table slugs_of_${name} (id int primary key, slug text, note text);
      insert into slugs_of_${name} values (1, 'a', 'one'), (2, 'a', 'two'), (3, 'b', 'three');
      create or replace view shared_slugs as select id, slug, note from slugs_of_${name}`)
    const serializer = serializerOf(model, ['slug', 'note'])
    const client = await serveViews({ slugs: viewOf(model, isRead ? throughInstances(serializer) : serializer) })
    const answers = [
      await client.send('PATCH', '/slugs/a', { note: 'x' }),
      await client.send('PUT', '/slugs/a', { slug: 'a', note: 'x' }),
      await client.send('DELETE', '/slugs/a'),
      await client.send('PATCH', '/slugs/bulk', [{ slug: 'a', note: 'x' }]),
      await client.send('DELETE', '/slugs/bulk', ['a']),
      await client.send('PATCH', '/slugs/b', { note: 'x' }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([500, 500, 500, 500, 500, 200])
    expect(await database.knex(`slugs_of_${name}`).orderBy('id').pluck('note')).toEqual(['one', 'two', 'x'])
  })
})

it('A nested object whose column is of another type than the key it refers to is let go by null', async () => {
  class Part extends Model {
    static override tableName = 'parts_of_codes'
  }
  class Code extends Model {
    static override tableName = 'codes_of_chars'
    static override idColumn = 'code'
    static override relationMappings = {
      part: {
        relation: Model.HasOneRelation,
        modelClass: Part,
        join: { from: 'codes_of_chars.code', to: 'parts_of_codes.code' },
      },
    }
  }
  await database.knex.raw(`
    create table codes_of_chars (code char(4) primary key);
    create table parts_of_codes (id int primary key, code varchar(4) references codes_of_chars);
    insert into codes_of_chars values ('ab'), ('cd');
    insert into parts_of_codes values (1, 'ab'), (2, 'cd')`)
  const part = new NestedSerializer(serializerOf(Part, ['id']), { required: false, allowNull: true })
  const client = await serveViews({ codes: viewOf(Code, serializerOf(Code, ['code', 'part'], { part })) })
  const { status, json } = await client.send('PATCH', '/codes/ab', { part: null })
  expect([status, json.part]).toEqual([200, null])
  expect(await database.knex('parts_of_codes').orderBy('id').pluck('code')).toEqual([null, 'cd'])
})
