/** Puts the atlas together over a database that has its countries and cities. */
import { readFile } from 'node:fs/promises'
import type { Knex } from 'knex'
import type Koa from 'koa'
import type { APIRouter } from 'koa-viewsets'
import { ensureChangesTable } from 'koa-viewsets/changes'
import { PostgresMeteringEngine, setMeteringEngine } from 'koa-viewsets/metering'
import { type HealthMiddleware, health } from 'koa-viewsets/plugins'
import { DatabaseThrottle } from 'koa-viewsets/throttling'
import { Model } from 'objection'
import { createApi } from './api.js'
import { createApp } from './app.js'
import { prepareUsers } from './users.js'

export interface Atlas {
  readonly api: APIRouter
  readonly app: Koa
  /** What answers `/livez` and `/readyz`; to be told first when the process is to end. */
  readonly probes: HealthMiddleware
}

/** Any number will do, as long as it is always the same. */
const TABLES_LOCK = 20_260_102

export interface AtlasOptions {
  /** Where throttles count. @default the atlas's own pool */
  readonly counting?: Knex
  /** Where `collectstatic` has put the page's files; without it they are served as they are. */
  readonly staticRoot?: string | undefined
}

/** Creates the tables that are missing, and the app. */
export async function createAtlas(knex: Knex, { counting = knex, staticRoot }: AtlasOptions = {}): Promise<Atlas> {
  Model.knex(knex)
  const usage = new PostgresMeteringEngine({ knex })
  const tables = await readFile(new URL('tables.sql', import.meta.url), 'utf8')
  await knex.transaction(async (trx) => {
    // several processes may start at once
    await trx.raw('SELECT pg_advisory_xact_lock(?)', [TABLES_LOCK])
    await trx.raw(tables)
    await prepareUsers(trx)
  })
  await DatabaseThrottle.ensureTable(knex)
  await usage.ensureTable()
  await ensureChangesTable(knex)
  DatabaseThrottle.setBackend(counting)
  setMeteringEngine(usage)
  const api = createApi()
  await api.prepare()
  const probes = health({ api, databases: [counting] })
  return { api, probes, app: createApp(api, { usage, probes, staticRoot }) }
}
