/** A server of one streamed list, in a process of its own: how much memory it takes is to be told from outside. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import knex from 'knex'
import Koa from 'koa'
import { Model } from 'objection'
import {
  APIRouter,
  CSVRenderer,
  JSONRenderer,
  ModelSerializer,
  ModelViewSet,
  NDJSONRenderer,
  StreamMixin,
} from '../../lib/index.js'

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

const database = knex({
  client: 'pg',
  connection: JSON.parse(process.env['CONNECTION'] as string),
  pool: { min: 0, max: 4 },
})
Model.knex(database)
const api = new APIRouter().register('rows', RowViewSet, 'row')
await api.prepare()
const app = new Koa()
app.use(async (ctx, next) => {
  if (ctx.path !== '/memory') return next()
  ctx.body = { peak: process.resourceUsage().maxRSS * 1024, used: database.client.pool.numUsed() }
})
app.use(api.routes())
const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
console.log(`listening on ${(server.address() as AddressInfo).port}`)
