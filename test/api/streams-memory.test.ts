/** How much memory an export takes: `EXPORT_ROWS=1000000` for the figure that counts. */
import http from 'node:http'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { type Program, startFile } from '../support/program.js'
import { connectTo } from '../support/server.js'

const rows = Number(process.env['EXPORT_ROWS'] ?? 20_000)
const MB = 1024 * 1024

let database: TestDatabase
let program: Program
let port: number

beforeAll(async () => {
  database = await createDatabase({
    schema: `create table exported as
      select i::int as id, 'name ' || i as name, (i % 977) / 10.0 as price, now() + i * interval '1 s' as at,
        repeat('x', 40) as note from generate_series(1, ${rows}) as i;
      alter table exported add primary key (id)`,
  })
  program = startFile('test/bench/export-server.ts', {
    CONNECTION: JSON.stringify(database.connection),
    NODE_OPTIONS: '--max-old-space-size=96',
  })
  await vi.waitFor(
    () => {
      const [, found] = /listening on (\d+)/.exec(program.output()) ?? []
      if (found === undefined) throw new Error(`no answer:\n${program.output()}`)
      port = Number(found)
    },
    { timeout: 40_000, interval: 50 },
  )
})
afterAll(async () => {
  await program.stop()
  await database.drop()
})

/** Reads a whole answer and counts it. */
async function count(path: string): Promise<{ bytes: number; lines: number }> {
  return new Promise((resolve, reject) => {
    http.get({ port, path }, (response) => {
      let bytes = 0
      let lines = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++
      })
      response.on('end', () => (response.complete ? resolve({ bytes, lines }) : reject(new Error('cut off'))))
      response.on('error', reject)
    })
  })
}

it('[D13] pages of a server cursor are gone without a full garbage collection', { timeout: 120_000 }, async () => {
  const { send } = connectTo(port)
  const memory = async () => (await send({ path: '/memory' })).json as { old: number; buffers: number; used: number }
  let last = await memory()
  let kept = 0
  let buffers = 0
  for (let pages = 0; pages < 280; ) {
    let cursor = ''
    do {
      const { json } = await send({ path: `/pages${cursor}` })
      const page = json as { cursor_id: string | null; results: unknown[] }
      pages++
      cursor = page.cursor_id === null ? '' : `?server_cursor=${page.cursor_id}`
      const now = await memory()
      // the first pages are those whose code is compiled
      if (pages > 60) kept += Math.max(0, now.old - last.old)
      buffers = Math.max(buffers, now.buffers)
      last = now
    } while (cursor !== '')
  }
  expect(last.used).toBe(0)
  expect(kept).toBeLessThan(10 * MB)
  expect(buffers).toBeLessThan(20 * MB)
})

it(`[G3] an export of ${rows} rows takes a few megabytes of memory, of 96 there are`, {
  timeout: 600_000,
}, async () => {
  const { send } = connectTo(port)
  const before = (await send({ path: '/memory' })).json as { peak: number }
  const start = performance.now()
  expect(await count('/rows.csv')).toMatchObject({ lines: rows + 1 })
  const csv = performance.now() - start
  expect(await count('/rows.ndjson')).toMatchObject({ lines: rows })
  const ndjson = performance.now() - start - csv
  const { peak, used } = (await send({ path: '/memory' })).json as { peak: number; used: number }
  // the connection is given back before the end is sent
  expect(used).toBe(0)
  expect(peak - before.peak).toBeLessThan(120 * MB)
  expect(program.child.exitCode).toBe(null)
  if (rows >= 1_000_000) {
    const seconds = [csv, ndjson].map((milliseconds) => (milliseconds / 1000).toFixed(1))
    console.log(
      `csv ${seconds[0]} s, ndjson ${seconds[1]} s, peak ${Math.round(peak / MB)} MB, before ${Math.round(before.peak / MB)} MB`,
    )
  }
})
