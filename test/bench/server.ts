/** The contender of the side-by-side benchmark: books and authors, served by ordinary view sets. */
import knexLibrary, { type Knex } from 'knex'
import Koa from 'koa'
import { configure } from 'koa-viewsets'
import { Model } from 'objection'
import { createBooksApi } from './books.js'

const knex = knexLibrary({
  client: 'pg',
  pool: { min: 0, max: Number(process.env['POOL_MAX'] ?? 10) },
  connection: {
    host: process.env['PGHOST'],
    port: Number(process.env['PGPORT']),
    user: process.env['PGUSER'],
    database: process.env['PGDATABASE'],
    password: process.env['PGPASSWORD'],
  } as Knex.PgConnectionConfig,
})
Model.knex(knex)
configure({ secretKey: 'a secret of the benchmark only' })

const api = createBooksApi()
await api.prepare()

const server = new Koa().use(api.routes()).listen(Number(process.env['PORT']), '127.0.0.1')

process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
  void api.close().then(() => knex.destroy())
})
