/**
 * Starts the atlas: `npm start`. The first start creates and fills the database, which takes a few seconds.
 *
 * PORT and HOST say where it listens (127.0.0.1:3000), DATABASE_URL names a PostgreSQL of your own.
 * Ctrl-C or SIGTERM answers what is running, then stops everything; a second one stops at once.
 */
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Model } from 'objection'
import { createApi } from './api.js'
import { createApp } from './app.js'
import { openDatabase } from './database.js'

/** How long running requests may take once we are told to stop. */
const GRACE_MILLISECONDS = 10_000
/** npm passes on the Ctrl-C that the terminal has given us already: what comes so soon is the same one. */
const SAME_SIGNAL_MILLISECONDS = 500

const host = process.env['HOST'] || '127.0.0.1'
const port = process.env['PORT'] || '3000'

/** What stops the parts that run, in order. */
const stops: (() => Promise<unknown>)[] = []
let stopping: { since: number } | undefined

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop(0))

try {
  await start()
} catch (error) {
  // Stopping in the middle of a start makes it fail; that is no news.
  if (!stopping) {
    console.error(error instanceof Failure ? error.message : error)
    stop(1)
  }
}

async function start(): Promise<void> {
  // The port comes first: that it is taken should be known before any work is done. Early requests wait.
  const { promise: ready, resolve: answerWith } = Promise.withResolvers<RequestListener>()
  const server = createServer((request, response) => void ready.then((answer) => answer(request, response)))
  await listen(server)

  const database = await openDatabase()
  stops.push(() => database.stop())
  Model.knex(database.knex)
  const api = createApi()
  await api.prepare()
  stops.unshift(() => Promise.race([api.close(), sleep(GRACE_MILLISECONDS)]))

  answerWith(createApp(api).callback())
  printUrls(`${urlOf(server)}/api/v1`)
}
