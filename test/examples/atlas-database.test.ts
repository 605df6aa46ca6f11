import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { openDatabase } from '../../examples/atlas/database.js'
import { City, Country } from '../../examples/atlas/models.js'
import { compiledModules } from '../support/program.js'

describe('the database of the atlas', () => {
  let cache: string
  beforeAll(async () => {
    cache = await mkdtemp(join(tmpdir(), 'kv-test-'))
    await chmod(cache, 0o755)
    vi.stubEnv('XDG_CACHE_HOME', cache)
    vi.stubEnv('DATABASE_URL', undefined)
    // for the processes that fill it
    for (const [name, value] of Object.entries(compiledModules())) vi.stubEnv(name, value)
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    await rm(cache, { recursive: true })
  })

  it('is filled by the first start that is not interrupted, and then kept', { timeout: 60_000 }, async () => {
    await interruptFirstStart()

    const first = await openDatabase()
    const { rows } = await first.knex.raw(`
      select (select count(*)::int from countries) as countries,
             (select area from countries where cca2 = 'SJ') as area,
             count(*)::int as cities, count(distinct geoname_id)::int as geonames,
             count(distinct created_at)::int as times,
             count(distinct date_trunc('milliseconds', created_at))::int as milliseconds
        from cities`)
    expect(rows).toEqual([
      { countries: 250, area: null, cities: 135_233, geonames: 135_233, times: 135_233, milliseconds: 18_527 },
    ])
    const city = await City.query(first.knex).findOne({ geoname_id: 2_657_896 }).withGraphFetched('country')
    expect(city).toMatchObject({ name: 'Zürich', latitude: '47.36667', country: { name: 'Switzerland', cca2: 'CH' } })
    await Country.query(first.knex).findOne({ cca2: 'SJ' }).patch({ capital: 'Barentsburg' })
    await first.stop()

    const second = await openDatabase()
    expect(await Country.query(second.knex).findOne({ cca2: 'SJ' })).toMatchObject({ capital: 'Barentsburg' })
    await second.stop()
  })

  it('is a temporary one while another start uses it', { timeout: 60_000 }, async () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue()
    const first = await openDatabase()
    const second = await openDatabase()
    expect(warn.mock.calls.join('\n')).toMatch(
      /another server is using .*\/atlas\n.*DATABASE_URL.*\n.*temporary database/,
    )
    await first.knex('cities').delete()
    expect(await second.knex('cities').count()).toEqual([{ count: '135233' }])
    await Promise.all([first.stop(), second.stop()])
  })

  /** Kills the process that fills the database, on its way. */
  async function interruptFirstStart(): Promise<void> {
    const module = new URL('../../examples/atlas/database.ts', import.meta.url).href
    const script = `import { openDatabase } from '${module}'; await openDatabase()`
    const args = ['--import', import.meta.resolve('tsx'), '--input-type=module', '-e', script]
    const waiting = { timeout: 20_000, interval: 10 }
    const child = spawn(process.execPath, args, { stdio: 'ignore' })
    const lock = join(cache, 'koa-viewsets', 'atlas', 'postmaster.pid')
    await vi.waitUntil(() => existsSync(lock) && readFileSync(lock, 'utf8').includes('ready'), waiting)
    // Line 5 of the lock is the folder of the socket.
    const [host] = readFileSync(lock, 'utf8').split('\n').slice(4)
    const client = new pg.Client({ host, user: 'postgres', database: 'postgres' })
    // The server goes with the process that we kill.
    client.on('error', () => {})
    await client.connect()
    const copied = 'select 1 from pg_stat_progress_copy where tuples_processed > 1000'
    await vi.waitUntil(async () => (await client.query(copied)).rowCount === 1, waiting)
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
})
