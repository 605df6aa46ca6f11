/** The table that answers are kept in: created, found, read, written and swept. */

import type { Knex } from 'knex'
import type { Context } from '../http/context.js'
import { isStreamed } from '../http/response-body.js'
import { renderPending } from '../http/response-end.js'
import { ConfigurationError } from '../kernel/errors.js'
import { getOrInsert } from '../kernel/maps.js'
import { firstTime, oncePer } from '../kernel/once-per.js'
import { setting } from '../kernel/settings.js'
import { configOf } from '../models/describe-model.js'
import { createTable, quotedName } from '../postgres/create-table.js'
import { nativeError } from '../postgres/native-error.js'
import type { Queryable } from '../postgres/pg-types.js'
import { Sweeper } from '../postgres/sweeper.js'
import { isTransaction } from '../postgres/transaction-end.js'
import { readRows, runRaw } from '../postgres/type-parsers.js'

/** Seconds that an answer is kept. */
export const DEFAULT_TTL = 24 * 60 * 60
const DEFAULT_TABLE = 'koa_viewsets_idempotency'

/** Bytes from which on a body counts towards what is kept for its caller: smaller ones are hardly more than what asks for them. */
const LARGE = 4_096

/** Its name, with its schema if there is one. */
export function tableName(): string {
  return setting('idempotencyTable') ?? DEFAULT_TABLE
}

/** An answer, as it is kept. */
interface KeptAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Null for an answer without one, and for one that could not be kept. */
  readonly body: Buffer | null
  /** False where only that it was given is kept. */
  readonly isKept: boolean
}

/** An answer that is there already, and what it answers. */
export interface FoundAnswer extends KeptAnswer {
  readonly fingerprint: Buffer
}

/** An answer to keep. */
export interface NewAnswer extends FoundAnswer {
  readonly id: Buffer
  readonly key: string
  readonly caller: string
  readonly route: string
}

const FOUND = `
  select format('%I.%I', nspname, relname) as name,
    has_table_privilege(pg_class.oid, 'select') and has_table_privilege(pg_class.oid, 'insert')
      and has_table_privilege(pg_class.oid, 'update') and has_table_privilege(pg_class.oid, 'delete') as allowed
  from pg_class join pg_namespace on pg_namespace.oid = relnamespace where pg_class.oid = to_regclass(?)`

interface Found {
  readonly name: string
  readonly allowed: boolean
}

/** No such table, and no right to it. */
const GONE: ReadonlySet<unknown> = new Set(['42P01', '42501'])

/** The tables that are known in one database. */
interface KnownTables {
  /** By which they are swept: transactions end before. Undefined where nobody has asked for one but in transactions. */
  pool: Knex | undefined
  /** By their names with their schemas. */
  readonly tables: Map<string, IdempotencyTable>
  /** By their names in the setting, as connections of the pool find them. */
  readonly found: Map<string, Promise<IdempotencyTable>>
}

/** The table in one database. */
export class IdempotencyTable {
  /** With its schema, in quotes: a request may have a `search_path` of its own. */
  readonly #name: string
  readonly #sweeper: Sweeper

