/** Recorded changes are those that were committed: PostgreSQL's own log is the record, whatever ends the processes that write. */
import { setTimeout as sleep } from 'node:timers/promises'
import knexLibrary, { type Knex } from 'knex'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Postgres, startPostgres } from '../../examples/support/postgres.js'
import { ensureChangesTable, type ReadChange, readChanges } from '../../lib/changes/index.js'
import { LIBRARY } from '../support/library.js'
import { toUrl } from '../support/program.js'
import { type App, type Bundle, bundle, startApps } from './support/killed-apps.js'
import { Random } from './support/random.js'
import { report, seed, size } from './support/size.js'

const WRITERS = 12

let postgres: Postgres
let program: Bundle
let client: pg.Client
let knex: Knex
beforeAll(async () => {
  program = await bundle('changes-server', ['changes'])
  postgres = await startPostgres({
    settings: { wal_level: 'logical', max_replication_slots: '4', max_wal_senders: '4' },
  })
  client = new pg.Client(postgres.connection)
  await client.connect()
  await client.query(`
    ${LIBRARY}
    alter table books add check (title <> 'refused');
    alter table books replica identity full; alter table reviews replica identity full;`)
  knex = knexLibrary({ client: 'pg', connection: postgres.connection })
  await ensureChangesTable(knex)
})
afterAll(() => knex.destroy())
afterAll(async () => {
  await client.end()
  await postgres.stop()
  program.remove()
})

/** A change of a row: what it was, and what it is. */
interface Change {
  readonly transaction: string
  /** `books 7`. */
  readonly name: string
  readonly before: unknown
  readonly after: unknown
}

interface Tuple {
  readonly id?: string
  readonly [column: string]: string | null | undefined
}

/** Columns as `test_decoding` writes them: `id[integer]:1 title[text]:'Emma'`. */
function tupleOf(text: string): Tuple {
  const cells = text.matchAll(/(\w+)\[[^\]]*\]:('(?:[^']|'')*'|\S+)/g)
  return Object.fromEntries(
    [...cells].map(([, name = '', value = '']) => [
      name,
      value === 'null' ? null : value.startsWith("'") ? value.slice(1, -1).replaceAll("''", "'") : value,
    ]),
  )
}

/** What a serializer shows of a row. */
function imageOf(table: string, tuple: Tuple | undefined): unknown {
  if (!tuple) return null
  // columns of an old row that are null are left out
  const { id, title, price = null, text } = tuple
  return table === 'books' ? { id: Number(id), title, price } : { id: Number(id), text }
}

/** The changes of the log, each object of a transaction once, in the order of their commits. */
function committed(lines: readonly string[]): Change[] {
  const all: Change[] = []
  let transaction = ''
  let open = new Map<string, { before: unknown; after: unknown }>()
  for (const line of lines) {
    const [, begun] = /^BEGIN (\d+)$/.exec(line) ?? []
    if (begun !== undefined) {
      transaction = begun
      open = new Map()
      continue
    }
    if (line.startsWith('COMMIT')) {
      for (const [name, { before, after }] of open)
        if (JSON.stringify(before) !== JSON.stringify(after)) all.push({ transaction, name, before, after })
      continue
    }
    const [, table = '', event = '', rest = ''] = /^table public\."?(\w+)"?: (\w+): (.*)$/.exec(line) ?? []
    if (table !== 'books' && table !== 'reviews') continue
    const [old = '', fresh] = event === 'UPDATE' ? rest.split(' new-tuple: ') : [rest]
    const was = event === 'INSERT' ? undefined : tupleOf(old)
    const is = event === 'DELETE' ? undefined : tupleOf(fresh ?? rest)
    const name = `${table} ${(is ?? was)?.id}`
    open.set(name, { before: open.has(name) ? open.get(name)?.before : imageOf(table, was), after: imageOf(table, is) })
  }
  return all
}

async function recorded(): Promise<Change[]> {
  const { rows } = await client.query(
    `select transaction::text, model || ' ' || key as name, before, after from koa_viewsets_changes order by id`,
  )
  return rows
}

