/** `withClient()`: models, serializers and view sets inside a transaction that another library has begun. */

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Knex } from 'knex'
import { Model } from 'objection'
import { Gate } from '../kernel/at-once.js'
import { ConfigurationError } from '../kernel/errors.js'
import { getOrInsert } from '../kernel/maps.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { isError } from '../kernel/realms.js'
import { noteClient, type PgClient } from '../postgres/lent-client.js'
import { nativeError } from '../postgres/native-error.js'
import { clientOf, isKnex, type KnexClient, type PgConnection } from '../postgres/pg-types.js'

/** Options of `withClient()`. */
export interface WithClientOptions {
  /** The knex that the models are prepared with: its settings hold, and none of its connections is used. @default Model.knex() */
  readonly knex?: Knex
}

/**
 * Does work within the transaction that a client of pg is in, whoever has begun it: Drizzle, Kysely or plain
 * pg. The work gets that transaction as knex's, as a savepoint: an error takes back what the work has written, and is thrown;
 * calls at once wait for each other; what ends the transaction is the caller's affair. `afterCommit()` waits for the caller's COMMIT.
 * @param client pg's client, in a transaction
 * @param work gets the transaction for queries, and for serializers as `context: { knex: trx }`; a view set works in it by `getKnex()`
 * @throws {ConfigurationError} an option is unknown, there is no knex, or the client is in no transaction
 * @example
 * await db.transaction(async (tx) => {
 *   await tx.insert(audits).values({ text: 'one more book' })
 *   await withClient(client, async (knex) => {
 *     const serializer = new BookSerializer({ inputData, context: { knex } })
 *     await serializer.isValid({ raiseException: true })
 *     await serializer.save()
 *   })
 * })
 */
export async function withClient<Result>(
  client: PgClient,
  work: (trx: Knex.Transaction) => Promise<Result>,
  options: WithClientOptions = {},
): Promise<Result> {
  checkKinds('withClient()', options, { kinds: { knex: 'any' } })
  const base = options.knex ?? Model.knex()
  if (!isKnex(base) || clientOf(base).driverName !== 'pg') {
    throw new ConfigurationError(
      "withClient(): there is no knex over pg's own client; bind the models by Model.knex(), or give the option knex",
    )
  }
  const connection = client as unknown as PgConnection
  const around = gates.getStore()
  const gate = around?.get(connection) ?? getOrInsert(outermost, connection, () => new Gate(1))
  await gate.enter()
  const outer = outerOf(connection)
  try {
    // what the work calls waits for none but its own siblings
    return await gates.run(new Map([...(around ?? []), [connection, new Gate(1)]]), () =>
      boundTo(base, connection).transaction(async (trx) => {
        Object.assign(trx, { parentTransaction: outer })
        await noteClient(trx)
        return work(trx)
      }),
    )
  } catch (error) {
    if (!(isError(error) && nativeError(error).code === NO_TRANSACTION)) throw error
    throw new ConfigurationError('withClient(): the client is in no transaction; begin one', { cause: error })
  } finally {
    gate.leave()
  }
}

/**
 * The gates of savepoints, one within the other: of several at once, one that is taken back would take with it those that have
 * begun after it, though their callers were told that they had succeeded. knex has its own queue for the same.
 */
const gates = new AsyncLocalStorage<ReadonlyMap<PgConnection, Gate>>()
const outermost = new WeakMap<PgConnection, Gate>()

const NO_TRANSACTION = '25P01'

type Context = { readonly client: KnexClient }

/** The knex, on this connection alone; to knex it is in a transaction, so that a transaction of its is a savepoint. */
function boundTo(base: Knex, connection: PgConnection): Knex {
  const own = base as Knex & { readonly context: Context }
  const client = Object.assign(Object.create(own.context.client) as KnexClient, {
    transacting: true,
    pool: undefined,
    acquireConnection: () => Promise.resolve(connection),
    releaseConnection: () => Promise.resolve(),
  })
  const context = Object.assign(Object.create(own.context) as Context, { client })
  return Object.assign(Object.setPrototypeOf(() => {}, own) as Knex, { context, $$objection: undefined })
}

/** What pg's client tells of the messages of PostgreSQL. */
interface Wire {
  on(event: 'commandComplete', listener: (message: { readonly text: string }) => void): void
  on(event: 'readyForQuery', listener: (message: { readonly status: string }) => void): void
  on(event: 'end', listener: () => void): void
  removeListener(event: string, listener: (...given: never[]) => void): void
}

const outers = new WeakMap<PgConnection, Knex.Transaction>()

/** The caller's transaction, as far as those need it who wait for its end. */
function outerOf(connection: PgConnection): Knex.Transaction {
  const known = outers.get(connection)
  if (known) return known
  const wire = connection.connection as unknown as Wire
  let isCompleted = false
  const executionPromise = new Promise<void>((resolve, reject) => {
    let last = ''
    const onCommand = ({ text }: { readonly text: string }) => {
      // others may follow in the same text
      if (ENDS.has(text)) last = text
    }
    const onReady = ({ status }: { readonly status: string }) => {
      if (status === IDLE) end()
    }
    const end = () => {
      wire.removeListener('commandComplete', onCommand)
      wire.removeListener('readyForQuery', onReady)
      wire.removeListener('end', end)
      isCompleted = true
      outers.delete(connection)
      if (last === 'COMMIT') resolve()
      else reject(new Error('the transaction was rolled back'))
    }
    wire.on('commandComplete', onCommand)
    wire.on('readyForQuery', onReady)
    wire.on('end', end)
  })
  executionPromise.catch(() => {})
  const ended = () => Promise.reject(new Error('withClient(): who has begun the transaction ends it'))
  const outer = {
    isTransaction: true,
    isCompleted: () => isCompleted,
    executionPromise,
    commit: ended,
    rollback: ended,
  }
  outers.set(connection, outer as unknown as Knex.Transaction)
  return outer as unknown as Knex.Transaction
}

const ENDS = new Set(['COMMIT', 'ROLLBACK'])
/** What PostgreSQL says when it is ready, in no transaction. */
const IDLE = 'I'
