/** A PostgreSQL and the app under test, each in a process of its own, and what is known of both from outside. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { TestedDocument } from 'koa-viewsets/testing'
import pg from 'pg'
import { type Postgres, startPostgres } from '../../../examples/support/postgres.js'
import { argumentsOf, compiledModules, findFreePort } from '../../support/program.js'
import { createRoles, LOGIN, runsAsRole } from '../../support/roles.js'

/** What the app's process holds. */
export interface TrialState {
  /** How many requests have begun. */
  readonly requests: number
  readonly used: number
  readonly pending: number
  readonly temporaryFiles: readonly string[]
  /** Without those of the pool. */
  readonly descriptors: number
  /** Resident bytes, after a garbage collection. */
  readonly memory: number
  /** Bytes of objects, strings, code and buffers that are in use: pages that the allocator has not given back are no part of it. */
  readonly held: number
  /** The 99th percentile of the event loop's delay, in milliseconds: at rest the 5 at which it is looked at. */
  readonly loopDelay: number
  readonly prototype: readonly string[]
}

export interface TrialServer {
  readonly port: number
  readonly child: ChildProcess
  /** What it has written to stderr. */
  errors(): string
  state(): Promise<TrialState>
  /** What `app.on('error')` got since the last look. */
  failures(): Promise<readonly string[]>
  /** Its OpenAPI document. */
  document(): Promise<TestedDocument>
  /** Does one of the planted faults. */
  plant(fault: string): Promise<void>
  /** Ends it as an operator does, and returns its exit code. */
  stop(): Promise<number | null>
  remove(): Promise<void>
}

export interface TrialOptions {
  readonly pool?: number
  readonly acquireTimeout?: number
  readonly queryTimeout?: number
  /** How long a server cursor may idle, in seconds. @default 2 */
  readonly cursors?: number
  /** Whether the application's connections may only read, while the stores have others. @default false */
  readonly readOnly?: boolean
  /** Whether usage is written to PostgreSQL. @default false */
  readonly metered?: boolean
}

export interface TrialDatabase {
  readonly url: string
  readonly port: number
  readonly password: string
  /** The file of PostgreSQL's log; a new one after a restart. */
  log(): string
  query<Row = Record<string, unknown>>(sql: string, values?: unknown[]): Promise<Row[]>
  /** Brings back the rows of the tables that can be written, as they were at first. */
  reset(): Promise<void>
  /** SIGKILL to the postmaster. */
  kill(): Promise<void>
  /** Starts it again; returns when it accepts. */
  restart(): Promise<void>
  stop(): Promise<void>
}

const SERVER = fileURLToPath(new URL('trial-server.ts', import.meta.url))
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const SCHEMA = readFileSync(new URL('schema.sql', import.meta.url), 'utf8')
const ROWS = readFileSync(new URL('rows.sql', import.meta.url), 'utf8')

/** Without locks that a reader holds: a server cursor may be open. */
const RESET = `
  delete from books; delete from authors; delete from notes; delete from pictures;
  select setval(pg_get_serial_sequence(name, 'id'), 1, false) from unnest(array['authors', 'books', 'reviews', 'pictures']) name;
  select setval(pg_get_serial_sequence('notes', 'id'), 1234567001, false);
  ${ROWS.replace(/^insert into (?:events|canary)[^;]*;/gm, '')}`

/** Statements are logged whole, their parameters never: what a client sent must not be seen there. */
const CANARY_SETTINGS = {
  log_statement: 'all',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
  log_error_verbosity: 'terse',
  // logged where a statement fails: without its parameters too
  log_min_error_statement: 'error',
  shared_preload_libraries: 'pg_stat_statements',
  max_connections: '60',
}

