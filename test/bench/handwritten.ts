/**
 * The contender `handwritten`: the same answers by Koa, @koa/router, @koa/bodyparser and pg with prepared statements,
 * and nothing else.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { bodyParser } from '@koa/bodyparser'
import Router from '@koa/router'
import Koa from 'koa'
import pg, { type ClientConfig } from 'pg'

const COLUMNS = `id, geoname_id, name, country_id, admin_code, feature_code, population, latitude, longitude, created_at, updated_at`
const NESTED = `${COLUMNS.split(', ')
  .map((column) => `cities.${column}`)
  .join(', ')}, countries.name AS country_name, cca2, region`
const INSERT = `INSERT INTO new_cities (geoname_id, name, country_id, admin_code, population, latitude, longitude)
  VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING ${COLUMNS}`
const TIMESTAMPTZ = 1184
const PAGE_SIZE = 25
const FOREIGN_KEY = '23503'
const UNIQUE = '23505'

type Row = Record<string, unknown> & { id: number }

export function createHandwritten(connection: ClientConfig): Koa {
  // '2026-01-01 00:00:00.000137+00', as the session is in UTC. A Date would lose the microseconds.
  pg.types.setTypeParser(TIMESTAMPTZ, (text) => `${text.slice(0, 10)}T${text.slice(11, -3)}Z`)
  const pool = new pg.Pool({ ...connection, max: 10 })
  const router = new Router({ prefix: '/api' })

  const readFirst = async (count: number) => {
    const text = `SELECT ${COLUMNS} FROM cities ORDER BY id LIMIT ${count}`
    const { rows } = await pool.query<Row>({ name: `first ${count}`, text })
    return rows
  }

  /** Locks a row, checks that it is there, and writes, in one transaction: who has held it before has written by then. */
  const holding = async <Done>(
    ctx: Koa.Context,
    id: number,
    lock: 'UPDATE' | 'NO KEY UPDATE',
    write: (client: pg.PoolClient) => Promise<Done>,
  ): Promise<Done> => {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      const text = `SELECT ${COLUMNS} FROM new_cities WHERE id = $1 FOR ${lock}`
      const { rows } = await client.query<Row>({ name: `hold ${lock}`, text, values: [id] })
      if (rows.length === 0) ctx.throw(404)
      const done = await write(client)
      await client.query('COMMIT')
      return done
    } catch (error) {
      await client.query('ROLLBACK')
      throw error
    } finally {
      client.release()
    }
  }

  router.get('/cities/:id', async (ctx) => {
    const text = `SELECT ${COLUMNS} FROM cities WHERE id = $1`
    const { rows } = await pool.query({ name: 'retrieve', text, values: [Number(ctx['params']['id'])] })
    if (rows.length === 0) ctx.throw(404)
    ctx.body = rows[0]
  })

  router.get('/uncounted', async (ctx) => {
    ctx.body = { results: await readFirst(PAGE_SIZE) }
  })

  router.get(['/hundred', '/native'], async (ctx) => {
    ctx.body = { results: await readFirst(100) }
  })

  router.get('/nested', async (ctx) => {
    const text = `SELECT ${NESTED} FROM cities JOIN countries ON countries.id = country_id ORDER BY cities.id LIMIT ${PAGE_SIZE}`
    const { rows } = await pool.query<Row>({ name: 'nested', text })
    ctx.body = {
      results: rows.map(({ country_name: name, cca2, region, ...city }) => ({
        ...city,
        country: { id: city['country_id'], name, cca2, region },
      })),
    }
  })

  router.get('/cities', async (ctx) => {
    const page = Number(ctx.query['page'] ?? 1)
    const text = `SELECT ${COLUMNS} FROM cities ORDER BY id LIMIT $1 OFFSET $2`
    const [list, total] = await Promise.all([
      pool.query({ name: 'page', text, values: [PAGE_SIZE, (page - 1) * PAGE_SIZE] }),
      pool.query<{ count: number }>({ name: 'count', text: 'SELECT count(*)::int AS count FROM cities' }),
    ])
    const count = total.rows[0]?.count ?? 0
    const link = (number: number) => `${ctx.path}?page=${number}`
    ctx.body = {
      count,
      next: page * PAGE_SIZE < count ? link(page + 1) : null,
      previous: page > 1 ? link(page - 1) : null,
      results: list.rows,
    }
  })

  router.get('/keyset', async (ctx) => {
    const token = ctx.query['cursor']
    const cursor = typeof token === 'string' ? readCursor(token) : undefined
    if (token !== undefined && !cursor) ctx.throw(404)
    const backwards = cursor?.direction === 'prev'
    const text = `SELECT ${COLUMNS} FROM cities WHERE id ${backwards ? '>' : '<'} $1
      ORDER BY id ${backwards ? 'ASC' : 'DESC'} LIMIT ${PAGE_SIZE + 1}`
    const { rows } = await pool.query<Row>({ name: `keyset ${backwards}`, text, values: [cursor?.id ?? 2 ** 31 - 1] })
    const more = rows.length > PAGE_SIZE
    const results = rows.slice(0, PAGE_SIZE)
    if (backwards) results.reverse()
    const link = (direction: string, row?: Row) => (row ? `${ctx.path}?cursor=${writeCursor(direction, row.id)}` : null)
    ctx.body = {
      next: backwards || more ? link('next', results.at(-1)) : null,
      previous: cursor && (!backwards || more) ? link('prev', results[0]) : null,
      results,
    }
  })

  router.post('/new-cities', async (ctx) => {
    const values = readCity(ctx.request.body)
    if (!values) return ctx.throw(400)
    try {
      const { rows } = await pool.query<Row>({ name: 'create', text: INSERT, values })
      ctx.status = 201
      ctx.set('Location', `${ctx.path}/${rows[0]?.id}`)
      ctx.body = rows[0]
    } catch (error) {
      if ([FOREIGN_KEY, UNIQUE].includes(String((error as { code?: unknown }).code))) ctx.throw(400)
      throw error
    }
  })

  router.patch('/new-cities/:id', async (ctx) => {
    const id = Number(ctx['params']['id'])
    const changes = readChanges(ctx.request.body)
    if (!isInteger(id)) ctx.throw(404)
    if (!changes) return ctx.throw(400)
    const names = Object.keys(changes)
    const set = names.map((name, index) => `${name} = $${index + 2}`).join(', ')
    const text = `UPDATE new_cities SET ${set} WHERE id = $1 RETURNING ${COLUMNS}`
    try {
      ctx.body = await holding(ctx, id, 'NO KEY UPDATE', async (client) => {
        const values = [id, ...Object.values(changes)]
        const { rows } = await client.query<Row>({ name: `patch ${names.join()}`, text, values })
        return rows[0]
      })
    } catch (error) {
      if ([FOREIGN_KEY, UNIQUE].includes(String((error as { code?: unknown }).code))) ctx.throw(400)
      throw error
    }
  })

  router.delete('/new-cities/:id', async (ctx) => {
    const id = Number(ctx['params']['id'])
    if (!isInteger(id)) ctx.throw(404)
    await holding(ctx, id, 'UPDATE', (client) =>
      client.query({ name: 'delete', text: 'DELETE FROM new_cities WHERE id = $1', values: [id] }),
    )
    ctx.status = 204
  })

  const app = new Koa()
  app.use(bodyParser({ enableTypes: ['json'] })).use(router.routes())
  return app
}

