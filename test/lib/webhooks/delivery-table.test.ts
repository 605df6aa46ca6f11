/** The queue of deliveries. */
import type { Knex } from 'knex'
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import {
  addDeliveries,
  type NewDelivery,
  promoteAll,
  selectPostponed,
  sweepDeliveries,
} from '../../../lib/webhooks/delivery-table.js'
import { ensureWebhookTables } from '../../../lib/webhooks/index.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
  await ensureWebhookTables(database.knex)
})
afterAll(() => database.drop())
beforeEach(() => database.knex.raw('truncate koa_viewsets_webhook_deliveries'))

const newDelivery = (id: string, endpoint: number, body: string | null): NewDelivery => ({
  id,
  endpointId: `00000000-0000-0000-0000-00000000000${endpoint}`,
  changeId: id.slice(1),
  object: id.slice(1),
  event: 'book.updated',
  body,
})

/** The bodies that each statement sends, and those that are in the table then. */
async function add(deliveries: readonly NewDelivery[]) {
  const { knex } = database
  const sent: unknown[] = []
  const note = ({ sql, bindings }: { sql: string; bindings: readonly unknown[] }) => {
    if (sql.includes('insert into koa_viewsets_webhook_deliveries')) sent.push(bindings.at(-1))
  }
  knex.on('query', note)
  onTestFinished(() => void knex.off('query', note))
  await knex.transaction((trx) => addDeliveries(trx, deliveries))
  const rows = await knex('koa_viewsets_webhook_deliveries').select('id', 'state', 'body').orderBy('id')
  return { sent, rows }
}

it('is sent the body of many deliveries once', async () => {
  const { sent, rows } = await add([
    newDelivery('a1', 1, '{"n":1}'),
    newDelivery('b1', 2, '{"n":1}'),
    newDelivery('c1', 3, null),
    newDelivery('d2', 1, '{"n":2}'),
    newDelivery('e2', 2, '{"n":1}'),
  ])
  expect(sent).toEqual([['{"n":1}', '{"n":2}']])
  expect(rows).toEqual([
    { id: 'a1', state: 'pending', body: '{"n":1}' },
    { id: 'b1', state: 'pending', body: '{"n":1}' },
    { id: 'c1', state: 'postponed', body: null },
    { id: 'd2', state: 'pending', body: '{"n":2}' },
    { id: 'e2', state: 'pending', body: '{"n":1}' },
  ])
})

it('is sent large bodies by several statements, and each delivery by one', async () => {
  const large = ['x', 'y', 'z'].map((letter) => letter.repeat(5_000_000))
  const { sent, rows } = await add(
    large.flatMap((body, index) => [
      newDelivery(`a${index}`, 1, body),
      newDelivery(`b${index}`, 2, null),
      newDelivery(`c${index}`, 3, body),
    ]),
  )
  expect(sent).toEqual(large.map((body) => [body]))
  const bodyOf = new Map(rows.map(({ id, body }) => [id, body]))
  expect(rows).toHaveLength(9)
  expect(large.map((body, index) => [`a${index}`, `c${index}`].map((id) => bodyOf.get(id) === body))).toEqual(
    large.map(() => [true, true]),
  )
})

it('is read by its index where nearly all that is open is of one object', async () => {
  const { knex } = database
  await knex.raw(
    `insert into koa_viewsets_webhook_deliveries (id, endpoint_id, change_id, object, event, body, waits)
     select 'a' || n, '00000000-0000-0000-0000-000000000001', n, '0', 'book.updated', '{}', n > 1 from generate_series(1, 3000) as n`,
  )
  await knex.raw('analyze koa_viewsets_webhook_deliveries')
  const others = Array.from({ length: 50 }, (_, index) => newDelivery(`b${10_000 + index}`, 1, '{}'))
  const read = await knex.transaction(async (trx) => {
    const before = await readBySeqScans(trx)
    await addDeliveries(trx, others)
    return (await readBySeqScans(trx)) - before
  })
  expect(read).toBe(0)
})

/** The rows that a transaction has read of the queue without an index. */
async function readBySeqScans(trx: Knex): Promise<number> {
  const { rows } = await trx.raw<{ rows: { read: number }[] }>(
    "select seq_tup_read::int as read from pg_stat_xact_user_tables where relid = 'koa_viewsets_webhook_deliveries'::regclass",
  )
  return rows[0]?.read ?? Number.NaN
}

it('lets the first that is open of each object go on', async () => {
  const { knex } = database
  const deliveries = ['a', 'b', 'c', 'd'].map((letter, index) => ({
    ...newDelivery(`${letter}${index}`, index < 3 ? 1 : 2, '{}'),
    object: 'x',
  }))
  await knex.transaction((trx) => addDeliveries(trx, deliveries))
  const waiting = async () => {
    await promoteAll(knex)
    return knex('koa_viewsets_webhook_deliveries').where('waits', true).orderBy('id').pluck('id')
  }
  expect(await waiting()).toEqual(['b1', 'c2'])
  await knex('koa_viewsets_webhook_deliveries').where('id', 'a0').update({ ended_at: knex.fn.now() })
  expect(await waiting()).toEqual(['c2'])
})

it('keeps what is for endpoints of a table whose name has capitals', async () => {
  const { knex } = database
  const delivery = newDelivery('a1', 1, '{}')
  await knex.raw('create table "Hooks" (like koa_viewsets_webhook_endpoints including all)')
  await knex('Hooks').insert({
    id: delivery.endpointId,
    owner: '1',
    url: 'https://example.com',
    events: [],
    secret: 'x',
  })
  await add([delivery])
  for (const endpoints of ['Hooks', 'koa_viewsets_webhook_endpoints', 'gone']) {
    await knex('koa_viewsets_webhook_progress').insert({ endpoints, position: '' })
  }
  await sweepDeliveries(knex, 30)
  expect(await knex('koa_viewsets_webhook_deliveries').pluck('id')).toEqual(['a1'])
})

it('leaves what is postponed of a resource whose name goes on behind a dot to those who tell it', async () => {
  const { knex } = database
  const postponed = ['shop.created', 'shop.author.created'].map((event, index) => ({
    ...newDelivery(`a${index + 1}`, 1, null),
    event,
  }))
  await knex.transaction((trx) => addDeliveries(trx, postponed))
  const toldBy = async (events: readonly string[]) =>
    (await selectPostponed(knex, postponed[0]?.endpointId ?? '', { events, limit: 9 })).map(({ event }) => event)
  expect(await toldBy(['shop.*'])).toEqual(['shop.created'])
  expect(await toldBy(['shop.author.*'])).toEqual(['shop.author.created'])
  expect(await toldBy(['shop.created', 'shop.author.created'])).toEqual(['shop.created', 'shop.author.created'])
})
