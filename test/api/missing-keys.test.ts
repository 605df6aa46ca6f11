/** Rows that have no value in a column of their key, which a unique constraint may leave out of it. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  CursorPagination,
  configure,
  FieldFilter,
  modelSerializer,
  OrderingFilter,
  readOnlyModelViewSet,
  table,
} from '../../lib/index.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { serveViews } from '../support/views.js'

const ROWS = [
  [1, 1, 'a'],
  [2, 1, 'b'],
  [null, 1, 'c'],
  [null, 1, 'd'],
  [5, 2, 'e'],
  [null, 2, 'f'],
  [null, null, 'g'],
] as const
/** Alike in the order of labels: a materialised view is believed to have one of them. */
const ALIKE = [null, null, 'f'] as const
const SCHEMA = `
  create table singles (a int unique, b int, label text not null);
  create table pairs (a int, b int, label text not null, unique (a, b));
  create materialized view seen as select * from (values ${ROWS.map(([a, b, label]) => `(${a}::int, ${b}::int, '${label}')`).join()}) v (a, b, label);
  create unique index on seen (a);
  ${['singles', 'pairs'].map((name) => `insert into ${name} select * from seen union all select null, null, 'f';`).join('')}`

let database: TestDatabase
beforeAll(async () => {
  configure({ secretKey: 'a key of the tests, which is long' })
  database = await createDatabase({ schema: SCHEMA })
})
afterAll(() => database.drop())

const TABLES: [string, string | string[]][] = [
  ['singles', 'a'],
  ['pairs', ['a', 'b']],
  ['seen', 'a'],
]

it.each(TABLES)('%s are in lists by cursors, each once', async (name, idColumn) => {
  const Row = table(name, { idColumn })
  Row.knex(database.knex)
  const statics = {
    paginationClass: new CursorPagination({ pageSize: 2 }),
    filterBackends: [OrderingFilter, FieldFilter],
    orderingFields: ['a', 'b', 'label'],
    filtersetFields: ['label'],
  }
  class AsInstances extends modelSerializer(Row, { fields: ['a', 'b', 'label'] }) {
    override toRepresentation(object: never) {
      return super.toRepresentation(object)
    }
  }
  const listed = (serializerClass: object) =>
    readOnlyModelViewSet(Row, { ...statics, serializerClass } as never) as never
  const client = await serveViews({
    rows: listed(modelSerializer(Row, { fields: ['a', 'b', 'label'] })),
    instances: listed(AsInstances),
  })
  for (const path of ['rows', 'instances']) {
    for (const order of ['label', '-label', 'a,label', '-a,b,label', 'b,label', '-b,-a,label', 'b,a,label']) {
      const seen: unknown[] = []
      let url: string | null = `/${path}?ordering=${order}`
      while (url !== null && seen.length < 20) {
        const { json } = await client.get(url)
        seen.push(...json.results.map(({ a, b, label }: Record<string, unknown>) => [a, b, label]))
        url = json.next
      }
      const byText = (list: readonly unknown[]) => list.map((row) => JSON.stringify(row)).toSorted()
      expect([path, order, byText(seen)]).toEqual([path, order, byText(name === 'seen' ? ROWS : [...ROWS, ALIKE])])
    }
  }
})
