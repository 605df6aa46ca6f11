/**
 * Runs tests of the API under a database role, where `DATABASE_ROLE` says so (`npm run test:roles`): what serves a request
 * may use the database only as that role. Connections log in as a role without any right; statements of the test itself,
 * outside of requests, are given the role here, and those of the API have to set it themselves.
 */
import http from 'node:http'
import { APIView } from '../../lib/index.js'
import { CALLER, requests, runsAsRole } from './roles.js'

if (runsAsRole()) {
  APIView.databaseRole = CALLER
  const emit = http.Server.prototype.emit
  http.Server.prototype.emit = function emitInRequest(this: http.Server, name: string, ...values: unknown[]) {
    const run = () => Reflect.apply(emit, this, [name, ...values]) as boolean
    return name === 'request' ? requests.run(true, run) : run()
  } as typeof emit
}
