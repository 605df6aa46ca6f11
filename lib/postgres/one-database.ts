/** Compares the databases that two pools reach. */

import { oncePer } from '../kernel/once-per.js'
import { clientOf, type Queryable } from './pg-types.js'
import { runRaw } from './type-parsers.js'

const IDENTITY = `
  select system_identifier || ' ' || oid as "database" from pg_control_system(), pg_database where datname = current_database()`

/** Pools whose servers have said that they reach the same database, by each of them. */
const sameAs = oncePer((_config: object) => new WeakSet<object>())

/** False where the servers say so; those that have said to be one are asked no more. */
export async function isOneDatabase(knex: Queryable, other: Queryable): Promise<boolean> {
  const [own, others] = [clientOf(knex).config, clientOf(other).config]
  if (own === others || sameAs(own).has(others)) return true
  const [one, two] = await Promise.all([knex, other].map(identityOf))
  if (one !== undefined && one === two) sameAs(own).add(others)
  return mayBeOne(one, two)
}

/** False for identities of two databases. */
export function mayBeOne(one: string | undefined, two: string | undefined): boolean {
  return one === two || one === undefined || two === undefined
}

/** The server and the database; undefined where the login may not know. */
export async function identityOf(knex: Queryable): Promise<string | undefined> {
  try {
    const { rows } = await runRaw<{ rows: readonly { database: string }[] }>(knex, IDENTITY)
    return rows[0]?.database
  } catch {
    return undefined
  }
}
