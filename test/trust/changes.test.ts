/** Recorded changes are those that were committed: PostgreSQL's own log is the record, whatever ends the processes that write. */
import { setTimeout as sleep } from 'node:timers/promises'
import knexLibrary, { type Knex } from 'knex'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ensureChangesTable, type ReadChange, readChanges, recordChange } from '../../lib/changes/index.js'
import { findPgBouncer, startPgBouncer, warnWithoutPgBouncer } from '../support/pgbouncer.js'
import { toUrl } from '../support/program.js'
import type { Server } from '../support/standbys.js'
import { createSlot, type Decoder, findDecoder } from './support/committed-rows.js'
import { type Failover, killServer, startFailover } from './support/failover.js'
import { type App, type Bundle, bundle, startApps } from './support/killed-apps.js'
import { Random } from './support/random.js'
import { report, seed, size } from './support/size.js'
import {
  type Change,
  committed,
  killing,
  type RecordingPostgres,
  recorded,
  SCHEMA,
  startRecording,
  type Told,
  WRITERS,
  write,
} from './support/writers.js'

let program: Bundle
beforeAll(async () => {
  program = await bundle('changes-server', ['changes'])
})
afterAll(() => program.remove())

/** Reads on until the writers have ended, over whatever ends its connections. */
async function follow(knex: Knex, isOver: () => boolean): Promise<readonly ReadChange[]> {
  const read: ReadChange[] = []
  let position: string | undefined
  let quiet = 0
  // backends of killed processes may still commit for a moment
  while (quiet < 10) {
    const page = await readChanges(knex, { position, limit: 20 }).catch(() => undefined)
    if (page) {
      position = page.position
      read.push(...page.changes)
    }
    quiet = isOver() && page?.changes.length === 0 ? quiet + 1 : 0
    if (!page || page.changes.length === 0) await sleep(50)
  }
  return read
}

interface Fire {
  readonly knex: Knex
  /** Where the apps find the database. */
  readonly url: string
  readonly env?: Readonly<Record<string, string>>
  /** What its random data comes from. @default that of the run */
  readonly random?: number
}

interface Survived extends Told {
  readonly read: readonly ReadChange[]
}

/** Many writers and a reader, while something ends what they work with. */
async function underFire(
  { knex, url, env, random = seed }: Fire,
  strike: (apps: readonly App[], random: Random) => Promise<void>,
): Promise<Survived> {
  const { apps, stop } = await startApps(program.file, url, 2, env)
  const told: Told = { answered: 0, created: new Set() }
  let isOver = false
  const followed = follow(knex, () => isOver)
  const writers = Array.from({ length: WRITERS }, (_, writer) =>
    write(apps, new Random(random + writer), told, () => isOver),
  )
  try {
    await strike(apps, new Random(random))
    await sleep(500)
  } finally {
    isOver = true
    await Promise.allSettled(writers)
    await stop()
  }
  await Promise.all(writers)
  // a backend whose process is gone ends what it does
  await sleep(500)
  return { ...told, read: await followed }
}

const byTransaction = (changes: readonly Change[]) =>
  Object.fromEntries(
    changes.map(({ transaction, name, before, after }) => [`${transaction} ${name}`, JSON.stringify([before, after])]),
  )

/** The transactions of each object, in their order. */
const ordersOf = (changes: readonly Change[]) => {
  const orders = new Map<string, string[]>()
  for (const { name, transaction } of changes) orders.set(name, [...(orders.get(name) ?? []), transaction])
  return [...orders].sort(([one], [other]) => (one < other ? -1 : 1))
}

