/** Schemas that nobody made for an API: types without an order, domains over enums, collations, inheritance, views. */
import {
  APIRouter,
  CursorPagination,
  configure,
  FieldFilter,
  genericViewSet,
  LimitOffsetPagination,
  ListMixin,
  ModelViewSet,
  NestedSerializer,
  OrderingFilter,
  PageNumberPagination,
  type Pagination,
  ReadOnlyModelViewSet,
  SearchFilter,
  SerializerMethodField,
  SlugRelatedField,
  StringField,
} from 'koa-viewsets'
import { countDistinct, max, min } from 'koa-viewsets/views'
import { Model, type QueryBuilder } from 'objection'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { resourceOf } from '../../lib/views/resource.js'
import { type Client, serving } from '../support/client.js'
import { undescribed } from '../support/contract.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { runsAsRole } from '../support/roles.js'
import { routerOf, serializerOf, serveResources, serveRouter, serveViews, tableOf, viewOf } from '../support/views.js'
import { Random } from '../trust/support/random.js'
import { report, seed, size } from '../trust/support/size.js'

const SCHEMA = `
  create extension intarray;
  create extension ltree;
  create type level as enum ('low', 'middle', 'high');
  create domain severity as level;
  create domain urgency as severity not null;
  create table bugs (id int primary key, severity severity, urgency urgency, all_of severity[]);
  insert into bugs values (1, 'low', 'high', '{low}'), (2, 'high', 'low', '{low,high}'), (3, null, 'middle', null);
  create table fixes (severity severity primary key, note text);

  create collation no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
  create domain label as text collate no_case;
  create table names (id int primary key, name text collate no_case, label label);
  insert into names values (1, 'Ada', 'One%'), (2, 'bob', 'two');

  create type size as (width int, height int);
  create table parcels (id int primary key, size size);
  insert into parcels values (1, '(1,2)'), (2, '(1,)'), (3, '(,)'), (4, null);

  create schema apart;
  create extension citext schema apart;
  create table readers (id int primary key, email apart.citext);
  insert into readers values (1, 'Ada'), (2, 'ada');
  create extension isn schema apart;
  create table volumes (isbn apart.isbn primary key, title text);
  create table watched (relation regclass primary key, note text);
  insert into watched values ('pg_class', 'a');

  create type pair as (a int, b json);
  create type line_of as (a int, pairs pair[]);
  create domain raw as json;
  create table odd (id int primary key, pair pair, pairs pair[], line line_of, raw raw, query lquery, at point, ok level[]);

  create table events (id int primary key, title text, note text);
  create table concerts (band text) inherits (events);
  insert into events values (1, 'plain', 'a'), (2, 'other', null);
  insert into concerts values (1, 'concert', 'a', 'X'), (1, 'concert', 'b', 'Y'), (3, null, null, 'Z');
  create table members (id serial primary key, name text);
  create table staff (wage int, primary key (id)) inherits (members);
  create table apart (id int primary key default 7) inherits (members);
  alter table apart no inherit members;
  insert into members (name) values ('Ada'); insert into staff (name) values ('Ben');
  create view twice as select e.id, x as n, e.title, e.note from events e, generate_series(1, 5) x;

  create table unkeyed (id int, title text);
  insert into unkeyed values (1, 'one again'), (2, 'two'), (1, 'one');
  create table places (id int primary key);
  create table stays (id int primary key, place_id int references places, n int);
  create table visits (id int primary key, place_id int references places, event_id int);
  insert into places values (1), (7);
  insert into visits values (1, 7, 1), (2, 7, 2), (3, 7, null), (4, 7, 1);

  create type mood_level as enum ('low');
  create table moods (id int primary key, level mood_level);
  create table raw_events (payload json, at point);
  insert into raw_events select json_build_object('a', g % 3), point(g % 2, 1) from generate_series(1, 6) g;
  insert into raw_events select payload, at from raw_events limit 1;
  create table bases (vector int[] primary key);
  create table uses (id int primary key, vector int[] references bases);
  insert into bases values ('{1,2}'), ('{}');
  create table shapes (id int unique, shape jsonb primary key);
  create table shaped (id int primary key, shape jsonb references shapes);
  insert into shapes values (1, '{"a": 1.50}'), (2, '[1, 2]'), (3, '"x"');
  insert into shaped select id + 10, shape from shapes;
  create table spans (during daterange primary key, note text);
  insert into spans values ('[2024-01-02,infinity)', 'a'), ('[2024-01-02,)', 'b');
  create table boxes (id int primary key, sides box[], places int2vector, numbers oidvector);
  create table log (id int, note text);
  create table silent_inserts (id int primary key, note text);
  create rule logged as on insert to silent_inserts do instead insert into log values (new.id, new.note);
  create table silent_updates (id int primary key, note text);
  create rule nothing as on update to silent_updates do instead nothing;
  create table some_inserts (id int primary key, note text);
  create rule nothing as on insert to some_inserts where new.id > 10 do instead nothing;
  create table told_inserts (id int primary key, note text);
  create rule logged as on insert to told_inserts do instead insert into log values (new.id, new.note) returning log.*;

  create domain token as uuid default gen_random_uuid();
  create domain rank as int not null default 7;
  create domain high_rank as rank check (value > 5);
  create sequence numbers;
  create domain number as bigint default nextval('numbers');
  create table ranked (
    id token primary key, number number not null, rank high_rank, own high_rank default 9, none rank not null default null,
    note text
  );

  create domain phrase as text not null;
  create table shops (id int primary key, n int not null);
  create table slogans (id int primary key, shop_id int references shops, phrase phrase);
  insert into shops select id, id from generate_series(1, 5) id;
  insert into slogans values (1, 2, 'b'), (2, 4, 'a');
  create view shop_slogans as select shops.id, phrase from shops left join slogans on shop_id = shops.id;
  create table older (id int primary key, phrase text);
  insert into older values (1, null), (2, 'b'), (3, null), (4, 'a'), (5, null);
  do $$ begin
    if current_setting('server_version_num')::int >= 180000 then
      -- as text: older versions cannot parse it
      execute 'alter table older add constraint newer not null phrase not valid';
      execute 'create table owners (id int primary key, phrase text constraint own not null no inherit)';
      create table owned () inherits (owners);
    else
      create table owners (id int primary key, phrase text not null);
      create table owned () inherits (owners);
      alter table owned alter phrase drop not null;
    end if;
  end $$;
  insert into owners values (2, 'b'), (4, 'a');
  insert into owned values (1, null), (3, null), (5, null);

  create table tagged (id int primary key, tags int[]);
  insert into tagged values (1, '{1,2}'), (2, '{1,null}');
`

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  Model.knex(database.knex)
  configure({ secretKey: '0123456789abcdef0123456789abcdef' })
})
afterAll(() => database.drop())

