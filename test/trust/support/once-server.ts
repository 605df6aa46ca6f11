/** The app of the runs about `Idempotency-Key`, in a process that is killed. */
import Router from '@koa/router'
import {
  APIRouter,
  BaseAuthentication,
  bulkModelViewSet,
  type Context,
  configure,
  IsAuthenticated,
  modelSerializer,
  table,
} from 'koa-viewsets'
import { ensureIdempotencyTable } from 'koa-viewsets/idempotency'
import { authentication, errors, idempotency } from 'koa-viewsets/plugins'
import { bindModels, serve, silentApp } from './served.js'

configure({ preparedStatements: false })
const knex = bindModels(8)

class ByName extends BaseAuthentication {
  override authenticate(ctx: Context) {
    const id = ctx.get('X-User')
    return id === '' ? null : { user: { id } }
  }
}

const Order = table('orders')
class Orders extends bulkModelViewSet(Order, {
  serializerClass: modelSerializer(Order, { fields: ['id', 'ref', 'caller'] }),
  authenticationClasses: [ByName],
  permissionClasses: [IsAuthenticated],
  idempotent: true,
}) {}

/** Through instances, and told after the commit. */
class Told extends Orders {
  override async performCreate(serializer: Parameters<Orders['performCreate']>[0]) {
    await super.performCreate(serializer)
    this.afterCommit(() => {})
  }
}

const api = new APIRouter({ prefix: '/api' }).register('orders', Orders).register('told', Told, 'told')
const routes = new Router()
routes.post('/api/plain', authentication(ByName), idempotency(knex), async (ctx) => {
  const { ref, caller } = ctx.request.body as { ref: string; caller: string }
  const [row] = await ctx.state['trx']('orders').insert({ ref, caller }).returning('*')
  ctx.status = 201
  ctx.body = row
})

const app = silentApp()
app.use(errors()).use(routes.routes()).use(api.routes())
await ensureIdempotencyTable(knex)
await api.prepare()
serve(app)