/** Committed = recorded = read, each once, those of one object in their order; and what was answered is there. */
function expectSame(expected: readonly Change[], found: readonly Change[], { read, created }: Survived): void {
  expect(byTransaction(found)).toEqual(byTransaction(expected))
  expect(found).toHaveLength(expected.length)
  // of one object, ids are in the order of the commits
  expect(ordersOf(found)).toEqual(ordersOf(expected))
  // who reads on from its position has read the same, and those of one object in the same order
  expect(new Set(read.map(({ id }) => id)).size).toBe(read.length)
  expect(read).toHaveLength(found.length)
  const last = new Map<string, number>()
  for (const { model, key, id } of read) {
    const name = `${model} ${key}`
    expect(Number(id)).toBeGreaterThan(last.get(name) ?? 0)
    last.set(name, Number(id))
  }
  const there = new Set(found.filter(({ before }) => before === null).map(({ name }) => name))
  expect([...created].filter((id) => !there.has(`books ${id}`))).toEqual([])
  expect(found.length).toBeGreaterThan(50)
}

describe('recorded changes are the committed ones', () => {
  const decoder = findDecoder()
  if (decoder.plugin !== 'wal2json') console.warn('wal2json is not installed: test_decoding is the record')
  let postgres: RecordingPostgres
  let knex: Knex
  beforeEach(async () => {
    postgres = await startRecording(decoder, ensureChangesTable)
    knex = postgres.knex
  })
  afterEach(async () => postgres.stop())

  const kills = size(2, 200)
  it(`though processes are killed ${kills} times`, { timeout: 3_600_000 }, async () => {
    const survived = await underFire({ knex, url: postgres.url }, killing(kills))
    const found = await recorded(knex)
    expectSame(await committed(knex, decoder), found, survived)
    const { answered } = survived
    report('changes', { record: decoder.plugin, kills, writers: WRITERS, answered, changes: found.length, seed })
  })

  const pgbouncer = findPgBouncer()
  if (!pgbouncer) warnWithoutPgBouncer()
  it.skipIf(!pgbouncer)(`behind PgBouncer by transaction`, { timeout: 3_600_000 }, async () => {
    const bouncer = await startPgBouncer({
      mode: 'transaction',
      server: { ...postgres.connection },
      settings: { default_pool_size: 6 },
    })
    const connection = { ...bouncer.connection, database: postgres.connection.database }
    // who reads on does so through it, too
    const pooled = knexLibrary({ client: 'pg', connection })
    try {
      const fire = { knex: pooled, url: toUrl(connection), env: { PREPARED_STATEMENTS: 'false' } }
      const survived = await underFire(fire, killing(kills))
      const found = await recorded(knex)
      expectSame(await committed(knex, decoder), found, survived)
      const { answered } = survived
      report('changes, PgBouncer', { record: decoder.plugin, kills, answered, changes: found.length, seed })
    } finally {
      await pooled.destroy()
      await bouncer.stop()
    }
  })
})

