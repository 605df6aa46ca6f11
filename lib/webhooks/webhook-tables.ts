/** The tables of webhooks: who is told, what each is to be told, and how far the changes were read for it. */

import type { Knex } from 'knex'
import { ConfigurationError } from '../kernel/errors.js'
import { toReference } from '../models/table-reference.js'
import { createTable, quotedName } from '../postgres/create-table.js'

/** The tables, by what is in them. */
export const TABLES = {
  endpoints: 'koa_viewsets_webhook_endpoints',
  deliveries: 'koa_viewsets_webhook_deliveries',
  progress: 'koa_viewsets_webhook_progress',
} as const

/** True of an element `old` of `old_secrets`, the last one first: `{"secret", "until"}`. */
export const STILL_SIGNS = `(old ->> 'until')::timestamptz > now()`

/** `leased_until` of what was replayed, until it is taken or handed over. */
export const REPLAYED = `'-infinity'::timestamptz`

const CREATED: Readonly<Record<keyof typeof TABLES, readonly string[]>> = {
  endpoints: [
    `create table if not exists ${TABLES.endpoints} (
      id uuid primary key default gen_random_uuid(),
      owner text not null,
      url text not null,
      description text not null default '',
      events text[] not null,
      is_active boolean not null default true,
      problem text,
      secret text not null,
      old_secrets jsonb not null default '[]',
      failures int not null default 0,
      paused_until timestamptz,
      created_at timestamptz not null default now()
    )`,
    `create index on ${TABLES.endpoints} (owner)`,
  ],
  deliveries: [
    `create table if not exists ${TABLES.deliveries} (
      id text primary key,
      endpoint_id uuid not null,
      change_id bigint not null,
      object text not null,
      event text not null,
      body text,
      state text not null default 'pending' check (state in ('postponed', 'pending', 'delivered', 'dead')),
      waits boolean not null,
      attempts int not null default 0,
      due_at timestamptz not null default now(),
      leased_until timestamptz,
      status int,
      problem text,
      created_at timestamptz not null default now(),
      ended_at timestamptz
    )`,
    `create index on ${TABLES.deliveries} (endpoint_id, object, change_id) where ended_at is null`,
    `create index on ${TABLES.deliveries} (endpoint_id, due_at) where state = 'pending' and not waits`,
    `create index on ${TABLES.deliveries} (endpoint_id, change_id) where state = 'postponed'`,
    `create index on ${TABLES.deliveries} (endpoint_id) where leased_until = ${REPLAYED}`,
    `create index on ${TABLES.deliveries} (endpoint_id, change_id) where state = 'dead'`,
    `create index on ${TABLES.deliveries} (endpoint_id, change_id)`,
    `create index on ${TABLES.deliveries} (ended_at) where ended_at is not null`,
  ],
  progress: [`create table if not exists ${TABLES.progress} (endpoints text primary key, position text not null)`],
}

/**
 * Creates the tables of webhooks where they are missing; every process may do so at its start. Only their owner may read and
 * write them, whatever default privileges say.
 * @param knex the database of what changes
 * @example await ensureWebhookTables(knex)
 */
export async function ensureWebhookTables(knex: Knex): Promise<void> {
  for (const [name, statements] of Object.entries(CREATED)) {
    const table = TABLES[name as keyof typeof TABLES]
    await createTable(knex, quotedName(table), async (trx) => {
      for (const statement of statements) await trx.raw(statement)
    })
  }
}

/** Those of the names, as SQL quotes them, that are of no table. */
export async function missingTables(knex: Knex, names: readonly string[]): Promise<readonly string[]> {
  const { rows } = await knex.raw<{ rows: readonly { readonly name: string }[] }>(
    'select name from unnest(?::text[]) as name where to_regclass(name) is null',
    [names] as never,
  )
  return rows.map(({ name }) => name)
}

/** @param endpoints the table of endpoints @throws {ConfigurationError} a table is missing */
export async function checkWebhookTables(knex: Knex, endpoints: string): Promise<void> {
  const own = [TABLES.deliveries, TABLES.progress].map(quotedName)
  const [missing] = await missingTables(knex, [toReference(knex, endpoints), ...own])
  if (missing === undefined) return
  throw new ConfigurationError(
    `WebhookDispatcher: the table ${missing} is not there; await ensureWebhookTables(knex), from 'koa-viewsets/webhooks', before start()`,
  )
}
