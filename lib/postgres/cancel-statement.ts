/**
 * Cancels what a connection is doing, by the cancel request of PostgreSQL's protocol (its documentation, section 54.2.7).
 * knex's own way names the process to `pg_cancel_backend()`: behind a pooler that is another process, or none.
 */

import type { EventEmitter } from 'node:events'
import { within } from '../kernel/within.js'
import { clientOf, type PgConnection, type Queryable } from './pg-types.js'

/** pg's protocol connection. */
interface Protocol extends EventEmitter {
  readonly stream: { destroy(): void }
  readonly ssl: unknown
  readonly sslNegotiation?: string
  connect(portOrPath: number | string, host?: string): void
  requestSsl(): void
  cancel(processId: number, secretKey: unknown): void
}

/** A server that has gone silent does not hold us up. */
const LONGEST_MILLISECONDS = 10_000

/**
 * Asks the server, or the pooler before it, to stop the statement that runs on a connection. Returns when it has been
 * told: no later statement is stopped. It costs no login, and none of the server's connections.
 * @throws Error it cannot be reached, or does not answer: what is on its way may still stop what runs then
 */
export async function cancelStatement(knex: Queryable, running: Partial<PgConnection>): Promise<void> {
  const client = clientOf(knex)
  const { processID, secretKey } = running
  const Client = client.driver?.Client
  if (!Client || typeof processID !== 'number' || secretKey === undefined || secretKey === null) {
    await client.cancelQuery?.(running)
    return
  }
  // a pool of the application's own has settings that knex does not know
  const known = Object.keys(client.connectionSettings ?? {}).length > 0
  const made = new Client(known ? client.connectionSettings : running.connectionParameters)
  // newer connections may lead to another server
  const { host = '', port = 0 } = running.host === undefined ? made : running
  const connection = made.connection as Protocol | undefined
  if (!connection) return
  const told = new Promise<void>((resolve, reject) => {
    const cancel = () => connection.cancel(processID, secretKey)
    connection.on('connect', () => {
      if (!connection.ssl) cancel()
      else if (connection.sslNegotiation !== 'direct') connection.requestSsl()
    })
    connection.on('sslconnect', cancel)
    connection.on('error', reject)
    // the answer is that the other side closes
    connection.on('end', resolve)
    if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`)
    else connection.connect(port, host)
  })
  try {
    await within(LONGEST_MILLISECONDS, told)
  } finally {
    connection.stream.destroy()
  }
}
