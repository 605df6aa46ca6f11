import { Model } from 'objection'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ConfigurationError } from '../../../lib/index.js'
import type { Column } from '../../../lib/models/model-description.js'
import {
  type KeysetTerm,
  keysetTerms,
  positionColumn,
  positionTag,
  rangesBeyond,
} from '../../../lib/queryset/keyset.js'
import { orderBy, parseOrderTerm, totalOrder } from '../../../lib/queryset/total-order.js'
import { whereBeyond } from '../../../lib/queryset/where-beyond.js'
import { describeModel, prepareModels } from '../../../lib/tools/index.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'

const SCHEMA = `
  create extension citext;
  create type mood as enum ('sad', 'ok', 'happy');
  create domain percent as numeric(5,2) check (value >= 0);
  create table samples (
    id int primary key,
    int2 int2, int4 int4, int8 int8, float4 float4, float8 float8, numeric numeric, percent percent,
    timestamptz timestamptz, timestamp timestamp, date date, uuid uuid, bool bool,
    text text, varchar varchar(20), bpchar char(8), citext citext, mood mood, time time, inet inet,
    json jsonb, list int[], bytes bytea, span interval, range int4range
  );
  create table cities (
    id int primary key, population int not null, area int, name text not null
  );
  -- nine of ten share their population, a fifth has no area
  insert into cities
    select n, case when n % 10 = 0 then n else 0 end, case when n % 5 = 0 then null else n % 1000 end, md5(n::text)
    from generate_series(1, 100000) n;
  create index on cities (population, id);
  create index on cities (population desc, name);
  create index on cities (area, id);
  create index on cities (area desc, name, id);
  vacuum analyze cities;
`

class Sample extends Model {
  static override tableName = 'samples'
}
class City extends Model {
  static override tableName = 'cities'
  declare id: number
  declare area: number | null
}

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
  const client = new pg.Client(database.connection)
  await client.connect()
  for (const statement of SCHEMA.split(';')) await client.query(statement)
  await client.end()
  for (const model of [Sample, City]) model.knex(database.knex)
  await prepareModels([Sample, City])
})
afterAll(() => database.drop())

function columnOf(model: typeof Model, property: string): Column {
  return describeModel(model).columns.get(property) as Column
}

