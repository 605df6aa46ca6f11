/**
 * A program with all of ours that has a timer. With USED it answers requests first; then its server and its pools are
 * closed, and nothing of ours: it ends when nothing keeps it.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import knexLibrary from 'knex'
import Koa from 'koa'
import {
  APIRouter,
  configure,
  JSONRenderer,
  ModelSerializer,
  NDJSONRenderer,
  ReadOnlyModelViewSet,
  ServerCursorPagination,
  StreamMixin,
  UserRateThrottle,
} from 'koa-viewsets'
import { APIKeyAuthentication, createApiKeysTable, generateApiKey } from 'koa-viewsets/api-keys'
import { CacheBustChannel } from 'koa-viewsets/assets'
import { MeteringMixin, PostgresMeteringEngine, setMeteringEngine } from 'koa-viewsets/metering'
import { appVersion, cacheBust, errors, metering, throttle, versionEndpoint } from 'koa-viewsets/plugins'
import { DatabaseAnonThrottle, DatabaseThrottle, DatabaseUserThrottle } from 'koa-viewsets/throttling'
import { Model } from 'objection'

const { DATABASE_URL, USED } = process.env
configure({ secretKey: 'a secret of a mounted app' })
const knex = knexLibrary({ client: 'pg', connection: { connectionString: DATABASE_URL as string } })
Model.knex(knex)
await knex.raw(
  'create table if not exists things (id int primary key); insert into things values (1) on conflict do nothing',
)

class Thing extends Model {
  static override tableName = 'things'
}
class ThingSerializer extends ModelSerializer<Thing> {
  static override model = Thing
  static override fields = '__all__'
}
class Things extends MeteringMixin(StreamMixin(ReadOnlyModelViewSet<Thing>)) {
  static override model = Thing
  static override serializerClass = ThingSerializer
  static override authenticationClasses = [APIKeyAuthentication]
  static override throttleClasses = [DatabaseAnonThrottle, DatabaseUserThrottle]
  static override rendererClasses = [JSONRenderer, NDJSONRenderer]
  static override paginationClass = new ServerCursorPagination({ pageSize: 10, maxPerUser: 2 })
}

await createApiKeysTable()
await DatabaseThrottle.ensureTable(knex)
DatabaseThrottle.setBackend(knex)
// long enough that only what keeps no process can end before it
const engine = new PostgresMeteringEngine({ knex, interval: 600_000 })
await engine.ensureTable()
setMeteringEngine(engine)
const api = new APIRouter().register('things', Things)
await api.prepare()
const app = new Koa()
app.use(errors()).use(appVersion()).use(versionEndpoint()).use(metering()).use(throttle(new UserRateThrottle()))
app
  .use(cacheBust({ channel: new CacheBustChannel(knex) }))
  .use(api.routes())
  .use(api.allowedMethods())

if (USED) {
  const { key } = await generateApiKey({ userId: 7 })
  const handle = app.callback()
  const server = createServer((request, response) => void handle(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  for (const path of ['/things', '/things/1', '/things.ndjson', '/version']) {
    for (const headers of [{}, { 'X-API-Key': key }]) {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
      await answer.text()
      if (answer.status !== 200) throw new Error(`${path} is ${answer.status}`)
    }
  }
  server.close()
  server.closeAllConnections()
}
await knex.destroy()
console.log('all is closed')