/** The values of a new city in the order of the statement; undefined when one of them is wrong. */
function readCity(body: unknown): unknown[] | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const city = body as Record<string, unknown>
  const { geoname_id, name, country_id, admin_code = null, population = 0, latitude, longitude } = city
  if (!isInteger(geoname_id) || !isInteger(country_id) || !isInteger(population) || population < 0) return undefined
  if (typeof name !== 'string' || name.trim() === '' || name.length > 200) return undefined
  if (admin_code !== null && (typeof admin_code !== 'string' || admin_code.length > 20)) return undefined
  if (!isDegrees(latitude, 90) || !isDegrees(longitude, 180)) return undefined
  return [geoname_id, name.trim(), country_id, admin_code, population, latitude, longitude]
}

/** The columns that a body changes, with their values; undefined when one of them is wrong, or there is none. */
function readChanges(body: unknown): Record<string, unknown> | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const given = body as Record<string, unknown>
  const changes: Record<string, unknown> = {}
  for (const [name, isRight] of Object.entries(CHECKS)) {
    if (!Object.hasOwn(given, name)) continue
    if (!isRight(given[name])) return undefined
    changes[name] = typeof given[name] === 'string' ? given[name].trim() : given[name]
  }
  return Object.keys(changes).length > 0 ? changes : undefined
}

const isText = (value: unknown, most: number) =>
  typeof value === 'string' && value.trim() !== '' && value.length <= most

const CHECKS: Readonly<Record<string, (value: unknown) => boolean>> = {
  geoname_id: isInteger,
  name: (value) => isText(value, 200),
  country_id: isInteger,
  admin_code: (value) => value === null || isText(value, 20),
  population: (value) => isInteger(value) && value >= 0,
  latitude: (value) => isDegrees(value, 90),
  longitude: (value) => isDegrees(value, 180),
}

function isInteger(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 2 ** 31
}

function isDegrees(value: unknown, limit: number): boolean {
  return typeof value === 'string' && /^-?\d{1,3}(\.\d{1,5})?$/.test(value) && Math.abs(Number(value)) <= limit
}

// Cursors are signed, as those of ours are.

function writeCursor(direction: string, id: number): string {
  const position = `${direction}:${id}`
  return Buffer.from(`${position}:${sign(position)}`).toString('base64url')
}

function readCursor(token: string): { direction: string; id: number } | undefined {
  const text = Buffer.from(token, 'base64url').toString()
  const { position = '', direction = '', id, signature = '' } = CURSOR.exec(text)?.groups ?? {}
  const [given, right] = [Buffer.from(signature), Buffer.from(sign(position))]
  return given.length === right.length && timingSafeEqual(given, right) ? { direction, id: Number(id) } : undefined
}

const CURSOR = /^(?<position>(?<direction>next|prev):(?<id>\d+)):(?<signature>[0-9a-f]{32})$/

function sign(text: string): string {
  return createHmac('sha256', 'a secret of the benchmark only').update(text).digest('hex').slice(0, 32)
}
