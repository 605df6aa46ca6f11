/** CREATE TABLE for this package's own tables. */
import type { Knex } from 'knex'

/**
 * Creates a table where it is missing, whoever else does so at the same time. It is its owner's alone, whatever default
 * privileges say.
 * @param table its name in SQL
 * @param create does so, with what belongs to it, in the transaction that it is given; IF NOT EXISTS
 */
export async function createTable(
  knex: Knex,
  table: string,
  create: (trx: Knex.Transaction) => Promise<unknown>,
): Promise<void> {
  // asked first, because a role that may not create tables may well use one
  const { rows } = await knex.raw<{ rows: [{ found: boolean }] }>('select to_regclass(?) is not null as found', [table])
  if (rows[0].found) return
  await knex.transaction(async (trx) => {
    // IF NOT EXISTS alone fails where two create it at once
    await trx.raw('select pg_advisory_xact_lock(hashtext(?))', [table])
    await create(trx)
    await revokeAll(trx, table)
  })
}

/** The name as `to_regclass()` reads it. */
export function quotedName(name: string): string {
  return name
    .split('.')
    .map((part) => `"${part}"`)
    .join('.')
}

/** Revokes the grants of `ALTER DEFAULT PRIVILEGES`, those to roles of callers most of all. */
export async function revokeAll(trx: Knex.Transaction, name: string): Promise<void> {
  const { rows } = await trx.raw<{ rows: readonly { grantee: string }[] }>(
    `select distinct case when grantee = 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end as grantee
     from pg_class, aclexplode(relacl) where pg_class.oid = ?::regclass and grantee <> relowner`,
    [name],
  )
  for (const { grantee } of rows) await trx.raw(`revoke all on ${name} from ${grantee}`)
}
