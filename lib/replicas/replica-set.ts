/**
 * A primary and its streaming replicas: requests that read go to a replica that has all that the caller has written.
 * See docs/reference/replicas.md.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { reportError } from '../http/answer-error.js'
import type { Context } from '../http/context.js'
import { isAskedInProcess } from '../http/in-process.js'
import { mayFailUnsent } from '../http/response-body.js'
import { ApiError, ConfigurationError } from '../kernel/errors.js'
import type { Kind } from '../kernel/kinds.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { quote } from '../kernel/quote.js'
import { isError } from '../kernel/realms.js'
import { TooLate } from '../kernel/within.js'
import { askDatabase } from '../postgres/ask-database.js'
import { watchSession } from '../postgres/connection-queue.js'
import { isInDoubt, sqlStateOf, toApiError } from '../postgres/database-errors.js'
import { isPassedOn, nativeError } from '../postgres/native-error.js'
import { isKnex } from '../postgres/pg-types.js'
import { shareTurns } from '../postgres/row-stream.js'
import { isTransaction } from '../postgres/transaction-end.js'
import { noteDatabase } from '../postgres/watch-statements.js'
import { readLsn, readToken, type WalPlace, type Written, writeToken } from './token.js'

/** Options of a `ReplicaSet`. */
export interface ReplicaSetOptions {
  /** The database that takes writes: the models' own knex. */
  readonly primary: Knex
  /** Its streaming replicas, one knex for each server. */
  readonly replicas: readonly Knex[]
  /** How long a request waits for a replica that has what its caller has written, in milliseconds. @default 200 */
  readonly wait?: number
  /** How long a replica that has failed is left out, in milliseconds. @default 5_000 */
  readonly retryAfter?: number
  /** How long a client remembers its last write, in seconds: longer than replicas are ever behind. @default 600 */
  readonly maxAge?: number
  /** The cookie that remembers it; null for none. @default 'consistency_token' */
  readonly cookie?: string | null
  /** The header that remembers it for clients without cookies, in answers and requests; null for none. @default 'Consistency-Token' */
  readonly header?: string | null
  /** Chooses for a request, one of these databases or none of its own: then as usual. @default none */
  readonly readFrom?: (ctx: Context) => Knex | undefined | Promise<Knex | undefined>
}

const KINDS = {
  primary: 'any',
  replicas: 'list',
  wait: 'count',
  retryAfter: 'size',
  maxAge: 'size',
  cookie: 'token or null',
  header: 'token or null',
  readFrom: 'function',
} as const satisfies Record<keyof ReplicaSetOptions, Kind>

/** How long a server may take to say where it is, in milliseconds. */
const TO_SAY = 1_000
/** The least that a replica has to say it, and what is so long that it is left out, in milliseconds. */
const [SHORTEST, TOO_LONG] = [50, 100]
/** How long a replica has to go on between two questions, in milliseconds. */
const PAUSE = 10

interface Replica {
  readonly knex: Knex
  /** Left out until then, by `performance.now()`. */
  downUntil: number
  /** How far it was when it was asked last; it only goes on. */
  known: WalPlace | undefined
}

/**
 * Chooses where requests read.
 * @example
 * const replicas = new ReplicaSet({ primary: knex, replicas: [eu, us] })
 * const api = new APIRouter({ prefix: '/api', replicas })
 */
export class ReplicaSet {
  readonly primary: Knex
  readonly #replicas: readonly Replica[]
  readonly #options: Required<Omit<ReplicaSetOptions, 'primary' | 'replicas' | 'readFrom'>>
  readonly #readFrom: ReplicaSetOptions['readFrom']
  #next = 0

  /** @throws {ConfigurationError} an option is wrong, or there is no secret to sign with */
  constructor(options: ReplicaSetOptions) {
    checkKinds('ReplicaSet', options, { kinds: KINDS })
    const { primary, replicas } = options
    for (const [name, one] of [['primary', primary], ...(replicas ?? []).map((knex) => ['replicas', knex])] as const) {
      if (isKnex(one)) continue
      throw new ConfigurationError(`ReplicaSet: ${String(name)} holds something that is no knex instance`)
    }
    if (!replicas || replicas.length === 0) {
      throw new ConfigurationError('ReplicaSet: replicas is empty; name at least one, or leave the set out')
    }
    writeToken('primary')
    for (const knex of replicas) adopt(knex)
    this.primary = primary
    this.#replicas = replicas.map((knex) => ({ knex, downUntil: 0, known: undefined }))
    this.#readFrom = options.readFrom
    const { wait = 200, retryAfter = 5_000, maxAge = 600 } = options
    const { cookie = 'consistency_token', header = 'Consistency-Token' } = options
    this.#options = { wait, retryAfter, maxAge, cookie, header }
  }

  /** How many replicas there are. */
  get size(): number {
    return this.#replicas.length
  }