const idsOf = ({ json }: { json: any }) => (json.results ?? json).map(({ id }: { id: unknown }) => id)

describe('a column whose domain has a default', () => {
  it('may be left out, a key too, and is told as one that may', async () => {
    const Ranked = tableOf('ranked')
    const shown = serializerOf(Ranked, ['id', 'number', 'rank', 'own', 'none', 'note'])
    const api = routerOf({ ranked: viewOf(Ranked, shown) })
    const client = await serveRouter(api)
    const { status, headers, json } = await client.send('POST', '/ranked', { none: 1, note: 'a' })
    expect([status, json]).toEqual([201, { id: json.id, number: 1, rank: 7, own: 9, none: 1, note: 'a' }])
    expect((await client.get(String(headers['location']))).json).toEqual(json)
    const many = await client.send('POST', '/ranked', { rank: 8, own: 6, none: 2, number: 50 })
    expect(many.json).toMatchObject({ number: 2, rank: 8, own: 6, none: 2, note: null })
    const { components } = api.getSchema({ title: 'Ranks', version: '1' })
    expect(components.schemas[`${shown.schemaName}Input`]).toMatchObject({ required: ['none'] })
    expect((await client.send('POST', '/ranked', {})).json.errors).toEqual({ none: ['This field is required.'] })
    expect((await client.send('POST', '/ranked', { none: 3, rank: null })).json.errors).toEqual({
      rank: ['This field may not be null.'],
    })
  })
})

describe('more columns than one statement selects, those of related objects included', () => {
  it('are shown of lists, objects and answers to writes', async () => {
    const names = Array.from({ length: 850 }, (_, index) => `c${index}`)
    const columns = names.map((name) => `${name} int default 1`).join()
    await database.knex.raw(`
      create table halls (id int primary key, ${columns}); insert into halls values (1);
      create table shows (id int primary key, hall_id int references halls, ${columns}); insert into shows values (1, 1)`)
    const Hall = tableOf('halls')
    const Show = class extends tableOf('shows') {
      static override relationMappings = {
        hall: {
          relation: Model.BelongsToOneRelation,
          modelClass: Hall,
          join: { from: 'shows.hall_id', to: 'halls.id' },
        },
      }
    }
    const hall = new NestedSerializer(serializerOf(Hall, names), { readOnly: true })
    const client = await serveViews({ shows: viewOf(Show, serializerOf(Show, [...names, 'hall'], { hall })) })
    const [listed] = (await client.get('/shows')).json
    expect([listed.c849, listed.hall.c849]).toEqual([1, 1])
    expect((await client.get('/shows/1')).json).toEqual(listed)
    expect((await client.send('PATCH', '/shows/1', { c0: 2 })).json).toEqual({ ...listed, c0: 2 })
    expect(client.reported).toEqual([])
  }, 60_000)
})

describe('a column that takes no NULL, and has some', () => {
  it.each(['shop_slogans', 'older', 'owners'])(
    'is read to its end by a cursor, and told as one that may be null: %s',
    async (table) => {
      const Row = tableOf(table, { idColumn: 'id' })
      const Shown = serializerOf(Row, ['id', 'phrase'])
      class View extends ReadOnlyModelViewSet {
        static override model = Row
        static override serializerClass = Shown
        static override filterBackends = [FieldFilter, OrderingFilter]
        static override filtersetFields = ['phrase']
        static override orderingFields = ['phrase']
        static override paginationClass = new CursorPagination({ ordering: 'id', pageSize: 2 })
      }
      const api = new APIRouter().register('rows', View)
      const client = await serveRouter(api)
      const read = async (first: string) => {
        const ids: unknown[] = []
        for (let path: string | null = first; path !== null && ids.length < 20; ) {
          const page = await client.get(path)
          ids.push(...idsOf(page))
          path = page.json.next
        }
        return ids
      }
      expect(await read('/rows?ordering=phrase')).toEqual([4, 2, 1, 3, 5])
      expect(await read('/rows?ordering=-phrase')).toEqual([5, 3, 1, 2, 4])
      expect(await read('/rows?phrase__isnull=true')).toEqual([1, 3, 5])
      const { components } = api.getSchema({ title: 'Rows', version: '1' })
      expect(components.schemas[`${Shown.schemaName}Output`]).toMatchObject({
        properties: { phrase: { type: ['string', 'null'] } },
      })
    },
  )
})

