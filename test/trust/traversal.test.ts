/** P3: every row is seen exactly once through either cursor, whatever orders them, while others are written. */
import {
  APIRouter,
  CursorPagination,
  configure,
  ModelSerializer,
  type Pagination,
  ReadOnlyModelViewSet,
  ServerCursorPagination,
} from 'koa-viewsets'
import { Model } from 'objection'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Client, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { isLong, report, size } from './support/size.js'

const ROWS = size(250, 10_000)
const ROUNDS = size(1, 5)
/** Rows above are the writer's. */
const FIRST_OF_WRITER = 1_000_000

/** What each column of row `n` holds. */
const NAMED: Record<string, { type: string; value: string }> = {
  small: { type: 'int not null', value: 'n % 7' },
  large: { type: 'bigint not null', value: '9007199254740000 + n % 1500' },
  ratio: { type: 'double precision not null', value: '(n % 301) / 7.0' },
  moment: { type: 'timestamptz not null', value: "timestamptz '2026-01-01' + (n / 2) * interval '150 microseconds'" },
  day: { type: 'date not null', value: "date '2026-01-01' + n % 30" },
  amount: { type: 'numeric not null', value: "(n % 400 || '.' || repeat('3', 28))::numeric" },
  token: { type: 'uuid not null', value: 'md5((n % 600)::text)::uuid' },
  label: {
    type: 'text not null',
    value: "chr(65 + n % 5) || case when n % 2 = 0 then chr(97 + n % 3) else 'É' || n % 9 end",
  },
  maybe: { type: 'int', value: 'case when n % 3 > 0 then n % 11 end' },
}

/** In the long run each column that has a value everywhere has a twin that has not, and the other way round. */
const twins = Object.entries(isLong ? NAMED : {}).map(([name, { type, value }], index) => {
  if (!type.endsWith(' not null')) return [`${name}_always`, { type: `${type} not null`, value: 'n % 11' }] as const
  const twin = { type: type.replace(' not null', ''), value: `case when n % ${index + 2} > 0 then ${value} end` }
  return [`${name}_or_null`, twin] as const
})
const columns = [...Object.entries(NAMED), ...twins]
const insert = (from: string) =>
  `insert into items (id, ${columns.map(([name]) => name).join(', ')}) select n, ${columns.map(([, { value }]) => value).join(', ')} from ${from}`

class Item extends Model {
  static override tableName = 'items'
}

class ItemSerializer extends ModelSerializer<Item> {
  static override model = Item
  static override fields = '__all__'
}

let database: TestDatabase
let client: Client
let api: APIRouter
const cases = columns.flatMap(([name]) => [name, `-${name}`])

beforeAll(async () => {
  configure({ secretKey: 'a secret of the traversal' })
  const schema = `create table items (id int primary key, ${columns.map(([name, { type }]) => `${name} ${type}`).join(', ')});
    ${insert(`generate_series(1, ${ROWS}) n`)};`
  database = await createDatabase({ schema })
  Item.knex(database.knex)
  api = new APIRouter({ prefix: '/api' })
  const view = (paginationClass: Pagination, order?: string) =>
    class extends ReadOnlyModelViewSet<Item> {
      static override model = Item
      static override serializerClass = ItemSerializer
      static override paginationClass = paginationClass
      static override ordering = order === undefined ? [] : [order]
    }
  cases.forEach((order, index) => {
    api.register(`pages-${index}`, view(new CursorPagination({ ordering: order, pageSize: 97 })), `pages-${index}`)
    api.register(`rows-${index}`, view(new ServerCursorPagination({ pageSize: 97 }), order), `rows-${index}`)
  })
  await api.prepare()
  client = await serving(api.routes())
})
afterAll(async () => {
  await api?.close()
  await client?.close()
  await database?.drop()
})

interface Page {
  readonly results: readonly { id: number }[]
  readonly next: string | null
  readonly previous: string | null
  readonly cursor_id: string
  readonly exhausted: boolean
}

async function read(path: string): Promise<Page> {
  const response = await client.get(path)
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${response.text}`)
  return response.json as Page
}

const own = (page: Page) => page.results.map(({ id }) => id).filter((id) => id < FIRST_OF_WRITER)

/** Inserts, moves and deletes rows of its own, as fast as it can, until it is told to end. */
async function startWriter() {
  const connection = new pg.Client(database.connection)
  await connection.connect()
  let over = false
  let written = 0
  const moved = columns.map(([name, { value }]) => `${name} = ${value.replace(/\bn\b/g, '(id + $2::int)')}`).join(', ')
  const writing = (async () => {
    while (!over) {
      const n = FIRST_OF_WRITER + (written % 400)
      await connection.query(`${insert('(select $1::int as n) given')} on conflict do nothing`, [n])
      await connection.query(`update items set ${moved} where id = $1`, [n - 7, written])
      await connection.query('delete from items where id = $1', [n - 90])
      written += 3
    }
  })()
  return async () => {
    over = true
    await writing
    await connection.end()
    return written
  }
}

function expectOnce(ids: readonly number[], what: string): void {
  expect({ what, seen: ids.length, different: new Set(ids).size }).toEqual({ what, seen: ROWS, different: ROWS })
}

it(`[P3 D9 D10 D21] ${cases.length} orders of ${ROWS} rows, forward and back, by both cursors: none lost, none repeated`, {
  timeout: 1_200_000,
}, async () => {
  const begin = performance.now()
  const stop = await startWriter()
  let pages = 0
  let faults = 0
  try {
    for (let round = 0; round < ROUNDS; round++) {
      for (const [index, order] of cases.entries()) {
        const forward: number[] = []
        let page = await read(`/api/pages-${index}`)
        for (;;) {
          pages++
          forward.push(...own(page))
          if (page.next === null) break
          page = await read(page.next)
        }
        expectOnce(forward, `${order} forward`)
        const back = own(page).reverse()
        while (page.previous !== null) {
          pages++
          page = await read(page.previous)
          back.push(...own(page).reverse())
        }
        expectOnce(back, `${order} back`)
        const all: number[] = []
        let rows = await read(`/api/rows-${index}`)
        for (;;) {
          pages++
          all.push(...own(rows))
          if (rows.exhausted) break
          rows = await read(`/api/rows-${index}?server_cursor=${rows.cursor_id}`)
        }
        expectOnce(all, `${order} at once`)
      }
    }
  } catch (error) {
    faults++
    throw error
  } finally {
    const written = await stop()
    const seconds = (performance.now() - begin) / 1_000
    report('P3 traversal', {
      orders: cases.length,
      rows: ROWS,
      pages,
      faults,
      'writes per second': Math.round(written / seconds),
      seconds: seconds.toFixed(1),
    })
    if (isLong) expect(written / seconds).toBeGreaterThan(100)
  }
})