// processes of a server are found where Linux has them
describe.skipIf(process.platform !== 'linux')('a standby that takes the place of its primary', () => {
  const decoder: Decoder = { plugin: 'test_decoding', binaries: undefined, settings: {} }
  let failover: Failover
  let primary: Server
  let standby: Server
  let knex: Knex
  beforeEach(async () => {
    failover = await startFailover(async (own) => {
      await own.raw(SCHEMA)
      await ensureChangesTable(own)
    })
    ;({ primary, standby, knex } = failover)
  })
  afterEach(() => failover.stop())

  const change = (trx: Knex.Transaction, key: number) => recordChange(trx, { model: 'books', key, action: 'update' })
  const keysOf = (changes: readonly ReadChange[]) => changes.map(({ key }) => key)

  it('tells no more than it knows: what is running on the primary comes when it has ended', async () => {
    const running = await primary.knex.transaction()
    await change(running, 1)
    await primary.knex.transaction((trx) => change(trx, 2))
    await failover.caughtUp()
    const page = await readChanges(standby.knex)
    const { position: now } = await readChanges(standby.knex, { position: 'now' })
    await running.commit()
    await failover.caughtUp()
    const rest = await readChanges(standby.knex, { position: page.position })
    expect([...keysOf(page.changes), ...keysOf(rest.changes)].sort()).toEqual(['1', '2'])
    expect(keysOf((await readChanges(standby.knex, { position: now })).changes)).toContain('1')
    expect((await readChanges(primary.knex, { position: rest.position })).changes).toEqual([])
  })

  it('goes on from a position of the primary, which knows more', async () => {
    const [first, second] = [await primary.knex.transaction(), await primary.knex.transaction()]
    await change(first, 1)
    await change(second, 2)
    await primary.knex.transaction((trx) => change(trx, 3))
    const { position } = await readChanges(primary.knex)
    await first.commit()
    await failover.caughtUp()
    const page = await readChanges(standby.knex, { position })
    expect(keysOf(page.changes)).toEqual(['1'])
    expect((await readChanges(standby.knex, { position: page.position })).changes).toEqual([])
    await second.commit()
    await failover.caughtUp()
    const rest = await readChanges(standby.knex, { position: page.position })
    expect(keysOf(rest.changes)).toEqual(['2'])
    expect((await readChanges(primary.knex, { position: rest.position })).changes).toEqual([])
  })

  /** The standby does not hear of anything, until it goes on. */
  async function deafen(): Promise<{ goOn(): void }> {
    const { rows } = await standby.knex.raw(`select pid from pg_stat_activity where backend_type = 'walreceiver'`)
    const { pid } = rows[0]
    process.kill(pid, 'SIGSTOP')
    return { goOn: () => void process.kill(pid, 'SIGCONT') }
  }

  async function rollBack(times: number): Promise<void> {
    for (let n = 0; n < times; n++) {
      const trx = await knex.transaction()
      await change(trx, n)
      await trx.rollback()
    }
  }

  it('gives numbers of transactions again, which no position has seen', async () => {
    await knex.transaction((trx) => change(trx, 1))
    const { goOn } = await deafen()
    await rollBack(5)
    const { changes, position } = await readChanges(knex)
    expect(keysOf(changes)).toEqual(['1'])
    killServer(primary.postgres)
    goOn()
    await failover.takeOver()
    for (let n = 0; n < 8; n++) await knex.transaction((trx) => change(trx, 200 + n))
    const rest = await readChanges(knex, { position })
    expect(keysOf(rest.changes)).toEqual(Array.from({ length: 8 }, (_, n) => String(200 + n)))
  })

  it('has heard of what "now" has seen', async () => {
    const { goOn } = await deafen()
    await rollBack(5)
    let isAnswered = false
    const now = readChanges(knex, { position: 'now' }).finally(() => {
      isAnswered = true
    })
    await sleep(300)
    expect(isAnswered).toBe(false)
    goOn()
    const { position } = await now
    await failover.takeOver()
    await knex.transaction((trx) => change(trx, 1))
    expect(keysOf((await readChanges(knex, { position })).changes)).toEqual(['1'])
  })

  const failovers = Array.from({ length: size(1, 10) }, (_, index) => seed + index)
  it.each(failovers)('has all recorded changes, and readers read on [%i]', { timeout: 600_000 }, async (own) => {
    const { rows } = await standby.knex.raw(`select current_setting('server_version_num')::int >= 160000 as decodes`)
    // before PostgreSQL 16 no log is read that a standby writes on: then what was read and answered must be there
    const [{ decodes }] = rows
    if (decodes) {
      await Promise.all([
        standby.knex.raw(createSlot(decoder)),
        // a slot of a standby begins with what its primary says is running
        sleep(200).then(() => primary.knex.raw('select pg_log_standby_snapshot()')),
      ])
    }
    const survived = await underFire({ knex, url: failover.url, random: own }, async (_, random) => {
      await sleep(1_000 + random.below(1_000))
      await failover.takeOver()
      await sleep(1_500)
    })
    const found = await recorded(standby.knex)
    expectSame(decodes ? await committed(standby.knex, decoder) : found, found, survived)
    report('changes, failover', {
      record: decoder.plugin,
      changes: found.length,
      answered: survived.answered,
      seed: own,
    })
  })
})
