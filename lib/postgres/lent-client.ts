/** pg's client of a transaction, for other libraries: their statements are part of it, and end with it. */
import type { Knex } from 'knex'
import { clientOf, type PgConnection } from './pg-types.js'

/** A client of pg that is in a transaction: Drizzle, Kysely and plain `query()` take it. */
export interface PgClient {
  /** Runs a statement in the transaction. */
  query<Row = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: Row[]; readonly rowCount: number | null }>
}

interface Lent {
  readonly client: PgConnection
  /** Others have it: their errors are not told to us. */
  isUsed: boolean
}

const known = new WeakMap<object, Lent>()

/** Remembers the client of a transaction that has begun: knex tells it by a promise only. */
export async function noteClient(trx: Knex.Transaction): Promise<void> {
  const source = clientOf(trx)
  if (source.driverName === 'pg') known.set(trx, { client: await source.acquireConnection(), isUsed: false })
}

/** The client of a transaction, for code of the application's; undefined for what is none, or runs on another driver. */
export function lentClient(trx: object | undefined): PgClient | undefined {
  const lent = trx && known.get(trx)
  if (!lent) return undefined
  lent.isUsed = true
  return lent.client as unknown as PgClient
}

/** True where code of the application has had the client: whether a statement of it has failed, nobody has told. */
export function isLent(trx: object): boolean {
  return known.get(trx)?.isUsed === true
}
