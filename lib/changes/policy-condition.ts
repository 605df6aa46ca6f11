/** Row level security as conditions of SQL, for the role of a caller and rows that are not in their table any more, or not yet. */

import { toReference } from '../models/table-reference.js'
import type { Queryable } from '../postgres/pg-types.js'
import { readRows } from '../postgres/type-parsers.js'

interface Policies {
  readonly isActive: boolean
  /** Of those that allow rows, and of those that restrict them. */
  readonly permissive: readonly string[]
  readonly restrictive: readonly string[]
}

/**
 * The condition of the policies that hold for the role that statements run as, on the columns of the table by its own name
 * (PostgreSQL, CREATE POLICY: one of those that permit, and all that restrict); null where there is none to meet.
 */
export async function policyCondition(knex: Queryable, table: string): Promise<string | null> {
  const rows = await readRows<Policies>(
    knex,
    `select row_security_active(c.oid) as "isActive",
       coalesce(json_agg(pg_get_expr(p.polqual, c.oid)) filter (where p.polpermissive), '[]') as permissive,
       coalesce(json_agg(pg_get_expr(p.polqual, c.oid)) filter (where not p.polpermissive), '[]') as restrictive
     from pg_class as c left join pg_policy as p on p.polrelid = c.oid and p.polcmd in ('r', '*') and p.polqual is not null
       and (0 = any(p.polroles) or exists (select from unnest(p.polroles) as role where pg_has_role(role, 'usage')))
     where c.oid = to_regclass(?) group by c.oid`,
    [toReference(knex, table)],
  )
  const { isActive = false, permissive = [], restrictive = [] } = rows[0] ?? {}
  if (!isActive) return null
  const one = permissive.length === 0 ? 'false' : permissive.map((text) => `(${text})`).join(' or ')
  return [`(${one})`, ...restrictive.map((text) => `(${text})`)].join(' and ')
}