describe('a domain over an enum', () => {
  const Bug = tableOf('bugs')
  const shown = () => serializerOf(Bug, ['id', 'severity', 'urgency', 'all_of'])
  const statics = { filterBackends: [FieldFilter], filtersetFields: ['severity', 'urgency', 'all_of'] }

  it.each([
    ['severity=low', [1]],
    ['severity__in=low,high', [1, 2]],
    ['severity__ne=low', [2, 3]],
    ['severity__nin=low', [2, 3]],
    ['severity__gt=low', [2]],
    ['severity__lte=middle', [1]],
    ['urgency__range=low,middle', [2, 3]],
    ['severity__isnull=true', [3]],
    ['severity__icontains=OW', [1]],
    ['all_of__contains=high', [2]],
    ['all_of__overlap=high,low', [1, 2]],
  ])('is filtered: %s', async (query, ids) => {
    const client = await serveViews({ bugs: viewOf(Bug, shown(), statics) })
    expect(idsOf(await client.get(`/bugs?${query}`))).toEqual(ids)
    expect((await client.get('/bugs?severity=worst')).status).toBe(400)
  })

  it('is ordered, cut into pages, and aggregated', async () => {
    const client = await serveViews({
      bugs: viewOf(Bug, shown(), {
        paginationClass: new CursorPagination({ ordering: 'urgency', pageSize: 1 }),
        aggregates: { least: min('urgency'), most: max('severity'), different: countDistinct('severity') },
        groupBy: ['severity'],
      }),
    })
    const ids: unknown[] = []
    for (let path: string | null = '/bugs'; path !== null; ) {
      const page = await client.get(path)
      ids.push(...idsOf(page))
      path = page.json.next
    }
    expect(ids).toEqual([2, 3, 1])
    expect((await client.get('/bugs/aggregate')).json).toEqual({ least: 'low', most: 'high', different: 2 })
    expect((await client.get('/bugs/aggregate?group_by=severity')).status).toBe(200)
    expect((await client.send('PATCH', '/bugs/3', { severity: 'middle' })).json.severity).toBe('middle')
  })

  it('is no key, as PostgreSQL compares it with nothing', async () => {
    const Fix = tableOf('fixes', { idColumn: 'severity' })
    const api = routerOf({ fixes: viewOf(Fix, serializerOf(Fix, ['note']), { lookupField: 'severity' }) })
    await expect(api.prepare()).rejects.toThrow('is of a domain over level, which PostgreSQL compares with nothing')
  })
})

describe('a value that is added to an enum', () => {
  it('is shown, and asked for and written once the process has been started anew', async () => {
    const Mood = tableOf('moods')
    const views = () => ({
      moods: viewOf(Mood, serializerOf(Mood, ['id', 'level']), {
        filterBackends: [FieldFilter],
        filtersetFields: ['level'],
      }),
    })
    const api = routerOf(views())
    await api.prepare()
    // its document knows as little of the value
    const old = await serving(undescribed(api.routes()))
    onTestFinished(() => old.close())
    await database.knex.raw("alter type mood_level add value 'utmost'")
    await database.knex.raw("insert into moods values (1, 'utmost')")
    expect((await old.get('/moods/1')).text).toBe('{"id":1,"level":"utmost"}')
    expect((await old.get('/moods?level=utmost')).status).toBe(400)
    expect((await old.send('PATCH', '/moods/1', { level: 'utmost' })).status).toBe(200)
    expect((await old.send('POST', '/moods', { id: 2, level: 'utmost' })).status).toBe(400)
    const anew = await serveViews(views())
    expect(idsOf(await anew.get('/moods?level=utmost'))).toEqual([1])
    expect((await anew.send('POST', '/moods', { id: 2, level: 'utmost' })).status).toBe(201)
  })
})

describe('a collation in which other characters are equal', () => {
  it.each([
    ['name=ADA', [1]],
    ['name__icontains=D', [1]],
    ['name__istartswith=a', [1]],
    ['name__iendswith=B', [2]],
    ['name__iexact=aDA', [1]],
    ['name__contains=d', [1]],
    ['name__startswith=A', [1]],
    ['name__endswith=b', [2]],
    ['label__icontains=%25', [1]],
    ['name__in=ADA,BOB', [1, 2]],
    ['name__gt=aDA', [2]],
    ['search=ada', [1]],
    ['search=wo', [2]],
    ['ordering=-name', [2, 1]],
  ])('answers %s', async (query, ids) => {
    const Name = tableOf('names')
    const client = await serveViews({
      names: viewOf(Name, serializerOf(Name, ['id', 'name', 'label']), {
        filterBackends: [FieldFilter, SearchFilter, OrderingFilter],
        filtersetFields: ['name', 'label'],
        searchFields: ['name', '^label', '=name', '$label'],
        orderingFields: ['name', 'label'],
      }),
    })
    expect(idsOf(await client.get(`/names?${query}`))).toEqual(ids)
  })
})

it.each([
  ['size__isnull=true', [4]],
  ['size__isnull=false', [1, 2, 3]],
  ['filter=not(size__isnull=true)', [1, 2, 3]],
  ['size__ne=(1,2)', [2, 3, 4]],
])('a value of a composite type is one though its members are missing: %s', async (query, ids) => {
  const Parcel = tableOf('parcels')
  const filterBackends = [new FieldFilter({ groupParam: 'filter' })]
  const view = viewOf(Parcel, serializerOf(Parcel, ['id', 'size']), { filterBackends, filtersetFields: ['size'] })
  expect(idsOf(await (await serveViews({ parcels: view })).get(`/parcels?${query}`))).toEqual(ids)
})

describe('a citext whose operators are not on the search path', () => {
  const Reader = tableOf('readers')
  const shown = serializerOf(Reader, ['id', 'email'])

  it('is compared as PostgreSQL compares it there, by its text', async () => {
    const filtered = { filterBackends: [FieldFilter], filtersetFields: ['email'] }
    const client = await serveViews({ readers: viewOf(Reader, shown, filtered) })
    expect(idsOf(await client.get('/readers?email=ada'))).toEqual([2])
  })

  it('has no cursor, which would lose rows', async () => {
    const paginationClass = new CursorPagination({ ordering: 'email' })
    await expect(serveViews({ readers: viewOf(Reader, shown, { paginationClass }) })).rejects.toThrow(
      'a cursor cannot hold a position by "email" of type apart.citext',
    )
  })
})

it('a key of a type whose operators are not on the search path is told at the start', async () => {
  const Volume = tableOf('volumes', { idColumn: 'isbn' })
  await expect(serveViews({ volumes: viewOf(Volume, serializerOf(Volume, ['isbn', 'title'])) })).rejects.toThrow(
    'is of type apart.isbn, whose values name no object, as long as its schema is not on the search path',
  )
})

