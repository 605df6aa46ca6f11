/** Schemas that nobody made for an API: types without an order, domains over enums, collations, inheritance, views. */
import {
  CursorPagination,
  configure,
  FieldFilter,
  OrderingFilter,
  PageNumberPagination,
  type Pagination,
  ReadOnlyModelViewSet,
  SearchFilter,
} from 'koa-viewsets'
import { countDistinct, max, min } from 'koa-viewsets/views'
import { Model } from 'objection'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { routerOf, serializerOf, serveViews, tableOf, viewOf } from '../support/views.js'

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
async function pagesOf(client: Client, first: string): Promise<unknown[]> {
  const found: unknown[] = []
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
    expect(heard).toContain('KOA_VIEWSETS_SHARED_KEYS')
    process.off('warning', hear)
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
