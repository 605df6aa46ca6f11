/** Many writers of books and reviews, and what PostgreSQL's own log says of them. */
import { setTimeout as sleep } from 'node:timers/promises'
import knexLibrary, { type Knex } from 'knex'
import { expect } from 'vitest'
import { type Postgres, startPostgres } from '../../../examples/support/postgres.js'
import { LIBRARY } from '../../support/library.js'
import { toUrl } from '../../support/program.js'
import { committedRows, createSlot, type Decoder, type Row, readSlot } from './committed-rows.js'
import type { App } from './killed-apps.js'
import type { Random } from './random.js'
import { seed, size } from './size.js'

export const WRITERS = 12
export const SCHEMA = `
  ${LIBRARY}
  alter table books add check (title <> 'refused');
  alter table books replica identity full; alter table reviews replica identity full;`

/** A PostgreSQL that keeps a record of what is committed. */
export interface RecordingPostgres {
  readonly knex: Knex
  readonly connection: Postgres['connection']
  readonly url: string
  stop(): Promise<void>
}

/** @param prepare makes the tables that stand beside the books */
export async function startRecording(
  decoder: Decoder,
  prepare: (knex: Knex) => Promise<void>,
): Promise<RecordingPostgres> {
  const given = { ...process.env }
  if (decoder.binaries !== undefined) {
    process.env['POSTGRES_BINARIES'] = decoder.binaries
    // those of the run may be another PostgreSQL's
    delete process.env['POSTGRES_DATA']
  }
  const started = startPostgres({ settings: { wal_level: 'logical', ...decoder.settings } })
  const { connection, stop } = await started.finally(() => {
    delete process.env['POSTGRES_BINARIES']
    Object.assign(process.env, given)
  })
  const knex = knexLibrary({ client: 'pg', connection: { ...connection } })
  await knex.raw(SCHEMA)
  await prepare(knex)
  await knex.raw(createSlot(decoder))
  return {
    knex,
    connection,
    url: toUrl(connection),
    stop: async () => {
      await knex.destroy()
      await stop()
    },
  }
}

/** A change of an object: what was shown of it, and what is. */
export interface Change {
  readonly transaction: string
  /** `books 7`. */
  readonly name: string
  readonly before: unknown
  readonly after: unknown
}

/** What a serializer shows of a row. */
function imageOf(table: string, row: Row | null): unknown {
  if (!row) return null
  const { id, title, price = null, text } = row
  return table === 'books' ? { id: Number(id), title, price } : { id: Number(id), text }
}

/** What the log says was committed. */
export async function committed(knex: Knex, decoder: Decoder): Promise<Change[]> {
  const { rows } = await knex.raw<{ rows: readonly { data: string }[] }>(readSlot(decoder))
  const lines = rows.map(({ data }) => data)
  return committedRows(decoder, lines).flatMap(({ transaction, table, ...row }): Change[] => {
    if (table !== 'books' && table !== 'reviews') return []
    const [before, after] = [imageOf(table, row.before), imageOf(table, row.after)]
    const name = `${table} ${(row.after ?? row.before)?.['id']}`
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ transaction, name, before, after }]
  })
}

export async function recorded(knex: Knex): Promise<Change[]> {
  const { rows } = await knex.raw(
    `select transaction::text, model || ' ' || key as name, before, after from koa_viewsets_changes order by id`,
  )
  return rows
}

/** What writers were told. */
export interface Told {
  answered: number
  /** The books that were created. */
  readonly created: Set<number>
}

/** Milliseconds between two writes: a short run leaves most of the machine to other tests. */
const PAUSE = size(50, 0)

/** Writes until it is told to stop; a process that is gone is no matter. */
export async function write(apps: readonly App[], random: Random, told: Told, isOver: () => boolean): Promise<void> {
  for (let step = 0; !isOver(); step++) {
    if (PAUSE > 0) await sleep(PAUSE)
    const app = random.pick(apps)
    const id = 1 + random.below(40)
    const title = random.chance(0.05) ? 'refused' : `title ${seed} ${step} '${random.below(1_000)}' "é\\`
    const reviews = random.some([{ text: 'good' }, { text: "it's fine" }])
    const [method, path, body] = random.pick<[string, string, unknown?]>([
      ['POST', '/flat', { title, price: '1.5' }],
      ['POST', '/books', { title, reviews }],
      ['PATCH', `/flat/${id}`, { title }],
      ['PATCH', `/books/${id}`, { title, reviews }],
      ['PATCH', `/books/bulk`, [id, id + 1, id + 2].map((key) => ({ id: key, title: `${title} ${key}` }))],
      ['PUT', `/flat/${id}`, { title, price: null }],
      ['DELETE', `/books/${id}`],
      ['POST', '/flat/bulk', [{ title }, { title: `${title} 2` }]],
    ])
    try {
      const response = await fetch(`http://127.0.0.1:${app.port}${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      expect([200, 201, 204, 400, 404, 503]).toContain(response.status)
      told.answered++
      if (response.status === 201) for (const one of [JSON.parse(text)].flat()) told.created.add(one.id)
      if (response.status === 503) await sleep(20)
    } catch (error) {
      if ((error as Error).name === 'AssertionError') throw error
      await sleep(20)
    }
  }
}

/** The app's processes are killed, one after the other, and start again. */
export const killing = (kills: number) => async (apps: readonly App[], random: Random) => {
  for (let kill = 0; kill < kills; kill++) {
    await sleep(200 + random.below(400))
    const app = apps[kill % apps.length] as App
    await app.kill()
    await app.start()
  }
}
