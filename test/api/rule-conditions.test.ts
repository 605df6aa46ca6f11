/** Conditions of rules: lookups find what filters find by them, and SQL is asked of each row. */

import { afterAll, beforeAll, expect, it } from 'vitest'
import { APIRouter, GenericViewSet, ListMixin, ReadOnlyModelViewSet } from '../../lib/index.js'
import { type Condition, type RuleCaller, type RuleCondition, rule, sql } from '../../lib/rules/index.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { serializerOf, serveRouter, tableOf, viewOf } from '../support/views.js'

let database: TestDatabase
const Notice = tableOf('notices')

beforeAll(async () => {
  database = await createDatabase({
    schema: `
      create table notices (
        id int primary key, title text, shared_with int[], tags text[], days date[],
        created_at timestamptz, d date, period daterange, n int, open tstzrange
      );
      insert into notices values
        (1, 'One', '{1,2}', '{a,"b,c"}', '{2024-01-01}', '2024-12-31 23:30Z', '2024-02-03', '[2024-01-01,2024-02-01)', 5, null),
        (2, 'two', '{2,3}', '{b}', '{2025-01-01}', '2025-01-01 00:30Z', '2024-03-02', '[2025-01-01,2025-02-01)', 55, '[2025-01-01,2025-02-01)'),
        (3, null, null, null, null, null, null, null, null, null);
    `,
  })
  Notice.knex(database.knex)
})

afterAll(() => database.drop())

async function shown(read: Condition): Promise<number[]> {
  const view = viewOf(Notice, serializerOf(Notice, ['id']))
  const rules = [rule(Notice, { read: () => read })]
  const client = await serveRouter(new APIRouter({ rules }).register('notices', view))
  const rows: { id: number }[] = (await client.get('/notices')).json
  return rows.map(({ id }) => id)
}

it.each<[Condition, number[]]>([
  [{ shared_with__contains: 1 }, [1]],
  [{ shared_with__contains: [2] }, [1, 2]],
  [{ shared_with__contains: [] }, [1, 2]],
  [{ shared_with__overlap: [1, 3] }, [1, 2]],
  [{ shared_with__contained_by: [1, 2, 4] }, [1]],
  [{ shared_with__contains: undefined }, []],
  [{ shared_with__contains: 'x' }, []],
  [{ shared_with__contains: 2 ** 40 }, []],
  [{ not: { shared_with__contains: 1 } }, [2, 3]],
  [{ not: { shared_with__contains: 'x' } }, []],
  [{ tags__contains: 'a' }, [1]],
  [{ tags__contains: 'b,c' }, [1]],
  [{ tags__overlap: ['a', 'b'] }, [1, 2]],
  [{ days__contains: new Date('2024-01-01T12:00:00Z') }, [1]],
])('elements of lists: %j', async (condition, ids) => {
  expect(await shown(condition)).toEqual(ids)
})

it.each<[Condition, string]>([
  [{ n: [5, 55] }, 'asks for "n" of a list, which no value is; use in, or nin'],
  [{ not: { title__startswith: ['O'] } }, 'asks for "title__startswith" of a list, which no value is; use in, or nin'],
  [{ n__range: [1, 5, 9] }, 'asks for "n__range" without a list of two values'],
  [{ or: [{ n__range: 5 }] }, 'asks for "n__range" without a list of two values'],
  [{ not: null }, 'has "null" in the place of a condition; give an object, true or false'],
  [{ not: 7 }, 'has "7" in the place of a condition; give an object, true or false'],
  [{ not: 'shown' }, 'has "shown" in the place of a condition; give an object, true or false'],
  [{ or: [[{ n: 5 }]] }, 'has "[object Object]" in the place of a condition; give an object, true or false'],
])(
  'as many values as no lookup takes, and what is no condition, are refused at the start: %j',
  async (read, problem) => {
    const both: readonly RuleCondition[] = [read, () => read]
    for (const one of both) {
      const router = new APIRouter({ rules: [rule(Notice, { read: one })] })
      router.register('notices', viewOf(Notice, serializerOf(Notice, ['id'])))
      await expect(router.prepare()).rejects.toThrow(`rule(Row).read ${problem}`)
    }
  },
)

it.each<[unknown, Condition]>([
  ['a list for one value', { n: [5, 55] }],
  ['three values for a range', { not: { n__range: [1, 2, 3] } }],
  ['one value for a range', { n__range: 5 }],
  ['no values', { n: [] }],
])('%s, as a request may have brought, is in no row', async (_name, condition) => {
  const view = viewOf(Notice, serializerOf(Notice, ['id']))
  const read = ({ ctx }: RuleCaller) => (ctx.req ? condition : false)
  const client = await serveRouter(new APIRouter({ rules: [rule(Notice, { read })] }).register('notices', view))
  expect(await client.get('/notices')).toMatchObject({ status: 200, json: [] })
})