it('a key of a type that is compared as the number behind its text is told at the start, and is filtered by its text', async () => {
  const Watched = tableOf('watched', { idColumn: 'relation' })
  const shown = serializerOf(Watched, ['relation', 'note'])
  await expect(serveViews({ watched: viewOf(Watched, shown) })).rejects.toThrow(
    'is of type regclass, whose values name no object',
  )
  const list = { serializerClass: shown, mixins: [ListMixin], filterBackends: [FieldFilter] }
  const client = await serveResources({ watched: genericViewSet(Watched, { ...list, filtersetFields: ['relation'] }) })
  expect((await client.get('/api/watched?relation=pg_class')).json).toEqual([{ relation: 'pg_class', note: 'a' }])
})

describe('a type without an order', () => {
  const Odd = tableOf('odd')
  const shown = serializerOf(Odd, ['id', 'pair', 'pairs', 'line', 'raw', 'query', 'at', 'ok'])

  it.each(['pair', 'pairs', 'line', 'raw', 'query', 'at'])('is told at the start: %s', async (name) => {
    const refused = 'values have no order'
    const ordered = { filterBackends: [OrderingFilter], orderingFields: [name] }
    await expect(routerOf({ odd: viewOf(Odd, shown, ordered) }).prepare()).rejects.toThrow(refused)
    await expect(routerOf({ odd: viewOf(Odd, shown, { ordering: [name] }) }).prepare()).rejects.toThrow(refused)
    const client = await serveViews({ odd: viewOf(Odd, shown, { ...ordered, orderingFields: ['ok'] }) })
    expect((await client.get('/odd?ordering=ok')).json).toEqual([])
  })
})

/** All objects of a list, page by page. */
async function pagesOf(client: Client, first: string): Promise<string[]> {
  const found: string[] = []
  for (let path: string | null = first; path !== null; ) {
    const { json } = await client.get(path)
    found.push(...json.results.map((one: object) => JSON.stringify(one)))
    path = json.next
  }
  return found
}

describe('a table that others inherit from', () => {
  const Event = tableOf('events')
  const shown = serializerOf(Event, ['id', 'title', 'note'])

  it('is not written by a key that heirs have, too, which is told at the start', async () => {
    const api = routerOf({ events: viewOf(Event, shown) })
    await expect(api.prepare()).rejects.toThrow(
      'writes by the key "id" of Row, which is not unique, as tables inherit from it whose rows are its own, too',
    )
  })

  it('is written, with a warning, where one sequence fills in the keys of all', async () => {
    const heard: unknown[] = []
    const hear = (warning: Error & { code?: string }) => heard.push(warning.code)
    process.on('warning', hear)
    const Member = tableOf('members')
    const client = await serveViews({ members: viewOf(Member, serializerOf(Member, ['id', 'name'])) })
    expect((await client.send('PATCH', '/members/2', { name: 'Cleo' })).json).toEqual({ id: 2, name: 'Cleo' })
    expect(heard.filter((code) => code === 'KOA_VIEWSETS_SHARED_KEYS')).toHaveLength(1)
    process.off('warning', hear)
  })

  it.each([
    ['by its key', {}, 1],
    ['by another column', { lookupField: 'title' }, 1],
    ['by both, which no list needs', { withoutActions: ['retrieve'] }, 0],
  ])('is shown %s with a warning where several rows may have that', async (_how, statics, count) => {
    const heard: string[] = []
    const hear = (warning: Error) => heard.push(warning.message)
    process.on('warning', hear)
    class Events extends ReadOnlyModelViewSet {
      static override model = Event
      static override serializerClass = shown
    }
    await routerOf({ events: Object.assign(Events, statics) as never }).prepare()
    await new Promise(setImmediate)
    process.off('warning', hear)
    expect(heard.filter((text) => text.includes('which is not unique: of several rows'))).toHaveLength(count)
  })

  const paginators = [
    new CursorPagination({ ordering: 'title', pageSize: 1 }),
    new PageNumberPagination({ pageSize: 1 }),
  ]
  it.each(paginators)('is read to its end: %#', async (paginationClass) => {
    class Events extends ReadOnlyModelViewSet {
      static override model = Event
      static override serializerClass = shown
      static override paginationClass: Pagination = paginationClass
    }
    const client = await serveViews({ events: Events as never })
    const found = await pagesOf(client, '/events')
    expect(found).toHaveLength(5)
    expect(new Set(found).size).toBe(5)
  })
})

describe('a view whose key nothing proves', () => {
  const Twice = tableOf('twice')
  const shown = serializerOf(Twice, ['id', 'n', 'title', 'note'])

  it.each([
    ['pages', new PageNumberPagination({ pageSize: 4 })],
    ['a cursor', new CursorPagination({ ordering: '-id', pageSize: 4 })],
    ['a cursor by a column with nulls', new CursorPagination({ ordering: 'title', pageSize: 3 })],
  ])('is read to its end by %s', async (_, paginationClass) => {
    class Views extends ReadOnlyModelViewSet {
      static override model = Twice
      static override serializerClass = shown
      static override paginationClass: Pagination = paginationClass
    }
    const client = await serveViews({ twice: Views as never })
    const found = await pagesOf(client, '/twice')
    expect(found).toHaveLength(25)
    expect(new Set(found).size).toBe(25)
  })
})

