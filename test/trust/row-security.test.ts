/**
 * E25: what a request shows and changes is what its database role may see and change by plain SQL, whatever the
 * policies, and whoever else uses the connections meanwhile.
 */
import { randomBytes } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import knexLibrary, { type Knex } from 'knex'
import { APIRouter, bulkModelViewSet, FieldFilter, modelSerializer, SerializerMethodField, table } from 'koa-viewsets'
import type { Model } from 'objection'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { configure } from '../../lib/index.js'
import { type Client, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { findPgBouncer, startPgBouncer, warnWithoutPgBouncer } from '../support/pgbouncer.js'
import { seededRandom } from '../support/seeded-random.js'
import { report, size } from './support/size.js'

const RUN = randomBytes(6).toString('hex')
const LOGIN = `login_${RUN}`
const ROLES = [`writer_${RUN}`, `reader_${RUN}`, `other_${RUN}`] as const
const TENANTS = 100
const SEED = Number(process.env['TRUST_SEED'] ?? 7)

const Note = table('notes')
/** Written row by row, and through instances. */
const views = {
  notes: bulkModelViewSet(Note, {
    serializerClass: modelSerializer(Note, { fields: ['id', 'tenant', 'n', 'text'] }),
    filterBackends: [FieldFilter],
    filtersetFields: ['n'],
    ordering: ['id'],
  }),
  whole: bulkModelViewSet(Note, {
    serializerClass: class extends modelSerializer(Note, {
      fields: ['id', 'tenant', 'n', 'text', 'label'],
      declaredFields: { label: new SerializerMethodField<string>() },
    }) {
      static override schemaName = 'LabelledNote'
      getLabel(note: Model) {
        return String((note as unknown as { text: unknown }).text)
      }
    },
    ordering: ['id'],
  }),
}

let database: TestDatabase

beforeAll(async () => {
  configure({ secretKey: 'x'.repeat(32) })
  database = await createDatabase({
    schema: `
      create role ${LOGIN} login noinherit password 'x';
      ${ROLES.map((role) => `create role ${role}; grant ${role} to ${LOGIN};`).join('\n')}
      create table notes (id serial primary key, tenant int not null, n int not null default 0, text text not null);
      alter table notes enable row level security;
      grant usage on all sequences in schema public to ${ROLES.join(', ')}`,
  })
})
afterAll(async () => {
  await database.knex.raw([LOGIN, ...ROLES].map((role) => `drop owned by ${role}`).join(';'))
  await database.drop()
  const admin = new pg.Client({ ...database.direct, database: 'postgres' })
  await admin.connect()
  await admin.query([LOGIN, ...ROLES].map((role) => `drop role ${role}`).join(';'))
  await admin.end()
})

/** An API over the tables, whose requests name their role and tenant in headers. */
async function serveNotes(
  connection: pg.ClientConfig,
  max: number,
): Promise<{ client: Client; close(): Promise<void> }> {
  const pool = knexLibrary({
    client: 'pg',
    connection: connection as Knex.PgConnectionConfig,
    pool: { min: 0, max },
    acquireConnectionTimeout: 20_000,
  })
  const api = new APIRouter({
    databaseRole: ({ headers }) => headers['x-role'] as string,
    databaseSettings: ({ headers }) => ({ 'app.tenant': headers['x-tenant'] as string }),
  })
  for (const [name, view] of Object.entries(views)) {
    const bound = class extends (view as typeof views.notes) {
      override getKnex() {
        return pool
      }
    }
    api.register(name, bound, name)
  }
  await api.prepare({ knex: pool })
  const client = await serving(api.routes())
  return {
    client,
    async close() {
      await client.close()
      await pool.destroy()
    },
  }
}

describe('by plain SQL', () => {
  type Random = (below: number) => number
  const pick = <T>(random: Random, list: readonly T[]) => list[random(list.length)] as T

  /** A condition that a policy may have. */
  function condition(random: Random, depth = 0): string {
    const leaves = [
      "tenant = nullif(current_setting('app.tenant', true), '')::int",
      `n % ${random(3) + 2} = ${random(2)}`,
      `current_user = '${pick(random, ROLES)}'`,
      `id > ${random(30)}`,
      'true',
      'false',
      `exists (select from notes other where other.id = notes.id - ${random(3)} and false) or n < ${random(40)}`,
    ]
    // a policy that reads its own table is an endless one
    const plain = leaves.slice(0, 6)
    if (depth > 1 || random(2) === 0) return pick(random, plain)
    return `(${condition(random, depth + 1)} ${pick(random, ['and', 'or', 'and not'])} ${condition(random, depth + 1)})`
  }

  /** Grants and policies by chance. */
  function policies(random: Random): string {
    const statements = [`revoke all on notes from ${ROLES.join(', ')}`]
    for (const role of ROLES) {
      const rights = ['select', 'insert', 'update', 'delete'].filter(() => random(5) > 0)
      if (rights.length > 0) statements.push(`grant ${rights.join(', ')} on notes to ${role}`)
    }
    for (let index = random(5) + 1; index > 0; index--) {
      const command = pick(random, ['all', 'select', 'insert', 'update', 'delete'])
      const using = command === 'insert' ? '' : ` using (${condition(random)})`
      const check =
        ['all', 'insert', 'update'].includes(command) && random(2) === 0 ? ` with check (${condition(random)})` : ''
      const kind = random(4) === 0 ? 'restrictive' : 'permissive'
      const to = random(2) === 0 ? 'public' : pick(random, ROLES)
      if (using === '' && check === '') continue
      statements.push(`create policy p${index} on notes as ${kind} for ${command} to ${to}${using}${check}`)
    }
    return statements.join(';\n')
  }

  /** What a role sees or changes by a statement, which is undone: its rows, or the SQLSTATE. */
  async function bySql(
    client: pg.Client,
    { role, tenant }: Caller,
    text: string,
  ): Promise<{ rows?: Row[]; code?: string }> {
    await client.query('begin')
    try {
      await client.query("select set_config('role', $1, true), set_config('app.tenant', $2, true)", [role, tenant])
      return { rows: (await client.query<Row>(text)).rows }
    } catch (error) {
      return { code: (error as { code: string }).code }
    } finally {
      await client.query('rollback')
    }
  }
  interface Caller {
    readonly role: string
    readonly tenant: string
  }
  interface Row {
    readonly id: number
    readonly tenant: number
    readonly n: number
    readonly text: string
  }

  it(`[E25] ${size(8, 1_000)} policies by chance decide as they do there`, { timeout: 1_200_000 }, async () => {
    const random = seededRandom(SEED)
    const { client, close } = await serveNotes({ ...database.direct, user: LOGIN, password: 'x' }, 4)
    const admin = new pg.Client(database.direct)
    const plain = new pg.Client({ ...database.direct, user: LOGIN, password: 'x' })
    await Promise.all([admin.connect(), plain.connect()])
    const deviations: string[] = []
    const counts = { policies: size(8, 1_000), requests: 0, shown: 0, refused: 0 }
    for (let round = 0; round < counts.policies; round++) {
      await admin.query(
        `truncate notes restart identity; insert into notes (tenant, n, text) select n % 3, n, 't' || n from generate_series(1, 30) n`,
      )
      const existing = await admin.query<{ polname: string }>(
        "select polname from pg_policy where polrelid = 'notes'::regclass",
      )
      const declared = policies(random)
      await admin.query(
        [...existing.rows.map(({ polname }) => `drop policy ${polname} on notes`), declared].join(';\n'),
      )
      for (let index = 0; index < 6; index++) {
        const caller = { role: pick(random, ROLES), tenant: pick(random, ['0', '1', '2', '']) }
        const headers = { 'x-role': caller.role, 'x-tenant': caller.tenant }
        const path = pick(random, ['notes', 'whole'])
        const key = random(32) + 1
        const seen = await bySql(plain, caller, `select * from notes where id = ${key}`)
        const hidden = seen.code ? 403 : 404
        const same = (actual: unknown, expected: unknown) => {
          if (JSON.stringify(actual) === JSON.stringify(expected)) return
          deviations.push(`${JSON.stringify({ actual, expected, caller, path, key })} under ${declared}`)
        }
        counts.requests += 5

        const all = await bySql(plain, caller, 'select * from notes order by id')
        const list = await client.get(`/${path}`, headers)
        same(
          [list.status, list.status === 200 ? list.json.map(({ id }: Row) => id) : null],
          all.rows ? [200, all.rows.map(({ id }) => id)] : [401, null],
        )
        counts.shown += all.rows?.length ?? 0

        const one = await client.get(`/${path}/${key}`, headers)
        same(one.status, seen.code ? 401 : seen.rows?.length === 1 ? 200 : 404)

        // another than what is stored: what changes nothing is not written, and no policy is asked
        const n = 31 + 50 * index + random(50)
        const inserted = await bySql(
          plain,
          caller,
          `insert into notes (tenant, n, text) values (1, ${n}, 'new') returning *`,
        )
        const created = await client.send('POST', `/${path}`, { tenant: 1, n, text: 'new' }, headers)
        same(statusOf(created.status), inserted.rows ? 201 : 403)
        same((await admin.query("select from notes where text = 'new'")).rowCount, inserted.rows ? 1 : 0)
        await admin.query("delete from notes where text = 'new'")

        const updated = await bySql(plain, caller, `update notes set n = ${n} where id = ${key} returning *`)
        const changed = await client.send('PATCH', `/${path}/${key}`, { n }, headers)
        const isUpdated = updated.rows?.length === 1
        same(statusOf(changed.status), isUpdated ? 200 : seen.rows?.length === 1 ? 403 : hidden)
        const row = (await admin.query<Row>(`select * from notes where id = ${key}`)).rows[0]
        if (row) same(row.n === n || !isUpdated, true)
        if (row && !isUpdated && key <= 30) counts.refused++

        const stillSeen = await bySql(plain, caller, `select * from notes where id = ${key}`)
        const deleted = await bySql(plain, caller, `delete from notes where id = ${key} returning *`)
        const removed = await client.send('DELETE', `/${path}/${key}`, undefined, headers)
        const isDeleted = deleted.rows?.length === 1
        same(
          statusOf(removed.status),
          isDeleted ? 204 : stillSeen.rows?.length === 1 ? 403 : stillSeen.code ? 403 : 404,
        )
        same((await admin.query(`select from notes where id = ${key}`)).rowCount, isDeleted || !row ? 0 : 1)
      }
    }
    report('E25 policies', { ...counts, deviations: deviations.length })
    expect(deviations).toEqual([])
    expect(client.reported).toEqual([])
    await Promise.all([admin.end(), plain.end(), close()])
  })

  /** Nobody has a name here, so what a role may not do is 401. */
  function statusOf(status: number): number {
    return status === 401 ? 403 : status
  }
})

const installed = findPgBouncer()
if (!installed) warnWithoutPgBouncer()

describe.skipIf(!installed)('behind PgBouncer by transaction', () => {
  it(`[E25] ${size(150, 10_000)} requests of ${TENANTS} callers on six connections show nobody a row of another`, {
    timeout: 600_000,
  }, async () => {
    const random = seededRandom(SEED)
    const [role] = ROLES
    const admin = new pg.Client(database.direct)
    await admin.connect()
    const existing = await admin.query<{ polname: string }>(
      "select polname from pg_policy where polrelid = 'notes'::regclass",
    )
    await admin.query(
      [
        ...existing.rows.map(({ polname }) => `drop policy ${polname} on notes`),
        'truncate notes restart identity',
        "alter table notes alter column tenant set default nullif(current_setting('app.tenant', true), '')::int",
        `insert into notes (tenant, n, text) select n % ${TENANTS} + 1, n, 't' from generate_series(1, ${TENANTS * 5}) n`,
        `grant all on notes to ${role}`,
        "create policy own on notes using (tenant = nullif(current_setting('app.tenant', true), '')::int)",
      ].join(';\n'),
    )
    const bouncer = await startPgBouncer({
      mode: 'transaction',
      server: { ...database.direct, user: LOGIN, password: 'x' },
      settings: { default_pool_size: 6 },
    })
    configure({ preparedStatements: false })
    const { database: name } = new pg.Client(database.direct)
    const { client, close } = await serveNotes({ ...bouncer.connection, ...(name && { database: name }) }, 20)
    const total = size(150, 10_000)
    const figures = { requests: total, shown: 0, failed: 0, gone: 0, ended: 0 }
    const wrong: string[] = []
    let next = 0
    const check = (tenant: number, text: string) => {
      for (const match of text.matchAll(/"tenant":(\d+)/g)) {
        figures.shown++
        if (Number(match[1]) !== tenant) wrong.push(`${tenant} got ${text.slice(0, 200)}`)
      }
    }
    async function fire(): Promise<void> {
      const tenant = random(TENANTS) + 1
      const headers = { 'x-role': role, 'x-tenant': String(tenant) }
      const path = random(2) === 0 ? 'notes' : 'whole'
      const kind = random(10)
      if (kind === 9) {
        await leave(client.port, `/${path}`, headers)
        figures.gone++
        return
      }
      const answer =
        kind < 4
          ? await client.get(`/${path}`, headers)
          : kind < 7
            ? await client.get(`/${path}/${random(TENANTS * 5) + 1}`, headers)
            : kind === 7
              ? await client.send('POST', `/${path}`, { text: 'made', n: tenant }, headers)
              : await client.send('PATCH', `/${path}/${random(TENANTS * 5) + 1}`, { text: `by ${tenant}` }, headers)
      if (answer.status >= 500) figures.failed++
      check(tenant, answer.text)
    }
    const workers = Array.from({ length: 25 }, async () => {
      while (next < total) {
        next++
        if (next % 200 === 0) {
          const { rowCount } = await admin.query(
            'select pg_terminate_backend(pid) from pg_stat_activity where usename = $1 order by random() limit 1',
            [LOGIN],
          )
          figures.ended += rowCount ?? 0
        }
        await fire()
      }
    })
    await Promise.all(workers)
    report('E25 interleaved', figures)
    expect(wrong).toEqual([])
    expect(figures.shown).toBeGreaterThan(total)
    expect((await admin.query("select from notes where text = 'made' and tenant <> n")).rowCount).toBe(0)
    expect((await admin.query("select from notes where text like 'by %' and text <> 'by ' || tenant")).rowCount).toBe(0)
    // a connection that is ended fails its own request, and no other
    expect(figures.failed).toBeLessThanOrEqual(figures.ended * 2)
    configure({ preparedStatements: true })
    await close()
    await bouncer.stop()
    await admin.end()
  })
})

/** Sends a request and goes before its answer comes. */
function leave(port: number, path: string, headers: Record<string, string>): Promise<void> {
  return new Promise((resolve) => {
    const sent = httpRequest({ port, path, headers, host: '127.0.0.1', agent: false })
    sent.on('error', () => resolve())
    sent.on('close', () => resolve())
    sent.end()
    setTimeout(() => sent.destroy(), 2)
  })
}