  constructor(name: string, known: KnownTables) {
    this.#name = name
    this.#sweeper = new Sweeper(async (most) => {
      if (!known.pool) return 0
      const { rowCount } = await known.pool.raw<{ rowCount: number }>(
        `delete from ${name} where id in (
           select id from ${name} where expires_at <= now() order by expires_at limit ? for update skip locked)`,
        [most],
      )
      return rowCount
    })
  }

  /** The answer of this id, unless its time is over. */
  async find(trx: Queryable, id: Buffer): Promise<FoundAnswer | undefined> {
    const { rows } = await this.#send<{ rows: readonly FoundAnswer[] }>(
      trx,
      `select fingerprint, status, headers, body, is_kept as "isKept" from ${this.#name} where id = ? and expires_at > now()`,
      [id],
    )
    return rows[0]
  }

  /** The bytes of all large bodies that are kept for a caller. */
  async bytesOf(trx: Queryable, caller: string): Promise<number> {
    const { rows } = await this.#send<{ rows: readonly [{ readonly bytes: string }] }>(
      trx,
      `select coalesce(sum(octet_length(body)), 0) as bytes from ${this.#name}
       where caller = ? and octet_length(body) > ${LARGE} and expires_at > now()`,
      [caller],
    )
    return Number(rows[0].bytes)
  }

  /** Keeps an answer, in place of one whose time is over. @returns false where another has been kept meanwhile */
  async keep(trx: Queryable, { id, key, caller, route, fingerprint, ...answer }: NewAnswer): Promise<boolean> {
    const ttl = setting('idempotencyTtl') ?? DEFAULT_TTL
    const { status, headers, body, isKept } = answer
    const { rowCount } = await this.#send<{ rowCount: number }>(
      trx,
      `insert into ${this.#name} as kept
         (id, key, caller, route, fingerprint, status, headers, body, is_kept, expires_at)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, now() + make_interval(secs => ?))
       on conflict (id) do update set
         (key, caller, route, fingerprint, status, headers, body, is_kept, created_at, expires_at) =
         (excluded.key, excluded.caller, excluded.route, excluded.fingerprint, excluded.status, excluded.headers,
          excluded.body, excluded.is_kept, excluded.created_at, excluded.expires_at)
       where kept.expires_at <= now()`,
      [id, key, caller, route, fingerprint, status, JSON.stringify(headers), body, isKept, ttl],
    )
    this.#sweeper.use()
    swept.add(this)
    return rowCount === 1
  }

  /** @throws {ConfigurationError} the table is not there any more, or not for the login: nothing for a client */
  async #send<Answer>(trx: Queryable, sql: string, values: readonly unknown[]): Promise<Answer> {
    try {
      return await runRaw<Answer>(trx, sql, values)
    } catch (error) {
      if (!GONE.has(nativeError(error as Error).code)) throw error
      throw new ConfigurationError(`idempotent: the table ${this.#name} cannot be used`, { cause: error })
    }
  }

  /** Deletes answers whose time is over. @returns how many */
  sweep(): Promise<number> {
    return this.#sweeper.sweep()
  }

  /** Stops the sweeper; the next answer starts it again. */
  close(): void {
    this.#sweeper.stop()
    swept.delete(this)
  }
}

/** Tables that are swept now and then. */
const swept = new Set<IdempotencyTable>()

/** Stops all sweepers; the next answer that is kept starts one again. */
export function stopSweeping(): void {
  for (const table of swept) table.close()
}

const tablesOf = oncePer<object, KnownTables>(() => ({ pool: undefined, tables: new Map(), found: new Map() }))

/**
 * The table of kept answers in a database; asked for once, but in each transaction of the application's: that may have a
 * `search_path` of its own, as with a schema for each tenant.
 * @throws {ConfigurationError} it is not there, or the login of the connections may not use it
 */
export async function idempotencyTable(knex: Knex): Promise<IdempotencyTable> {
  const known = tablesOf(configOf(knex))
  const name = tableName()
  if (isTransaction(knex)) return findTable(knex, name, known)
  known.pool = knex
  return getOrInsert(known.found, name, () =>
    findTable(knex, name, known).catch((error: unknown) => {
      known.found.delete(name)
      throw error
    }),
  )
}

async function findTable(knex: Knex, name: string, known: KnownTables): Promise<IdempotencyTable> {
  const [found] = await readRows<Found>(knex, FOUND, [quotedName(name)])
  if (!found) {
    throw new ConfigurationError(
      `idempotent: answers are kept in the table "${name}", which is not there; ` +
        "await ensureIdempotencyTable(knex), from 'koa-viewsets/idempotency', before prepare()",
    )
  }
  if (found.allowed) return getOrInsert(known.tables, found.name, () => new IdempotencyTable(found.name, known))
  throw new ConfigurationError(
    `idempotent: the login of the connections may not use the table "${name}"; GRANT SELECT, INSERT, UPDATE, DELETE on it`,
  )
}

/**
 * Creates the table of kept answers where it is missing; every process may do so at its start. Only its owner may read it,
 * whatever default privileges say.
 * @param knex the database that the idempotent writes are in
 * @example await ensureIdempotencyTable(knex)
 */
