/**
 * Runs tests of the API under a database role, where `DATABASE_ROLE` says so (`npm run test:roles`): what serves a request
 * may use the database only as that role. Connections log in as a role without any right; statements of the test itself,
 * outside of requests, are given the role here, and those of the API have to set it themselves.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import http from 'node:http'
import type { Knex } from 'knex'
import { APIView } from '../../lib/index.js'
import { CALLER, runsAsRole } from './roles.js'

const requests = new AsyncLocalStorage<true>()

if (runsAsRole()) {
  APIView.databaseRole = CALLER
  const emit = http.Server.prototype.emit
  http.Server.prototype.emit = function emitInRequest(this: http.Server, name: string, ...values: unknown[]) {
    const run = () => Reflect.apply(emit, this, [name, ...values]) as boolean
    return name === 'request' ? requests.run(true, run) : run()
  } as typeof emit
}

interface Connection {
  query(text: string): Promise<unknown>
}
interface Client {
  acquireConnection(): Promise<Connection>
  releaseConnection(connection: Connection): Promise<void>
}

/** Has statements that no request sends run as the role. */
export function actOutsideRequests(knex: Knex): void {
  const client = knex.client as Client
  const { acquireConnection, releaseConnection } = client
  const acting = new WeakSet<Connection>()
  client.acquireConnection = async () => {
    const connection = await acquireConnection.call(client)
    if (requests.getStore()) return connection
    await connection.query(`set role ${CALLER}`)
    acting.add(connection)
    return connection
  }
  client.releaseConnection = async (connection) => {
    if (acting.delete(connection)) await connection.query('reset role').catch(() => {})
    await releaseConnection.call(client, connection)
  }
}