it.each<[Condition, number[]]>([
  [{ created_at__year: 2024 }, [1]],
  [{ not: { created_at__year: 2024 } }, [2, 3]],
  [{ created_at__year: '2024' }, [1]],
  [{ created_at__year: 'x' }, []],
  [{ d__month: 2 }, [1]],
  [{ d__day: 2 }, [2]],
  [{ d__month: 13 }, []],
  [{ period__contains: '2024-01-15' }, [1]],
  [{ open__contains: new Date('2025-01-15T00:00:00Z') }, [2]],
  [{ period__overlap: '[2024-01-15,2025-01-15)' }, [1, 2]],
  [{ period__contains: 'soon' }, []],
  [{ period__contains: {} }, []],
  [{ n__iexact: 5 }, [1]],
  [{ title__iexact: 'ONE' }, [1]],
])('what is no value of the column: %j', async (condition, ids) => {
  expect(await shown(condition)).toEqual(ids)
})

it('SQL is asked of the row itself, where several have its key', async () => {
  await database.knex.raw(`
    create table cities (id int primary key, tenant text);
    create table capitals () inherits (cities);
    insert into cities values (1, 'a'), (2, 'b');
    insert into capitals values (1, 'b'), (3, 'a');
  `)
  const City = tableOf('cities')
  City.knex(database.knex)
  class Cities extends ReadOnlyModelViewSet {
    static override model = City
    static override serializerClass = serializerOf(City, ['id', 'tenant'])
  }
  const read = async (condition: Condition) => {
    const rules = [rule(City, { read: () => condition })]
    const client = await serveRouter(new APIRouter({ rules }).register('cities', Cities))
    const rows: { id: number; tenant: string }[] = (await client.get('/cities')).json
    return rows.map(({ id, tenant }) => `${id}${tenant}`).sort()
  }
  expect(await read(sql`tenant = ${'a'}`)).toEqual(['1a', '3a'])
  expect(await read(sql`cities.tenant = ${'b'}`)).toEqual(['1b', '2b'])
  expect(await read({ not: sql`tenant = ${'b'}` })).toEqual(['1a', '3a'])
  expect(await read(sql`tenant = ${undefined}`)).toEqual([])
})

it('SQL of a view is asked by indexes of its table', async () => {
  await database.knex.raw(`
    create table parcels (id int primary key, owner int);
    insert into parcels select n, n % 5000 from generate_series(1, 20000) as n;
    create index on parcels (owner);
    analyze parcels;
    create view listed_parcels as select * from parcels;
  `)
  const Parcel = tableOf('listed_parcels', { idColumn: 'id' })
  Parcel.knex(database.knex)
  class Parcels extends ReadOnlyModelViewSet {
    static override model = Parcel
    static override serializerClass = serializerOf(Parcel, ['id'])
  }
  const rules = [rule(Parcel, { read: () => sql`owner = ${7}` })]
  const client = await serveRouter(new APIRouter({ rules }).register('parcels', Parcels))
  const asked: { sql: string; bindings: readonly unknown[] }[] = []
  const listen = (query: (typeof asked)[number]) => void asked.push(query)
  database.knex.on('query', listen)
  const { json } = await client.get('/parcels')
  database.knex.removeListener('query', listen)
  expect(json.map(({ id }: { id: number }) => id)).toEqual([7, 5007, 10007, 15007])
  const list = asked.find((query) => query.sql.includes('owner ='))
  const text = `explain ${list?.sql.replaceAll(/\$\d/g, '?')}`
  const { rows } = await database.knex.raw(text, list?.bindings as never)
  expect(JSON.stringify(rows)).not.toContain('Seq Scan')
})

it.each([
  ['without a key', 'name, open', ['a', 'c']],
  ['whose key is null, which meet none', 'nullif(id, 2) as id, name, open', ['a']],
])('SQL of a view is asked of rows %s', async (_rows, columns, open) => {
  await database.knex.raw(`
    create table if not exists shelves (id int primary key, name text, open bool);
    insert into shelves values (1, 'a', true), (2, 'c', true), (3, 'b', false) on conflict do nothing;
    drop view if exists listed_shelves;
    create view listed_shelves as select ${columns} from shelves;
  `)
  const shown = async (read: Condition) => {
    const Shelf = tableOf('listed_shelves', { idColumn: 'id' })
    Shelf.knex(database.knex)
    class Shelves extends ListMixin(GenericViewSet) {
      static override model = Shelf
      static override serializerClass = serializerOf(Shelf, ['name'])
    }
    const rules = [rule(Shelf, { read: () => read })]
    const client = await serveRouter(new APIRouter({ rules }).register('shelves', Shelves))
    return (await client.get('/shelves')).json.map(({ name }: { name: string }) => name).sort()
  }
  expect(await shown({ not: sql`open` })).toEqual(['b'])
  expect(await shown(sql`open`)).toEqual(open)
})
