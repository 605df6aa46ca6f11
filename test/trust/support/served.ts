/** How the apps of processes that are killed reach their database, and are served. PORT and DATABASE_URL say where. */
import knexLibrary, { type Knex } from 'knex'
import Koa from 'koa'
import { Model } from 'objection'

const { PORT, DATABASE_URL } = process.env

/** A knex of the database, which all models are bound to. @param max the most connections that it opens */
export function bindModels(max = 12): Knex {
  const connection = { connectionString: DATABASE_URL as string }
  const knex = knexLibrary({ client: 'pg', connection, pool: { min: 0, max } })
  Model.knex(knex)
  return knex
}

/** An app that is silent about errors. */
export function silentApp(): Koa {
  const app = new Koa()
  app.on('error', () => {})
  return app
}

/** Serves the app, and tells the parent when it is ready. @param backlog how many connections may wait */
export function serve(app: Koa, backlog?: number): void {
  app.listen(Number(PORT), '127.0.0.1', backlog, () => process.send?.('ready'))
}