  /**
   * Does what only reads on a database that has all that the caller has written. Where a replica fails meanwhile, or cancels the
   * statement, the work is done again on another, in the end on the primary.
   * @param work begins anew each time
   */
  async read<Value>(ctx: Context, work: (knex: Knex) => Promise<Value>): Promise<Value> {
    const failed = new Set<Knex>()
    for (;;) {
      const knex = await this.#choose(ctx, failed)
      if (knex === this.primary) return work(knex)
      try {
        return await work(knex)
      } catch (error) {
        const trouble = troubleOf(error)
        // an answer that has begun goes on where it began
        if (trouble === undefined || ctx.headerSent) throw error
        this.#note(ctx, knex, { trouble, error })
        if (trouble === 'primary') return sqlStateOf(error) === READ_ONLY ? this.#write(ctx, work) : work(this.primary)
        failed.add(knex)
      }
    }
  }

  /** Does what reads by its method, and writes all the same. */
  async #write<Value>(ctx: Context, work: (knex: Knex) => Promise<Value>): Promise<Value> {
    const end: { failure?: unknown } = {}
    try {
      return await work(this.primary)
    } catch (error) {
      end.failure = error
      throw error
    } finally {
      await this.wrote(ctx, end)
    }
  }

  /**
   * Lets the client remember how far its write has come. Called after the commit, before the answer is sent. While a lost
   * connection, or a transaction that goes on, leaves open what is committed, only the primary will know.
   * @param end where it was written, and by which error it has failed
   */
  async wrote(ctx: Context, end: { readonly knex?: Knex | undefined; readonly failure?: unknown } = {}): Promise<void> {
    const { knex, failure } = end
    const { cookie, header, maxAge } = this.#options
    mayFailUnsent(ctx)
    const isOpen = isInDoubt(failure) || (isTransaction(knex) && !knex.isCompleted())
    const token = writeToken(isOpen ? 'primary' : await this.#written())
    // by the action itself, which still may be at it
    if (ctx.headerSent) return
    if (header !== null) ctx.set(header, token)
    if (cookie === null) return
    ctx.cookies.set(cookie, token, {
      httpOnly: true,
      sameSite: 'lax',
      signed: false,
      overwrite: true,
      maxAge: maxAge * 1_000,
    })
  }

  /** What was written is there in any case; who cannot be told where reads from the primary. */
  async #written(): Promise<Written> {
    try {
      return (await askWritten(this.primary, TO_SAY)) ?? 'primary'
    } catch {
      return 'primary'
    }
  }

  async #choose(ctx: Context, failed: ReadonlySet<Knex>): Promise<Knex> {
    const chosen = failed.size === 0 ? await this.#readFrom?.(ctx) : undefined
    if (isKnex(chosen)) return chosen
    if (chosen) {
      throw new ConfigurationError(`ReplicaSet: readFrom() returned ${quote(chosen)}; return a knex, or nothing`)
    }
    // an agent has no way to bring what its write has told
    const written = this.#tokenOf(ctx) ?? (isAskedInProcess(ctx) ? 'primary' : undefined)
    if (written === 'primary') return this.primary
    const usable = this.#inTurn().filter(({ knex, downUntil }) => !failed.has(knex) && performance.now() >= downUntil)
    const [first] = usable
    if (!first) return this.primary
    return written ? this.#arrived(ctx, usable, written) : first.knex
  }

  /** The replicas, each time beginning with another one. */
  #inTurn(): readonly Replica[] {
    const start = this.#next++ % this.#replicas.length
    return [...this.#replicas.slice(start), ...this.#replicas.slice(0, start)]
  }

  #tokenOf(ctx: Context): Written | undefined {
    const { cookie, header } = this.#options
    const token = (header === null ? '' : ctx.get(header)) || (cookie === null ? '' : ctx.cookies.get(cookie, UNSIGNED))
    return token ? readToken(token) : undefined
  }

  /** A replica that has what was written, waited for within bounds; else the primary. */
  async #arrived(ctx: Context, usable: readonly Replica[], written: WalPlace): Promise<Knex> {
    const { wait } = this.#options
    const [end, toSay] = [performance.now() + wait, Math.max(SHORTEST, Math.min(TO_SAY, wait))]
    for (const replica of usable) if (hasArrived(replica.known, written)) return replica.knex
    for (;;) {
      for (const replica of usable) {
        if (performance.now() < replica.downUntil) continue
        try {
          replica.known = (await askReplayed(replica.knex, toSay)) ?? replica.known
        } catch (error) {
          // one that is busy for a moment is not away
          if (toSay < TOO_LONG && error instanceof TooLate) continue
          this.#note(ctx, replica.knex, { trouble: 'down', error })
        }
        if (hasArrived(replica.known, written)) return replica.knex
      }
      if (performance.now() + PAUSE > end) return this.primary
      await sleep(PAUSE)
    }
  }

  #note(ctx: Context, knex: Knex, { trouble, error }: { readonly trouble: Trouble; readonly error: unknown }): void {
    const replica = this.#replicas.find((one) => one.knex === knex)
    if (trouble !== 'down' || !replica) return
    const now = performance.now()
    // once for each time that it goes
    if (now >= replica.downUntil) reportError(ctx, new ReplicaDown(error))
    replica.downUntil = now + this.#options.retryAfter
    // another server may stand in its place
    replica.known = undefined
  }
}

