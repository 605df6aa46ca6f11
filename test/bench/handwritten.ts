/** The contender `handwritten`: the same answers by Koa, @koa/router and pg with prepared statements, and nothing else. */
import Router from '@koa/router'
import Koa from 'koa'
import pg, { type ClientConfig } from 'pg'

const COLUMNS = `id, geoname_id, name, country_id, admin_code, feature_code, population, latitude, longitude, created_at, updated_at`
const FIRST = `SELECT ${COLUMNS} FROM cities ORDER BY id LIMIT 25`
const PAGE = `SELECT ${COLUMNS} FROM cities ORDER BY id LIMIT $1 OFFSET $2`
const TIMESTAMPTZ = 1184

export function createHandwritten(connection: ClientConfig): Koa {
  // '2026-01-01 00:00:00.000137+00', as the session is in UTC. A Date would lose the microseconds.
  pg.types.setTypeParser(TIMESTAMPTZ, (text) => `${text.slice(0, 10)}T${text.slice(11, -3)}Z`)
  const pool = new pg.Pool({ ...connection, max: 10 })
  const router = new Router()

  router.get('/api/cities/:id', async (ctx) => {
    const text = `SELECT ${COLUMNS} FROM cities WHERE id = $1`
    const { rows } = await pool.query({ name: 'retrieve', text, values: [Number(ctx['params']['id'])] })
    if (rows.length === 0) ctx.throw(404)
    ctx.body = rows[0]
  })

  router.get('/api/uncounted', async (ctx) => {
    const { rows } = await pool.query({ name: 'first', text: FIRST })
    ctx.body = { results: rows }
  })

  router.get('/api/cities', async (ctx) => {
    const page = Number(ctx.query['page'] ?? 1)
    const [list, total] = await Promise.all([
      pool.query({ name: 'page', text: PAGE, values: [25, (page - 1) * 25] }),
      pool.query<{ count: number }>({ name: 'count', text: 'SELECT count(*)::int AS count FROM cities' }),
    ])
    const count = total.rows[0]?.count ?? 0
    const link = (number: number) => `${ctx.path}?page=${number}`
    ctx.body = {
      count,
      next: page * 25 < count ? link(page + 1) : null,
      previous: page > 1 ? link(page - 1) : null,
      results: list.rows,
    }
  })

  const app = new Koa()
  app.use(router.routes())
  return app
}
