/** pg's client of a transaction, for other libraries: their statements are part of it, and end with it. */
import type { Knex } from 'knex'
import { ConfigurationError } from '../kernel/errors.js'
import { clientOf, type PgConnection } from './pg-types.js'
import { statementsIn } from './sql-text.js'

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
  /** As others have it, who tell us nothing of their errors; undefined until they do. */
  lent?: PgClient
}

const known = new WeakMap<object, Lent>()

/** Remembers the client of a transaction that has begun: knex tells it by a promise only. */
export async function noteClient(trx: Knex.Transaction): Promise<void> {
  const source = clientOf(trx)
  if (source.driverName === 'pg') known.set(trx, { client: await source.acquireConnection() })
}

/** The client of a transaction, for code of the application's; undefined for what is none, or runs on another driver. */
export function lentClient(trx: Knex | Knex.Transaction | undefined): PgClient | undefined {
  const lent = trx && known.get(trx)
  if (!lent) return undefined
  lent.lent ??= lend(lent.client, trx as Knex.Transaction)
  return lent.lent
}

/** Statements by which a library begins and ends a transaction, and the savepoint statement that takes the place of each. */
const BOUNDS: readonly (readonly [RegExp, step: -1 | 1, sql: string])[] = [
  [/^(?:begin|start\s+transaction)\b/i, 1, 'savepoint'],
  [/^(?:commit|end|prepare\s+transaction)\b/i, -1, 'release savepoint'],
  [/^(?:rollback|abort)\b(?!\s+(?:work\s+|transaction\s+)?to\b)/i, -1, 'rollback to savepoint'],
]

/**
 * The client, with which nobody ends the transaction: one that a library begins is a savepoint. After its end nothing is sent: the
 * connection is another request's by then.
 */
function lend(client: PgConnection, trx: Knex.Transaction): PgClient {
  let depth = 0
  const textOf = (text: string): string => {
    const statements = statementsIn(text)
    const bound = BOUNDS.find(([pattern]) => statements.some((statement) => pattern.test(statement)))
    if (!bound) return text
    if (statements.length > 1) throw refusal('is begun and ended by no text of several statements; send each by itself')
    const [, step, sql] = bound
    if (step === 1 && /\bisolation\b/i.test(text)) throw refusal('has an isolation level of its own')
    if (step === 1 && /\bread\s+only\b/i.test(text)) throw refusal('may write')
    if (depth + step < 0) throw refusal('is not theirs to end')
    // one within another is a savepoint of another name
    const name = `lent_${Math.max(depth, depth + step)}`
    depth += step
    return `${sql} ${name}`
  }
  const query = (given: string | { readonly text?: string }, ...others: readonly unknown[]): unknown => {
    if (trx.isCompleted()) throw refusal('has ended; wait for each query')
    const own = client as unknown as { query(...all: readonly unknown[]): unknown }
    if (typeof given === 'string') return own.query(textOf(given), ...others)
    const text = given.text === undefined ? undefined : textOf(given.text)
    return own.query(text === given.text ? given : { ...given, text }, ...others)
  }
  return Object.assign(Object.create(client) as PgClient, { query, release() {} })
}

function refusal(why: string): Error {
  return new ConfigurationError(`this.client: the transaction of the request ${why}`)
}

/** True where code of the application has had the client: whether a statement of it has failed, nobody has told. */
export function isLent(trx: object): boolean {
  return known.get(trx)?.lent !== undefined
}
