/** Usage events in PostgreSQL, written in batches behind the requests (promises G12 and I12). */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { Kind } from '../kernel/kinds.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { createTable } from '../postgres/create-table.js'
import { readRows } from '../postgres/type-parsers.js'
import type { MeteringEngine, UsageEvent, UsageReport, UsageTotal } from './engine.js'

/** Options of `PostgresMeteringEngine`. */
export interface PostgresMeteringEngineOptions {
  /** The database; a pool of its own where the application's is read-only or busy. */
  readonly knex: Knex
  /** The table, with its schema if there is one. @default 'koa_viewsets_usage' */
  readonly table?: string
  /** The most events in one statement. @default 500 */
  readonly batchSize?: number
  /** How long an event waits for others, in milliseconds; also the pause after a failure. @default 1000 */
  readonly interval?: number
  /** How many events wait at most while the database is away; those beyond are lost. @default 10_000 */
  readonly maxQueue?: number
  /** How long `close()` tries, in milliseconds. @default 5000 */
  readonly closeTimeout?: number
}

const KINDS = {
  knex: 'any',
  table: 'name',
  batchSize: 'size',
  interval: 'milliseconds',
  maxQueue: 'size',
  closeTimeout: 'milliseconds',
} as const satisfies Record<keyof PostgresMeteringEngineOptions, Kind>

/** Events that are written together. The number makes a batch that is sent twice count once. */
interface Batch {
  readonly id: string
  readonly events: readonly UsageEvent[]
  /** Another part of the same events was, or may be, refused. */
  readonly isPart?: boolean
}

/**
 * Keeps usage events in a table. `record()` only queues; the queue is bounded, and written by one statement for each
 * batch, which counts once even when its answer was lost and it is sent again. While the database is away events wait,
 * and one warning says so. `close()` writes what is left.
 * @example
 * const engine = new PostgresMeteringEngine({ knex })
 * await engine.ensureTable()
 * setMeteringEngine(engine)
 */
export class PostgresMeteringEngine implements MeteringEngine, UsageReport {
  readonly #options: Required<PostgresMeteringEngineOptions>
  readonly #queue: UsageEvent[] = []
  #batch: Batch | undefined
  #writing: Promise<boolean> | undefined
  #timer: NodeJS.Timeout | undefined
  #failing = false
  #lost = 0
  /** Events that were refused behind the one that was reported; undefined once a whole batch was written. */
  #refused: number | undefined

  /** @throws {ConfigurationError} an option is unknown, or of another kind */
  constructor(options: PostgresMeteringEngineOptions) {
    checkKinds('PostgresMeteringEngine', options, { kinds: KINDS })
    const { knex, table = 'koa_viewsets_usage' } = options
    const { batchSize = 500, interval = 1000, maxQueue = 10_000, closeTimeout = 5000 } = options
    this.#options = { knex, table, batchSize, interval, maxQueue, closeTimeout }
  }

