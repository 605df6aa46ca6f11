/** Connections that the pool would go on giving out, though they are of no more use: pg says nothing of them. */

import { firstTime } from '../kernel/once-per.js'
import { isStillRunning } from './database-errors.js'
import type { NativeError } from './native-error.js'
import { clientOf, type PgConnection, poolOf, type Queryable } from './pg-types.js'

type Check = (connection: PgConnection, error: unknown) => void

const isNewClient = firstTime()
const isNewPrimary = firstTime()

/**
 * Has connections closed whose statement takes longer than `query_timeout`: it still runs, and pg sends no ROLLBACK behind it, so
 * that others would read and commit what its transaction has written. PostgreSQL takes that back.
 */
export function closeUnanswered(knex: Queryable): void {
  checkErrors(knex, isNewClient, ({ connection }, error) => {
    if (isStillRunning(error)) connection?.stream?.destroy()
  })
}

/** Has connections of the primary replaced that may not write: one that outlives a failover may lead to a standby. */
export function leaveStandbys(knex: Queryable): void {
  checkErrors(knex, isNewPrimary, (connection, error) => {
    if ((error as NativeError).code === '25006') connection.__knex__disposed ??= error
  })
}

function checkErrors(knex: Queryable, isNew: (client: object) => boolean, check: Check): void {
  const client = clientOf(knex)
  const pool = poolOf(client)
  // several may have one pool, and each tells of its own errors only
  if (!pool || !isNew(client)) return
  client.on('query-error', (error, { __knexUid: uid }) => {
    const connection = pool.used?.find(({ resource }) => resource.__knexUid === uid)?.resource
    if (connection) check(connection, error)
  })
}