describe('the text of a position', () => {
  const values: [column: string, literal: string, text: string][] = [
    ['int2', '-32768', '-32768'],
    ['int4', '2147483647', '2147483647'],
    ['int8', '9223372036854775807', '9223372036854775807'],
    ['int8', '-9223372036854775808', '-9223372036854775808'],
    ['float4', '0.1', '0.1'],
    ['float8', '0.30000000000000004', '0.30000000000000004'],
    ['float8', '1e300', '1e+300'],
    ['float8', 'NaN', 'NaN'],
    ['float8', '-Infinity', '-Infinity'],
    ['numeric', '123456789012345678901234567890.1234567890', '123456789012345678901234567890.1234567890'],
    ['numeric', '12.50', '12.50'],
    ['numeric', 'NaN', 'NaN'],
    ['percent', '12.5', '12.50'],
    ['timestamptz', '2026-03-28T15:30:00.123456Z', '2026-03-28T15:30:00.123456'],
    ['timestamptz', '2026-03-28T15:30:00+05:30', '2026-03-28T10:00:00'],
    ['timestamptz', '0044-03-15 12:00:00+00 BC', '0044-03-15T12:00:00 BC'],
    ['timestamptz', '12026-01-01T00:00:00.000001Z', '12026-01-01T00:00:00.000001'],
    ['timestamptz', 'infinity', 'infinity'],
    ['timestamp', '2026-03-28T15:30:00.1', '2026-03-28T15:30:00.1'],
    ['timestamp', '-infinity', '-infinity'],
    ['date', '2026-03-28', '2026-03-28'],
    ['date', '0044-03-15 BC', '0044-03-15 BC'],
    ['date', '12026-03-28', '12026-03-28'],
    ['uuid', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
    ['bool', 'yes', 'true'],
    ['text', 'hello:world, 50%', 'hello:world, 50%'],
    ['text', '', ''],
    ['varchar', 'Ünï', 'Ünï'],
    ['bpchar', 'ab', 'ab'],
    ['citext', 'MiXed', 'MiXed'],
    ['mood', 'ok', 'ok'],
    ['time', '15:30:00.5', '15:30:00.5'],
    ['inet', '192.168.0.1/24', '192.168.0.1/24'],
  ]

  it.each(values)(
    '[D9] of %s %s is exact in any time zone and date style, and finds the row again',
    async (name, literal, text) => {
      const column = columnOf(Sample, name)
      await database.knex.raw('insert into samples (id, ??) values (1, ?)', [column.column, literal])
      const { sql, bindings } = positionColumn(column, `samples.${column.column}`)
      for (const [zone, style] of [
        ['UTC', 'ISO, MDY'],
        ['Asia/Kathmandu', 'German, DMY'],
        ['America/St_Johns', 'SQL, DMY'],
      ]) {
        await database.knex.transaction(async (trx) => {
          await trx.raw(`set local timezone = '${zone}'`)
          await trx.raw(`set local datestyle = '${style}'`)
          const [row] = (await trx.raw(`select ${sql} as text from samples`, bindings as never)).rows
          expect(row.text).toBe(text)
          // the first term is equal and the second is beyond: the row itself, and only it
          const [at] = rangesBeyond({
            terms: [asc(column), asc(columnOf(Sample, 'id'))],
            table: 'samples',
            position: [text, '0'],
            backwards: false,
          })
          expect((await trx.raw(`select id from samples where ${at?.sql}`, at?.bindings as never)).rows).toEqual([
            { id: 1 },
          ])
          const [past] = rangesBeyond({
            terms: [asc(column), asc(columnOf(Sample, 'id'))],
            table: 'samples',
            position: [text, '1'],
            backwards: false,
          })
          expect((await trx.raw(`select id from samples where ${past?.sql}`, past?.bindings as never)).rows).toEqual([])
        })
      }
      await database.knex.raw('truncate samples')
    },
  )

  it.each(['json', 'list', 'bytes', 'span', 'range'])('does not exist for a column %s', (name) => {
    expect(() => positionTag(columnOf(Sample, name))).toThrow(ConfigurationError)
    expect(() => positionTag(columnOf(Sample, name))).toThrow(
      /"(json|list|bytes|span|range)" of type (jsonb|integer\[\]|bytea|interval|int4range)/,
    )
  })
})

function asc(column: Column): KeysetTerm {
  return { column, descending: false }
}

describe('rows beyond a position', () => {
  const column = (property: string, holdsNull = false): Column => ({
    ...columnOf(Sample, 'int4'),
    property,
    column: property,
    holdsNull,
  })
  const terms = (text: string): KeysetTerm[] =>
    text.split(',').map((term) => ({
      column: column(term.replace(/^-|\?$/g, ''), term.endsWith('?')),
      descending: term.startsWith('-'),
    }))
  const text = (sql: string, bindings: readonly unknown[]) => {
    const rest = [...bindings]
    return sql.replaceAll(/\?\??(::integer)?/g, () => String(rest.shift()).replace('t.', ''))
  }

  it.each([
    ['id', ['5'], ['id > 5']],
    ['-a,-b,-id', ['1', '2', '3'], ['(a, b, id) < (1, 2, 3)']],
    ['a,b,id', ['1', '2', '3'], ['(a, b, id) > (1, 2, 3)']],
    ['-a?,-b?,-id', ['1', '2', '3'], ['(a, b, id) < (1, 2, 3)']],
    ['a?,b,id', ['1', '2', '3'], ['(a, b, id) > (1, 2, 3)', 'a is null']],
    ['a,b?,id', ['1', '2', '3'], ['a = 1 and (b, id) > (2, 3)', 'a = 1 and b is null', 'a > 1']],
    ['a,-b,-id', ['1', '2', '3'], ['a = 1 and (b, id) < (2, 3)', 'a > 1']],
    ['-a,b,-id', ['1', '2', '3'], ['a = 1 and b = 2 and id < 3', 'a = 1 and b > 2', 'a < 1']],
    ['a?,id', [null, '3'], ['a is null and id > 3']],
    ['-a?,-id', [null, '3'], ['a is null and id < 3', 'a is not null']],
    [
      '-a?,-b?,id',
      [null, null, '3'],
      ['a is null and b is null and id > 3', 'a is null and b is not null', 'a is not null'],
    ],
    ['a?', [null], []],
  ])('of %s at %j are %j', (order, position, ranges) => {
    const found = rangesBeyond({ terms: terms(order), table: 't', position, backwards: false }).map(
      ({ sql, bindings }) => text(sql, bindings),
    )
    expect(found).toEqual(ranges)
    const turned = order
      .split(',')
      .map((term) => (term.startsWith('-') ? term.slice(1) : `-${term}`))
      .join(',')
    const back = rangesBeyond({ terms: terms(turned), table: 't', position, backwards: true }).map(
      ({ sql, bindings }) => text(sql, bindings),
    )
    expect(back).toEqual(ranges)
  })
})

describe('the plan of a page', () => {
  /** Rows that PostgreSQL looked at, and the index conditions, for the page behind a position. */
  async function plan(order: string, position: readonly (string | null)[] | null, backwards = false, filter = 'true') {
    const model = describeModel(City)
    const terms = totalOrder(model, order.split(',').map(parseOrderTerm))
    const query = City.query().whereRaw(filter) as never as Parameters<typeof orderBy>[0]
    if (position) {
      const ranges = rangesBeyond({ terms: keysetTerms(model, terms), table: 'cities', position, backwards })
      whereBeyond(query, { ranges, model, order: terms, backwards, limit: 26 })
    }
    const { sql, bindings } = orderBy(query, model, terms, backwards).limit(26).toKnexQuery().toSQL()
    const [row] = (await database.knex.raw(`explain (analyze, format json) ${sql}`, bindings as never)).rows
    const nodes: Record<string, unknown>[] = []
    const visit = (node: Record<string, unknown>) => {
      nodes.push(node)
      for (const child of (node['Plans'] ?? []) as Record<string, unknown>[]) visit(child)
    }
    visit(row['QUERY PLAN'][0].Plan)
    const scans = nodes.filter((node) => String(node['Node Type']).includes('Scan'))
    const looked = scans.reduce(
      (sum, node) =>
        sum +
        (Number(node['Actual Rows']) + Number(node['Rows Removed by Filter'] ?? 0)) * Number(node['Actual Loops']),
      0,
    )
    return {
      looked,
      conditions: scans.flatMap((node) => node['Index Cond'] ?? []).map(String),
      scans: scans.map((node) => node['Node Type']),
    }
  }

  async function positionAt(order: string, offset: number) {
    const model = describeModel(City)
    const terms = totalOrder(model, order.split(',').map(parseOrderTerm))
    const query = orderBy(City.query(), model, terms).offset(offset).limit(1)
    const [row] = (await query) as Record<string, unknown>[]
    return terms.map(({ property }) => (row?.[property] === null ? null : `${row?.[property] as string | number}`))
  }

  it.each(['-population', 'population', 'id', '-population,name', 'area', '-area', '-area,name'])(
    '[D9] by %s starts at an index condition, and looks at few of 100,000 rows wherever it is',
    async (order) => {
      for (const offset of [100, 50_000, 79_990, 99_900]) {
        const page = await plan(order, await positionAt(order, offset))
        expect(page.conditions.length).toBeGreaterThan(0)
        expect(page.scans).not.toContain('Seq Scan')
        expect(page.looked).toBeLessThanOrEqual(600)
        const back = await plan(order, await positionAt(order, offset), true)
        expect(back.looked).toBeLessThanOrEqual(600)
      }
    },
    60_000,
  )

  it.each([
    ['area', 'cities.id % 5 > 0', false],
    ['-area', 'cities.id % 5 < 1', false],
    ['-area', 'cities.id % 5 > 0', true],
  ])(
    'by %s where %s does not look through rows behind the page that the filter leaves out',
    async (order, filter, backwards) => {
      const model = describeModel(City)
      const terms = totalOrder(model, [parseOrderTerm(order)])
      const [row] = (await orderBy(City.query().whereRaw(filter), model, terms).offset(8_000).limit(1)) as City[]
      const position = terms.map(({ property }) => row?.[property as 'id' | 'area']?.toString() ?? null)
      expect((await plan(order, position, backwards, filter)).looked).toBeLessThanOrEqual(600)
    },
  )
})
