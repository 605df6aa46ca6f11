/** Copies of pg that lack what it does not document: statements go through its documented query(), and no request fails. */
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import knexLibrary, { type Knex } from 'knex'
import Koa from 'koa'
import { APIRouter, modelSerializer, modelViewSet, table } from 'koa-viewsets'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { poolMode } from '../../support/database.js'
import { createFolder } from '../../support/files.js'
import { namesSubmitted } from '../../support/installed.js'
import { database, useLibrary } from '../../support/library.js'
import { serve } from '../../support/server.js'

const MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url))

useLibrary({ sql: "insert into books (title) select 'Book ' || n from generate_series(1, 30) as n", keep: true })
afterEach(() => void vi.restoreAllMocks())

type Change = (source: string) => string

/** A copy of pg with other sources. */
function copyOf(change: Change): object {
  const folder = createFolder({})
  const modules = join(folder, 'node_modules')
  cpSync(join(MODULES, 'pg'), join(modules, 'pg'), { recursive: true, dereference: true })
  for (const name of readdirSync(MODULES))
    if (name.startsWith('pg') && name !== 'pg') symlinkSync(join(MODULES, name), join(modules, name))
  let isChanged = false
  for (const file of ['client', 'connection', 'query'].map((name) => join(modules, 'pg/lib', `${name}.js`))) {
    const source = readFileSync(file, 'utf8')
    const changed = change(source)
    isChanged ||= changed !== source
    writeFileSync(file, changed)
  }
  // or the copy proves nothing
  expect(isChanged).toBe(true)
  return createRequire(join(folder, 'app.js'))('pg')
}

/** Requests of each kind, many at once, on a pool that makes its connections meanwhile. @returns the statuses, each once */
async function statusesOn(driver: object | undefined, connection: object = {}): Promise<readonly number[]> {
  const Current = knexLibrary({ client: 'pg' }).client.constructor
  class Copied extends Current {
    _driver() {
      return driver ?? super._driver()
    }
  }
  const knex: Knex = knexLibrary({
    client: Copied as never,
    connection: { ...(database.connection as Knex.PgConnectionConfig), ...connection },
    pool: { min: 0, max: 3 },
  })
  const Book = table('books').bindKnex(knex)
  const serializerClass = modelSerializer(Book, { fields: ['id', 'title'] })
  class Books extends modelViewSet(Book, { serializerClass }) {}
  class Owned extends modelViewSet(Book, { serializerClass }) {
    static override databaseSettings = () => ({ 'app.user': 'Ada' })
  }
  const api = new APIRouter().register('books', Books).register('owned', Owned, 'owned')
  await api.prepare({ knex })
  const server = await serve(new Koa().use(api.routes()))
  const statuses = new Set<number>()
  const send = async (method: string, path: string, body?: object) => {
    const { status, text, json } = await server.send({
      method,
      path,
      ...(body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    })
    statuses.add(status)
    if (status >= 400) throw new Error(`${method} ${path}: ${status} ${text}`)
    return json
  }
  const conversation = async (path: string) => {
    expect((await send('GET', path)).length).toBeGreaterThanOrEqual(30)
    const { id } = await send('POST', path, { title: 'New – ü' })
    expect(await send('GET', `${path}/${id}`)).toEqual({ id, title: 'New – ü' })
    expect(await send('PATCH', `${path}/${id}`, { title: 'Other' })).toEqual({ id, title: 'Other' })
    await send('DELETE', `${path}/${id}`)
  }
  try {
    await Promise.all(Array.from({ length: 12 }, (_, n) => conversation(n % 2 === 0 ? '/books' : '/owned')))
  } finally {
    await server.close()
    await knex.destroy()
  }
  return [...statuses].sort((one, other) => one - other)
}

const warned = () => vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
const codesOf = (warnings: ReturnType<typeof warned>) =>
  warnings.mock.calls.map(([, options]) => (options as { code?: string })?.code)

const LACKING: readonly [name: string, change: Change][] = [
  ['parsedStatements', (source) => source.replaceAll('parsedStatements', 'known')],
  ['its stream', (source) => source.replace(/\.stream\b/g, '.bytes')],
  [
    'parse()',
    (source) =>
      source.replace('  parse(query) {', '  prepare(query) {').replace('connection.parse({', 'connection.prepare({'),
  ],
  ['its class of queries', (source) => source.replace('Client.Query = Query', '')],
  [
    "queries of one's own",
    (source) =>
      source.replace(
        /^ *(?:\} else )?if \(typeof config\.submit === 'function'\) \{$/m,
        "$& if (!(config instanceof Query)) throw new Error('no such query')",
      ),
  ],
]

describe('a copy of pg without', () => {
  // behind a pooler of transactions nothing asks which statements are parsed
  const lacking = LACKING.filter(([name]) => poolMode() !== 'transaction' || name !== 'parsedStatements')
  it.each(lacking)('%s serves all requests, with one warning', async (_, change) => {
    const warnings = warned()
    expect(await statusesOn(copyOf(change))).toEqual([200, 201, 204])
    expect(codesOf(warnings).filter((code) => code === 'KOA_VIEWSETS_PLAIN_QUERIES')).toHaveLength(1)
  })

  it.skipIf(!namesSubmitted)(
    'submittedNamedStatements serves all requests, as versions before it had none',
    async () => {
      const warnings = warned()
      const change: Change = (source) => source.replaceAll('submittedNamedStatements', 'submitted')
      expect(await statusesOn(copyOf(change))).toEqual([200, 201, 204])
      expect(codesOf(warnings)).toEqual([])
    },
  )

  it('a queue of queries serves all requests in the fast way: one is sent at a time', async () => {
    const warnings = warned()
    const change: Change = (source) =>
      source.replace(
        /this\.(_?)queryQueue\.push\(query\)\s+this\._pulseQueryQueue\(\)/,
        "if (this.readyForQuery !== true || this.$1activeQuery) throw new Error('there is no queue')\n$&",
      )
    expect(await statusesOn(copyOf(change))).toEqual([200, 201, 204])
    expect(codesOf(warnings)).toEqual([])
  })
})

it('the pipelining of pg serves all requests', async () => {
  const warnings = warned()
  expect(await statusesOn(undefined, { pipeline: true })).toEqual([200, 201, 204])
  expect(codesOf(warnings)).toEqual([])
})