/** Starts PostgreSQL on TCP, so that it can be killed and come back where it was, and creates the tables. */
export async function startTrialDatabase(): Promise<TrialDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'koa-viewsets-trial-'))
  // for the server's own user, where it is not ours
  chmodSync(folder, 0o755)
  const dataDir = join(folder, 'data')
  const port = await findFreePort()
  const start = () => startPostgres({ dataDir, listen: { host: '127.0.0.1', port }, settings: CANARY_SETTINGS })
  let postgres: Postgres = await start()
  const { user, password = '', database } = postgres.connection
  const url = `postgres://${user}:${password}@127.0.0.1:${port}/${database}`

  const result: TrialDatabase = {
    url,
    port,
    password,
    log: () => postgres.log,
    async query(sql, values) {
      const client = new pg.Client({ connectionString: url, application_name: 'observer' })
      await client.connect()
      try {
        return (await client.query(sql, values)).rows as never
      } finally {
        await client.end()
      }
    },
    async reset() {
      await result.query(RESET)
    },
    async kill() {
      process.kill(postgres.pid, 'SIGKILL')
      // reaped here, with the folder of its socket
      await postgres.stop()
    },
    async restart() {
      for (let tries = 0; ; tries++) {
        try {
          postgres = await start()
          return
        } catch (error) {
          // the backends of the dead server hold its memory a moment longer
          if (tries === 100 || !/shared memory|in use|another server/.test(String(error))) throw error
          await sleep(50)
        }
      }
    },
    async stop() {
      await postgres.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  if (runsAsRole()) await createRoles({ connectionString: url })
  await result.query(SCHEMA)
  await result.query(ROWS)
  return result
}

/** The same for who may only become the role that all statements run as. */
function loginUrl(text: string): string {
  const url = new URL(text)
  url.username = LOGIN
  url.password = 'x'
  return url.href
}

/** Starts the app over a database, or over what stands before one. */
export async function startTrialServer(url: string, options: TrialOptions = {}): Promise<TrialServer> {
  const folder = mkdtempSync(join(tmpdir(), 'koa-viewsets-app-'))
  for (const name of ['uploads', 'temporary']) mkdirSync(join(folder, name))
  const port = await findFreePort()
  const { pool = 10, acquireTimeout = 5_000, queryTimeout = 15_000, cursors = 2, readOnly, metered } = options
  // that one caller may take all cursors is what some trials are about
  const flags = ['--unhandled-rejections=strict', '--expose-gc', '--disable-warning=KOA_VIEWSETS_SERVER_CURSORS']
  const child = spawn(process.execPath, [...flags, ...argumentsOf(SERVER)], {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'],
      ...compiledModules(),
      PORT: String(port),
      DATABASE_URL: url,
      FOLDER: folder,
      POOL: String(pool),
      ACQUIRE_TIMEOUT: String(acquireTimeout),
      QUERY_TIMEOUT: String(queryTimeout),
      CURSORS: String(cursors),
      ...(runsAsRole() && { LOGIN_URL: loginUrl(url) }),
      ...(readOnly && { READ_ONLY: 'true' }),
      ...(metered && { METERED: 'true' }),
    },
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  })
  let errors = ''
  child.stderr?.on('data', (data) => (errors += String(data)))
  const answers = new Map<number, (answer: unknown) => void>()
  const ready = new Promise((resolve, reject) => {
    answers.set(0, resolve)
    child.once('exit', (code) => reject(new Error(`the app ended with ${code}:\n${errors}`)))
  })
  child.on('message', ({ id, answer }: { id: number; answer: unknown }) => answers.get(id)?.(answer))
  let last = 0
  const ask = async (question: string): Promise<unknown> => {
    const id = ++last
    return new Promise((resolve, reject) => {
      answers.set(id, resolve)
      child.send({ id, ask: question }, (error) => error && reject(error))
    })
  }
  await ready
  const isOver = () => child.exitCode !== null || child.signalCode !== null
  return {
    port,
    child,
    errors: () => errors,
    state: async () => (await ask('state')) as TrialState,
    failures: async () => (await ask('failures')) as string[],
    document: async () => (await ask('document')) as TestedDocument,
    async plant(fault) {
      await ask(fault)
    },
    async stop() {
      if (!isOver()) {
        child.kill('SIGTERM')
        await once(child, 'exit')
      }
      return child.exitCode
    },
    async remove() {
      if (!isOver()) {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