export async function ensureIdempotencyTable(knex: Knex): Promise<void> {
  const table = tableName()
  // an application may have its knex write names in another way
  const name = quotedName(table)
  await createTable(knex, name, async (trx) => {
    await trx.raw(
      `create table if not exists ${name} (
        id bytea primary key,
        key text not null,
        caller text not null,
        route text not null,
        fingerprint bytea not null,
        status smallint not null,
        headers jsonb not null,
        body bytea,
        is_kept boolean not null,
        created_at timestamptz not null default now(),
        expires_at timestamptz not null
      )`,
    )
    // room for the ends of both, which PostgreSQL cuts off
    const own = (table.split('.').at(-1) as string).slice(0, 52)
    await trx.raw(`create index if not exists "${own}_expires_at" on ${name} (expires_at)`)
    await trx.raw(`create index if not exists "${own}_large" on ${name} (caller) where octet_length(body) > ${LARGE}`)
  })
}

/** Bytes of the largest body that is kept. */
export const DEFAULT_MAX_ANSWER = 1_048_576
/** Bytes of all large bodies that are kept for one caller. */
export const DEFAULT_MAX_CALLER = 33_554_432

/** The headers that belong to what was done; all others belong to the request that is answered, cookies most of all. */
const KEPT_HEADERS = [
  'Content-Type',
  'Content-Encoding',
  'Content-Language',
  'Content-Location',
  'Content-Disposition',
  'ETag',
  'Last-Modified',
  'Location',
  'Preference-Applied',
  'X-Content-Type-Options',
]

/** The answer in the context, before it is sent. */
export function keptAnswer(ctx: Context): KeptAnswer {
  const body = bodyOf(ctx)
  const isKept = body !== undefined && (body?.length ?? 0) <= (setting('idempotencyMaxAnswer') ?? DEFAULT_MAX_ANSWER)
  if (!isKept)
    warnOf(
      ctx,
      body === undefined
        ? 'is a stream, was sent by the action itself, or is given by another middleware'
        : 'is too large',
    )
  const headers = KEPT_HEADERS.flatMap((name) => {
    const value = ctx.res.getHeader(name)
    return value === undefined ? [] : [[name, String(value)] as const]
  })
  return { status: ctx.status, headers: Object.fromEntries(headers), body: isKept ? body : null, isKept }
}

/** The answer without its body, where more is kept for its caller than may be. */
export async function bounded(
  ctx: Context,
  answer: KeptAnswer,
  { table, trx, caller }: { table: IdempotencyTable; trx: Queryable; caller: string },
): Promise<KeptAnswer> {
  const length = answer.body?.length ?? 0
  if (length <= LARGE) return answer
  const most = setting('idempotencyMaxCaller') ?? DEFAULT_MAX_CALLER
  if ((await table.bytesOf(trx, caller)) + length <= most) return answer
  warnOf(ctx, `is one too many of its caller, for whom at most ${most} bytes are kept`)
  return { ...answer, body: null, isKept: false }
}

/** Statuses whose answers have no body. */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304])

/** The bytes of the body; null where there is none, undefined where they are not known yet. */
function bodyOf(ctx: Context): Buffer | null | undefined {
  // a status of 404 is Koa's own: what comes behind may still answer
  if (ctx.respond === false || ctx.res.headersSent || ctx.status >= 400) return undefined
  renderPending(ctx)
  // as Koa answers where nobody has set a body
  if (ctx.body === undefined && !EMPTY.has(ctx.status)) ctx.body = ctx.message || String(ctx.status)
  const body: unknown = ctx.body
  if (body === undefined || body === null) return null
  if (typeof body === 'string') return Buffer.from(body)
  if (Buffer.isBuffer(body)) return Buffer.from(body)
  // as Koa writes it
  return isStreamed(body) ? undefined : Buffer.from(JSON.stringify(body))
}

/** Gives a kept answer. */
export function replay(ctx: Context, { status, headers, body }: KeptAnswer): void {
  ctx.status = status
  ctx.body = body
  for (const [name, value] of Object.entries(headers)) ctx.set(name, value)
  if (body !== null && headers['Content-Type'] === undefined) ctx.remove('Content-Type')
  // Koa makes it 204 where there is no body
  ctx.status = status
  ctx.set('Idempotency-Replayed', 'true')
}

const isFirst = firstTime()

function warnOf(ctx: Context, reason: string): void {
  if (!isFirst(ctx.app)) return
  process.emitWarning(
    `The answer of ${ctx.method} ${String(ctx['_matchedRoute'] ?? '')} ${reason}, so that it is not kept for its Idempotency-Key: ` +
      'who sends the key again is answered 409, and nothing is done twice.',
    { code: 'KOA_VIEWSETS_IDEMPOTENCY' },
  )
}