describe('an object that points to several rows, as no key of theirs is one', () => {
  const paginationClass = new PageNumberPagination({ pageSize: 3 })

  it.each(['events', 'twice', 'unkeyed'])('is shown once, with one of them: %s', async (tableName) => {
    const Event = tableOf(tableName)
    const Visit = tableOf('visits', {
      relationMappings: {
        event: {
          relation: Model.BelongsToOneRelation,
          modelClass: Event,
          join: { from: 'visits.event_id', to: `${tableName}.id` },
        },
      },
    })
    const Place = tableOf('places', {
      relationMappings: {
        visits: {
          relation: Model.HasManyRelation,
          modelClass: Visit,
          join: { from: 'places.id', to: 'visits.place_id' },
        },
      },
    })
    const event = new NestedSerializer(serializerOf(Event, ['id', 'title']), { readOnly: true })
    const shown = {
      nested: { event },
      slugs: { event: new SlugRelatedField({ slugField: 'title', readOnly: true }) },
      sources: { event: new StringField({ source: 'event.title', readOnly: true }) },
    }
    const visits = new NestedSerializer(serializerOf(Visit, ['id', 'event'], { event }), { many: true, readOnly: true })
    const client = await serveViews({
      ...Object.fromEntries(
        Object.entries(shown).map(([name, declared]) => [
          name,
          viewOf(Visit, serializerOf(Visit, ['id', 'event'], declared), { paginationClass }),
        ]),
      ),
      places: viewOf(Place, serializerOf(Place, ['id', 'visits'], { visits })),
    })
    const { visits: inside } = (await client.get('/places/7')).json
    expect(inside.map(({ id }: { id: number }) => id)).toEqual([1, 2, 3, 4])
    for (const name of Object.keys(shown)) {
      const found = (await pagesOf(client, `/${name}`)).map((text) => JSON.parse(text))
      expect([name, found.map(({ id }) => id)]).toEqual([name, [1, 2, 3, 4]])
      expect((await client.get(`/${name}`)).json.count).toBe(4)
      for (const one of found) expect((await client.get(`/${name}/${one.id}`)).json).toEqual(one)
      expect((await client.send('PATCH', `/${name}/1`, {})).json).toEqual(found[0])
      if (name === 'nested') expect(inside).toEqual(found)
    }
  })
})

describe('an object that several rows point to, of which it shows one', () => {
  it.each<[string, ((query: QueryBuilder<Model>) => void) | undefined]>([
    ['of all', undefined],
    ['of some', (query) => void query.where('id', '>', 1)],
  ])('shows the same one, whatever is written: %s', async (_, modify) => {
    await database.knex.raw('truncate stays; insert into stays select id, 7, 0 from generate_series(3, 1, -1) id')
    const Stay = tableOf('stays')
    const join = { from: 'places.id', to: 'stays.place_id' }
    const Place = tableOf('places', {
      relationMappings: { stay: { relation: Model.HasOneRelation, modelClass: Stay, join, ...(modify && { modify }) } },
    })
    const stay = new NestedSerializer(serializerOf(Stay, ['id', 'n']), { required: false })
    const client = await serveViews({
      nested: viewOf(Place, serializerOf(Place, ['id', 'stay'], { stay })),
      expanded: viewOf(Place, serializerOf(Place, ['id']), { expandable: { stay } }),
    })
    const first = modify ? 2 : 1
    const shown = async () => [
      (await client.get('/nested/7')).json.stay.id,
      (await client.get('/nested')).json.find(({ id }: { id: number }) => id === 7).stay.id,
      (await client.get('/expanded/7?expand=stay')).json.stay.id,
    ]
    for (const n of [3, 5]) {
      const { json } = await client.send('PATCH', '/nested/7', { stay: { n } })
      expect(json).toEqual({ id: 7, stay: { id: first, n } })
      expect(await shown()).toEqual([first, first, first])
    }
  })
})

describe('an object that shows one of several, and lets go of it', () => {
  it.each<[string, object]>([
    ['rows', { relation: Model.HasOneRelation, join: { from: 'places.id', to: 'stays.place_id' } }],
    [
      'links',
      {
        relation: Model.HasOneThroughRelation,
        join: { from: 'places.id', through: { from: 'lets.place_id', to: 'lets.stay_id' }, to: 'stays.id' },
      },
    ],
  ])('keeps those that were not shown: %s', async (_, mapping) => {
    await database.knex.raw(`
      create table if not exists lets (place_id int, stay_id int);
      truncate stays, lets; insert into stays select id, case id when 4 then 1 else 7 end, 0 from generate_series(1, 4) id;
      insert into lets select place_id, id from stays`)
    const Stay = tableOf('stays')
    const modify = (query: QueryBuilder<Model>) =>
      void query.whereRaw('1 = 1').orWhereRaw('1 = 1').orderBy('stays.id', 'desc')
    const latest = { modelClass: Stay, modify }
    const Place = tableOf('places', { relationMappings: { stay: { ...latest, ...mapping } } })
    const stay = new NestedSerializer(serializerOf(Stay, ['id']), { required: false, allowNull: true })
    const client = await serveViews({ places: viewOf(Place, serializerOf(Place, ['id', 'stay'], { stay })) })
    const others = await database.knex.raw('select * from stays, lets where stays.id = 4 and stay_id = 4')
    for (const id of [2, 1]) {
      expect((await client.send('PATCH', '/places/7', { stay: null })).json).toEqual({ id: 7, stay: { id } })
    }
    expect((await client.send('PATCH', '/places/7', { stay: null })).json.stay).toBeNull()
    expect(await database.knex('stays').count().first()).toEqual({ count: '4' })
    const { rows } = await database.knex.raw('select * from stays, lets where stays.id = 4 and stay_id = 4')
    expect([rows.length, rows]).toEqual([1, others.rows])
  })
})