/** Writes until it is told to stop; a process that is gone is no matter. */
async function write(apps: readonly App[], random: Random, isOver: () => boolean): Promise<number> {
  let answered = 0
  let step = 0
  while (!isOver()) {
    const app = random.pick(apps)
    const id = 1 + random.below(40)
    const title = random.chance(0.05) ? 'refused' : `title ${seed} ${step++} '${random.below(1_000)}'`
    const reviews = random.some([{ text: 'good' }, { text: "it's fine" }])
    const [method, path, body] = random.pick<[string, string, unknown?]>([
      ['POST', '/flat', { title, price: '1.5' }],
      ['POST', '/books', { title, reviews }],
      ['PATCH', `/flat/${id}`, { title }],
      ['PATCH', `/books/${id}`, { title, reviews }],
      ['PATCH', `/books/bulk`, [id, id + 1, id + 2].map((key) => ({ id: key, title: `${title} ${key}` }))],
      ['PUT', `/flat/${id}`, { title, price: null }],
      ['DELETE', `/books/${id}`],
      ['POST', '/flat/bulk', [{ title }, { title: `${title} 2` }]],
    ])
    try {
      const response = await fetch(`http://127.0.0.1:${app.port}${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      await response.text()
      expect([200, 201, 204, 400, 404, 503]).toContain(response.status)
      answered++
    } catch (error) {
      if ((error as Error).name === 'AssertionError') throw error
      await sleep(20)
    }
  }
  return answered
}

/** Reads on until the writers have ended. */
async function follow(isOver: () => boolean): Promise<readonly ReadChange[]> {
  const read: ReadChange[] = []
  let position: string | undefined
  let quiet = 0
  // backends of killed processes may still commit for a moment
  while (quiet < 10) {
    const page = await readChanges(knex, { position, limit: 20 })
    position = page.position
    read.push(...page.changes)
    quiet = isOver() && page.changes.length === 0 ? quiet + 1 : 0
    if (page.changes.length === 0) await sleep(50)
  }
  return read
}

describe('recorded changes', () => {
  const kills = size(2, 200)

  it(`are the committed ones, though processes are killed ${kills} times`, { timeout: 3_600_000 }, async () => {
    await client.query(`select pg_create_logical_replication_slot('changes', 'test_decoding')`)
    const { host, port, user, database } = postgres.connection
    const { apps, stop } = await startApps(program.file, toUrl({ host, port, user, database }), 2)
    let isOver = false
    const followed = follow(() => isOver)
    const writers = Array.from({ length: WRITERS }, (_, writer) => write(apps, new Random(seed + writer), () => isOver))
    const random = new Random(seed)
    try {
      for (let kill = 0; kill < kills; kill++) {
        await sleep(200 + random.below(400))
        const app = apps[kill % apps.length] as App
        await app.kill()
        await app.start()
      }
      await sleep(500)
    } finally {
      isOver = true
      await Promise.allSettled(writers)
      await stop()
    }
    const answers = await Promise.all(writers)
    // a backend whose process is gone ends what it does
    await sleep(500)
    const read = await followed
    const { rows } = await client.query(
      `select data from pg_logical_slot_get_changes('changes', null, null, 'include-xids', '1', 'skip-empty-xacts', '1')`,
    )
    const expected = committed(rows.map(({ data }) => data as string))
    const found = await recorded()
    const byTransaction = (changes: readonly Change[]) =>
      Object.fromEntries(
        changes.map(({ transaction, name, before, after }) => [
          `${transaction} ${name}`,
          JSON.stringify([before, after]),
        ]),
      )
    expect(byTransaction(found)).toEqual(byTransaction(expected))
    expect(found).toHaveLength(expected.length)
    const orderOf = (changes: readonly Change[]) => {
      const names = [...new Set(changes.map(({ name }) => name))].sort()
      return names.map((name) => [
        name,
        changes.filter((one) => one.name === name).map(({ transaction }) => transaction),
      ])
    }
    // of one object, ids are in the order of the commits
    expect(orderOf(found)).toEqual(orderOf(expected))
    // who reads on from its position has read the same, and those of one object in the same order
    expect(new Set(read.map(({ id }) => id)).size).toBe(read.length)
    const names = read.map(({ model, key, id }) => [`${model} ${key}`, Number(id)] as const)
    expect(names.length).toBe(found.length)
    const last = new Map<string, number>()
    for (const [name, id] of names) {
      expect(id).toBeGreaterThan(last.get(name) ?? 0)
      last.set(name, id)
    }
    expect(found.length).toBeGreaterThan(50)
    const answered = answers.reduce((sum, one) => sum + one, 0)
    report('changes', { kills, writers: WRITERS, answered, changes: found.length, seed })
  })
})
