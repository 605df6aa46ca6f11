/** A process of its own whose one route admits 100 requests a day of each user; the tests start two of them. */
import { Redis } from 'ioredis'
import knex from 'knex'
import Koa from 'koa'
import { ScopedRateThrottle } from 'koa-viewsets'
import { throttle } from 'koa-viewsets/plugins'
import { DatabaseScopedThrottle, DatabaseThrottle, RedisScopedThrottle, RedisThrottle } from 'koa-viewsets/throttling'

const { STORE, PORT, DATABASE_URL, REDIS_PATH } = process.env
/** Long enough for a machine that does much else: only the counts are tested. */
const PATIENT = { timeout: 60_000 }
const scope = { scope: 'two processes', rate: '100/day' }

const stores: Record<string, () => ScopedRateThrottle> = {
  memory: () => new ScopedRateThrottle(scope),
  PostgreSQL() {
    DatabaseThrottle.setBackend(knex({ client: 'pg', connection: { connectionString: DATABASE_URL ?? '' } }), PATIENT)
    return new DatabaseScopedThrottle(scope)
  },
  Redis() {
    RedisThrottle.setBackend(new Redis(REDIS_PATH ?? ''), PATIENT)
    return new RedisScopedThrottle(scope)
  },
}
const create = stores[STORE ?? '']
if (!create) throw new Error(`STORE is ${STORE}`)

const app = new Koa()
app.use(async (ctx, next) => {
  ctx.state['user'] = { id: ctx.get('X-User') || 'nobody' }
  if (ctx.path === '/ready') ctx.body = 'ready'
  else await next()
})
app.use(throttle(create()))
app.use((ctx) => {
  ctx.body = 'admitted'
})
app.listen(Number(PORT), '127.0.0.1')