describe('a list inside an object, of rows whose key is no key', () => {
  it.each([
    ['events', ['concert', 'concert', 'plain']],
    ['unkeyed', ['one', 'one again']],
  ])('has one order, however it is read: %s', async (tableName, titles) => {
    const Event = tableOf(tableName)
    const events = {
      relation: Model.HasManyRelation,
      modelClass: Event,
      join: { from: 'places.id', to: `${tableName}.id` },
    }
    const Place = tableOf('places', { relationMappings: { events } })
    const nested = (options: object = {}) =>
      new NestedSerializer(serializerOf(Event, ['title']), { many: true, readOnly: true, ...options })
    class Counted extends serializerOf(Place, ['id', 'events', 'n'], {
      events: nested(),
      n: new SerializerMethodField(),
    }) {
      getN() {
        return 1
      }
    }
    const client = await serveViews({
      rows: viewOf(Place, serializerOf(Place, ['id', 'events'], { events: nested() })),
      instances: viewOf(Place, Counted),
      first: viewOf(Place, serializerOf(Place, ['id', 'events'], { events: nested({ limit: 2 }) })),
      expanded: viewOf(Place, serializerOf(Place, ['id']), { expandable: { events: nested() } }),
    })
    for (const [path, expected] of [
      ['/rows/1', titles],
      ['/instances/1', titles],
      ['/first/1', titles.slice(0, 2)],
      ['/expanded/1?expand=events', titles],
    ] as const) {
      const { json } = await client.get(path)
      expect([path, json.events.map(({ title }: { title: string }) => title)]).toEqual([path, expected])
    }
  })
})

describe('lists of an extension that has operators of its own', () => {
  it.each([
    ['contains=1', [1, 2]],
    ['overlap=2,3', [1]],
    ['contained_by=1,2,3', [1]],
  ])('are found: %s', async (query, ids) => {
    const Tagged = tableOf('tagged')
    const statics = { filterBackends: [FieldFilter], filtersetFields: ['tags'] }
    const client = await serveViews({ tagged: viewOf(Tagged, serializerOf(Tagged, ['id', 'tags']), statics) })
    expect(idsOf(await client.get(`/tagged?tags__${query}`))).toEqual(ids)
  })
})

describe('a table whose columns have no order', () => {
  const PAGES = [
    ['pages', new PageNumberPagination({ pageSize: 2 })],
    ['limits', new LimitOffsetPagination({ defaultLimit: 2 })],
  ] as const

  it.each([...PAGES.map((one) => [...one, false] as const), ...PAGES.map((one) => [...one, true] as const)])(
    'is read to its end by %s',
    async (_, paginationClass, isNamed) => {
      const Raw = tableOf('raw_events', isNamed ? { idColumn: ['payload', 'at'] } : {})
      class Events extends genericViewSet(Raw, {
        serializerClass: serializerOf(Raw, ['payload', 'at']),
        mixins: [ListMixin],
        paginationClass,
      }) {}
      const client = await serveViews({ events: Events as never })
      const found = await pagesOf(client, '/events')
      expect(found).toHaveLength(7)
      expect(new Set(found).size).toBe(6)
    },
  )

  it('is no matter of a cursor, which is told at the start', async () => {
    const Raw = tableOf('raw_events', { idColumn: 'payload' })
    const paginationClass = new CursorPagination({ ordering: 'payload' })
    const api = routerOf({ events: viewOf(Raw, serializerOf(Raw, ['payload']), { paginationClass }) })
    await expect(api.prepare()).rejects.toThrow('a cursor cannot hold a position by "payload" of type json')
  })
})

describe('what PostgreSQL does not say in advance', () => {
  it('is no matter of a list of boxes, which is text', async () => {
    const Box = tableOf('boxes')
    const client = await serveViews({ boxes: viewOf(Box, serializerOf(Box, ['id', 'sides'])) })
    const sides = '{(1,1),(0,0);(3,3),(2,2)}'
    expect((await client.send('POST', '/boxes', { id: 1, sides })).json).toEqual({ id: 1, sides })
    expect((await client.send('PUT', '/boxes/1', { id: 1, sides })).status).toBe(200)
    expect((await client.send('PATCH', '/boxes/1', { sides: 'x' })).status).toBe(400)
  })

  it('is no matter of vectors as the catalogue has them, which are text', async () => {
    const Box = tableOf('boxes')
    const shown = serializerOf(Box, ['id', 'places', 'numbers'])
    const client = await serveViews({ boxes: viewOf(Box, shown) })
    const vectors = { id: 2, places: '1 2', numbers: '3' }
    expect((await client.send('POST', '/boxes', vectors)).json).toEqual(vectors)
    expect((await client.get('/boxes/2')).json).toEqual(vectors)
    expect((await client.send('PATCH', '/boxes/2', { places: '4 5' })).json).toEqual({ ...vectors, places: '4 5' })
    expect((await client.send('PATCH', '/boxes/2', { places: [4] })).status).toBe(400)
  })

  it('is no matter of a foreign key of lists, which no key is: it is a value', async () => {
    class Use extends Model {
      static override tableName = 'uses'
      static override relationMappings = () => ({
        base: {
          relation: Model.BelongsToOneRelation,
          modelClass: tableOf('bases', { idColumn: 'vector' }),
          join: { from: 'uses.vector', to: 'bases.vector' },
        },
      })
    }
    const client = await serveViews({ uses: viewOf(Use, serializerOf(Use, ['id', 'vector'])) })
    for (const [id, vector] of [[1, 2], [], null].entries()) {
      expect((await client.send('POST', '/uses', { id, vector })).json).toEqual({ id, vector })
    }
    expect((await client.send('PATCH', '/uses/1', { vector: [3] })).status).toBe(400)
  })

  it('is no matter of a foreign key of JSON, by which objects of a class of their own are related', async () => {
    class Shape extends Model {
      static override tableName = 'shapes'
      static override idColumn = 'shape'
      // so that objects are made of the rows
      override $afterFind() {}
      static override relationMappings = () => ({
        uses: {
          relation: Model.HasManyRelation,
          modelClass: tableOf('shaped'),
          join: { from: 'shapes.shape', to: 'shaped.shape' },
        },
      })
    }
    const uses = new NestedSerializer(serializerOf(tableOf('shaped'), ['id']), { many: true, readOnly: true })
    const serializer = serializerOf(Shape, ['id', 'shape', 'uses'], { uses })
    const client = await serveViews({ shapes: viewOf(Shape, serializer) })
    const shapes: { id: number; uses: { id: number }[] }[] = (await client.get('/shapes')).json
    const found = shapes.map((shown) => [shown.id, shown.uses.map(({ id }) => id)])
    expect(Object.fromEntries(found)).toEqual({ 1: [11], 2: [12], 3: [13] })
  })

  it('is no matter of a key that is a span without an end', async () => {
    const Span = tableOf('spans', { idColumn: 'during' })
    const client = await serveViews({ spans: viewOf(Span, serializerOf(Span, ['during', 'note'])) })
    for (const row of (await client.get('/spans')).json) {
      const path = `/spans/${encodeURIComponent(row.during)}`
      expect((await client.get(path)).json).toEqual(row)
      expect((await client.send('PUT', path, row)).json).toEqual(row)
    }
  })

  it.each([
    ['silent_inserts', 'cannot insert in "silent_inserts"'],
    ['silent_updates', 'cannot update in "silent_updates"'],
    ['some_inserts', 'cannot insert in "some_inserts"'],
  ])('is told at the start of rules that return nothing: %s', async (table, message) => {
    const Row = tableOf(table)
    await expect(routerOf({ rows: viewOf(Row, serializerOf(Row, ['id', 'note'])) }).prepare()).rejects.toThrow(message)
  })

  it('is no matter of a rule that returns its rows', async () => {
    const Row = tableOf('told_inserts')
    const client = await serveViews({ rows: viewOf(Row, serializerOf(Row, ['id', 'note'])) })
    expect((await client.send('POST', '/rows', { id: 1, note: 'a' })).status).toBe(201)
  })

  it.skipIf(runsAsRole())('is a 400 where the server behind a foreign table makes the key', async () => {
    const { host = '127.0.0.1', port = 5432, user = 'postgres', database: name } = await whereabouts()
    await database.knex.raw(`
      create extension postgres_fdw;
      create server far foreign data wrapper postgres_fdw options (host '${host}', port '${port}', dbname '${name}');
      create user mapping for public server far options (user '${user}', password 'x');
      create table near (id int generated always as identity primary key, note text);
      create foreign table far (id int not null, note text) server far options (table_name 'near')`)
    const Far = tableOf('far')
    const client = await serveViews({ far: viewOf(Far, serializerOf(Far, ['id', 'note'])) })
    const first = await client.send('POST', '/far', { id: 1, note: 'a' })
    expect([first.status, client.reported]).toEqual([400, []])
    expect((await client.send('POST', '/far', { note: 'a' })).status).toBe(400)
    expect((await client.get('/far')).json).toEqual([])
    expect(client.reported).toEqual([])
  })
})

