/**
 * One process of the cluster: books that are written to the primary and read from its standby. `main.ts` starts two of them.
 *
 * PRIMARY_URL and STANDBY_URL name the servers, PORT where it listens, SERVICE_NODE the process. Processes of one service have
 * the same SERVICE_SECRET_KEY. SIGTERM lets the proxy notice for DRAIN_SECONDS that /readyz is 503; SIGINT does not wait.
 * With TRACE=true each answer is a line of the log.
 */
import { subscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import knex, { type Knex } from 'knex'
import Koa from 'koa'
import { APIRouter, modelSerializer, modelViewSet, PageNumberPagination, table } from 'koa-viewsets'
import { errors, health, slowRequests } from 'koa-viewsets/plugins'
import { ReplicaSet } from 'koa-viewsets/replicas'
import type { AnswerTrace } from 'koa-viewsets/tracing'
import { Model } from 'objection'

const {
  PRIMARY_URL = '',
  STANDBY_URL = '',
  PORT = '3001',
  SERVICE_NODE = 'n1',
  DRAIN_SECONDS = '0',
  TRACE,
} = process.env

const primary = connect(PRIMARY_URL)
const standby = connect(STANDBY_URL)
Model.knex(primary)

const Book = table('books')

class BookViewSet extends modelViewSet(Book, {
  serializerClass: modelSerializer(Book, { fields: '__all__' }),
  paginationClass: PageNumberPagination,
}) {
  override finalizeResponse(): void {
    super.finalizeResponse()
    this.ctx.set('X-Answered-By', `${SERVICE_NODE}, ${this.knex === standby ? 'standby' : 'primary'}`)
  }
}

const api = new APIRouter({ prefix: '/api', replicas: new ReplicaSet({ primary, replicas: [standby] }) })
api.register('books', BookViewSet)
await api.prepare()

// the standby is not among them: without it all is read from the primary
const probes = health({ api })
const app = new Koa()
// callers are known by the address that nginx tells
app.proxy = true
app.maxIpsCount = 1
app.on('error', logError)
app.use(probes).use(slowRequests()).use(errors()).use(api.routes())

const server = app.listen(Number(PORT), '127.0.0.1')

if (TRACE === 'true') {
  subscribe('tracing:koa-viewsets:answer:asyncEnd', (event) => {
    const { request, status } = event as AnswerTrace
    console.log(`${request?.method} ${request?.route} ${status}`)
  })
}

process.once('SIGTERM', () => void stop(Number(DRAIN_SECONDS)))
process.once('SIGINT', () => void stop(0))

async function stop(seconds: number): Promise<void> {
  probes.drain()
  await sleep(seconds * 1_000)
  server.close()
  await api.close()
  await Promise.all([primary.destroy(), standby.destroy()])
}

/** A pool with an end to every wait. */
function connect(connectionString: string): Knex {
  return knex({
    client: 'pg',
    connection: { connectionString, query_timeout: 15_000, keepAlive: true } as Knex.PgConnectionConfig,
    pool: { min: 0, max: 10 },
    acquireConnectionTimeout: 5_000,
    compileSqlOnError: false,
  })
}

/** One line with what has caused it, such as a standby that is left out for a while. */
function logError(error: Error): void {
  const cause = error.cause instanceof Error ? ` (${JSON.stringify(error.cause.message)})` : ''
  console.error(`${error.name}: ${JSON.stringify(error.message)}${cause}`)
}
