/**
 * Starts the atlas: `npm start`. The first start creates and fills the database, which takes a few seconds.
 *
 * PORT and HOST say where it listens (127.0.0.1:3000), DATABASE_URL names a PostgreSQL of your own.
 * DRAIN_SECONDS says how long a proxy takes to see that /readyz is 503, before anything is closed (0: there is none).
 * Ctrl-C or SIGTERM lets running requests end and stops everything; a second one stops at once.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { constants } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseThrottle } from 'koa-viewsets/throttling'
import { collectAssets } from './assets.js'
import { type Atlas, createAtlas } from './atlas.js'
import { type AtlasDatabase, openDatabase } from './database.js'
import { describeUsers } from './users.js'

/** How long a stop may take in all, once no proxy sends anything more. */
const STOP_MILLISECONDS = 10_000
/** How long open connections may bring requests that are answered. */
const DRAIN_MILLISECONDS = 2_000
/** How long the last answers may take to reach their clients. */
const FLUSH_MILLISECONDS = 1_000
/** npm passes on the Ctrl-C that the terminal has sent us already: what comes so soon is the same one. */
const SAME_SIGNAL_MILLISECONDS = 500
/** How often we look whether the npm that started us is still there. */
const PARENT_MILLISECONDS = 500

const host = process.env['HOST'] || '127.0.0.1'
const port = process.env['PORT'] || '3000'
const proxyMilliseconds = Number(process.env['DRAIN_SECONDS'] || 0) * 1_000

// A request that comes before all is ready waits.
const server = createServer((request, response) => {
  // the client opens its next connection to whoever serves then
  if (isStopping) response.setHeader('Connection', 'close')
  ready.then(
    (answer) => answer(request, response),
    () => response.destroy(),
  )
})
let database: AtlasDatabase | undefined
let atlas: Atlas | undefined
let isReady = false
let isStopping = false
let stoppingSince: number | undefined

const ready = start()
process.on('SIGINT', onSignal)
process.on('SIGTERM', onSignal)
if (process.env['npm_lifecycle_event']) stopWithParent()
try {
  await ready
  isReady = true
  await printUrls()
} catch (error) {
  console.error(error)
  process.exitCode = 1
  await stop()
}

async function start(): Promise<ReturnType<Atlas['app']['callback']>> {
  // First, so that a taken port is known before any work is done.
  await listen()
  database = await openDatabase()
  atlas = await createAtlas(database.knex, {
    counting: database.counting,
    staticRoot: await collectAssets(),
  })
  return atlas.app.callback()
}

async function listen(): Promise<void> {
  try {
    server.listen({ host, port })
    await once(server, 'listening')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    console.error(
      code === 'EADDRINUSE'
        ? `Port ${port} of ${host} is taken. Choose another one: PORT=3001 npm start`
        : `The atlas cannot listen on port ${port} of ${host}: ${message}`,
    )
    process.exit(1)
  }
}

function onSignal(signal: 'SIGINT' | 'SIGTERM'): void {
  if (isReady && stoppingSince === undefined) {
    stoppingSince = Date.now()
    void stop()
  } else if (stoppingSince === undefined || Date.now() - stoppingSince > SAME_SIGNAL_MILLISECONDS) {
    // The PostgreSQL sees our end and ends too.
    process.exit(128 + constants.signals[signal])
  }
}

/** Where npm was killed, nobody is left to tell us to stop. */
function stopWithParent(): void {
  const parent = process.ppid
  setInterval(() => process.ppid !== parent && onSignal('SIGTERM'), PARENT_MILLISECONDS).unref()
}

async function stop(): Promise<void> {
  atlas?.probes.drain()
  // all is answered as before, until every proxy has asked /readyz and sends its requests to others
  if (proxyMilliseconds > 0) await sleep(proxyMilliseconds)
  setTimeout(() => process.exit(1), STOP_MILLISECONDS).unref()
  const closed = once(server, 'close')
  isStopping = true
  server.close()
  const sweep = setInterval(() => server.closeIdleConnections(), 20)
  // requests that come on open connections are still answered; those that come later get 503
  await Promise.race([closed, sleep(DRAIN_MILLISECONDS, undefined, { ref: false })])
  await atlas?.api.close()
  const flush = setTimeout(() => server.closeAllConnections(), FLUSH_MILLISECONDS)
  await closed
  clearInterval(sweep)
  clearTimeout(flush)
  DatabaseThrottle.close()
  await database?.stop()
}

async function printUrls(): Promise<void> {
  const address = server.address() as AddressInfo
  const site = `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`
  const url = `${site}/api/v1`
  // A number that no city has: those of GeoNames are far smaller, and it is another one each second.
  const city = {
    geoname_id: Math.floor(Date.now() / 1_000),
    name: 'Atlantis',
    country_id: 1,
    latitude: '31.25',
    longitude: '-24.25',
  }
  console.log(`
The atlas is at ${site}/ with the countries of the world and their cities. Open it in a browser,
read its documentation at ${site}/docs, or try:

  curl '${url}/countries?page_size=3'
  curl '${url}/cities?page=2&page_size=10'
  curl '${url}/cities/1'
  curl '${url}/cities' -H 'Content-Type: application/json' -d '${JSON.stringify(city)}'
  curl '${url}/cities/1' -X PATCH -H 'Content-Type: application/json' -d '{"population":-1}'
  curl '${url}/countries/1' -X DELETE
  curl '${url}/lists' -H 'Authorization: Token alice-demo-token' -H 'Content-Type: application/json' -d '{"title":"Islands"}'

Agents call its tools at ${site}/mcp.

The users of this demo, who also log in at ${site}/login:

  ${(await describeUsers(database!.knex)).join('\n  ')}

Ctrl-C stops it.`)
}