  /** Creates the table, with its index, where it is missing, whoever else does so at the same time; its owner's alone, whatever default privileges say. */
  async ensureTable(): Promise<void> {
    const name = this.#options.table.split('.').at(-1) as string
    await createTable(
      this.#options.knex,
      this.#options.knex.raw('??', [this.#options.table]).toQuery(),
      async (trx) => {
        await trx.raw(
          `create table if not exists ?? (
          batch uuid not null, position int not null, primary key (batch, position),
          meter_name text not null, account_id text not null, requests bigint not null,
          response_bytes bigint not null, duration_ms numeric not null, "timestamp" timestamptz not null)`,
          [this.#options.table],
        )
        await trx.raw('create index if not exists ?? on ?? (account_id, "timestamp")', [
          `${name}_account_timestamp`,
          this.#options.table,
        ])
      },
    )
  }

  record(event: UsageEvent): void {
    if (this.#queue.length >= this.#options.maxQueue) {
      this.#lost++
      return
    }
    this.#queue.push(event)
    if (this.#queue.length >= this.#options.batchSize && !this.#failing) void this.#write()
    else this.#schedule()
  }

  /** The sums of an account; what this process has not written yet is written first. */
  async usage(account: string, from: Date, to: Date): Promise<readonly UsageTotal[]> {
    await this.flush()
    // names that mappers of knex leave as they are
    const rows = await readRows<Record<'meter' | 'requests' | 'bytes' | 'duration', string>>(
      this.#options.knex,
      `select meter_name as meter, sum(requests) as requests, sum(response_bytes) as bytes, sum(duration_ms) as duration
       from ?? where account_id = ? and "timestamp" >= ? and "timestamp" < ? group by 1 order by meter_name collate "C"`,
      [this.#options.table, account, from.toISOString(), to.toISOString()],
    )
    return rows.map(({ meter, requests, bytes, duration }) => ({
      meter_name: meter,
      requests: Number(requests),
      response_bytes: Number(bytes),
      duration_ms: Number(duration),
    }))
  }

  /** Writes what is queued. False when the database refused; what was not written stays queued. */
  async flush(): Promise<boolean> {
    while (this.#batch || this.#queue.length > 0) if (!(await this.#write())) return false
    return true
  }

  /** Writes what is queued, trying again for as long as `closeTimeout`; events that come later are still written. */
  async close(): Promise<void> {
    const end = new AbortController()
    const written = this.#flushUntil(end.signal).catch(() => {})
    await Promise.race([written, delay(this.#options.closeTimeout, undefined, { signal: end.signal }).catch(() => {})])
    end.abort()
    const left = this.#lost + this.#queue.length + (this.#batch?.events.length ?? 0)
    if (left > 0) warn(`${left} usage events could not be written before the end`)
    if (this.#refused) warn(`${this.#refused} more usage events were refused and are lost`)
    this.#lost = 0
    this.#refused = undefined
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  async #flushUntil(signal: AbortSignal): Promise<void> {
    while (!(await this.flush())) await delay(Math.min(this.#options.interval, 100), undefined, { signal })
  }

  #schedule(): void {
    if (this.#timer) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#write()
    }, this.#options.interval).unref()
  }

  /** Writes one batch. One at a time: a second caller gets the first one's result. */
  #write(): Promise<boolean> {
    this.#writing ??= this.#writeBatch().finally(() => {
      this.#writing = undefined
      // a full queue takes no event that could ask for the next batch
      if (!this.#failing && this.#queue.length >= this.#options.batchSize) void this.#write()
      else if (this.#batch || this.#queue.length > 0) this.#schedule()
    })
    return this.#writing
  }

  async #writeBatch(): Promise<boolean> {
    this.#batch ??= { id: randomUUID(), events: this.#queue.splice(0, this.#options.batchSize) }
    const { id, events, isPart } = this.#batch
    try {
      await this.#insert(id, events)
    } catch (cause) {
      if (isRefused(cause)) {
        this.#leaveOut(events, cause)
        return true
      }
      if (!this.#failing) warn(`usage events cannot be written and wait: ${describe(cause)}`)
      this.#failing = true
      return false
    }
    this.#batch = undefined
    this.#failing = false
    if (isPart) return true
    if (this.#lost > 0) warn(`${this.#lost} usage events were lost while the database was away`)
    if (this.#refused) warn(`${this.#refused} more usage events were refused and are lost`)
    this.#lost = 0
    this.#refused = undefined
    return true
  }

  /** Loses the one event that is refused, which would hold up all behind it; others are written in parts, until it is found. */
  #leaveOut(events: readonly UsageEvent[], cause: unknown): void {
    const half = events.length >> 1
    if (half > 0) {
      this.#batch = { id: randomUUID(), events: events.slice(0, half), isPart: true }
      this.#queue.unshift(...events.slice(half))
      return
    }
    this.#batch = undefined
    if (this.#refused === undefined) warn(`1 usage event was refused and is lost: ${describe(cause)}`)
    this.#refused = this.#refused === undefined ? 0 : this.#refused + 1
  }

  async #insert(id: string, events: readonly UsageEvent[]): Promise<void> {
    if (events.length === 0) return
    const columns = [
      events.map(({ meter_name }) => storable(meter_name)),
      events.map(({ account_id }) => storable(account_id)),
      events.map(({ dimensions }) => dimensions.requests),
      events.map(({ dimensions }) => dimensions.response_bytes),
      events.map(({ dimensions }) => dimensions.duration_ms),
      events.map(({ timestamp }) => timestamp),
    ]
    await this.#options.knex.raw(
      `insert into ?? (batch, position, meter_name, account_id, requests, response_bytes, duration_ms, "timestamp")
       select ?::uuid, position, meter, account, requests, bytes, duration, time
       from unnest(?::text[], ?::text[], ?::bigint[], ?::bigint[], ?::numeric[], ?::timestamptz[])
         with ordinality as events (meter, account, requests, bytes, duration, time, position)
       on conflict do nothing`,
      [this.#options.table, id, ...columns] as never,
    )
  }
}

/** True when the database has refused the values themselves, such as one that an index has no room for. */
function isRefused(cause: unknown): boolean {
  return /^(?:2[23]|54)/.test(String((cause as { code?: unknown }).code))
}

/** Text that PostgreSQL can keep. */
function storable(text: string): string {
  return text.replaceAll('\0', '')
}

/** What went wrong, on one line and without the statement. */
function describe(cause: unknown): string {
  const { code, name } = cause as { code?: unknown; name?: unknown }
  return String(code ?? name).replaceAll(/[^\w-]/g, '_')
}

function warn(message: string): void {
  process.emitWarning(message, { code: 'KOA_VIEWSETS_METERING' })
}
