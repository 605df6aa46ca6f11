/** A server of one long list, streamed and in pages, in a process of its own: its memory is to be told from outside. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { getHeapSpaceStatistics } from 'node:v8'
import knex from 'knex'
import Koa from 'koa'
import { Model } from 'objection'
import {
  APIRouter,
  CSVRenderer,
  configure,
  JSONRenderer,
  ModelSerializer,
  ModelViewSet,
  NDJSONRenderer,
  ServerCursorPagination,
  StreamMixin,
} from '../../lib/index.js'
import { appVersion } from '../../plugins/index.js'

class Row extends Model {
  static override tableName = 'exported'
}

class RowSerializer extends ModelSerializer<Row> {
  static override model = Row
  static override fields = '__all__'
}

class RowViewSet extends StreamMixin(ModelViewSet<Row>) {
  static override model = Row
  static override serializerClass = RowSerializer
  static override rendererClasses = [JSONRenderer, CSVRenderer, NDJSONRenderer]
}

class PagedRowViewSet extends ModelViewSet<Row> {
  static override model = Row
  static override serializerClass = RowSerializer
  static override paginationClass = new ServerCursorPagination({ pageSize: 1_000 })
}

const database = knex({
  client: 'pg',
  // with a timeout pg puts a function of its own around each callback
  connection: { ...JSON.parse(process.env['CONNECTION'] as string), query_timeout: 30_000 },
  pool: { min: 0, max: 4 },
})
Model.knex(database)
configure({ secretKey: 'a secret of the export' })
const api = new APIRouter().register('rows', RowViewSet, 'row').register('pages', PagedRowViewSet, 'page')
await api.prepare()
const sum = (numbers: readonly number[]) => numbers.reduce((all, number) => all + number, 0)
const app = new Koa()
app.use(async (ctx, next) => {
  if (ctx.path !== '/memory') return next()
  ctx.body = {
    peak: process.resourceUsage().maxRSS * 1024,
    used: database.client.pool.numUsed(),
    old: sum(getHeapSpaceStatistics().map((space) => (space.space_name.startsWith('new') ? 0 : space.space_used_size))),
    buffers: process.memoryUsage().arrayBuffers,
  }
})
app.use(appVersion()).use(api.routes())
const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
console.log(`listening on ${(server.address() as AddressInfo).port}`)
