/** The table that answers are kept in: made, found, read and swept. */

import type { Knex } from 'knex'
import { ConfigurationError } from '../kernel/errors.js'
import { oncePer } from '../kernel/once-per.js'
import { setting } from '../kernel/settings.js'
import { createTable } from '../postgres/create-table.js'
import type { Queryable } from '../postgres/pg-types.js'
import type { KeptAnswer } from './kept-answer.js'

/** Seconds that an answer is kept. */
export const DEFAULT_TTL = 24 * 60 * 60
const DEFAULT_TABLE = 'koa_viewsets_idempotency'

const nameOf = () => setting('idempotencyTable') ?? DEFAULT_TABLE

/**
 * Creates the table of kept answers where it is missing; every process may do so at its start. Only its owner may read it,
 * whatever default privileges say.
 * @param knex the database that the idempotent writes are in
 * @example await ensureIdempotencyTable(knex)
 */
export async function ensureIdempotencyTable(knex: Knex): Promise<void> {
  const name = nameOf()
  await createTable(knex, quoted(name), async (trx) => {
    await trx.raw(
      `create table if not exists ?? (
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
      [name],
    )
    await trx.raw('create index if not exists ?? on ?? (expires_at)', [`${name.split('.').at(-1)}_expires_at`, name])
    await revokeAll(trx, quoted(name))
  })
}

/** As `to_regclass()` reads it. */
function quoted(name: string): string {
  return name
    .split('.')
    .map((part) => `"${part}"`)
    .join('.')
}

/** What `ALTER DEFAULT PRIVILEGES` has granted, to roles of callers most of all. */
async function revokeAll(trx: Knex.Transaction, name: string): Promise<void> {
  const { rows } = await trx.raw<{ rows: readonly { grantee: string }[] }>(
    `select distinct case when grantee = 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end as grantee
     from pg_class, aclexplode(relacl) where pg_class.oid = ?::regclass and grantee <> relowner`,
    [name],
  )
  for (const { grantee } of rows) await trx.raw(`revoke all on ${name} from ${grantee}`)
}

/** An answer that is there already, and what it answers. */
export interface FoundAnswer extends KeptAnswer {
  readonly fingerprint: Buffer
}

/** An answer to keep. */
export interface NewAnswer extends KeptAnswer {
  readonly id: Buffer
  readonly key: string
  readonly caller: string
  readonly route: string
  readonly fingerprint: Buffer
}

const FOUND = `
  select format('%I.%I', nspname, relname) as name,
    has_table_privilege(pg_class.oid, 'select') and has_table_privilege(pg_class.oid, 'insert')
      and has_table_privilege(pg_class.oid, 'update') and has_table_privilege(pg_class.oid, 'delete') as allowed
  from pg_class join pg_namespace on pg_namespace.oid = relnamespace where pg_class.oid = to_regclass(?)`

interface Found {
  readonly rows: readonly { readonly name: string; readonly allowed: boolean }[]
}

const SWEEP_MILLISECONDS = 60_000
const MOST_SWEPT = 10_000

/** The table in one database. */
export class IdempotencyTable {
  readonly #knex: Knex
  /** With its schema, in quotes: a request may have a `search_path` of its own. */
  readonly #name: string
  #sweeper: NodeJS.Timeout | undefined

  constructor(knex: Knex, name: string) {
    this.#knex = knex
    this.#name = name
  }

  /** The answer of this id, unless its time is over. */
  async find(trx: Queryable, id: Buffer): Promise<FoundAnswer | undefined> {
    const { rows } = await trx.raw<{ rows: readonly FoundAnswer[] }>(
      `select fingerprint, status, headers, body, is_kept as "isKept" from ${this.#name} where id = ? and expires_at > now()`,
      [id],
    )
    return rows[0]
  }

  /** Keeps an answer, in place of one whose time is over. @returns false where another has been kept meanwhile */
  async keep(trx: Queryable, { id, key, caller, route, fingerprint, ...answer }: NewAnswer): Promise<boolean> {
    const ttl = setting('idempotencyTtl') ?? DEFAULT_TTL
    const { status, headers, body, isKept } = answer
    const { rowCount } = await trx.raw<{ rowCount: number }>(
      `insert into ${this.#name} as kept
         (id, key, caller, route, fingerprint, status, headers, body, is_kept, expires_at)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, now() + make_interval(secs => ?))
       on conflict (id) do update set
         (key, caller, route, fingerprint, status, headers, body, is_kept, created_at, expires_at) =
         (excluded.key, excluded.caller, excluded.route, excluded.fingerprint, excluded.status, excluded.headers,
          excluded.body, excluded.is_kept, excluded.created_at, excluded.expires_at)
       where kept.expires_at <= now()`,
      [id, key, caller, route, fingerprint, status, JSON.stringify(headers), body, isKept, ttl] as never,
    )
    this.#sweepNowAndThen()
    return rowCount === 1
  }

  /** Deletes answers whose time is over, beside others that do. @returns how many */
  async sweep(): Promise<number> {
    let swept = 0
    for (;;) {
      const { rowCount } = await this.#knex.raw<{ rowCount: number }>(
        `delete from ${this.#name} where id in (
           select id from ${this.#name} where expires_at <= now() order by expires_at limit ? for update skip locked)`,
        [MOST_SWEPT],
      )
      swept += rowCount
      if (rowCount < MOST_SWEPT) return swept
    }
  }

  /** Stops the sweeper; the next answer starts it again. */
  close(): void {
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
    swept.delete(this)
  }

  #sweepNowAndThen(): void {
    // a transaction is over before its sweeper comes
    if (this.#sweeper || this.#knex.isTransaction) return
    swept.add(this)
    this.#sweeper = setInterval(() => {
      // a pool that was destroyed has no answers; any other will do next time what it could not now
      this.sweep().catch(() => isDestroyed(this.#knex) && this.close())
    }, SWEEP_MILLISECONDS).unref()
  }
}

function isDestroyed(knex: Knex): boolean {
  return (knex.client as { pool?: unknown }).pool === undefined
}

/** Tables that are swept now and then. */
const swept = new Set<IdempotencyTable>()

/** Stops all sweepers; the next answer that is kept starts one again. */
export function stopSweeping(): void {
  for (const table of swept) table.close()
}

const tablesOf = oncePer<Knex, Map<string, Promise<IdempotencyTable>>>(() => new Map())

/**
 * The table of kept answers in a database; asked for once.
 * @throws {ConfigurationError} it is not there, or the login of the connections may not use it
 */
export function idempotencyTable(knex: Knex): Promise<IdempotencyTable> {
  const known = tablesOf(knex)
  const name = nameOf()
  let table = known.get(name)
  if (!table) {
    table = findTable(knex, name).catch((error: unknown) => {
      known.delete(name)
      throw error
    })
    known.set(name, table)
  }
  return table
}

async function findTable(knex: Knex, name: string): Promise<IdempotencyTable> {
  const { rows } = await knex.raw<Found>(FOUND, [quoted(name)])
  const [found] = rows
  if (!found) {
    throw new ConfigurationError(
      `idempotent: answers are kept in the table "${name}", which is not there; ` +
        "await ensureIdempotencyTable(knex), from 'koa-viewsets/idempotency', before prepare()",
    )
  }
  if (found.allowed) return new IdempotencyTable(knex, found.name)
  throw new ConfigurationError(
    `idempotent: the login of the connections may not use the table "${name}"; GRANT SELECT, INSERT, UPDATE, DELETE on it`,
  )
}