/** Where the database is, for itself. */
async function whereabouts(): Promise<{ host?: string; port?: string; user?: string; database?: string }> {
  const { rows } = await database.knex.raw(`
    select trim(split_part(current_setting('unix_socket_directories'), ',', 1), '"') as host, current_setting('port') as port,
      current_user as user, current_database() as database`)
  return rows[0]
}

describe('any table', () => {
  /** Types with values of theirs, as SQL; those of the first lines can be keys. */
  const TYPES: readonly (readonly [type: string, values: readonly string[]])[] = [
    ['int', ['-1', '0', '2147483647', '7']],
    ['int8', ['-9007199254740993', '9223372036854775807', '3', '4']],
    [
      'text',
      [
        `'a/b'`,
        `'.'`,
        `''`,
        `'Europe/Rome'`,
        `'a.json'`,
        `'%2F'`,
        `' x'`,
        `'ü😀'`,
        `'a,b'`,
        `'null'`,
        `'bulk'`,
        `'..'`,
      ],
    ],
    ['varchar(9)', [`'~'`, `'a~b'`, `'"'`, `'\\'`]],
    ['uuid', [`'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'`, `'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'`]],
    ['date', [`'2020-02-29'`, `'infinity'`, `'0044-03-15 BC'`, `'12024-01-01'`]],
    [
      'timestamptz',
      [`'2020-01-01 00:00:00.000001+00'`, `'-infinity'`, `'0044-03-15 12:00:00.5+00 BC'`, `'12024-01-01 00:00:00+00'`],
    ],
    ['timestamp', [`'2020-01-01 00:00:00.000001'`, `'0044-03-15 12:00:00 BC'`]],
    ['numeric', ['1.50', `'NaN'`, '-0.1', '12345678901234567890.5']],
    ['float8', ['1.5', `'NaN'`, '1e300', `'-Infinity'`]],
    ['bytea', [`'\\x00ff80'`, `''`]],
    ['bool', ['true', 'false']],
    ['level', [`'low'`, `'high'`]],
    ['cidr', [`'10.0.0.0/8'`, `'::/0'`]],
    ['interval', [`'1 mon'`, `'-1 day'`]],
    ['json', [`'{"a":1}'`, `'null'`]],
    ['jsonb', [`'{"b":1,"a":[1,2]}'`, `'"x"'`]],
    ['point', [`'(1,2)'`]],
    ['xml', [`'<a/>'`]],
    ['int2vector', [`'1 2'`]],
    ['box[]', [`'{(1,1),(0,0);(2,2),(1,1)}'`]],
    ['pair', [`row(1, '{}')::pair`]],
    ['int[]', [`'{1,null}'`, `'{}'`]],
    ['tsvector', [`'a b'`]],
    ['int4range', [`'[1,5)'`, `'empty'`]],
    ['lquery', [`'a.*'`]],
  ]
  const KEYS = 14
  const NAMES = [
    'id',
    'constructor',
    'toString',
    'hasOwnProperty',
    'valueOf',
    'a b',
    'select',
    'Ünï',
    'order',
    'page',
    "it's",
    '0',
    'a/b',
    'then',
    'x"y',
  ]

  it('is read whole, each of its objects written at its own URL as it was read, or refused at the start', {
    timeout: size(30_000, 3_600_000),
  }, async () => {
    const random = new Random(seed)
    let [read, refused, objects, written] = [0, 0, 0, 0]
    for (let run = 0; run < size(15, 10_000); run++) {
      const table = random.pick(['hostile', 'a.b'.replace('.', '_'), 'Grün', 'user'])
      const names = random.shuffled(NAMES).slice(0, random.below(4) + 1)
      const columns = names.map((name, index) => {
        const [type, values] = TYPES[random.below(index === 0 ? KEYS + 3 : TYPES.length)] as (typeof TYPES)[number]
        return { name, quoted: `"${name.replaceAll('"', '""')}"`, type, values }
      })
      const kind = random.pick(['primary', 'primary', 'unique', 'none', 'view', 'heirs', 'partitions'])
      const keys = columns.slice(0, kind === 'primary' && random.below(3) === 0 ? 2 : 1)
      const key = keys.map(({ quoted }) => quoted).join()
      const isKeyed = ['primary', 'heirs', 'partitions'].includes(kind)
      const constraint = isKeyed ? `, primary key (${key})` : kind === 'unique' ? `, unique (${key})` : ''
      const body = `(${columns.map(({ quoted, type }) => `${quoted} ${type}`).join()}${constraint})`
      const rows = Array.from({ length: 5 }, () =>
        columns.map(({ values }) => (random.below(9) === 0 ? 'null' : random.pick(values))).join(),
      )
      const knex = database.knex
      // of the same name it would meet the statements of the one before
      const schema = `hostile${run}`
      await knex.raw(`create schema ${schema}`)
      const made = kind === 'view' ? 'base' : table
      const create = [
        `create table ${schema}."${made}" ${body}${kind === 'partitions' ? ` partition by hash (${key})` : ''}`,
        ...(kind === 'partitions'
          ? [0, 1].map(
              (part) =>
                `create table ${schema}.p${part} partition of ${schema}."${made}" for values with (modulus 2, remainder ${part})`,
            )
          : []),
        ...(kind === 'heirs' ? [`create table ${schema}.heir (extra int) inherits (${schema}."${made}")`] : []),
        ...(kind === 'view' ? [`create view ${schema}."${table}" as select * from ${schema}.base`] : []),
      ]
      const isMade = await knex
        .transaction((trx) =>
          create.reduce((before, sql) => before.then(() => trx.raw(sql.replaceAll('?', '\\?'))), Promise.resolve()),
        )
        .then(
          () => true,
          () => false,
        )
      // no key of such a type
      if (!isMade) continue
      for (const [index, row] of rows.entries()) {
        const into =
          kind === 'heirs' && index % 2 === 1 ? `heir (${columns.map(({ quoted }) => quoted).join()})` : `"${made}"`
        await knex.raw(`insert into ${schema}.${into} values (${row})`.replaceAll('?', '\\?')).catch(() => {})
      }
      const model = tableOf(
        `${schema}.${table}`,
        isKeyed || random.below(2) === 0
          ? { idColumn: keys.length > 1 ? keys.map(({ name }) => name) : keys[0]?.name }
          : {},
      )
      const serializerClass = serializerOf(model, '__all__' as never)
      const View = Object.assign(
        random.pick([
          class extends ReadOnlyModelViewSet {},
          class extends ModelViewSet {},
          class extends genericViewSet(model, { serializerClass, mixins: [ListMixin] }) {},
        ]),
        {
          model,
          serializerClass,
          paginationClass: random.pick([new PageNumberPagination({ pageSize: 2 }), null]),
        } as object,
      ) as typeof ReadOnlyModelViewSet
      const told = JSON.stringify({ seed, run, create, rows })
      const api = new APIRouter().register('rows', View, 'rows')
      try {
        await api.prepare()
      } catch (error) {
        expect((error as Error).name, `${told}: ${String(error)}`).toBe('ConfigurationError')
        refused++
        continue
      }
      read++
      const client = await serving(undescribed(api.routes()))
      const found: Record<string, unknown>[] = []
      for (let path: string | null = '/rows'; path !== null; ) {
        const { status, json, text } = await client.get(path)
        expect([status, client.reported.map(String)], `${told}: ${text}`).toEqual([200, []])
        found.push(...(json.results ?? json))
        path = json.next ?? null
      }
      const { rows: counted } = await knex.raw('select count(*)::int as count from ??.??', [schema, table])
      expect([found.length, told]).toEqual([counted[0].count, told])
      const isWritten = View.prototype instanceof ModelViewSet
      const { lookup } =
        isKeyed && kind !== 'heirs' && (isWritten || View.prototype instanceof ReadOnlyModelViewSet)
          ? resourceOf(View)
          : { lookup: undefined }
      for (const row of lookup ? found : []) {
        if (!lookup) break
        const id = lookup.toText(
          lookup.columns.map(({ property }) => row[property]),
          {},
        )
        // keys that URL parsers take away have no path
        const text = typeof id === 'string' ? id : JSON.stringify(id)
        if (text === undefined || ['', '.', '..', 'null'].includes(text)) continue
        const url = api.url('rows-retrieve', { id: text })
        const answer = await client.get(url)
        expect([answer.status, answer.json], `${told}: ${url} ${answer.text}`).toEqual([200, row])
        objects++
        if (!isWritten) continue
        const put = await client.send('PUT', url, row)
        expect([put.status, put.json], `${told}: PUT ${url} ${put.text}`).toEqual([200, row])
        const deleted = await client.send('DELETE', url)
        expect(deleted.status, `${told}: DELETE ${url} ${deleted.text}`).toBe(204)
        expect((await client.get(url)).status, `${told}: ${url}`).toBe(404)
        // what only other ways store is shown, and not created
        const created = await client.send('POST', '/rows', row)
        expect([201, 400], `${told}: POST ${JSON.stringify(row)} ${created.text}`).toContain(created.status)
        if (created.status === 201) expect([created.json, told]).toEqual([row, told])
        expect([told, client.reported.map(String)]).toEqual([told, []])
        written++
      }
      await client.close()
    }
    report('hostile schemas', { read, refused, objects, written, seed })
    expect(read).toBeGreaterThan(0)
  })
})
