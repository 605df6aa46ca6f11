/** Makes the table that answers are kept in. */

import type { Knex } from 'knex'
import { createTable } from '../postgres/create-table.js'
import { LARGE, quotedName, tableName } from './table.js'

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
    await trx.raw(`create index if not exists "${table.split('.').at(-1)}_expires_at" on ${name} (expires_at)`)
    await trx.raw(
      `create index if not exists "${table.split('.').at(-1)}_large" on ${name} (caller) where octet_length(body) > ${LARGE}`,
    )
    await revokeAll(trx, name)
  })
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