/** What `prepare()` does for the primary; a replica need not be there then. */
function adopt(replica: Knex): void {
  watchSession(replica)
  shareTurns(replica)
  noteDatabase(replica)
}

const UNSIGNED = { signed: false }

/** Why a replica is left out, for the application's log. */
export class ReplicaDown extends Error {
  override readonly name = 'ReplicaDown'

  constructor(cause: unknown) {
    super('A replica is left out for a while', { cause })
  }
}

function hasArrived(known: WalPlace | undefined, { system, timeline, lsn }: WalPlace): boolean {
  return known !== undefined && known.system === system && known.timeline === timeline && known.lsn >= lsn
}

/**
 * `down`: it does not answer; `cancelled`: what its primary has done stood in the way; `primary`: only that can do it, as it
 * writes, or is about what a migration has made and the replica does not have yet.
 */
type Trouble = 'down' | 'cancelled' | 'primary'

/** The SQLSTATE of a write where only reading is allowed. */
const READ_ONLY = '25006'

/** By SQLSTATE (PostgreSQL's documentation, appendix A), or its class. */
const TROUBLES: ReadonlyMap<string, Trouble> = new Map<string, Trouble>([
  ...['40001', '40P01'].map((code) => [code, 'cancelled'] as const),
  ...[READ_ONLY, '0A000', '55000', '42P01', '42703', '42704', '42883'].map((code) => [code, 'primary'] as const),
  ...['58', 'XX'].map((code) => [code, 'down'] as const),
])

/** 503 of a statement, transaction or session alone, by limits of its own or what it uses up: the server goes on. */
const OF_STATEMENTS: ReadonlySet<string | undefined> = new Set(['57014', '55P03', '2200H', '25P03', '25P04', '57P05'])

const UNAVAILABLE = 503

/** Undefined for what would be the same on the primary. */
function troubleOf(error: unknown): Trouble | undefined {
  const cause = error instanceof ApiError ? error.cause : error
  const state = sqlStateOf(cause)
  const known = state === undefined ? undefined : (TROUBLES.get(state) ?? TROUBLES.get(state.slice(0, 2)))
  if (known !== undefined && known !== 'down') return known
  // a connection whose settings would have values misread
  const isMisread = error instanceof ApiError && cause instanceof ConfigurationError
  // what the connection, its pool or the system has thrown
  const isAway = !OF_STATEMENTS.has(state) && toApiError(cause)?.status === UNAVAILABLE
  if (!known && !isMisread && !isAway) return undefined
  return isError(cause) && isPassedOn(nativeError(cause)) ? undefined : 'down'
}

/** What was written is before this place, as it is asked for after the commit. The name of a file begins with the history. */
const WRITTEN = {
  text: `select (select system_identifier from pg_control_system())::text as system,
    pg_current_wal_insert_lsn()::text as lsn,
    ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint::text as timeline`,
  values: [],
}

/**
 * How far a standby has come. Its control file names the history last: until then it counts as one that has not arrived. Who
 * may not read `pg_stat_wal_receiver` sees nothing there. A server that is no standby has what it has written.
 */
const REPLAYED = {
  text: `select (select system_identifier from pg_control_system())::text as system,
    coalesce(pg_last_wal_replay_lsn(), case when pg_is_in_recovery() then null else pg_current_wal_insert_lsn() end)::text as lsn,
    case when pg_is_in_recovery()
      then coalesce((select received_tli from pg_stat_wal_receiver), (select timeline_id from pg_control_checkpoint()))::text
      else ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint::text end as timeline`,
  values: [],
}

/** Where the log of a primary is now. @throws Error it does not answer in time, or is no primary */
function askWritten(primary: Knex, milliseconds: number): Promise<WalPlace | undefined> {
  return ask(primary, WRITTEN, milliseconds)
}

/** How far a standby has come; undefined where its pool is full. @throws Error it does not answer in time */
function askReplayed(replica: Knex, milliseconds: number): Promise<WalPlace | undefined> {
  return ask(replica, REPLAYED, milliseconds)
}

async function ask(knex: Knex, question: typeof WRITTEN, milliseconds: number): Promise<WalPlace | undefined> {
  const row = await askDatabase(knex, question, milliseconds)
  const { system, timeline, lsn } = row ?? {}
  if (typeof system !== 'string' || typeof timeline !== 'string' || typeof lsn !== 'string') return undefined
  return { system, timeline: Number(timeline), lsn: readLsn(lsn) }
}
